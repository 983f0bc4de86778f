// Loops that count, read the clock, or change memory and change it back: those without an end are
// ended by the watchdog's limits, those with one end by themselves. Also run under the thread
// sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/emulator/test_device.h"

namespace gfxgraph::emulator {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::Shape;
using testing::TestDevice;

constexpr Shape shape(uint32_t groups, uint16_t items) {
  return {.grid = {groups * items, 1, 1}, .block = {items, 1, 1}};
}

struct Case {
  const char* code;
  unsigned threads;
};

class Livelock : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr uint64_t kFew = 1 << 20;
  static constexpr uint64_t kMany = 400'000'000;

  void make_device(EngineOptions options) {
    options.threads = GetParam().threads;
    device_ = std::make_unique<TestDevice>(options);
    const std::string code = GFXGRAPH_KERNEL_DIR "/livelocks_";
    ASSERT_EQ(device_->load(code + GetParam().code + ".co"), "");
    words_ = device_->array<unsigned>(4096, "words");
    out_ = device_->array<unsigned>(4096, "out");
  }
  void limit(uint64_t instructions) {
    EngineOptions options;
    options.livelock_instructions = instructions;
    make_device(options);
  }
  std::string report(const char* kernel, const Shape& s) {
    std::fill(words_, words_ + 4096, 0);
    const auto result = device_->launch(kernel, s, words_);
    if (result) return "it ended";
    EXPECT_EQ(result.error().kind, FaultKind::kDeadlock);
    // With several threads the waves of all of them can come back to the same state in one look.
    if (GetParam().threads == 1) {
      EXPECT_FALSE(result.error().proven);
    }
    return result.error().to_string();
  }
  template <typename... Args>
  void expect_end(const char* kernel, const Shape& s, Args... args) {
    std::fill(words_, words_ + 4096, 0);
    const auto result = device_->launch(kernel, s, args...);
    ASSERT_TRUE(result) << kernel << ": " << result.error().to_string();
  }
  std::unique_ptr<TestDevice> device_;
  unsigned* words_ = nullptr;
  unsigned* out_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Code, Livelock,
                         ::testing::Values(Case{"O0", 1}, Case{"O2", 1}, Case{"O2", 3},
                                           Case{"wave64", 2}),
                         [](const auto& i) {
                           return i.param.code + std::string("_") + std::to_string(i.param.threads);
                         });

TEST_P(Livelock, CountersAndClocksAreEndedWithTheirPolls) {
  limit(kFew);
  const unsigned waves = GetParam().code == std::string("wave64") ? 6 : 12;
  for (const char* kernel : {"count_in_vain", "count_in_floats", "clock_in_vain", "count_by_lane"})
    EXPECT_THAT(report(kernel, shape(3, 128)),
                AllOf(HasSubstr("no wave ended during 1048576 instructions"),
                      ContainsRegex(std::string("deadlock: kernel ") + kernel + ", workgroup"),
                      HasSubstr(std::to_string(waves) + " waves repeating "),
                      ContainsRegex("_load_dword \\(.*livelocks.hip:[0-9]+\\) of 0x[0-9a-f]+ "
                                    "\\(\"words\" \\+ 0\\): workgroup \\(0,0,0\\) waves 0-")));
}

TEST_P(Livelock, WavesThatMeetAtBarriersAreListed) {
  limit(kFew);
  EXPECT_THAT(
      report("count_through_barriers", shape(2, 128)),
      AllOf(HasSubstr("no wave ended during "), ContainsRegex("waves? in the barrier at ")));
}

TEST_P(Livelock, LocksAreEndedWithTheirWord) {
  limit(kFew);
  for (const char* kernel : {"lock_in_vain", "lock_with_owner"})
    EXPECT_THAT(report(kernel, shape(3, 1)),
                // All of them may stand where they look at the word beside the lock.
                AllOf(HasSubstr("no wave ended during "), ContainsRegex("waves? repeating "),
                      ContainsRegex("\\(\"words\" \\+ [04]\\)")));
  EXPECT_THAT(report("lock_in_lds", shape(2, 128)), ContainsRegex("waves? repeating "));
  EXPECT_THAT(report("to_and_fro", shape(2, 32)), ContainsRegex("waves? repeating "));
  EXPECT_THAT(report("add_and_subtract", shape(3, 32)), HasSubstr("3 waves repeating "));
}

TEST_P(Livelock, TheCallerMayEndThemByTime) {
  EngineOptions options;
  std::atomic<unsigned> asked{0};
  options.long_run = [&](const LongRun& run) {
    if (GetParam().threads == 1) {
      EXPECT_FALSE(run.blocked);
    }
    return ++asked < 3 ? LongRunAnswer::kGoOn : LongRunAnswer::kEnd;
  };
  make_device(options);
  EXPECT_THAT(report("lock_in_vain", shape(3, 1)),
              // As above: at the lock, or at the word beside it.
              AllOf(ContainsRegex("no wave ended for .* s"), ContainsRegex("waves? repeating "),
                    ContainsRegex("\\(\"words\" \\+ [04]\\)")));
}

TEST_P(Livelock, LoopsThatEndAreNotAccused) {
#ifdef GFXGRAPH_ONE_ISA  // a sanitizer's build: checks begin earlier there, too
  if (GetParam().code == std::string("O0")) GTEST_SKIP() << "takes long";
  const unsigned rounds = 10000;
#else
  const unsigned rounds = GetParam().code == std::string("O0") ? 40000 : 300000;
#endif
  limit(kMany);
  out_[0] = 0;
  expect_end("two_locks", shape(2, 32), words_, out_, rounds / 4);
  expect_end("turns_under_lock", shape(3, 32), words_, rounds);
  expect_end("lock_until_worked", shape(4, 32), words_, out_, 2 * rounds, 4u);
  EXPECT_EQ(out_[0], 1u);
  expect_end("count_in_scratch", shape(2, 64), words_, rounds);
  EXPECT_EQ(words_[1], rounds);
  expect_end("count_in_lds", shape(1, 32), words_, rounds);
  EXPECT_EQ(words_[1], rounds);
  expect_end("wait_for_clock", shape(1, 64), words_, 100 * rounds);
  EXPECT_EQ(words_[1], 7u);
}

}  // namespace
}  // namespace gfxgraph::emulator
