// Several sets of arguments for one step: what other steps of the same work, over other buffers or
// of other sizes, are set to. They share the step's code, graphs and packets.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "replayer/step/step.h"

namespace gfxgraph::replayer {

struct ArgumentSetsInfo {
  uint64_t sets = 0;
  uint64_t bytes = 0;    // of this machine's memory
  uint64_t used = 0;     // how often one was
  uint64_t missed = 0;   // how often there was none
  uint64_t dropped = 0;  // for want of bytes
  uint64_t items = 0;    // sizes that were asked for, of those that there were, summed
  uint64_t padding = 0;  // what the chosen sets have beyond them
};

// Not thread-safe; neither while the step is set or run.
class ArgumentSets {
 public:
  // `max_bytes`: those that were not used for longest are dropped beyond it; 0: none are.
  explicit ArgumentSets(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // What `other` is set to now, for work of `size` items; in place of an earlier set of this size.
  // `other` is `step`, or one whose operations have the same kernels and order, and may go then.
  // kUnsupported, naming the first difference; also: a set alone is beyond max_bytes.
  Result<void> keep(Step& step, uint64_t size, Step& other);
  // Sets the step to the smallest set for at least `size` items; that set's size. kNotFound: there
  // is none.
  Result<uint64_t> use(Step& step, uint64_t size);
  ArgumentSetsInfo info() const;

 private:
  struct Set {
    StepArguments arguments;
    uint64_t last_use = 0;
  };
  void drop_beyond(uint64_t kept);

  const uint64_t max_bytes_;
  std::map<uint64_t, Set> sets_;  // by size
  uint64_t uses_ = 0;             // and keeps, so far
  ArgumentSetsInfo info_;         // without sets and bytes
};

}  // namespace gfxgraph::replayer
