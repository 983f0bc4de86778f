// The step of gfxgraph doctor on a runtime of host memory: whatever goes wrong is noticed.
#include "tools/doctor/trivial_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "fake_hip.h"
#include "replayer/packets/packet_boxes.h"

namespace gfxgraph::tools::doctor {
namespace {

using replayer::CopyArguments;
using replayer::FillArguments;
using replayer::testing::FakeHip;
using replayer::testing::FakeLaunch;
using ::testing::HasSubstr;

void fill(const FakeLaunch& launch) {
  const auto arguments = launch.argument<FillArguments>(0);
  auto* const to = static_cast<uint32_t*>(const_cast<void*>(arguments.to));
  std::fill_n(to, arguments.box.width / 4, static_cast<uint32_t>(arguments.pattern));
}

void copy(const FakeLaunch& launch) {
  const auto arguments = launch.argument<CopyArguments>(0);
  std::memcpy(const_cast<void*>(arguments.to), arguments.from, arguments.box.width);
}

class TrivialStepTest : public ::testing::Test {
 protected:
  TrivialStepTest() {
    hip.kernels["gfxgraph_fill"] = fill;
    hip.kernels["gfxgraph_copy"] = copy;
  }
  Result<void> run() {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<TrivialStep> step, TrivialStep::make(library));
    GFXGRAPH_TRY(step->spoil());
    GFXGRAPH_TRY(step->submit());
    return step->compare();
  }

  FakeHip hip;
  std::shared_ptr<const replayer::HipLibrary> library = hip.library();
};

TEST_F(TrivialStepTest, ItsResultIsRight) {
  const Result<void> ran = run();
  EXPECT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(hip.alive(), 0u);
}

TEST_F(TrivialStepTest, WithoutASubmissionTheResultIsWrong) {
  const auto step = TrivialStep::make(library);
  ASSERT_TRUE(step);
  ASSERT_TRUE((*step)->submit());
  ASSERT_TRUE((*step)->compare());
  ASSERT_TRUE((*step)->spoil());
  EXPECT_EQ((*step)->compare().error().message, "word 0 of the result is 0xbadbad, not 0x1234567");
}

TEST_F(TrivialStepTest, ALaunchThatIsLostIsNoticed) {
  for (const char* const name : {"gfxgraph_fill", "gfxgraph_copy", "gfxgraph_trial"}) {
    const auto kernel = std::exchange(hip.kernels[name], [](const FakeLaunch&) {});
    const Result<void> ran = run();
    ASSERT_FALSE(ran) << name;
    EXPECT_EQ(ran.error().status, Status::kMismatch) << name;
    hip.kernels[name] = kernel;
  }
}

TEST_F(TrivialStepTest, ALaunchThatComesLateIsNoticed) {
  // Each but the last one runs once more, at the end.
  for (const char* const name : {"gfxgraph_fill", "gfxgraph_copy"}) {
    std::vector<uint8_t> arguments;
    const auto kernel = hip.kernels.at(name);
    hip.kernels[name] = [&](const FakeLaunch& launch) {
      arguments.assign(launch.kernarg, launch.kernarg + launch.kernarg_bytes);
      kernel(launch);
    };
    const auto store = hip.kernels.at("gfxgraph_trial");
    hip.kernels["gfxgraph_trial"] = [&](const FakeLaunch& launch) {
      store(launch);
      FakeLaunch late = launch;
      late.kernarg = arguments.data();
      late.kernarg_bytes = arguments.size();
      kernel(late);
    };
    EXPECT_FALSE(run()) << name;
    hip.kernels[name] = kernel;
    hip.kernels["gfxgraph_trial"] = store;
  }
}

TEST_F(TrivialStepTest, EachErrorOfHipIsReturnedAndNothingIsLeft) {
  int call = 1;
  for (;; ++call) {
    hip.fail_call(call);
    const Result<void> ran = run();
    if (!hip.failed) break;
    EXPECT_FALSE(ran) << "call " << call;
    EXPECT_EQ(hip.alive(), 0u) << "call " << call;
  }
  EXPECT_GT(call, 12);
}

TEST_F(TrivialStepTest, AnotherArchitectureIsNamed) {
  hip.arch = "gfx803";
  EXPECT_FALSE(TrivialStep::has_code("gfx803"));
  EXPECT_TRUE(TrivialStep::has_code("gfx1030"));
  const Result<void> ran = run();
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("no kernels of gfxgraph for gfx803"));
}

}  // namespace
}  // namespace gfxgraph::tools::doctor
