// What all buckets of a pool share: its work, its device and the memory that it may
// use there. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "gfxgraph/production.h"
#include "replayer/abi/hip_library.h"
#include "replayer/abi/relaxed_capture.h"
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

  // Calls the caller's function; its status. `memory`: of all tensors.
  int32_t call(uint64_t size, uint64_t max_length, void* const* memory, hip::Stream stream,
               bool captured) const;
  // The same at a border of a step.
  int32_t call_border(const gfxgraph_border_t& border, const gfxgraph_call_t& call) const;
  // What it is called with.
  gfxgraph_call_t describe(uint64_t size, uint64_t max_length, void* const* memory,
                           hip::Stream stream, bool captured) const;
  void tell(const gfxgraph_fall_t& fall) const;

  // Held while a run is submitted if the work has states.
  std::unique_lock<std::mutex> lock_states() {
    return settings_->states.empty() ? std::unique_lock<std::mutex>()
                                     : std::unique_lock(states_mutex_);
  }

  // Held while memory is reserved and allocated: others then see it on the device.
  class Allocating {
   public:
    Allocating(std::mutex& mutex, RelaxedCapture::Exchange exchange)
        : lock_(mutex), relaxed_(exchange) {}

   private:
    std::lock_guard<std::mutex> lock_;
    RelaxedCapture relaxed_;
  };
  Allocating allocating() { return {allocation_mutex_, exchange_mode_}; }
  // Takes bytes beneath the caps. Else what is full, and what to do: the end of a sentence.
  std::optional<std::string> reserve(uint64_t bytes);
  // The same of max_device_share alone, and takes nothing.
  std::optional<std::string> check_share(uint64_t bytes) const;
  void release(uint64_t bytes) noexcept { reserved_ -= bytes; }
  uint64_t reserved() const noexcept { return reserved_; }

  // Device memory as if the program itself allocated it: a recorder in the process must know the
  // buffers that captured launches use.
  Result<void*> allocate(uint64_t bytes) const;
  void free(void* memory) const noexcept;
  // Asynchronous.
  Result<void> copy(void* to, const void* from, uint64_t bytes, hip::Stream stream,
                    std::string_view what) const;

 private:
  // Launches of the caller's may be of kernels that graphs of other buckets launch now.
  LaunchLock::Launching launching() const {
    return launch_lock_ ? launch_lock_->launching() : LaunchLock::Launching();
  }

  std::unique_ptr<const PoolSettings> settings_;
  std::shared_ptr<const HipLibrary> library_;
  int device_;
  std::shared_ptr<LaunchLock> launch_lock_;  // null: the runtime needs none
  int (*malloc_)(void** pointer, size_t size);
  int (*free_)(void* pointer);
  RelaxedCapture::Exchange exchange_mode_;
  std::mutex states_mutex_, allocation_mutex_;
  std::atomic<uint64_t> reserved_{0};
};

}  // namespace gfxgraph::replayer
