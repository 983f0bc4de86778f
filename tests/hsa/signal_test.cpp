// Signals, waits, handlers. Also run under the thread sanitizer.
#include <hsa/amd_hsa_signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/hsa/agent_fixture.h"

namespace gfxgraph::hsa_test {
namespace {

using SignalTest = AgentTest;
using namespace std::chrono_literals;

TEST_F(SignalTest, Operations) {
  const hsa_signal_t s = signal(5);
  EXPECT_EQ(hsa_signal_load_relaxed(s), 5);
  hsa_signal_add_relaxed(s, 3);
  hsa_signal_subtract_relaxed(s, 1);
  EXPECT_EQ(hsa_signal_load_scacquire(s), 7);
  EXPECT_EQ(hsa_signal_exchange_relaxed(s, 12), 7);
  EXPECT_EQ(hsa_signal_cas_relaxed(s, 12, 6), 12);
  EXPECT_EQ(hsa_signal_cas_relaxed(s, 12, 9), 6);
  hsa_signal_and_relaxed(s, 4);
  hsa_signal_or_relaxed(s, 3);
  hsa_signal_xor_relaxed(s, 1);
  EXPECT_EQ(hsa_signal_load_relaxed(s), 6);
  EXPECT_EQ(hsa_signal_destroy(s), HSA_STATUS_SUCCESS);
}

TEST_F(SignalTest, LayoutIsAmds) {
  const hsa_signal_t s = signal(42);
  const auto* const raw = reinterpret_cast<amd_signal_t*>(s.handle);
  EXPECT_EQ(raw->kind, AMD_SIGNAL_KIND_USER);
  EXPECT_EQ(raw->value, 42);
  EXPECT_NE(raw->event_mailbox_ptr, 0u);
  EXPECT_NE(raw->event_id, 0u);
  volatile hsa_signal_value_t* value = nullptr;
  ASSERT_EQ(hsa_amd_signal_value_pointer(s, &value), HSA_STATUS_SUCCESS);
  EXPECT_EQ(value, &raw->value);
  hsa_signal_destroy(s);
  // HIP looks at destroyed signals: the memory stays.
  EXPECT_EQ(raw->kind, AMD_SIGNAL_KIND_INVALID);
  EXPECT_EQ(hsa_signal_load_relaxed(s), 0);
  EXPECT_EQ(hsa_signal_destroy(s), HSA_STATUS_ERROR_INVALID_SIGNAL);
}

TEST_F(SignalTest, BadHandlesDoNothing) {
  for (const uint64_t handle : {uint64_t{0}, uint64_t{3}}) {
    const hsa_signal_t bad{handle};
    EXPECT_EQ(hsa_signal_load_relaxed(bad), 0);
    hsa_signal_store_relaxed(bad, 1);
    EXPECT_EQ(hsa_signal_destroy(bad), HSA_STATUS_ERROR_INVALID_SIGNAL);
  }
}

// Memory of the program is no signal, whatever is in it; nor is the inside of a signal.
TEST_F(SignalTest, MemoryThatIsNoSignalStaysAsItIs) {
  const hsa_signal_t real = signal(5);
  alignas(64) amd_signal_t look_alike = *reinterpret_cast<const amd_signal_t*>(real.handle);
  const amd_signal_t before = look_alike;
  volatile hsa_signal_value_t* value = nullptr;
  for (const uint64_t handle : {reinterpret_cast<uint64_t>(&look_alike), real.handle + 8,
                                real.handle + (1u << 26), uint64_t{0} - 64}) {
    const hsa_signal_t bad{handle};
    EXPECT_EQ(hsa_signal_load_relaxed(bad), 0);
    hsa_signal_store_relaxed(bad, 1);
    hsa_signal_add_relaxed(bad, 1);
    EXPECT_EQ(hsa_amd_signal_value_pointer(bad, &value), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(hsa_signal_destroy(bad), HSA_STATUS_ERROR_INVALID_SIGNAL);
  }
  EXPECT_EQ(std::memcmp(&look_alike, &before, sizeof before), 0);
  EXPECT_EQ(hsa_signal_load_relaxed(real), 5);
  hsa_signal_destroy(real);
}

// Device code may write all of a signal: the agent takes only the value from there.
TEST_F(SignalTest, WhatIsWrittenIntoASignalIsNotTrusted) {
  const hsa_signal_t s = signal(5);
  auto* const raw = reinterpret_cast<amd_signal_t*>(s.handle);
  std::memset(raw->reserved3, 0xff, sizeof raw->reserved3);
  raw->queue_ptr = reinterpret_cast<decltype(raw->queue_ptr)>(uint64_t{0x4141414141414141});
  raw->kind = AMD_SIGNAL_KIND_DOORBELL;
  hsa_signal_store_screlease(s, 3);
  EXPECT_EQ(hsa_signal_load_relaxed(s), 3);
  raw->kind = AMD_SIGNAL_KIND_INVALID;
  EXPECT_EQ(hsa_signal_load_relaxed(s), 3);
  EXPECT_EQ(hsa_signal_destroy(s), HSA_STATUS_SUCCESS);
  raw->kind = AMD_SIGNAL_KIND_USER;
  EXPECT_EQ(hsa_signal_destroy(s), HSA_STATUS_ERROR_INVALID_SIGNAL);
}

TEST_F(SignalTest, WaitTimesOut) {
  const hsa_signal_t s = signal(1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(
      hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_EQ, 0, 20'000'000, HSA_WAIT_STATE_BLOCKED),
      1);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 19ms);
  hsa_signal_destroy(s);
}

TEST_F(SignalTest, EveryCondition) {
  const hsa_signal_t s = signal(3);
  const auto holds = [&](hsa_signal_condition_t condition, int64_t compare) {
    hsa_signal_t list[] = {s};
    hsa_signal_value_t seen = 0;
    hsa_signal_value_t values[] = {compare};
    return hsa_amd_signal_wait_any(1, list, &condition, values, 0, HSA_WAIT_STATE_BLOCKED, &seen) ==
           0;
  };
  EXPECT_TRUE(holds(HSA_SIGNAL_CONDITION_EQ, 3));
  EXPECT_FALSE(holds(HSA_SIGNAL_CONDITION_EQ, 4));
  EXPECT_TRUE(holds(HSA_SIGNAL_CONDITION_NE, 4));
  EXPECT_FALSE(holds(HSA_SIGNAL_CONDITION_NE, 3));
  EXPECT_TRUE(holds(HSA_SIGNAL_CONDITION_LT, 4));
  EXPECT_FALSE(holds(HSA_SIGNAL_CONDITION_LT, 3));
  EXPECT_TRUE(holds(HSA_SIGNAL_CONDITION_GTE, 3));
  EXPECT_FALSE(holds(HSA_SIGNAL_CONDITION_GTE, 4));
  hsa_signal_destroy(s);
}

TEST_F(SignalTest, StoreWakesASleeper) {
  const hsa_signal_t s = signal(1);
  std::atomic<bool> woke{false};
  std::thread sleeper([&] {
    EXPECT_TRUE(wait_until_zero(s));
    woke = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(woke);
  hsa_signal_store_screlease(s, 0);
  sleeper.join();
  EXPECT_TRUE(woke);
  hsa_signal_destroy(s);
}

TEST_F(SignalTest, WaitAnyFindsTheOne) {
  hsa_signal_t list[] = {signal(1), signal(1), signal(1)};
  hsa_signal_condition_t conditions[] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_EQ,
                                         HSA_SIGNAL_CONDITION_EQ};
  hsa_signal_value_t values[] = {0, 0, 0};
  std::thread other([&] {
    std::this_thread::sleep_for(10ms);
    hsa_signal_store_relaxed(list[2], 0);
  });
  hsa_signal_value_t seen = 77;
  EXPECT_EQ(hsa_amd_signal_wait_any(3, list, conditions, values, 10'000'000'000u,
                                    HSA_WAIT_STATE_BLOCKED, &seen),
            2u);
  EXPECT_EQ(seen, 0);
  other.join();
  EXPECT_EQ(hsa_amd_signal_wait_any(2, list, conditions, values, 1'000'000, HSA_WAIT_STATE_BLOCKED,
                                    &seen),
            UINT32_MAX);
  for (const hsa_signal_t s : list) hsa_signal_destroy(s);
}

TEST_F(SignalTest, ASleeperSeesManyChangesInOrder) {
  const hsa_signal_t ping = signal(0);
  const hsa_signal_t pong = signal(0);
  constexpr int kRounds = 2000;
  std::thread other([&] {
    for (int i = 1; i <= kRounds; ++i) {
      hsa_signal_wait_scacquire(ping, HSA_SIGNAL_CONDITION_GTE, i, UINT64_MAX,
                                HSA_WAIT_STATE_BLOCKED);
      hsa_signal_add_relaxed(pong, 1);
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    hsa_signal_add_relaxed(ping, 1);
    hsa_signal_wait_scacquire(pong, HSA_SIGNAL_CONDITION_GTE, i, UINT64_MAX,
                              HSA_WAIT_STATE_BLOCKED);
  }
  other.join();
  EXPECT_EQ(hsa_signal_load_relaxed(pong), kRounds);
  hsa_signal_destroy(ping);
  hsa_signal_destroy(pong);
}

struct Calls {
  std::atomic<int> count{0};
  int wanted = 1;
  hsa_signal_t signal{};
};

bool on_signal(hsa_signal_value_t, void* arg) {
  auto* const calls = static_cast<Calls*>(arg);
  const int wanted = calls->wanted;  // the test may end right after the count
  return ++calls->count < wanted;
}

TEST_F(SignalTest, HandlerRunsOnce) {
  Calls calls;
  const hsa_signal_t s = signal(1);
  ASSERT_EQ(hsa_amd_signal_async_handler(s, HSA_SIGNAL_CONDITION_LT, 1, on_signal, &calls),
            HSA_STATUS_SUCCESS);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(calls.count, 0);
  hsa_signal_store_relaxed(s, 0);
  while (calls.count == 0) std::this_thread::sleep_for(1ms);
  hsa_signal_store_relaxed(s, -1);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(calls.count, 1);
  hsa_signal_destroy(s);
}

TEST_F(SignalTest, HandlerRunsWhenTheConditionHoldsAlready) {
  Calls calls;
  const hsa_signal_t s = signal(0);
  ASSERT_EQ(hsa_amd_signal_async_handler(s, HSA_SIGNAL_CONDITION_EQ, 0, on_signal, &calls),
            HSA_STATUS_SUCCESS);
  while (calls.count == 0) std::this_thread::sleep_for(1ms);
  hsa_signal_destroy(s);
}

TEST_F(SignalTest, HandlerIsArmedAgain) {
  Calls calls;
  calls.wanted = 3;
  const hsa_signal_t s = signal(1);
  ASSERT_EQ(hsa_amd_signal_async_handler(s, HSA_SIGNAL_CONDITION_EQ, 0, on_signal, &calls),
            HSA_STATUS_SUCCESS);
  hsa_signal_store_relaxed(s, 0);
  while (calls.count < 3) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(calls.count, 3);
  hsa_signal_destroy(s);
}

TEST_F(SignalTest, HandlersMayUseTheAgent) {
  struct Chain {
    hsa_signal_t first;
    hsa_signal_t second;
  } chain{signal(1), signal(1)};
  ASSERT_EQ(hsa_amd_signal_async_handler(
                chain.first, HSA_SIGNAL_CONDITION_EQ, 0,
                [](hsa_signal_value_t, void* arg) {
                  hsa_signal_store_screlease(static_cast<Chain*>(arg)->second, 0);
                  return false;
                },
                &chain),
            HSA_STATUS_SUCCESS);
  hsa_signal_store_relaxed(chain.first, 0);
  EXPECT_TRUE(wait_until_zero(chain.second));
  hsa_signal_destroy(chain.first);
  hsa_signal_destroy(chain.second);
}

TEST_F(SignalTest, ManyHandlersFromManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kSignals = 200;
  Calls calls;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kSignals; ++i) {
        const hsa_signal_t s = signal(1);
        EXPECT_EQ(hsa_amd_signal_async_handler(
                      s, HSA_SIGNAL_CONDITION_LT, 1,
                      [](hsa_signal_value_t, void* arg) {
                        ++static_cast<Calls*>(arg)->count;
                        return false;
                      },
                      &calls),
                  HSA_STATUS_SUCCESS);
        hsa_signal_subtract_relaxed(s, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (calls.count < kThreads * kSignals) std::this_thread::sleep_for(1ms);
}

TEST_F(SignalTest, SilentStoreDoesNotWake) {
  const hsa_signal_t s = signal(1);
  Calls calls;
  ASSERT_EQ(hsa_amd_signal_async_handler(s, HSA_SIGNAL_CONDITION_EQ, 0, on_signal, &calls),
            HSA_STATUS_SUCCESS);
  std::this_thread::sleep_for(5ms);
  hsa_signal_silent_store_relaxed(s, 0);
  // A handler thread that looks at everything now and then may find it; not at once.
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(calls.count, 0);
  hsa_signal_store_relaxed(s, 0);
  while (calls.count == 0) std::this_thread::sleep_for(1ms);
}

// A handler that reports when it begins and ends, and blocks in between.
struct Blocker {
  std::atomic<int> entered{0};
  std::atomic<bool> may_return{false};
  std::atomic<int> returned{0};
};
bool block(hsa_signal_value_t, void* arg) {
  auto* const blocker = static_cast<Blocker*>(arg);
  ++blocker->entered;
  while (!blocker->may_return) std::this_thread::sleep_for(1ms);
  ++blocker->returned;
  return false;
}
bool count_call(hsa_signal_value_t, void* arg) {
  ++*static_cast<std::atomic<int>*>(arg);
  return false;
}

// HIP frees a handler's data once it has destroyed the signal.
TEST_F(SignalTest, HandlersOfADestroyedSignalAreNotCalled) {
  std::atomic<int> dropped{0};
  const hsa_signal_t destroyed = signal(1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(
        hsa_amd_signal_async_handler(destroyed, HSA_SIGNAL_CONDITION_LT, 1, count_call, &dropped),
        HSA_STATUS_SUCCESS);
  }
  hsa_signal_destroy(destroyed);
  const hsa_signal_t next = signal(0);  // in the same memory
  ASSERT_EQ(next.handle, destroyed.handle);
  hsa_signal_store_screlease(next, -1);
  std::this_thread::sleep_for(150ms);  // longer than the interval at which all signals are polled
  EXPECT_EQ(dropped, 0);
  // A handler of the new signal is called.
  std::atomic<int> calls{0};
  ASSERT_EQ(hsa_amd_signal_async_handler(next, HSA_SIGNAL_CONDITION_LT, 0, count_call, &calls),
            HSA_STATUS_SUCCESS);
  while (calls == 0) std::this_thread::sleep_for(1ms);
}

// HIP 7.2.4 frees what they use afterwards.
TEST_F(SignalTest, DestroyingASignalWaitsForHandlersThatAreDue) {
  constexpr int kHandlers = 20;
  std::atomic<int> calls{0};
  const hsa_signal_t s = signal(0);
  for (int i = 0; i < kHandlers; ++i) {
    ASSERT_EQ(hsa_amd_signal_async_handler(
                  s, HSA_SIGNAL_CONDITION_LT, 1,
                  [](hsa_signal_value_t, void* arg) {
                    std::this_thread::sleep_for(1ms);
                    ++*static_cast<std::atomic<int>*>(arg);
                    return false;
                  },
                  &calls),
              HSA_STATUS_SUCCESS);
  }
  hsa_signal_destroy(signal(1));  // another one
  EXPECT_EQ(calls, kHandlers);
}

TEST_F(SignalTest, DestroyingASignalWaitsForItsHandler) {
  Blocker blocker;
  const hsa_signal_t s = signal(0);
  ASSERT_EQ(hsa_amd_signal_async_handler(s, HSA_SIGNAL_CONDITION_LT, 1, block, &blocker),
            HSA_STATUS_SUCCESS);
  while (blocker.entered == 0) std::this_thread::sleep_for(1ms);
  std::thread opener([&] {
    std::this_thread::sleep_for(20ms);
    blocker.may_return = true;
  });
  hsa_signal_destroy(s);
  EXPECT_EQ(blocker.returned, 1);
  opener.join();
}

// It may wait for the thread that destroys the signal.
TEST_F(SignalTest, DestroyingASignalDoesNotWaitForever) {
  Blocker blocker;
  const hsa_signal_t s = signal(0);
  ASSERT_EQ(hsa_amd_signal_async_handler(s, HSA_SIGNAL_CONDITION_LT, 1, block, &blocker),
            HSA_STATUS_SUCCESS);
  while (blocker.entered == 0) std::this_thread::sleep_for(1ms);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) hsa_signal_destroy(signal(1));  // the first one waits
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  hsa_signal_destroy(s);
  blocker.may_return = true;
  while (blocker.returned == 0) std::this_thread::sleep_for(1ms);
}

TEST_F(SignalTest, AHandlerMayDestroyItsSignal) {
  struct Own {
    hsa_signal_t signal;
    std::atomic<int> calls{0};
  } own;
  own.signal = signal(0);
  ASSERT_EQ(hsa_amd_signal_async_handler(
                own.signal, HSA_SIGNAL_CONDITION_LT, 1,
                [](hsa_signal_value_t, void* arg) {
                  auto* const its = static_cast<Own*>(arg);
                  hsa_signal_destroy(its->signal);
                  ++its->calls;
                  return true;  // not called again all the same
                },
                &own),
            HSA_STATUS_SUCCESS);
  while (own.calls == 0) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(150ms);
  EXPECT_EQ(own.calls, 1);
}

TEST_F(SignalTest, NoHandlerIsCalledAfterShutDown) {
  Blocker blocker;
  std::atomic<int> calls{0};
  const hsa_signal_t first = signal(0);
  const hsa_signal_t second = signal(0);
  ASSERT_EQ(hsa_amd_signal_async_handler(first, HSA_SIGNAL_CONDITION_LT, 1, block, &blocker),
            HSA_STATUS_SUCCESS);
  while (blocker.entered == 0) std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(hsa_amd_signal_async_handler(second, HSA_SIGNAL_CONDITION_LT, 1, count_call, &calls),
              HSA_STATUS_SUCCESS);
  }
  std::thread opener([&] {
    std::this_thread::sleep_for(20ms);
    blocker.may_return = true;
  });
  ASSERT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(blocker.returned, 1);
  EXPECT_EQ(calls, 0);
  opener.join();
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  std::this_thread::sleep_for(150ms);
  EXPECT_EQ(calls, 0);
  const hsa_signal_t again = signal(0);
  ASSERT_EQ(hsa_amd_signal_async_handler(again, HSA_SIGNAL_CONDITION_LT, 1, count_call, &calls),
            HSA_STATUS_SUCCESS);
  while (calls == 0) std::this_thread::sleep_for(1ms);
}

// A program may call exit() in a callback.
TEST_F(SignalTest, AHandlerMayShutDown) {
  std::atomic<int> status{-1};
  const hsa_signal_t s = signal(0);
  ASSERT_EQ(hsa_amd_signal_async_handler(
                s, HSA_SIGNAL_CONDITION_LT, 1,
                [](hsa_signal_value_t, void* arg) {
                  *static_cast<std::atomic<int>*>(arg) = hsa_shut_down();
                  return false;
                },
                &status),
            HSA_STATUS_SUCCESS);
  const auto start = std::chrono::steady_clock::now();
  while (status == -1) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(status, HSA_STATUS_SUCCESS);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
}

#ifndef __SANITIZE_THREAD__
TEST_F(SignalTest, AForkedChildDoesNotHang) {
  const hsa_signal_t s = signal(1);
  std::thread keeps_busy([&] { wait_until_zero(s); });
  std::this_thread::sleep_for(5ms);
  const pid_t child = fork();
  if (child == 0) {
    // What HIP does at exit: waits for signals that nobody will change any more.
    const bool ended = hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                                 HSA_WAIT_STATE_BLOCKED) < 1;
    hsa_signal_t made{};
    const bool refused =
        hsa_signal_create(1, 0, nullptr, &made) == HSA_STATUS_ERROR_INVALID_RUNTIME_STATE;
    _exit(ended && refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  hsa_signal_store_relaxed(s, 0);
  keeps_busy.join();
  hsa_signal_destroy(s);
}
#endif

}  // namespace
}  // namespace gfxgraph::hsa_test
