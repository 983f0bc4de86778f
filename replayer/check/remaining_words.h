// What is left of pointers that were overwritten in part. Memory that a program gets from a heap is
// full of the pointers of its former users, and a kernel that writes a number beside one, or over
// one half of it, leaves bytes of an address: recorded ones in the recording, and those that the
// replay put there in the replay. Both are what stood there before. Copies take them along.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "replayer/memory/relocation.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// A word that the trace gave to memory and that it took for a pointer by its value.
struct RemainingWord {
  int64_t place = 0;                    // in the allocation, or in the bytes that a copy received
  std::array<std::byte, 8> recorded{};  // as the recorded program had it
  std::array<std::byte, 8> moved{};     // as the replay put it there
};

// Those of the allocation until the event `sequence`, by place, also those that copies brought from
// other memory. `program`: the whole trace.
Result<std::vector<RemainingWord>> remaining_words(const Program& program,
                                                   const AddressMap& addresses,
                                                   format::AllocationId allocation,
                                                   uint64_t sequence);
// Those of the bytes that a copy to the host received, in which rows follow each other.
Result<std::vector<RemainingWord>> remaining_words(const Program& program,
                                                   const AddressMap& addresses,
                                                   const format::Copy& copy, uint64_t sequence);

// Whether the byte at `offset` is left of one of them on both sides.
bool is_remaining(std::span<const RemainingWord> words, uint64_t offset, std::byte recorded,
                  std::byte now);

}  // namespace gfxgraph::replayer
