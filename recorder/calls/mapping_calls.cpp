#include "recorder/calls/mapping_calls.h"

#include <utility>

namespace gfxgraph::recorder {

void MappingCalls::created(MappedMemory::Memory memory) noexcept {
  guarded([&] { mapped_.created(memory); });
}

void MappingCalls::mapped(uint64_t address, uint64_t size_bytes,
                          MappedMemory::Memory memory) noexcept {
  guarded([&] { mapped_.mapped(address, size_bytes, memory); });
}

void MappingCalls::accessible(uint64_t address, uint64_t size_bytes, const char* call) noexcept {
  std::vector<MappedMemory::Buffer> made;
  guarded([&] { made = mapped_.made_accessible(address, size_bytes); });
  begin(made, call);
}

void MappingCalls::begin(std::span<const MappedMemory::Buffer> buffers, const char* call) noexcept {
  for (const MappedMemory::Buffer& one : buffers) {
    if (!one.unsupported.empty()) missing(call, one.unsupported);
    if (!one.joined.empty()) note_if_graphs(call);
    for (const uint64_t buffer : one.joined) buffers_.freed(buffers_.freeing(buffer), true);
    NewAllocation allocation;
    allocation.address = one.address;
    allocation.size_bytes = one.size_bytes;
    allocation.holds_bytes = one.written;
    buffers_.allocated(allocation);
  }
}

// A graph's nodes lead to the buffer that ends.
void MappingCalls::note_if_graphs(const char* call) noexcept {
  bool any = false;
  guarded([&] { any = graphs_.any() || executables_.any(); });
  if (any) {
    missing(call, "adjacent mappings become another buffer, which graphs may use");
  }
}

void MappingCalls::missing(const char* call, std::string_view detail) noexcept {
  guarded([&] { finding(format::FindingKind::kIncomplete, call, detail); });
}

std::vector<Freeing> MappingCalls::unmapping(uint64_t address, uint64_t size_bytes) noexcept {
  std::vector<uint64_t> buffers;
  guarded([&] { buffers = mapped_.buffers_within(address, size_bytes); });
  std::vector<Freeing> result;
  for (const uint64_t buffer : buffers) result.push_back(buffers_.freeing(buffer));
  return result;
}

void MappingCalls::unmapped(uint64_t address, uint64_t size_bytes, std::vector<Freeing>&& buffers,
                            bool success) noexcept {
  for (Freeing& one : buffers) buffers_.freed(std::move(one), success);
  if (!success) return;
  std::vector<MappedMemory::Buffer> rest;
  guarded([&] { rest = mapped_.unmapped(address, size_bytes); });
  if (!rest.empty()) note_if_graphs("hipMemUnmap");
  begin(rest, "hipMemUnmap");
}

}  // namespace gfxgraph::recorder
