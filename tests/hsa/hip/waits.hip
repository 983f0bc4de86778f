// Waits of one thread beside launches of another. HIP 5.2.3 takes a stream for idle when a wait for it returns, also of
// what was launched after that wait began: the launching thread's own wait then returns at once (kWaitForgetsWork in
// base/hip_quirks.inc).
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "check.h"

__global__ void tell(volatile int* place, int value, int turns) {
  int number = value;
  for (int i = 0; i < turns; ++i) number = number * 1664525 + 1013904223;
  *place = number == value + 1 ? 0 : value;  // after the turns
}

// Rounds whose wait returned before their kernel had run. With `apart`, no wait of the other thread overlaps a call of
// this one.
static int early_waits(int rounds, bool apart, bool until_seen) {
  int* place = nullptr;
  HIP_OK(hipHostMalloc(reinterpret_cast<void**>(&place), 2 * sizeof(int), hipHostMallocDefault));
  *place = -1;
  std::mutex calls;
  const auto lock = [&] { return apart ? std::unique_lock(calls) : std::unique_lock<std::mutex>(); };
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      {
        const auto held = lock();
        HIP_OK(hipDeviceSynchronize());
      }
      std::this_thread::yield();
    }
  });
  int early = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  for (int round = 0; round < rounds && !(until_seen && early > 0) && std::chrono::steady_clock::now() < end; ++round) {
    for (const int which : {1, 0}) {  // the other thread waits for the first, often
      const auto held = lock();
      tell<<<1, 1>>>(place + which, round, which == 1 ? 2000 : 100);
    }
    {
      const auto held = lock();
      HIP_OK(hipDeviceSynchronize());
    }
    if (*static_cast<volatile int*>(place) == round) continue;
    ++early;
    while (*static_cast<volatile int*>(place) != round) std::this_thread::yield();  // it is not lost
  }
  over = true;
  other.join();
  HIP_OK(hipHostFree(place));
  return early;
}

int main() {
  int version = 0;
  HIP_OK(hipRuntimeGetVersion(&version));
  CHECK(early_waits(500, true, false) == 0);
  const bool forgets = version < 50300000;
  // Seen in a tenth of a second mostly, and once not in five; on a machine with ten times its load not in a hundred.
  const int early = early_waits(forgets ? 10'000'000 : 500, false, forgets);
  std::printf("%d early\n", early);
  if (forgets && early == 0) {
    std::puts("skipped: no wait was early in 100 s, which is left to chance: run it on an idle machine");
    return 77;
  }
  CHECK((early > 0) == forgets);
  return done();
}
