// gfxgraph_name(): the program names an allocation.
#include <fmt/format.h>

#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

void Recorder::name_memory(const void* pointer, const char* name) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    if (finished_) return;
    const auto note = [&](const char* what) {
      finding(format::FindingKind::kNote, "gfxgraph_name", what);
    };
    std::string text = cut_name(name);
    if (text.empty()) return note("without a name");
    const auto address = reinterpret_cast<uint64_t>(pointer);
    Allocation* allocation = allocations_.map().find(address);
    // find() also takes a pointer one past the end.
    if (allocation == nullptr || address - allocation->address >= allocation->size_bytes) {
      allocation = allocations_.map().find_host(address);
    }
    if (pointer == nullptr || allocation == nullptr) {
      return note("of memory that is not known");
    }
    if (allocation->name == text) return;
    allocation->name = text;
    if (!allocation->begun) return;  // AllocationBegin will say it
    events_.append(
        format::Marker{std::move(text), format::MarkerKind::kName, 0, 0, allocation->id});
  });
  drain_if_full();
}

}  // namespace gfxgraph::recorder
