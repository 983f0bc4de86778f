// Memory that the program maps itself: an allocation for each mapping.
#include <utility>

#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

void Recorder::memory_created(MappedMemory::Memory memory) noexcept {
  guarded([&] { mapped_.created(memory); });
}

void Recorder::memory_mapped(uint64_t address, uint64_t size_bytes,
                             MappedMemory::Memory memory) noexcept {
  guarded([&] { mapped_.mapped(address, size_bytes, memory); });
}

void Recorder::memory_accessible(uint64_t address, uint64_t size_bytes, const char* call) noexcept {
  std::vector<MappedMemory::Access> made;
  guarded([&] { made = mapped_.made_accessible(address, size_bytes); });
  for (const MappedMemory::Access& one : made) {
    if (!one.unsupported.empty()) note_incomplete(call, one.unsupported);
    NewAllocation allocation;
    allocation.address = one.mapping.address;
    allocation.size_bytes = one.mapping.size_bytes;
    allocation.holds_bytes = one.written;
    allocated(allocation);
  }
}

std::vector<Recorder::Unmapping> Recorder::unmapping(uint64_t address,
                                                     uint64_t size_bytes) noexcept {
  std::vector<MappedMemory::Mapping> mappings;
  guarded([&] { mappings = mapped_.within(address, size_bytes); });
  std::vector<Unmapping> result;
  for (const MappedMemory::Mapping& one : mappings) {
    result.push_back({one.address, one.accessible ? freeing(one.address) : Freeing{}});
  }
  return result;
}

void Recorder::unmapped(std::vector<Unmapping>&& mappings, bool success) noexcept {
  for (Unmapping& one : mappings) {
    if (success) guarded([&] { mapped_.unmapped(one.address); });
    freed(std::move(one.freeing), success);
  }
}

}  // namespace gfxgraph::recorder
