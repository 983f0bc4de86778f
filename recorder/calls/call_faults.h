// Calls of HIP that failed, and those that HIP accepted although their arguments leave the memory
// that they name: for `gfxgraph check`. Any thread, without locks. Not of captures by the library,
// nor outside of the recorded sections.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "format/trace.h"
#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/raw_actions.h"
#include "recorder/selection/stretch.h"

namespace gfxgraph::recorder {

class CallFaults : private Part {
 public:
  CallFaults(const Core& core, const Allocations& allocations, const Stretch& stretch,
             Events& events) noexcept
      : Part(core), allocations_(allocations), stretch_(stretch), events_(events) {}

  // After the call. `error`: HIP's name; empty: HIP accepted it. `raw`: a copy or memset that it
  // would have issued; null: anything else.
  void happened(std::string_view call, std::string_view error, const RawAction* raw) noexcept;
  // The same of a call that was to free the memory at the address.
  void not_freed(std::string_view call, std::string_view error, uint64_t address) noexcept;
  // HIP frees memory by any pointer into it.
  void freed(std::string_view call, const Allocation& memory, uint64_t address) noexcept {
    if (address != memory.address && address != memory.host_address) [[unlikely]]
      freed_inside(call, memory, address);
  }

 private:
  void freed_inside(std::string_view call, const Allocation& memory, uint64_t address) noexcept;

  // A program that repeats a failing call must not fill the trace.
  static constexpr uint64_t kMost = 1000;

  void look_at(const RawCopy& copy, bool accepted, std::vector<format::CallFault>& faults) const;
  void look_at(const RawMemset& set, bool accepted, std::vector<format::CallFault>& faults) const;
  void look_at(uint64_t address, uint64_t size_bytes, MemorySide side, bool accepted, bool write,
               std::vector<format::CallFault>& faults) const;
  void append(std::string_view call, std::string_view error,
              std::vector<format::CallFault>&& faults);

  const Allocations& allocations_;
  const Stretch& stretch_;
  Events& events_;
  uint64_t appended_ = 0;  // the recorder's lock guards it
};

}  // namespace gfxgraph::recorder
