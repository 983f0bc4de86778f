#include "recorder/calls/call_faults.h"

#include <utility>
#include <variant>

#include "base/checked.h"
#include "format/box.h"

namespace gfxgraph::recorder {

void CallFaults::happened(std::string_view call, std::string_view error,
                          const RawAction* raw) noexcept {
  guarded([&] {
    std::vector<format::CallFault> faults;
    if (raw != nullptr) {
      if (const auto* copy = std::get_if<RawCopy>(raw)) look_at(*copy, error.empty(), faults);
      if (const auto* set = std::get_if<RawMemset>(raw)) look_at(*set, error.empty(), faults);
    }
    if (faults.empty() && error.empty()) return;
    if (faults.empty()) faults.emplace_back();
    append(call, error, std::move(faults));
  });
}

void CallFaults::not_freed(std::string_view call, std::string_view error,
                           uint64_t address) noexcept {
  guarded([&] {
    std::vector<format::CallFault> faults;
    look_at(address, 0, MemorySide::kDevice, false, true, faults);
    if (faults.empty()) faults.emplace_back();
    append(call, error, std::move(faults));
  });
}

void CallFaults::freed_inside(std::string_view call, const Allocation& memory,
                              uint64_t address) noexcept {
  guarded([&] {
    if (!memory.begun || memory.array || !memory.is_memory()) return;
    const uint64_t offset = address - memory.address;
    const uint64_t host_offset = address - memory.host_address;
    format::CallFault fault;
    fault.allocation = memory.id;
    fault.offset_bytes = offset < memory.size_bytes ? offset : host_offset;
    fault.write = true;
    if (fault.offset_bytes >= memory.size_bytes) return;
    std::vector<format::CallFault> faults;
    faults.push_back(std::move(fault));
    append(call, {}, std::move(faults));
  });
}

void CallFaults::look_at(const RawCopy& copy, bool accepted,
                         std::vector<format::CallFault>& faults) const {
  const auto end = [&](const RawCopyEnd& memory, MemorySide side, bool write) {
    const format::Box box{copy.width_bytes, copy.height, copy.depth, memory.pitch_bytes,
                          memory.slice_bytes};
    look_at(memory.address, box.extent().value_or(UINT64_MAX), side, accepted, write, faults);
  };
  if (copy.width_bytes == 0 || copy.height == 0 || copy.depth == 0) return;
  end(copy.destination, copy.destination_side, true);
  end(copy.source, copy.source_side, false);
}

void CallFaults::look_at(const RawMemset& set, bool accepted,
                         std::vector<format::CallFault>& faults) const {
  if (set.width_elements == 0 || set.height == 0 || set.depth == 0) return;
  const std::optional<uint64_t> width =
      checked_mul<uint64_t>(set.width_elements, set.element_bytes);
  const format::Box box{width.value_or(UINT64_MAX), set.height, set.depth, set.pitch_bytes,
                        set.slice_bytes};
  look_at(set.address, box.extent().value_or(UINT64_MAX), MemorySide::kDevice, accepted, true,
          faults);
}

// `size_bytes` 0: a free, which needs the first byte of live memory.
void CallFaults::look_at(uint64_t address, uint64_t size_bytes, MemorySide side, bool accepted,
                         bool write, std::vector<format::CallFault>& faults) const {
  if (address == 0) return;
  uint64_t offset = 0;
  const Allocation* found = allocations_.allocation_at(address, offset);
  bool live = found != nullptr && offset < found->size_bytes;
  // HIP takes an address that it does not know for host memory, unless the call says otherwise: the
  // host may have got the freed addresses.
  if (!live && (side == MemorySide::kDevice || (side == MemorySide::kUnknown && !accepted))) {
    found = allocations_.map().find_live_or_freed(address);
    offset = found == nullptr ? 0 : address - found->address;
    live = found != nullptr && offset == found->size_bytes;  // behind its end
  } else if (!live) {
    return;
  }
  if (found == nullptr || !found->begun || !found->is_memory() || found->array) return;
  if (live && size_bytes == 0 && offset == 0) return;
  if (live && size_bytes != 0 && offset <= found->size_bytes &&
      size_bytes <= found->size_bytes - offset)
    return;
  format::CallFault fault;
  fault.allocation = found->id;
  fault.offset_bytes = offset;
  fault.size_bytes = size_bytes;
  fault.write = write;
  faults.push_back(std::move(fault));
}

void CallFaults::append(std::string_view call, std::string_view error,
                        std::vector<format::CallFault>&& faults) {
  if (!life_.begun || life_.finished || options_.in_process || stretch_.outside()) return;
  for (format::CallFault& fault : faults) {
    if (appended_ == kMost) {
      finding_now(format::FindingKind::kNote, call,
                  "more calls failed than the trace names: later ones are missing in it");
    }
    if (appended_++ >= kMost) return;
    fault.call = call;
    fault.error = error;
    events_.append(std::move(fault));
  }
}

}  // namespace gfxgraph::recorder
