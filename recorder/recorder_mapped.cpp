// Memory that the program maps itself.
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
  std::vector<MappedMemory::Buffer> made;
  guarded([&] { made = mapped_.made_accessible(address, size_bytes); });
  begin_mapped(made, call);
}

void Recorder::begin_mapped(std::span<const MappedMemory::Buffer> buffers,
                            const char* call) noexcept {
  for (const MappedMemory::Buffer& one : buffers) {
    if (!one.unsupported.empty()) note_incomplete(call, one.unsupported);
    if (!one.joined.empty()) note_if_graphs(call);
    for (const uint64_t buffer : one.joined) freed(freeing(buffer), true);
    NewAllocation allocation;
    allocation.address = one.address;
    allocation.size_bytes = one.size_bytes;
    allocation.holds_bytes = one.written;
    allocated(allocation);
  }
}

// A graph's nodes lead to the buffer that ends.
void Recorder::note_if_graphs(const char* call) noexcept {
  bool any = false;
  guarded([&] { any = graphs_.any(); });
  if (any) {
    note_incomplete(call, "adjacent mappings become another buffer, which graphs may use");
  }
}

std::vector<Freeing> Recorder::unmapping(uint64_t address, uint64_t size_bytes) noexcept {
  std::vector<uint64_t> buffers;
  guarded([&] { buffers = mapped_.buffers_within(address, size_bytes); });
  std::vector<Freeing> result;
  for (const uint64_t buffer : buffers) result.push_back(freeing(buffer));
  return result;
}

void Recorder::unmapped(uint64_t address, uint64_t size_bytes, std::vector<Freeing>&& buffers,
                        bool success) noexcept {
  for (Freeing& one : buffers) freed(std::move(one), success);
  if (!success) return;
  std::vector<MappedMemory::Buffer> rest;
  guarded([&] { rest = mapped_.unmapped(address, size_bytes); });
  if (!rest.empty()) note_if_graphs("hipMemUnmap");
  begin_mapped(rest, "hipMemUnmap");
}

}  // namespace gfxgraph::recorder
