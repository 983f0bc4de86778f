// Each host allocation that a replay makes through the C ABI is made to fail, alone and with all
// after it: the call comes back with a status and what it made is given back. The runtime is
// fake_hip.h, whose own allocations succeed.
#include <gtest/gtest.h>

#include <cstring>

#include "gfxgraph/gfxgraph.h"
#include "replayer/capi/c_api_internal.h"
#include "scenario.h"
#include "step_life.h"
#include "tests/support/allocations.h"

// LLVM is built without exceptions: what it holds when an allocation fails stays allocated.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:llvm::\n"; }

namespace gfxgraph::replayer::testing {
namespace {

struct Handles {
  gfxgraph_trace_t trace = nullptr;
  gfxgraph_session_t session = nullptr;
  gfxgraph_step_t step = nullptr;
  ~Handles() {
    gfxgraph_step_destroy(step);
    gfxgraph_session_destroy(session);
    gfxgraph_trace_destroy(trace);
  }
};

// The first status that is not OK.
gfxgraph_status_t whole_life(const char* path, uint32_t mode) {
  Handles handles;
  gfxgraph_status_t status = gfxgraph_trace_open(path, nullptr, &handles.trace);
  const auto then = [&](auto&& call) {
    if (status == GFXGRAPH_OK) status = call();
  };
  gfxgraph_session_options_t session = gfxgraph_session_options_default();
  session.layout = GFXGRAPH_LAYOUT_SHIFT;
  then([&] { return gfxgraph_session_create(handles.trace, &session, &handles.session); });
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = static_cast<gfxgraph_mode_t>(mode);
  then([&] {
    return gfxgraph_step_create(handles.session, GFXGRAPH_RANGE_ALL, &options, &handles.step);
  });
  void* stream = nullptr;
  then([&] { return gfxgraph_step_stream(handles.step, &stream); });
  then([&] { return gfxgraph_step_run(handles.step, stream); });
  const uint8_t ones[64] = {1};  // in flight: another place for the input
  then([&] { return gfxgraph_step_set_input(handles.step, 0, ones, sizeof ones); });
  then([&] { return gfxgraph_step_wait(handles.step); });
  uint8_t recorded[64];
  std::memset(recorded, 1, sizeof recorded);
  then([&] { return gfxgraph_step_set_input(handles.step, 0, recorded, sizeof recorded); });
  const uint32_t count = 16;  // as recorded
  then([&] { return gfxgraph_step_set_argument(handles.step, 0, 8, &count, sizeof count); });
  then([&] { return gfxgraph_step_commit(handles.step); });
  then([&] { return gfxgraph_step_restore(handles.step); });
  then([&] { return gfxgraph_step_run(handles.step, stream); });
  then([&] { return gfxgraph_step_wait(handles.step); });
  gfxgraph_verification_t verification{};
  verification.struct_size = sizeof verification;
  then([&] { return gfxgraph_step_verify(handles.step, &verification, nullptr, 0, 0); });
  return status;
}

using gfxgraph::testing::Failing;
class EveryAllocation : public ::testing::TestWithParam<std::tuple<gfxgraph_mode_t, Failing>> {};

TEST_P(EveryAllocation, ComesBackAsAStatusAndLeavesNothing) {
  const auto [mode, failing] = GetParam();
  FakeHip fake;
  fake.keep_log = false;
  fake.inside = gfxgraph::testing::pause_failing_allocations;
  TestTrace trace(fake);
  build_scenario(fake, trace);
  trace.finish();
  use_hip_library_for_tests(fake.library());
  const std::string path = trace.path().string();
  const size_t alive = fake.alive();
  int64_t failures = 0;
  for (int64_t n = 1;; ++n) {
    gfxgraph::testing::fail_allocation(n, gfxgraph::testing::OfThreads::kThis, failing);
    const gfxgraph_status_t status = whole_life(path.c_str(), mode);
    const bool failed = gfxgraph::testing::stop_failing_allocations();
    ASSERT_EQ(fake.alive(), alive) << "allocation " << n;
    if (!failed) {
      ASSERT_EQ(status, GFXGRAPH_OK) << gfxgraph_last_error();
      break;
    }
    ++failures;
    // What can do without the memory does.
    ASSERT_TRUE(status == GFXGRAPH_OUT_OF_MEMORY || status == GFXGRAPH_OK)
        << "allocation " << n << ": " << gfxgraph_status_name(status) << ": "
        << gfxgraph_last_error();
    ASSERT_LT(n, 100000);
  }
  EXPECT_GT(failures, 200);
  use_hip_library_for_tests(nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, EveryAllocation,
    ::testing::Combine(::testing::Values(GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH,
                                         GFXGRAPH_MODE_GRAPH, GFXGRAPH_MODE_AUTO),
                       ::testing::Values(Failing::kOnce, Failing::kFromThenOn)));

class EveryAllocationOfAStep : public EveryAllocation {};

TEST_P(EveryAllocationOfAStep, LeavesTheSessionUsable) {
  const auto [mode, failing] = GetParam();
  FakeHip fake;
  fake.keep_log = false;
  fake.inside = gfxgraph::testing::pause_failing_allocations;
  const StepTrace recorded(fake, 2, true, true);
  use_hip_library_for_tests(fake.library());
  int64_t failures = 0;
  for (int64_t n = 1;; ++n) {
    bool failed = false;
    {
      StepLife life(recorded, mode);
      gfxgraph::testing::fail_allocation(n, gfxgraph::testing::OfThreads::kThis, failing);
      const gfxgraph_status_t status = life.live();
      failed = gfxgraph::testing::stop_failing_allocations();
      ASSERT_TRUE(status == GFXGRAPH_OK || (failed && status == GFXGRAPH_OUT_OF_MEMORY))
          << "allocation " << n << ": " << life.failed_call() << ": "
          << gfxgraph_status_name(status) << ": " << gfxgraph_last_error();
      if (failed) life.expect_usable();
      ASSERT_FALSE(HasFailure()) << "allocation " << n << " in " << life.failed_call();
      failures += status != GFXGRAPH_OK;
    }
    ASSERT_EQ(fake.alive(), 0u) << "allocation " << n;
    if (!failed) break;
    ASSERT_LT(n, 100000);
  }
  EXPECT_GT(failures, 200);
  use_hip_library_for_tests(nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, EveryAllocationOfAStep,
    ::testing::Combine(::testing::Values(GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH,
                                         GFXGRAPH_MODE_GRAPH),
                       ::testing::Values(Failing::kOnce, Failing::kFromThenOn)));

}  // namespace
}  // namespace gfxgraph::replayer::testing
