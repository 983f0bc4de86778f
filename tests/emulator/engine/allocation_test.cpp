// Host memory that runs out while a dispatch runs: each allocation of it fails, alone or with all
// after it, on any of the engine's threads. The dispatch ends as it should or as a fault that says
// so, and the engine is good for the next one.
#include <gtest/gtest.h>

#include "tests/emulator/test_device.h"
#include "tests/support/allocations.h"

namespace gfxgraph::emulator {
namespace {

using gfxgraph::testing::Failing;
using gfxgraph::testing::OfThreads;
using testing::Shape;
using testing::TestDevice;

struct Case {
  const char* object;
  const char* kernel;
  Shape shape;
  bool ends;
};

class EveryAllocation : public ::testing::TestWithParam<std::tuple<Case, Failing>> {};

TEST_P(EveryAllocation, EndsWithTheResultOrSaysSo) {
  const auto& [what, failing] = GetParam();
  unsigned out_of_memory = 0;
  // Checks of waves allocate much: not each one of those is tried.
  for (int64_t n = 1;; n += 1 + (what.ends ? 0 : n / 8)) {
    ASSERT_LT(n, 1000000);
    EngineOptions options;
    options.threads = 3;
    options.livelock_instructions = 1 << 22;
    TestDevice device(options);
    ASSERT_EQ(device.load(std::string(GFXGRAPH_KERNEL_DIR "/") + what.object), "");
    auto* words = device.array<unsigned>(1 << 16, "words");
    ASSERT_NE(device.code().find_kernel(what.kernel), nullptr);
    const auto& kernel = *device.code().find_kernel(what.kernel);
    const Dispatch dispatch =
        device.dispatch(kernel, what.shape, device.pack(kernel, what.shape, words));
    gfxgraph::testing::fail_allocation(n, OfThreads::kAll, failing);
    const auto result = device.engine().run(dispatch);
    const bool reached = gfxgraph::testing::stop_failing_allocations();
    if (!result && result.error().kind == FaultKind::kOutOfMemory) {
      EXPECT_TRUE(reached);
      EXPECT_EQ(result.error().to_string().rfind("out of host memory: kernel", 0), 0U);
      ++out_of_memory;
    } else if (what.ends) {
      ASSERT_TRUE(result) << "allocation " << n << ": " << result.error().to_string();
    } else {
      ASSERT_FALSE(result);
      ASSERT_EQ(result.error().kind, FaultKind::kDeadlock) << result.error().to_string();
    }
    if (!reached) break;
    if (!what.ends) continue;
    const auto again = device.engine().run(dispatch);
    ASSERT_TRUE(again) << "allocation " << n << ": " << again.error().to_string();
  }
  EXPECT_GT(out_of_memory, 5U);
}

constexpr Shape shape(uint32_t groups, uint16_t items) {
  return {.grid = {groups * items, 1, 1}, .block = {items, 1, 1}};
}
INSTANTIATE_TEST_SUITE_P(
    Kernels, EveryAllocation,
    ::testing::Combine(
        ::testing::Values(Case{"engine_O2.co", "unguarded", shape(256, 256), true},
                          Case{"engine_O0.co", "recursion", shape(8, 64), true},
                          Case{"waves_64_O2.co", "subvectors", shape(4, 64), true},
                          Case{"waits_O2.co", "poll_by_compare", shape(8, 64), false},
                          Case{"livelocks_O2.co", "lock_in_vain", shape(8, 32), false}),
        ::testing::Values(Failing::kOnce, Failing::kFromThenOn)),
    [](const auto& i) {
      return std::string(std::get<0>(i.param).kernel) +
             (std::get<1>(i.param) == Failing::kOnce ? "_one" : "_all");
    });

}  // namespace
}  // namespace gfxgraph::emulator
