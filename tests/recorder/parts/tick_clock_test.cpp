// When launches were made, by the processor's counter.
#include "recorder/queue/tick_clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <vector>

namespace gfxgraph::recorder {
namespace {

void sleep_ms(long milliseconds) {
  const timespec time{0, milliseconds * 1'000'000};
  nanosleep(&time, nullptr);
}

// Each stamp stands between what the system's clock said before it and after it.
TEST(TickClockTest, SaysWhatTheSystemsClockSaid) {
  for (const bool started : {true, false}) {  // not started it asks the system
    TickClock clock;
    if (started) clock.start();
    struct Stamp {
      uint64_t before, ticks, after;
    };
    for (int round = 0; round < 3; ++round) {
      std::vector<Stamp> stamps;
      for (int i = 0; i < 20; ++i) {
        sleep_ms(1);
        const uint64_t before = monotonic_ns();
        const uint64_t ticks = clock.ticks();
        stamps.push_back({before, ticks, monotonic_ns()});
      }
      clock.mark();
      constexpr uint64_t kSlackNs = 100'000;  // a mark that was taken while another program ran
      for (const Stamp& stamp : stamps) {
        EXPECT_GE(clock.ns_at(stamp.ticks) + kSlackNs, stamp.before);
        EXPECT_LE(clock.ns_at(stamp.ticks), stamp.after + kSlackNs);
      }
    }
  }
}

TEST(TickClockTest, TimesRiseWithTheStamps) {
  TickClock clock;
  clock.start();
  uint64_t last = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<uint64_t> stamps(100);
    for (uint64_t& stamp : stamps) stamp = clock.ticks();
    clock.mark();
    for (const uint64_t stamp : stamps) {
      EXPECT_GE(clock.ns_at(stamp) + 1, last);
      last = clock.ns_at(stamp);
    }
  }
}

TEST(TickClockTest, WithoutTimeBetweenTwoMarksItIsTheLastOnes) {
  TickClock clock;
  clock.start();
  clock.mark();
  const uint64_t stamp = clock.ticks();
  clock.mark();
  const uint64_t stamped = clock.ns_at(stamp);
  const uint64_t later = clock.ns_at(clock.ticks());
  const uint64_t now = monotonic_ns();  // after both: arguments are evaluated in any order
  EXPECT_LE(stamped, now);
  EXPECT_LE(later, now);
}

}  // namespace
}  // namespace gfxgraph::recorder
