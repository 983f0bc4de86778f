// A program that a test builds, run on the fake HIP where its buffers are elsewhere, and compared.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "replayer/check/verify.h"
#include "replayer/step/step.h"
#include "replayer/step/step_check.h"
#include "scenario.h"

namespace gfxgraph::replayer::testing {

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() : trace(fake) { add_test_kernels(fake); }
  static LoadOptions shifted() {
    LoadOptions options;
    options.mode = Mode::kBatch;
    options.layout = Layout::kShift;
    return options;
  }
  void load() { load(trace.program(), shifted()); }
  void load(std::shared_ptr<const Program> program, const LoadOptions& options) {
    auto loaded = Step::load(std::move(program), fake.library(), options);
    ASSERT_TRUE(loaded) << loaded.error().message;
    replay = std::move(*loaded);
    ASSERT_TRUE(replay->run());
  }
  VerifyReport verified() {
    auto report = StepCheck(*replay).verify();
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    return report ? std::move(*report) : VerifyReport{};
  }
  FakeHip fake;
  TestTrace trace;
  std::unique_ptr<Step> replay;
};

}  // namespace gfxgraph::replayer::testing
