// Threads beside a random program that allocate, use and free memory of their own. Addresses pass
// from one thread to another, differently in each run; what they compute does not depend on it.
#pragma once

#include <hip/hip_runtime.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace random_programs {

// Held around each HIP call of the program, and while a side thread frees memory, where the runtime
// needs that: hipFree waits for all streams, and with HIP 5.2.3 one thread's wait makes the runtime
// forget what another one submits meanwhile (docs/runtime-quirks.md, kWaitForgetsWork).
std::unique_lock<std::mutex> apart();

class SideThreads {
 public:
  SideThreads() = default;
  SideThreads(const SideThreads&) = delete;
  SideThreads& operator=(const SideThreads&) = delete;
  ~SideThreads() { join(); }
  // `pools`: by hipMallocAsync, too, after which HIP 5.2.3 hangs in hipStreamDestroy of any stream.
  // `cancel`: the last one does not return, but is cancelled between two HIP calls.
  void start(uint64_t seed, int threads, bool pools, bool cancel);
  // Waits for all. Throws Failure if one computed something else than expected.
  void finish();

 private:
  struct Side {
    uint64_t seed = 0;
    uint64_t number = 0;
    hipStream_t stream = nullptr;
    bool pools = false;
    bool endless = false;
    std::atomic<bool> done{false};
    std::string failure;
    pthread_t thread = {};
  };
  static void* run(void* side);
  void join();

  std::vector<Side*> sides_;
};

}  // namespace random_programs
