// What all buckets of a pool share: its work, its device and the memory that it may
// use there. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "gfxgraph/production.h"
#include "replayer/abi/hip_library.h"
#include "replayer/production/pool_settings.h"
#include "replayer/session/launch_lock.h"

namespace gfxgraph::replayer {

class PoolWork {
 public:
  PoolWork(std::unique_ptr<const PoolSettings> settings, std::shared_ptr<const HipLibrary> library,
           int device);

  const PoolSettings& settings() const { return *settings_; }
  const HipLibrary& library() const { return *library_; }
  const std::shared_ptr<const HipLibrary>& share_library() const { return library_; }
  int device() const { return device_; }

  // Calls the caller's function; its status.
  int32_t call(uint64_t size, void* const* memory, hip::Stream stream, bool captured) const;
  void tell(const gfxgraph_fall_t& fall) const;

  // Held while a run is submitted if the work has states.
  std::unique_lock<std::mutex> lock_states() {
    return settings_->states.empty() ? std::unique_lock<std::mutex>()
                                     : std::unique_lock(states_mutex_);
  }

  // Takes bytes of the cap; false: it has not as many left.
  bool reserve(uint64_t bytes) noexcept;
  void release(uint64_t bytes) noexcept { reserved_ -= bytes; }
  uint64_t reserved() const noexcept { return reserved_; }

  // Device memory as if the program itself allocated it: a recorder in the process must know the
  // buffers that captured launches use.
  Result<void*> allocate(uint64_t bytes) const;
  void free(void* memory) const noexcept;

 private:
  std::unique_ptr<const PoolSettings> settings_;
  std::shared_ptr<const HipLibrary> library_;
  int device_;
  std::shared_ptr<LaunchLock> launch_lock_;  // null: the runtime needs none
  int (*malloc_)(void** pointer, size_t size);
  int (*free_)(void* pointer);
  std::mutex states_mutex_;
  std::atomic<uint64_t> reserved_{0};
};

}  // namespace gfxgraph::replayer
