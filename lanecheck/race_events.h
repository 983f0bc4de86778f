// Passes copies, memsets and host writes to the race check, numbered as in order_work().
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/result.h"
#include "format/box.h"
#include "format/reader.h"
#include "lanecheck/budget.h"
#include "lanecheck/device_memory.h"
#include "lanecheck/event_order.h"
#include "lanecheck/race_check.h"

namespace gfxgraph::lanecheck {

class RaceEvents {
 public:
  // All arguments must outlive this.
  RaceEvents(const format::Trace& trace, RaceCheck& check, DeviceMemory& memory, Budget& budget)
      : trace_(trace), check_(check), memory_(memory), budget_(budget), order_(order_work(trace)) {}

  const WorkOrder& order() const { return order_; }
  // The next work, which belongs to this event.
  RaceCheck::Work next_work(uint64_t event);

  // `begin` of a module variable has its current address.
  void apply(const format::AllocationBegin& begin) {
    addresses_[begin.id] = begin.recorded_address;
    check_.begin_memory(begin.recorded_address, begin.size_bytes);
  }
  // Each returns whether it found a data race. Errors: the budget is exhausted.
  Result<bool> apply(const format::Copy& copy, uint64_t event);
  Result<bool> apply(const format::Memset& memset, uint64_t event);
  // Call before the write is executed.
  Result<bool> apply(const format::HostWrite& write, uint64_t event);

 private:
  Result<void> transfer(RaceCheck::Part part, format::AllocationId id, uint64_t offset,
                        const format::Box& box);
  // False: the transfer cannot be part of a data race.
  bool begin_transfer(uint64_t event);

  const format::Trace& trace_;
  RaceCheck& check_;
  DeviceMemory& memory_;
  Budget& budget_;
  const WorkOrder order_;
  uint64_t next_work_ = 0;
  uint64_t next_host_write_ = 0;
  std::unordered_map<format::AllocationId, uint64_t> addresses_;
};

}  // namespace gfxgraph::lanecheck
