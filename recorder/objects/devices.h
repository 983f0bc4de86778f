// The devices of the recorded program: which one a thread's calls go to, and which one a stream is
// of. HIP counts them from 0; most programs use device 0 alone, and nothing here costs them more
// than a look at a flag.
#pragma once

#include <atomic>

#include "format/trace.h"
#include "recorder/handle.h"

namespace gfxgraph::recorder {

// What the thread's last hipSetDevice chose; HIP keeps it per thread.
extern constinit thread_local format::DeviceNumber current_device;

// Stands for the null stream of a device; nullptr for device 0's. No stream has such a handle.
Handle null_stream(format::DeviceNumber device) noexcept;
// The device whose null stream it stands for; 0: it stands for none, or for device 0's.
format::DeviceNumber device_of_null_stream(Handle stream) noexcept;

// Streams of the program. Any thread, with any lock.
class DeviceStreams {
 public:
  // A handle may be reused: also for streams of device 0.
  static void created(Handle stream, format::DeviceNumber device) noexcept;
  static format::DeviceNumber device_of(Handle stream) noexcept {
    return several() ? look_up(stream) : 0;
  }
  // Whether the program has chosen another device than 0.
  static bool several() noexcept { return several_.load(std::memory_order_acquire); }
  static void use_several() noexcept { several_.store(true, std::memory_order_release); }

 private:
  static format::DeviceNumber look_up(Handle stream) noexcept;
  static constinit inline std::atomic<bool> several_{false};
};

// The handle that stands for this thread's stream in calls of the per-thread-default-stream API.
Handle per_thread_stream() noexcept;
// hipDeviceReset frees the streams of all threads.
void threads_lose_their_streams() noexcept;
// `stream` is this thread's, which used it before it was freed.
bool is_freed_stream_of_thread(Handle stream) noexcept;

}  // namespace gfxgraph::recorder
