// Copies of a pool's states in device memory, to put them back.
#pragma once

#include <optional>
#include <vector>

#include "replayer/production/pool_work.h"

namespace gfxgraph::replayer {

// Not thread-safe.
class StateCopies {
 public:
  explicit StateCopies(PoolWork& work) : work_(work) {}
  ~StateCopies() { release(); }
  StateCopies(const StateCopies&) = delete;
  StateCopies& operator=(const StateCopies&) = delete;

  // One of each state, or none. kPassing: for a short time, so that no bucket falls for it:
  // max_device_bytes does not count them.
  enum class Life : uint8_t { kOfBucket, kPassing };
  std::optional<Refusal> allocate(Life life);
  // No work may use them any more.
  void release() noexcept;
  uint64_t bytes() const { return bytes_; }
  size_t count() const { return memory_.size(); }
  const void* memory(size_t state) const { return memory_[state]; }

  // On a stream, in its order.
  Result<void> save(hip::Stream stream) const;
  Result<void> put_back(hip::Stream stream) const;

 private:
  PoolWork& work_;
  std::vector<void*> memory_;
  uint64_t bytes_ = 0;
};

}  // namespace gfxgraph::replayer
