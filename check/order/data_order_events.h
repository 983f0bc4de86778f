// Tells the data order of the events of a trace.
#pragma once

#include <unordered_map>

#include "check/listener.h"
#include "check/order/data_order.h"

namespace gfxgraph::check {

class DataOrderEvents final : public Listener {
 public:
  // `order` must outlive this.
  explicit DataOrderEvents(DataOrder& order) : order_(order) {}

  void next_event(uint64_t sequence) override { event_ = sequence; }
  Result<void> allocated(const format::AllocationBegin& action) override;
  Result<void> freed(const format::AllocationEnd& action) override;
  Result<void> written(const format::HostWrite& action) override;
  Result<void> copied(const format::Copy& action) override;
  Result<void> filled(const format::Memset& action) override;
  void before_run(const LaunchRun& run) override;
  void after_run(const LaunchRun& run,
                 const tl::expected<emulator::RunStatistics, emulator::Fault>& ran) override;

 private:
  uint64_t address_of(format::AllocationId id) const {
    const auto found = addresses_.find(id);
    return found == addresses_.end() ? 0 : found->second;
  }
  void begin_node(DataNode::Kind kind, format::StreamId stream);

  DataOrder& order_;
  uint64_t event_ = 0;
  std::unordered_map<format::AllocationId, uint64_t> addresses_;
};

}  // namespace gfxgraph::check
