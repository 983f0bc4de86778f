// Threads, time slices, forward progress. Also run under the thread sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "tests/emulator/test_device.h"

namespace gfxgraph::emulator {
namespace {

using ::testing::HasSubstr;
using testing::Shape;
using testing::TestDevice;

const std::string kCode = GFXGRAPH_KERNEL_DIR "/engine_O2.co";

EngineOptions threads(unsigned count) {
  EngineOptions options;
  options.threads = count;
  return options;
}

TEST(Scheduler, SpinLockBetweenWorkgroups) {
  for (const unsigned count : {1u, 3u}) {
    TestDevice device(threads(count));
    ASSERT_EQ(device.load(kCode), "");
    auto* lock = device.array<int>(1);
    auto* value = device.array<int>(1);
    const auto result =
        device.launch("spin_lock", {.grid = {40 * 64, 1, 1}, .block = {64, 1, 1}}, lock, value, 20);
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(*value, 800);
  }
}

TEST(Scheduler, WorkgroupsThatWaitForLaterOnes) {
  for (const unsigned count : {1u, 2u}) {
    TestDevice device(threads(count));
    ASSERT_EQ(device.load(kCode), "");
    auto* flags = device.array<unsigned>(64);
    const auto result =
        device.launch("wait_for_later", {.grid = {64 * 32, 1, 1}, .block = {32, 1, 1}}, flags, 64u);
    ASSERT_TRUE(result) << result.error().to_string();
    for (int k = 0; k < 64; ++k) EXPECT_EQ(flags[k], 1u);
  }
}

TEST(Scheduler, SameBytesAtAnyThreadCount) {
  constexpr size_t kItems = 256 * 64;
  std::vector<unsigned> reference;
  uint64_t instructions = 0;
  for (const unsigned count : {1u, 2u, 4u}) {
    TestDevice device(threads(count));
    ASSERT_EQ(device.load(kCode), "");
    auto* in = device.array<unsigned>(kItems);
    auto* out = device.array<unsigned>(kItems);
    for (size_t k = 0; k < kItems; ++k) in[k] = static_cast<unsigned>(k * 77);
    const auto result =
        device.launch("long_work", {.grid = {kItems, 1, 1}, .block = {64, 1, 1}}, in, out, 300u);
    ASSERT_TRUE(result) << result.error().to_string();
    if (reference.empty()) {
      reference.assign(out, out + kItems);
      instructions = result->wave_instructions;
    }
    EXPECT_TRUE(std::equal(reference.begin(), reference.end(), out));
    EXPECT_EQ(result->wave_instructions, instructions);
    EXPECT_EQ(result->workgroups, 256u);
    EXPECT_EQ(result->waves, 512u);
  }
}

// Full waves and partial ones take different ways.
TEST(Scheduler, NoLaneSeesHalfOfAQuad) {
  for (const uint16_t lanes : {uint16_t{32}, uint16_t{29}}) {
    TestDevice device(threads(2));
    ASSERT_EQ(device.load(kCode), "");
    auto* quads = reinterpret_cast<uint32_t*>(device.array<std::array<uint64_t, 2>>(32));
    auto* torn = device.array<unsigned>(1);
    const Shape shape{.grid = {32u * lanes, 1, 1}, .block = {lanes, 1, 1}};
    const auto result = device.launch("torn_quads", shape, quads, torn, 30000u);
    ASSERT_TRUE(result) << result.error().to_string();
#if !defined(__SANITIZE_THREAD__)  // there they are four accesses
    EXPECT_EQ(*torn, 0u) << lanes << " lanes";
#endif
  }
}

// What a kernel leaves in a megabyte of memory that starts with the same bytes each time.
using Run = void (*)(TestDevice& device, std::byte* memory);
struct RaceFree {
  const char* name;
  Run run;
};

template <typename... Args>
void run(TestDevice& device, const char* kernel, const Shape& shape, Args... args) {
  const auto result = device.launch(kernel, shape, args...);
  ASSERT_TRUE(result) << kernel << ": " << result.error().to_string();
}
template <typename T>
T* at(std::byte* memory, size_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}
constexpr size_t kOut = 512 * 1024;
constexpr Shape items(uint32_t grid, uint16_t block) {
  return {.grid = {grid, 1, 1}, .block = {block, 1, 1}};
}

const RaceFree kRaceFree[] = {
    {"saxpy",
     [](TestDevice& d, std::byte* m) {
       run(d, "saxpy", items(20000, 64), at<float>(m, 0), at<float>(m, kOut), 1.5f, 19999);
     }},
    {"places",
     [](TestDevice& d, std::byte* m) {
       run(d, "places", {.grid = {100, 35, 21}, .block = {16, 2, 2}}, at<unsigned>(m, kOut), 100u,
           35u);
     }},
    {"reverse_lds",
     [](TestDevice& d, std::byte* m) {
       run(d, "reverse_lds", items(200 * 256, 256), at<int>(m, 0), at<int>(m, kOut));
     }},
    {"atomics",
     [](TestDevice& d, std::byte* m) {
       std::memset(m, 0, 4096);  // sums of whole numbers: exact in any order
       run(d, "atomics", items(6000, 96), at<int>(m, 0), at<unsigned>(m, 1024),
           at<unsigned long long>(m, 2048), at<float>(m, 3072), at<double>(m, 3080));
       std::memset(m + 1024 + 12, 0, 20);  // the last exchange, and who came first
     }},
    {"scratch_array",
     [](TestDevice& d, std::byte* m) {
       run(d, "scratch_array", items(4000, 64), at<int>(m, 0), at<int>(m, kOut), 20);
     }},
    {"recursion",
     [](TestDevice& d, std::byte* m) { run(d, "recursion", items(64, 64), at<int>(m, kOut)); }},
    {"spin_lock",
     [](TestDevice& d, std::byte* m) {
       std::memset(m, 0, 8);
       run(d, "spin_lock", items(30 * 64, 64), at<int>(m, 0), at<int>(m, 4), 10);
     }},
    {"wait_for_later",
     [](TestDevice& d, std::byte* m) {
       std::memset(m, 0, 4096);
       run(d, "wait_for_later", items(200 * 32, 32), at<unsigned>(m, 0), 200u);
     }},
    {"long_work",
     [](TestDevice& d, std::byte* m) {
       run(d, "long_work", items(128 * 128, 128), at<unsigned>(m, 0), at<unsigned>(m, kOut), 100u);
     }},
};

TEST(Scheduler, RaceFreeKernelsGiveTheSameBytesAtAnyThreadCount) {
  constexpr size_t kBytes = 1 << 20;
  for (const RaceFree& kernel : kRaceFree) {
    std::vector<std::byte> reference;
#ifdef GFXGRAPH_ONE_ISA  // a sanitizer's build is slow
    for (const unsigned count : {1u, 3u}) {
#else
    for (const unsigned count : {1u, 2u, 3u, 8u}) {
#endif
      TestDevice device(threads(count));
      ASSERT_EQ(device.load(kCode), "");
      std::byte* const memory = device.allocate(kBytes);
      for (size_t n = 0; n < kBytes / 4; ++n)
        at<uint32_t>(memory, 0)[n] = static_cast<uint32_t>(n * 2654435761u) >> 4;
      kernel.run(device, memory);
      if (HasFatalFailure()) return;
      if (reference.empty()) reference.assign(memory, memory + kBytes);
      EXPECT_TRUE(std::equal(reference.begin(), reference.end(), memory))
          << kernel.name << " with " << count << " threads";
    }
  }
}

TEST(Scheduler, WavesStayCloseUnlessAskedOtherwise) {
  for (const uint32_t slice : {0u, 4000u}) {
    EngineOptions options = threads(1);
    options.time_slice = slice;
    TestDevice device(options);
    ASSERT_EQ(device.load(kCode), "");
    auto* count = device.array<unsigned>(1);
    auto* seen = device.array<unsigned>(64);
    const Shape shape{.grid = {64, 1, 1}, .block = {64, 1, 1}};
    const auto result = device.launch("racing_waves", shape, count, seen, 100u);
    ASSERT_TRUE(result) << result.error().to_string();
    if (slice == 0) {
      EXPECT_LT(seen[63], 50u);
    } else {
      EXPECT_EQ(seen[63], 100u);
    }
  }
}

TEST(Scheduler, WavesGoOnAboutInStepFromABarrier) {
  constexpr unsigned kRounds = 50, kItems = 256;
  constexpr unsigned kSum = kRounds * (kRounds - 1) / 2;
  for (const uint32_t slice : {0u, 4000u}) {
    EngineOptions options = threads(1);
    options.time_slice = slice;
    TestDevice device(options);
    ASSERT_EQ(device.load(kCode), "");
    auto* sums = device.array<unsigned>(kItems);
    const auto result = device.launch(
        "reused_word", {.grid = {kItems, 1, 1}, .block = {kItems, 1, 1}}, sums, kRounds);
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(sums[0], kSum);
    if (slice == 0) {
      for (unsigned k = 0; k < kItems; ++k) ASSERT_EQ(sums[k], kSum) << k;
    } else {
      EXPECT_NE(sums[kItems - 1], kSum);
    }
  }
}

TEST(Scheduler, FewInstructionsAreSpentInWaitingForASleeper) {
  constexpr unsigned kSleeps = 1000, kGroups = 4;
  TestDevice device(threads(1));
  ASSERT_EQ(device.load(kCode), "");
  auto* flag = device.array<unsigned>(1);
  const auto result = device.launch(
      "wait_for_sleeper", {.grid = {kGroups * 32, 1, 1}, .block = {32, 1, 1}}, flag, kSleeps);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_LT(result->wave_instructions, kSleeps * kGroups * 50);
}

TEST(Scheduler, AKernelWaitsForTheHost) {
  std::atomic<int> messages{0};
  EngineOptions options = threads(2);
  options.on_message = [&](uint32_t message, uint32_t) { messages += static_cast<int>(message); };
  options.give_up = [](const BlockedDispatch&) { return false; };
  TestDevice device(options);
  ASSERT_EQ(device.load(kCode), "");
  auto* flag = device.array<unsigned>(1);
  auto* out = device.array<unsigned>(32);
  std::thread host([&] {
    while (messages.load() == 0) std::this_thread::yield();
    __atomic_store_n(flag, 1u, __ATOMIC_SEQ_CST);
  });
  const auto result =
      device.launch("wait_for_host", {.grid = {32, 1, 1}, .block = {32, 1, 1}}, flag, out);
  host.join();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(messages.load(), 1);
  EXPECT_EQ(out[31], 3u);
}

TEST(Scheduler, LivelockIsReportedWithPcs) {
  EngineOptions options = threads(2);
  options.livelock_instructions = 200;  // long before the waves are checked
  TestDevice device(options);
  ASSERT_EQ(device.load(kCode), "");
  auto* flag = device.array<unsigned>(1);
  const auto result = device.launch("for_ever", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, flag);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, FaultKind::kDeadlock);
  EXPECT_THAT(result.error().to_string(), HasSubstr("no wave ended"));
  EXPECT_THAT(result.error().detail, HasSubstr("repeating for_ever+0x"));
}

TEST(Scheduler, StopEndsARunningKernel) {
  EngineOptions options = threads(2);
  options.give_up = [](const BlockedDispatch&) { return false; };
  TestDevice device(options);
  ASSERT_EQ(device.load(kCode), "");
  auto* flag = device.array<unsigned>(1);
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    device.engine().stop();
  });
  const auto result = device.launch("for_ever", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, flag);
  stopper.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, FaultKind::kStopped);
}

TEST(Scheduler, SeveralQueuesAtOnce) {
  TestDevice device(threads(2));
  ASSERT_EQ(device.load(kCode), "");
  const codeobj::Kernel& kernel = *device.code().find_kernel("long_work");
  constexpr unsigned kItems = 2048, kQueues = 4;
  auto* in = device.array<unsigned>(kItems);
  auto* out = device.array<unsigned>(kItems * kQueues);
  for (unsigned k = 0; k < kItems; ++k) in[k] = k;
  const Shape shape = {.grid = {kItems, 1, 1}, .block = {128, 1, 1}};
  std::vector<Dispatch> dispatches;
  for (unsigned q = 0; q < kQueues; ++q) {
    const auto kernarg = device.pack(kernel, shape, in, out + q * kItems, 100u);
    Dispatch dispatch = device.dispatch(kernel, shape, kernarg);
    std::byte* own = device.allocate(kernarg.size(), RegionKind::kKernarg);
    std::memcpy(own, kernarg.data(), kernarg.size());
    dispatch.kernarg_address = reinterpret_cast<uint64_t>(own);
    dispatches.push_back(dispatch);
  }
  std::atomic<int> failures{0};
  std::vector<std::thread> queues;
  for (const Dispatch& dispatch : dispatches)
    queues.emplace_back([&device, &failures, dispatch] {
      for (int n = 0; n < 5; ++n)
        if (!device.engine().run(dispatch)) ++failures;
    });
  for (std::thread& queue : queues) queue.join();
  EXPECT_EQ(failures.load(), 0);
  for (unsigned q = 1; q < kQueues; ++q)
    EXPECT_TRUE(std::equal(out, out + kItems, out + q * kItems));
}

TEST(Scheduler, AFaultStopsAllThreads) {
  TestDevice device(threads(3));
  ASSERT_EQ(device.load(kCode), "");
  auto* out = device.allocate(4096);
  for (int n = 0; n < 20; ++n) {
    const auto result =
        device.launch("unguarded", {.grid = {1 << 20, 1, 1}, .block = {64, 1, 1}}, out);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, FaultKind::kMemory);
  }
}

}  // namespace
}  // namespace gfxgraph::emulator
