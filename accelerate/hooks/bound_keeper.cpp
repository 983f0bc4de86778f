#include "accelerate/hooks/bound_keeper.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "accelerate/hooks/hooks_internal.h"
#include "base/process/signals_blocked.h"

namespace gfxgraph::accelerate {
namespace {

// How often it looks, so that what is held goes out before the bound; and when it goes to sleep.
constexpr long kLookNs = 25'000;
constexpr uint64_t kDueNs = kBoundNs - 2 * kLookNs;
constexpr uint64_t kQuietNs = 2'000'000;

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value) noexcept {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG,
                 value, nullptr, nullptr, 0);
}

}  // namespace

uint64_t bound_clock_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

void BoundKeeper::begins(uint64_t since_ns) noexcept {
  begun_.store(since_ns);
  if (awake_.load() != 0) return;
  awake_.store(1);
  (void)futex(awake_, FUTEX_WAKE, 1);
}

bool BoundKeeper::start() noexcept {
  if (started_) return true;
  const SignalsBlocked for_the_new_thread;
  pthread_t thread{};
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  started_ = pthread_create(&thread, &attributes, run, this) == 0;
  (void)pthread_attr_destroy(&attributes);
  return started_;
}

void* BoundKeeper::run(void* self) noexcept {
  (void)prctl(PR_SET_NAME, "gfxgraph-bound");
  (void)prctl(PR_SET_TIMERSLACK, 1000UL);
  const Inside always;  // its calls are submissions
  for (;;) static_cast<BoundKeeper*>(self)->keep();
  return nullptr;
}

// One look.
void BoundKeeper::keep() noexcept {
  const uint64_t since = holder()->held_since_ns();
  const uint64_t now = bound_clock_ns();
  if (since != 0 && now >= since + kDueNs) holder()->overdue(since);
  if (since == 0 && now >= begun_.load() + kQuietNs) {
    awake_.store(0);
    // What began meanwhile either sees 0 and wakes this thread, or is seen here.
    if (holder()->held_since_ns() == 0) (void)futex(awake_, FUTEX_WAIT, 0);
    awake_.store(1);
    return;
  }
  const timespec look{.tv_sec = 0, .tv_nsec = kLookNs};
  (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &look, nullptr);
}

BoundKeeper& bound_keeper() noexcept {
  static constinit BoundKeeper keeper;
  return keeper;
}

}  // namespace gfxgraph::accelerate
