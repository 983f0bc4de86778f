// Programs that a test builds, replayed on the fake HIP.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "fake_hip.h"
#include "replayer/step/step.h"
#include "replayer/step/step_check.h"
#include "replayer/step/timing.h"
#include "test_trace.h"

namespace gfxgraph::replayer::testing {

inline std::unique_ptr<Step> load(FakeHip& fake, std::shared_ptr<const Program> program,
                                  const LoadOptions& options) {
  auto replay = Step::load(std::move(program), fake.library(), options);
  EXPECT_TRUE(replay) << (replay ? "" : replay.error().message);
  return replay ? std::move(*replay) : nullptr;
}

// `repetitions` runs, each from the restored state.
inline Result<void> measure(Step& step, size_t repetitions) {
  GFXGRAPH_TRY(step.commit());
  for (size_t i = 0; i < repetitions; ++i) {
    GFXGRAPH_TRY(step.restore_if_changed());
    GFXGRAPH_TRY(step.run());
    GFXGRAPH_TRY(step.wait());
  }
  return {};
}

inline void expect_identical(Step& replay) {
  const auto run = replay.run();
  ASSERT_TRUE(run) << run.error().message;
  const auto report = StepCheck(replay).verify();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->identical_throughout());
  EXPECT_EQ(report->identical, report->buffers.size());
  EXPECT_EQ(report->copies_identical, report->copies.size());
  for (const BufferResult& buffer : report->buffers) {
    EXPECT_EQ(buffer.comparison, Comparison::kIdentical)
        << "buffer " << buffer.allocation << " at " << buffer.first_difference;
  }
}

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() : trace(fake) { add_test_kernels(fake); }
  std::unique_ptr<Step> load_mode(Mode mode) {
    LoadOptions options;
    options.mode = mode;
    return load(fake, trace.program(), options);
  }
  Result<std::unique_ptr<Step>> try_load(const LoadOptions& options) {
    return Step::load(trace.program(), fake.library(), options);
  }
  void launch_double(format::AllocationId id, format::StreamId stream = 0) {
    trace.launch("double", Arguments().value(trace.address(id)).value(4u), stream);
  }
  FakeHip fake;
  TestTrace trace;
};

}  // namespace gfxgraph::replayer::testing
