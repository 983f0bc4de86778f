// Divides operations into graphs, and identifies graphs that are launched again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replayer/program/dag.h"
#include "replayer/session/instance.h"

namespace gfxgraph::replayer {

// Operations next to each other.
struct Stretch {
  uint32_t first = 0;
  uint32_t count = 0;
  bool between = false;  // one operation between graphs that the program launched again
};

// The launches of graphs of the program whose nodes equal those of another launch of that graph, in
// order.
std::vector<Stretch> find_launched_again(const Instance& instance, const Dag& dag);

// Divides operations [first, end) into parts of at most `most`, in order. Each of `again` becomes
// one part, if nothing that may run beside it is separated from it. If there are too many
// operations for one graph, repeated ones are divided so that the parts are equal.
std::vector<Stretch> divide(const Instance& instance, const Dag& dag,
                            std::span<const Stretch> again, uint32_t first, uint32_t end,
                            uint32_t most);

// For each part, the first one with equal operations, by their current values, in the same order;
// itself if there is none before it.
std::vector<uint32_t> find_equal(const Instance& instance, const Dag& dag,
                                 std::span<const Stretch> stretches);

// Of each place between `first` and `end`, from `first` on: whether all operations from it on wait
// for all before it.
std::vector<bool> find_joints(const Dag& dag, uint32_t first, uint32_t end);

}  // namespace gfxgraph::replayer
