#include "recorder/model/mapped_memory.h"

#include <algorithm>

namespace gfxgraph::recorder {

void MappedMemory::mapped(uint64_t address, uint64_t size_bytes, Memory memory) {
  mappings_[address] = Mapping{address, size_bytes, memory, false};
}

std::vector<MappedMemory::Mapping> MappedMemory::within(uint64_t address,
                                                        uint64_t size_bytes) const {
  std::vector<Mapping> found;
  for (auto at = mappings_.lower_bound(address);
       at != mappings_.end() && at->first - address < size_bytes; ++at) {
    found.push_back(at->second);
  }
  return found;
}

std::vector<MappedMemory::Access> MappedMemory::made_accessible(uint64_t address,
                                                                uint64_t size_bytes) {
  std::vector<Access> made;
  for (auto at = mappings_.lower_bound(address);
       at != mappings_.end() && at->first - address < size_bytes; ++at) {
    Mapping& mapping = at->second;
    if (mapping.accessible) continue;
    Access access;
    const uint64_t end = mapping.address + mapping.size_bytes;
    for (const auto& [other_address, other] : mappings_) {
      if (!other.accessible) continue;
      if (other.memory == mapping.memory) {
        access.unsupported = "the same memory at two addresses at a time";
      } else if (other_address == end || other_address + other.size_bytes == mapping.address) {
        access.unsupported =
            "memory right behind other memory that was mapped: a buffer may lie in both, which a "
            "replay puts elsewhere each";
      }
    }
    mapping.accessible = true;
    access.mapping = mapping;
    access.written = !written_.insert(mapping.memory).second;
    made.push_back(access);
  }
  return made;
}

}  // namespace gfxgraph::recorder
