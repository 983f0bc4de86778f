// Memory that the program maps at addresses of its own choice (hipMemCreate, hipMemMap,
// hipMemSetAccess). A trace has one buffer for all mappings that lie behind one another, because
// kernels and copies may reach from one into the next: from the first access that the program asks
// for to the end of the first of these mappings. Then, and when a mapping beside it becomes
// accessible, what is left or joined begins anew as another buffer with the same bytes. Not
// thread-safe; the recorder's lock guards it.
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

  struct Buffer {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    bool written = false;          // it holds bytes that the program wrote before
    std::vector<uint64_t> joined;  // addresses of the buffers that end and become part of it
    // Why a replay could not do what the program does; empty: it can.
    std::string_view unsupported;
  };

  void created(Memory memory) { written_.erase(memory); }
  void mapped(uint64_t address, uint64_t size_bytes, Memory memory);
  // The buffers that begin because the mappings within the range become accessible.
  std::vector<Buffer> made_accessible(uint64_t address, uint64_t size_bytes);
  // The addresses of the buffers of which the range has a part.
  std::vector<uint64_t> buffers_within(uint64_t address, uint64_t size_bytes) const;
  // Forgets the mappings within the range. What is left of their buffers.
  std::vector<Buffer> unmapped(uint64_t address, uint64_t size_bytes);

 private:
  struct Mapping {
    uint64_t size_bytes = 0;
    Memory memory = 0;
    uint64_t buffer = 0;  // the address of the one that it is in; 0: not accessible yet
  };
  using Mappings = std::map<uint64_t, Mapping>;  // by address

  // From `at` on, which it moves, as long as they are accessible and behind one another. Nothing if
  // that is a buffer already.
  std::optional<Buffer> piece_from(Mappings::iterator& at);
  std::vector<Buffer> pieces();

  Mappings mappings_;
  std::set<Memory> written_;  // that were accessible once
};

}  // namespace gfxgraph::recorder
