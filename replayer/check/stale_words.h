// Words that equal an address by chance. The recorder takes an aligned word of memory for a pointer
// if its value is an address when it reads the memory. Left-over bytes may equal addresses of code
// that is loaded, or handles of textures and surfaces that are made, after they were written: such
// a word is a number, for nobody knows an address before there is something at it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// Where the bytes at an offset of a content are in its allocation; empty: not one word there.
using WordPlaces = std::function<std::optional<uint64_t>(uint64_t offset)>;

// `words`: of a content that the allocation held after the event `sequence`. Returns them, with
// those marked as ambiguous that are matched handles, or addresses in the code object of a
// variable, although the trace gave the memory these very bytes before the handle was made, or the
// first use of that code object, as no pointer, and says nothing of what stands there after that. A
// kernel may have written them meanwhile; only what a replay holds can tell. `program`: the whole
// trace.
Result<std::vector<format::Relocation>> doubt_stale_words(
    const Program& program, format::AllocationId allocation, uint64_t sequence,
    const std::vector<format::Relocation>& words, const WordPlaces& place);

// Bytes that the trace gives to the allocation, or (null) that it only says are written.
struct Given {
  uint64_t sequence = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  const format::Content* content = nullptr;
  const format::Copy* copy = nullptr;  // of an operation that is one
  uint32_t operation = 0;              // its index plus 1; 0: none
};

// Until the event `sequence`, in order.
std::vector<Given> all_given(const Program& program, format::AllocationId id, uint64_t sequence);

}  // namespace gfxgraph::replayer
