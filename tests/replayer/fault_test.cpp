// Every HIP call that can fail is made to fail once: load, run, restore, verify and bisect must
// come back with that error, and nothing may stay behind.
#include <gtest/gtest.h>

#include "replay_fixture.h"
#include "replayer/capi/c_api_internal.h"
#include "replayer/step/step.h"
#include "replayer/step/step_check.h"
#include "scenario.h"
#include "step_life.h"

namespace gfxgraph::replayer::testing {
namespace {

Result<void> whole_life(const std::shared_ptr<const Program>& program,
                        const std::shared_ptr<const HipLibrary>& library,
                        const LoadOptions& options) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Step> replay,
                            Step::load(program, library, options));
  GFXGRAPH_TRY(replay->run());
  GFXGRAPH_TRY(replay->wait());
  const uint32_t value = 3;
  GFXGRAPH_TRY(replay->values().set_kernarg(0, 8, std::as_bytes(std::span(&value, 1))));
  GFXGRAPH_TRY(replay->commit());
  GFXGRAPH_TRY(replay->restore());
  GFXGRAPH_TRY(measure(*replay, 1));
  GFXGRAPH_TRY(StepCheck(*replay).verify());
  return {};
}

class EveryFault : public ::testing::TestWithParam<std::tuple<Mode, int>> {};

TEST_P(EveryFault, ComesBackAsAnErrorAndLeavesNothing) {
  const auto [mode, code] = GetParam();
  FakeHip fake;
  fake.keep_log = false;
  TestTrace trace(fake);
  build_scenario(fake, trace);
  const auto program = trace.program();
  LoadOptions options;
  options.mode = mode;
  options.layout = Layout::kShift;
  int faults = 0;
  for (int n = 1;; ++n) {
    const auto library = fake.library();  // with a trial of its own (graph_updates.h)
    fake.fail_call(n, code);
    const Result<void> result = whole_life(program, library, options);
    const bool failed = fake.failed;
    fake.fail_call(0);
    ASSERT_EQ(fake.alive(), 0u) << "call " << n;
    if (!failed) {
      ASSERT_TRUE(result) << result.error().message;
      break;
    }
    ++faults;
    // The wait of the destructor may swallow an error, and auto does without a graph.
    if (!result) {
      EXPECT_NE(result.error().status, Status::kOk);
      EXPECT_FALSE(result.error().message.empty());
    }
    ASSERT_LT(n, 5000);
  }
  EXPECT_GT(faults, 50);
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryFault,
                         ::testing::Combine(::testing::Values(Mode::kEager, Mode::kBatch,
                                                              Mode::kGraph, Mode::kAuto),
                                            ::testing::Values(1, 2)));

// The same through the C ABI, with all that is set, bound and read between runs. What is there
// after a call has failed can be used again.
class EveryFaultOfAStep : public ::testing::TestWithParam<gfxgraph_mode_t> {};

TEST_P(EveryFaultOfAStep, LeavesTheSessionUsable) {
  constexpr hip::Error kCode = 719;
  FakeHip fake;
  fake.keep_log = false;
  const StepTrace recorded(fake, 2, true, true);
  int faults = 0;
  for (int n = 1;; ++n) {
    use_hip_library_for_tests(fake.library());  // with a trial of its own (graph_updates.h)
    bool failed = false;
    {
      StepLife life(recorded, GetParam());
      fake.fail_call(n, kCode);
      const gfxgraph_status_t status = life.live();
      failed = fake.failed;
      fake.fail_call(0);
      ASSERT_TRUE(failed || status == GFXGRAPH_OK) << life.failed_call() << gfxgraph_last_error();
      if (status != GFXGRAPH_OK) {
        ++faults;
        EXPECT_STRNE(gfxgraph_last_error(), "");
        EXPECT_EQ(gfxgraph_last_hip_error(), kCode) << life.failed_call() << gfxgraph_last_error();
      }
      if (failed) life.expect_usable();
      ASSERT_FALSE(HasFailure()) << "HIP call " << n << " in " << life.failed_call();
    }
    ASSERT_EQ(fake.alive(), 0u) << "HIP call " << n;
    if (!failed) break;
    ASSERT_LT(n, 5000);
  }
  use_hip_library_for_tests(nullptr);
  EXPECT_GT(faults, 100);
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryFaultOfAStep,
                         ::testing::Values(GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH,
                                           GFXGRAPH_MODE_GRAPH, GFXGRAPH_MODE_AUTO));

}  // namespace
}  // namespace gfxgraph::replayer::testing
