// The values that launches of one kernel pass: its arguments, and structs in pieces.
#pragma once

#include <cstdint>
#include <vector>

#include "format/read/reader.h"

namespace gfxgraph::ranges {

struct ArgumentWord {
  uint32_t argument = UINT32_MAX;  // in Kernel::arguments; none: the kernel lists no arguments
  uint32_t offset_bytes = 0;       // in the kernarg segment
  uint32_t size_bytes = 0;         // 1 to 8
};

// Of launches of one kernel, in order of offset. An argument of 1, 2, 4 or 8 bytes is one word; any
// other one, and the kernarg segment of a kernel that lists no arguments, is a word of 8 bytes
// wherever one of the launches has a pointer, and words of at most 4 bytes elsewhere. Every word
// lies in the kernarg bytes of all launches.
std::vector<ArgumentWord> argument_words(const format::Trace& trace,
                                         const std::vector<const format::Launch*>& launches);

// The pointer that a launch has at a word of 8 bytes; nullptr: it has a number there.
const format::Relocation* relocation_at(const format::Launch& launch, const ArgumentWord& word);

// Little-endian, with its sign.
int64_t word_number(const format::Launch& launch, const ArgumentWord& word);

}  // namespace gfxgraph::ranges
