#include "recorder/objects/mapped_memory.h"

#include <algorithm>

namespace gfxgraph::recorder {
namespace {

// One that became accessible, before it is known which buffer has it.
constexpr uint64_t kNew = UINT64_MAX;

}  // namespace

void MappedMemory::mapped(uint64_t address, uint64_t size_bytes, Memory memory) {
  mappings_[address] = Mapping{size_bytes, memory, 0};
}

std::optional<MappedMemory::Buffer> MappedMemory::piece_from(Mappings::iterator& at) {
  Buffer buffer;
  buffer.address = at->first;
  bool changed = false;
  for (; at != mappings_.end() && at->second.buffer != 0 &&
         at->first == buffer.address + buffer.size_bytes;
       ++at) {
    Mapping& mapping = at->second;
    if (mapping.buffer == kNew) {
      const bool twice = std::ranges::any_of(mappings_, [&](const auto& other) {
        return other.first != at->first && other.second.buffer != 0 &&
               other.second.buffer != kNew && other.second.memory == mapping.memory;
      });
      if (twice) buffer.unsupported = "the same memory at two addresses at the same time";
      if (!written_.insert(mapping.memory).second) buffer.written = true;
      changed = true;
    } else if (buffer.joined.empty() || buffer.joined.back() != mapping.buffer) {
      buffer.joined.push_back(mapping.buffer);
      buffer.written = true;
    }
    mapping.buffer = buffer.address;
    buffer.size_bytes += mapping.size_bytes;
  }
  if (!changed) return std::nullopt;
  return buffer;
}

std::vector<MappedMemory::Buffer> MappedMemory::pieces() {
  std::vector<Buffer> result;
  for (auto at = mappings_.begin(); at != mappings_.end();) {
    if (at->second.buffer == 0) {
      ++at;
    } else if (std::optional<Buffer> piece = piece_from(at)) {
      result.push_back(*std::move(piece));
    }
  }
  return result;
}

std::vector<MappedMemory::Buffer> MappedMemory::made_accessible(uint64_t address,
                                                                uint64_t size_bytes) {
  for (auto at = mappings_.lower_bound(address);
       at != mappings_.end() && at->first - address < size_bytes; ++at) {
    if (at->second.buffer == 0) at->second.buffer = kNew;
  }
  return pieces();
}

std::vector<uint64_t> MappedMemory::buffers_within(uint64_t address, uint64_t size_bytes) const {
  std::vector<uint64_t> found;
  for (auto at = mappings_.lower_bound(address);
       at != mappings_.end() && at->first - address < size_bytes; ++at) {
    const uint64_t buffer = at->second.buffer;
    if (buffer != 0 && (found.empty() || found.back() != buffer)) found.push_back(buffer);
  }
  return found;
}

std::vector<MappedMemory::Buffer> MappedMemory::unmapped(uint64_t address, uint64_t size_bytes) {
  const std::vector<uint64_t> ended = buffers_within(address, size_bytes);
  std::erase_if(mappings_, [&](const auto& entry) {
    return entry.first >= address && entry.first - address < size_bytes;
  });
  for (auto& [at, mapping] : mappings_) {
    if (std::ranges::find(ended, mapping.buffer) != ended.end()) mapping.buffer = kNew;
  }
  return pieces();
}

}  // namespace gfxgraph::recorder
