// Memory that the program maps at addresses of its own choice (hipMemCreate, hipMemMap,
// hipMemSetAccess). A trace has one allocation for each mapping, from the first access that the
// program asks for to the end of the mapping. Not thread-safe; the recorder's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace gfxgraph::recorder {

class MappedMemory {
 public:
  // hipMemGenericAllocationHandle_t
  using Memory = uint64_t;

  struct Mapping {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    Memory memory = 0;
    bool accessible = false;  // it is an allocation of the trace
  };

  void created(Memory memory) { written_.erase(memory); }
  void mapped(uint64_t address, uint64_t size_bytes, Memory memory);
  // Those within the range that become accessible. `written`: nobody else's, but this memory was
  // accessible at another address before and holds what was written there.
  struct Access {
    Mapping mapping;
    bool written = false;
    // Why a replay could not do what the program does; empty: it can.
    std::string_view unsupported;
  };
  std::vector<Access> made_accessible(uint64_t address, uint64_t size_bytes);
  // The mappings within the range, which are forgotten by unmapped().
  std::vector<Mapping> within(uint64_t address, uint64_t size_bytes) const;
  void unmapped(uint64_t address) { mappings_.erase(address); }

 private:
  std::map<uint64_t, Mapping> mappings_;  // by address
  std::set<Memory> written_;              // that were accessible once
};

}  // namespace gfxgraph::recorder
