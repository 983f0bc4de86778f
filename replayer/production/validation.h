// The same work a second time, by the caller's function over copies, to compare a step with it.
#pragma once

#include <cstddef>
#include <vector>

#include "replayer/production/pool_buffers.h"
#include "replayer/production/safety/state_copies.h"

namespace gfxgraph::replayer {

// Of one bucket, in this order for each run: prepare, begin, the step, turn, the caller's function
// over memory(), compare. Not thread-safe.
class Validation {
 public:
  Validation(PoolWork& work, uint64_t rows)
      : work_(work), rows_(rows), buffers_(work, rows), before_(work), after_(work) {}
  ~Validation() { release(); }
  Validation(const Validation&) = delete;
  Validation& operator=(const Validation&) = delete;

  // Asked for each run: whether it is to be validated.
  bool is_due() {
    const uint32_t every = work_.settings().safety.validate_every;
    if (every == 0 || ++runs_ < every) return false;
    runs_ = 0;
    return true;
  }
  // Whether there is room for it; asked for once.
  bool prepare();
  // No work may use its memory any more.
  void release() noexcept;
  uint64_t bytes() const { return buffers_.bytes() + before_.bytes() + after_.bytes(); }
  void* const* memory() const { return buffers_.memory(); }

  // Copies the step's buffers, which have the run's inputs already, and the states.
  Result<void> begin(const PoolBuffers& step, hip::Stream stream) const;
  // Keeps the states that the step left, and puts those before it in their place.
  Result<void> turn(hip::Stream stream) const;
  // Waits. Whether `step`, with the step's outputs, and the states are equal to the function's.
  Result<bool> compare(const Run& run, const PoolBuffers& step);
  // The function's outputs.
  Result<void> copy_out(const Run& run) const { return buffers_.copy_out(run); }

 private:
  Result<bool> compare(uint32_t type, const void* step, const void* function, uint64_t bytes,
                       hip::Stream stream);

  PoolWork& work_;
  const uint64_t rows_;
  PoolBuffers buffers_;
  StateCopies before_, after_;  // the step
  uint32_t runs_ = 0;           // since the last one that was due
  bool tried_ = false;
  bool ready_ = false;
  std::vector<std::byte> step_bytes_, function_bytes_;  // on the host
};

}  // namespace gfxgraph::replayer
