// Tells racecheck of the events of a trace: which work they are, and which bytes copies, memsets
// and the host touch.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "check/budget.h"
#include "check/listener.h"
#include "check/memory/device_memory.h"
#include "check/order/event_order.h"
#include "check/race/race_check.h"
#include "format/box.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

class RaceEvents final : public Listener {
 public:
  // `found`: called when an event that is no launch was found to be part of a data race. All
  // arguments must outlive this.
  RaceEvents(const format::Trace& trace, RaceCheck& check, DeviceMemory& memory, Budget& budget,
             std::function<void()> found)
      : trace_(trace),
        check_(check),
        memory_(memory),
        budget_(budget),
        found_(std::move(found)),
        order_(order_work(trace)) {}

  const WorkOrder& order() const { return order_; }

  void next_event(uint64_t sequence) override { event_ = sequence; }
  Result<void> will_write(const format::HostWrite& write) override;
  Result<void> allocated(const format::AllocationBegin& begin) override;
  Result<void> freed(const format::AllocationEnd& end) override;
  Result<void> copied(const format::Copy& copy) override;
  Result<void> filled(const format::Memset& memset) override;
  void next_launch(uint64_t index, const format::Launch& launch) override;
  void before_run(const LaunchRun& run) override;

 private:
  RaceCheck::Work next_work();
  RaceCheck::Work work_of(uint64_t number) const;
  // The allocation or free of stream-ordered memory.
  Result<void> lifetime(RaceCheck::Part part, uint64_t number, format::AllocationId id);
  Result<void> transfer(RaceCheck::Part part, format::AllocationId id, uint64_t offset,
                        const format::Box& box);
  // False: the transfer cannot be part of a data race.
  bool begin_transfer();

  const format::Trace& trace_;
  RaceCheck& check_;
  DeviceMemory& memory_;
  Budget& budget_;
  const std::function<void()> found_;
  const WorkOrder order_;
  uint64_t event_ = 0;
  RaceCheck::Work launch_;  // the launch whose turn it is
  uint64_t next_work_ = 0;
  uint64_t next_host_write_ = 0;
  std::unordered_map<format::AllocationId, uint64_t> addresses_;
  std::unordered_map<format::AllocationId, uint64_t> sizes_;  // of stream-ordered memory
};

}  // namespace gfxgraph::check
