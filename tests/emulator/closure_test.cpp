// Loops that count, read the clock, or change memory and change it back: those without an end are
// ended, those with one end by themselves. Also run under the thread sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

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

class Closure : public ::testing::TestWithParam<Case> {
 protected:
  EngineOptions options() const {
    EngineOptions options;
    options.threads = GetParam().threads;
    // So that a loop that is not proven fails the test instead of running on.
    options.livelock_instructions = 400'000'000;
    return options;
  }
  void SetUp() override {
#ifdef GFXGRAPH_ONE_ISA
    if (GetParam().code == std::string("O0") && !is_short()) GTEST_SKIP() << "takes long";
#endif
    device_ = std::make_unique<TestDevice>(options());
    const std::string code = GFXGRAPH_KERNEL_DIR "/closure_";
    ASSERT_EQ(device_->load(code + GetParam().code + ".co"), "");
    words_ = device_->array<unsigned>(4096, "words");
    out_ = device_->array<unsigned>(4096, "out");
  }
  std::string report(const char* kernel, const Shape& s) {
    std::fill(words_, words_ + 4096, 0);
    const auto result = device_->launch(kernel, s, words_);
    if (result) return "it ended";
    EXPECT_EQ(result.error().kind, FaultKind::kDeadlock);
    return result.error().to_string();
  }
  static bool is_short() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    return std::string(test->name()).starts_with("ThroughBarriers");
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
INSTANTIATE_TEST_SUITE_P(Code, Closure,
                         ::testing::Values(Case{"O0", 1}, Case{"O2", 1}, Case{"O2", 3},
                                           Case{"wave64", 2}),
                         [](const auto& i) {
                           return i.param.code + std::string("_") + std::to_string(i.param.threads);
                         });

TEST_P(Closure, CountingInVain) {
  for (const char* kernel : {"count_in_vain", "count_in_floats", "clock_in_vain", "count_by_lane"})
    EXPECT_THAT(
        report(kernel, shape(3, 128)),
        AllOf(HasSubstr("no wave can make progress: each one waits, or repeats a loop without"),
              ContainsRegex(std::string("kernel ") + kernel + ", workgroup"),
              HasSubstr("waves repeating "), HasSubstr("(\"words\" + 0)")));
}

TEST_P(Closure, ThroughBarriers) {
  EXPECT_THAT(report("count_through_barriers", shape(2, 128)),
              HasSubstr("no wave can make progress"));
}

TEST_P(Closure, LocksInVain) {
  for (const char* kernel : {"lock_in_vain", "lock_with_owner"})
    EXPECT_THAT(report(kernel, shape(3, 1)),
                AllOf(HasSubstr("no wave can terminate under any schedule"),
                      HasSubstr("3 waves repeating ")));
  EXPECT_THAT(report("lock_in_lds", shape(2, 128)), HasSubstr("no wave can make progress"));
  EXPECT_THAT(report("to_and_fro", shape(2, 32)),
              HasSubstr("no wave can terminate under any schedule"));
  EXPECT_THAT(report("add_and_subtract", shape(3, 32)),
              HasSubstr("no wave can terminate under any schedule"));
}

TEST_P(Closure, LoopsThatEndAreNotAccused) {
#ifdef GFXGRAPH_ONE_ISA  // a sanitizer's build: looks begin earlier there, too
  const unsigned rounds = 10000;
#else
  const unsigned rounds = GetParam().code == std::string("O0") ? 40000 : 300000;
#endif
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

class ClosureWithHost : public Closure {
 protected:
  // `asked` is called at each question whether to give up.
  void make_device(std::function<bool(const emulator::Standstill&)> asked) {
    EngineOptions with_host = options();
    with_host.livelock_instructions = 0;
    with_host.give_up = std::move(asked);
    device_ = std::make_unique<TestDevice>(with_host);
    const std::string code = GFXGRAPH_KERNEL_DIR "/closure_";
    ASSERT_EQ(device_->load(code + GetParam().code + ".co"), "");
    words_ = device_->array<unsigned>(4096, "words");
    answer_ = reinterpret_cast<unsigned*>(device_->allocate(4096, RegionKind::kHost, "answer"));
  }
  unsigned* answer_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Code, ClosureWithHost, ::testing::Values(Case{"O2", 1}, Case{"O2", 3}),
                         [](const auto& i) {
                           return std::to_string(i.param.threads) + "_threads";
                         });

TEST_P(ClosureWithHost, HelpEndsAStandstill) {
  std::atomic<unsigned> begun{0};
  std::atomic<bool> reads_host{false};
  make_device([&](const emulator::Standstill& standstill) {
    // Each answer makes it another standstill, though the waves were never seen to go on.
    if (standstill.lasted.count() == 0) {
      reads_host = standstill.reads_host_memory && !standstill.changes_memory;
      ++begun;
    } else {
      __atomic_fetch_add(answer_, 1u, __ATOMIC_SEQ_CST);
    }
    return false;
  });
  auto result = device_->launch("ask_and_count", shape(1, 32), answer_, words_, 5u);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_GE(begun.load(), 5u);
  EXPECT_TRUE(reads_host.load());
}

TEST_P(ClosureWithHost, LocksAreOpenToHelp) {
  std::atomic<unsigned> asked{0};
  std::atomic<bool> changes{false};
  make_device([&](const emulator::Standstill& standstill) {
    changes = standstill.changes_memory && standstill.reads_host_memory;
    if (++asked == 5) __atomic_store_n(answer_, 1u, __ATOMIC_SEQ_CST);
    return false;
  });
  const auto result = device_->launch("lock_and_look", shape(3, 1), answer_, words_);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(changes.load());
}

TEST_P(ClosureWithHost, WhatTheHostSeesIsNotJudged) {
  std::atomic<unsigned> asked{0};
  make_device([&](const emulator::Standstill&) {
    ++asked;
    return true;
  });
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    __atomic_store_n(answer_ + 1, 1u, __ATOMIC_SEQ_CST);
  });
  const auto result = device_->launch("lock_in_host_memory", shape(2, 1), answer_);
  host.join();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(asked.load(), 0u);
}

}  // namespace
}  // namespace gfxgraph::emulator
