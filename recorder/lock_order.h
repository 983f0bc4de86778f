// All locks of the recorder, in the order in which one thread may take them. Builds for debugging
// and with sanitizers check each of them (GFXGRAPH_CHECK_LOCKS): a lock that is taken in a wrong
// order ends the process with the names of both. In others a mutex is std::mutex.
#pragma once

#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <type_traits>

namespace gfxgraph::recorder {

enum class LockRank : uint8_t {
  kAsking,    // Recorder: who records, at the first use of HIP
  kHandover,  // Handover: who writes
  kModel,     // Guard: the model and the contents
  kLanes,     // LaunchLanes: there is no new lane
  kLane,      // LaunchLane: its thread is in a launch
  kHostRuns,  // HostRuns: functions of the program, on threads of the runtime
  kLast,      // data of one part; while it is held no code of another part runs
};

// The ranks that a thread holds.
class HeldRanks {
 public:
  static void enter(LockRank rank) noexcept {
    may_enter(rank);
    entered(rank);
  }
  static void may_enter(LockRank rank) noexcept {
    const uint32_t same_or_later = held_ >> static_cast<unsigned>(rank);
    if (same_or_later != 0) [[unlikely]] {
      wrong(rank, static_cast<LockRank>(static_cast<unsigned>(rank) +
                                        static_cast<unsigned>(__builtin_ctz(same_or_later))));
    }
  }
  // By a try, which waits for nobody.
  static void entered(LockRank rank) noexcept { held_ |= 1u << static_cast<unsigned>(rank); }
  static void left(LockRank rank) noexcept { held_ &= ~(1u << static_cast<unsigned>(rank)); }

 private:
  [[noreturn]] static void wrong(LockRank wanted, LockRank held) noexcept {
    constexpr std::array<const char*, 7> kNames = {"asking", "handover",  "model", "lanes",
                                                   "lane",   "host runs", "last"};
    for (const char* part :
         {"gfxgraph-recorder: lock '", kNames[static_cast<size_t>(wanted)], "' is taken while '",
          kNames[static_cast<size_t>(held)], "' is held\n"}) {
      (void)!::write(STDERR_FILENO, part, std::strlen(part));
    }
    std::abort();
  }

  static constinit inline thread_local uint32_t held_ = 0;
};

template <LockRank kRank>
class CheckedMutex {
 public:
  constexpr CheckedMutex() noexcept = default;
  CheckedMutex(const CheckedMutex&) = delete;
  CheckedMutex& operator=(const CheckedMutex&) = delete;

  void lock() {
    HeldRanks::enter(kRank);
    mutex_.lock();
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    HeldRanks::entered(kRank);
    return true;
  }
  void unlock() {
    HeldRanks::left(kRank);
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
};

#ifdef GFXGRAPH_CHECK_LOCKS
inline constexpr bool kLocksAreChecked = true;
template <LockRank kRank>
using Mutex = CheckedMutex<kRank>;
using Condition = std::condition_variable_any;
#else
inline constexpr bool kLocksAreChecked = false;
template <LockRank>
using Mutex = std::mutex;
using Condition = std::condition_variable;
#endif

using ModelMutex = Mutex<LockRank::kModel>;
using HandoverMutex = Mutex<LockRank::kHandover>;
using HostRunsMutex = Mutex<LockRank::kHostRuns>;

}  // namespace gfxgraph::recorder
