// A hash of what runs put out, in the order of the runs.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "replayer/production/pool_buffers.h"

namespace gfxgraph::replayer {

// add() under the bucket's lock; value() by any thread.
class OutputDigest {
 public:
  struct Value {
    uint64_t hash = 0;  // 0: of no run
    uint64_t runs = 0;
  };
  explicit OutputDigest(PoolWork& work) : work_(work) {}
  // Reads the outputs of a submitted run, and waits for that.
  Result<void> add(const Run& run);
  Value value() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  PoolWork& work_;
  std::vector<std::byte> bytes_;  // the hash so far, then the outputs
  mutable std::mutex mutex_;
  Value value_;
};

}  // namespace gfxgraph::replayer
