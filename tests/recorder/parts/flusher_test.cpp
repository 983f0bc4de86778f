// The thread that hands over what was gathered.
#include "recorder/queue/flusher.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <semaphore>
#include <string>
#include <utility>

namespace gfxgraph::recorder {
namespace {

TEST(Flusher, BeginsGoesRoundAndEnds) {
  std::string order;
  std::binary_semaphore round(0);
  bool once = false;
  Flusher flusher;
  ASSERT_TRUE(flusher.start([&] { order += "first "; },
                            [&] {
                              if (!std::exchange(once, true)) {
                                order += "round ";
                                round.release();
                              }
                              return true;
                            },
                            [&] { order += "last"; }));
  round.acquire();
  flusher.stop();
  EXPECT_EQ(order, "first round last");
}

TEST(Flusher, EndsWhenARoundSaysSo) {
  std::binary_semaphore ended(0);
  std::atomic<int> rounds{0};
  Flusher flusher;
  ASSERT_TRUE(flusher.start([] {},
                            [&] {
                              ++rounds;
                              return false;
                            },
                            [&] { ended.release(); }));
  ended.acquire();
  flusher.stop();
  EXPECT_EQ(rounds, 1);
}

TEST(Flusher, TakesNoneOfTheProgramsSignals) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  Flusher flusher;
  ASSERT_TRUE(flusher.start([&] { pthread_sigmask(SIG_SETMASK, nullptr, &blocked); },
                            [] { return false; }, [] {}));
  flusher.stop();
  EXPECT_TRUE(sigismember(&blocked, SIGINT));
  EXPECT_TRUE(sigismember(&blocked, SIGUSR2));
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGINT), sigismember(&mine, SIGINT));
}

// A program that waits again and again does something else than to write, most of its time.
TEST(Flusher, AWaitRightBehindAnotherIsLeftToTheThread) {
  std::binary_semaphore round(0);
  Flusher flusher;
  ASSERT_TRUE(flusher.start([] {},
                            [&] {
                              round.release();
                              return false;
                            },
                            [] {}));
  int drained = 0;
  const auto drain = [&] {
    ++drained;
    for (const uint64_t end = monotonic_ns() + 50'000'000; monotonic_ns() < end;) {
    }
  };
  flusher.at_wait(drain);
  EXPECT_EQ(drained, 1);
  flusher.at_wait(drain);
  EXPECT_EQ(drained, 1);
  round.acquire();
  flusher.stop();
}

}  // namespace
}  // namespace gfxgraph::recorder
