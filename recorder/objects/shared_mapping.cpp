#include "recorder/objects/shared_mapping.h"

#include <algorithm>
#include <fstream>
#include <ios>
#include <sstream>
#include <vector>

namespace gfxgraph::recorder {
namespace {

struct MappedFile {
  uint64_t begin = 0, end = 0;
  uint64_t offset = 0;  // of `begin`, in the file
  std::string permissions, device, inode, path;
};

bool read_mapping(const std::string& line, MappedFile& mapping) {
  std::istringstream text(line);
  char dash = 0;
  text >> std::hex >> mapping.begin >> dash >> mapping.end >> mapping.permissions >>
      mapping.offset >> mapping.device >> mapping.inode;
  if (!text || dash != '-' || mapping.end <= mapping.begin) return false;
  std::getline(text >> std::ws, mapping.path);
  return true;
}

}  // namespace

std::string mapped_at_two_addresses(std::istream& maps, uint64_t address, uint64_t size_bytes) {
  std::vector<MappedFile> shared;
  for (std::string line; std::getline(maps, line);) {
    MappedFile mapping;
    if (read_mapping(line, mapping) && mapping.permissions.ends_with('s') && mapping.inode != "0")
      shared.push_back(std::move(mapping));
  }
  for (const MappedFile& own : shared) {
    const uint64_t begin = std::max(own.begin, address);
    const uint64_t end = std::min(own.end, address + size_bytes);
    if (begin >= end) continue;
    const uint64_t first = own.offset + (begin - own.begin);
    const auto overlaps = [&](const MappedFile& other) {
      return other.begin != own.begin && other.device == own.device && other.inode == own.inode &&
             other.offset < first + (end - begin) &&
             first < other.offset + (other.end - other.begin);
    };
    if (std::ranges::any_of(shared, overlaps)) return own.path.empty() ? "memory" : own.path;
  }
  return {};
}

std::string mapped_at_two_addresses(uint64_t address, uint64_t size_bytes) {
  std::ifstream maps("/proc/self/maps");
  return mapped_at_two_addresses(maps, address, size_bytes);
}

}  // namespace gfxgraph::recorder
