// Calls of HIP that failed, or whose arguments leave the memory that they name (apicheck), from the
// call faults of the trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "check/listener.h"
#include "check/memory/device_memory.h"
#include "check/report/sites.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

class CallCheck final : public Listener {
 public:
  // All arguments must outlive this.
  CallCheck(const format::Trace& trace, const DeviceMemory& memory, Sites& sites)
      : trace_(trace), memory_(memory), sites_(sites) {}

  void next_event(uint64_t sequence) override { event_ = sequence; }
  Result<void> allocated(const format::AllocationBegin& begin) override;
  Result<void> will_write(const format::HostWrite& write) override;
  Result<void> will_copy(const format::Copy& copy) override;
  Result<void> filled(const format::Memset& memset) override;
  Result<void> call_fault(const format::CallFault& fault) override;
  void next_launch(uint64_t index, const format::Launch& launch) override;

 private:
  struct Memory {
    std::string name;
    uint64_t address = 0;
    uint64_t size = 0;
  };
  // A copy or memset that did not take place: until its memory is written otherwise.
  struct Missing {
    Sites::Key key;
    format::AllocationId allocation = 0;
  };
  static constexpr size_t kMost = 1000;

  LaneEvent event_of(const format::CallFault& fault, FindingClass finding_class) const;
  // `memory`: null without an allocation.
  Sites::Key add(const LaneEvent& event, format::AllocationId allocation, const Memory* memory,
                 bool live);
  // `what`: "launch 3", which reads the allocation.
  void reads(format::AllocationId id, const std::string& what);
  void is_written(format::AllocationId id);
  void more_work(const std::string& what);

  const format::Trace& trace_;
  const DeviceMemory& memory_;
  Sites& sites_;
  uint64_t event_ = 0;
  uint64_t launches_ = 0;
  std::unordered_map<format::AllocationId, Memory> known_;
  std::vector<Missing> missing_;
  std::vector<LaneEvent> failed_;  // work, until the program gives the device more
};

// Whether a call of this name gives the device work: a copy, memset or launch.
bool call_gives_work(std::string_view call);

}  // namespace gfxgraph::check
