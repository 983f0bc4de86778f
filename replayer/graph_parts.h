// Which operations make one graph, and which graphs are one graph that is launched again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replayer/dag.h"
#include "replayer/instance.h"

namespace gfxgraph::replayer {

// Operations next to each other.
struct Stretch {
  uint32_t first = 0;
  uint32_t count = 0;
  bool between = false;  // one operation between graphs that the program launched again
};

// The launches of graphs of the program whose nodes are those of another launch of that graph, in
// order.
std::vector<Stretch> find_launched_again(const Instance& instance, const Dag& dag);

// Divides operations [first, end) into stretches of at most `most`, in order. Each of `again` makes
// one, if nothing that may run beside it is parted from it. Where there are too many operations for
// one graph, those that repeat are divided so that stretches are equal.
std::vector<Stretch> divide(const Instance& instance, const Dag& dag,
                            std::span<const Stretch> again, uint32_t first, uint32_t end,
                            uint32_t most);

// Of each stretch the first one with equal operations, by what they were prepared to do now, in the
// same order; itself if there is none before it.
std::vector<uint32_t> find_equal(const Instance& instance, const Dag& dag,
                                 std::span<const Stretch> stretches);

// Of each place between `first` and `end`, from `first` on: whether all operations from it on wait
// for all before it.
std::vector<bool> find_joints(const Dag& dag, uint32_t first, uint32_t end);

}  // namespace gfxgraph::replayer
