#include "replayer/check/bisect.h"

#include <gtest/gtest.h>

#include "replayer/step/step.h"
#include "replayer/step/step_check.h"
#include "test_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

class BisectTest : public ::testing::Test {
 protected:
  BisectTest() : trace(fake) {
    add_test_kernels(fake);
    fake.kernels["suspect"] = fake.kernels["double"];
    a = trace.allocate(64);
    b = trace.allocate(64);
  }
  // 20 launches; number 13 is the suspect.
  void record(bool checkpoints) {
    for (int i = 0; i < 20; ++i) {
      trace.launch(i == 13 ? "suspect" : "double",
                   Arguments().value(trace.address(i % 2 == 0 ? a : b)).value(16u));
      if (checkpoints && i % 4 == 3) trace.checkpoint();
    }
  }
  std::optional<Divergence> find(Mode mode) {
    LoadOptions options;
    options.mode = mode;
    auto replay = Step::load(trace.program(), fake.library(), options);
    EXPECT_TRUE(replay);
    auto found = StepCheck(**replay).find_divergence();
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    return found ? found->divergence : std::nullopt;
  }
  FakeHip fake;
  TestTrace trace;
  format::AllocationId a = 0;
  format::AllocationId b = 0;
};

TEST_F(BisectTest, NothingIsFoundWhereNothingIsWrong) {
  record(true);
  EXPECT_FALSE(find(Mode::kGraph));
}

TEST_F(BisectTest, CheckpointsNarrowWhatEagerModeDoesWrongToo) {
  record(true);
  fake.kernels["suspect"] = [](const FakeLaunch& l) { *l.argument<uint32_t*>(0) = 1; };
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    const auto found = find(mode);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->first_operation, 12u);
    EXPECT_EQ(found->last_operation, 15u);
    EXPECT_EQ(found->allocation, b);
    if (mode != Mode::kGraph) break;  // one program() per trace
  }
}

TEST_F(BisectTest, EagerModeIsTheReferenceWithoutCheckpoints) {
  record(false);
  LoadOptions options;
  options.mode = Mode::kGraph;
  // Graph launches do launch 13 wrong, module launches do not.
  static bool in_graph = false;
  const FakeKernel good = fake.kernels["double"];
  fake.kernels["suspect"] = [good](const FakeLaunch& l) {
    good(l);
    if (in_graph) *l.argument<uint32_t*>(0) += 1;
  };
  HipTable table = fake.table();
  static decltype(table.hipGraphLaunch) launch_graph;
  launch_graph = table.hipGraphLaunch;
  table.hipGraphLaunch = [](void* executable, void* stream) {
    in_graph = true;
    const int code = launch_graph(executable, stream);
    in_graph = false;
    return code;
  };
  auto replay = Step::load(trace.program(), *HipLibrary::from_table(table, "fake"), options);
  ASSERT_TRUE(replay);
  const auto found = StepCheck(**replay).find_divergence();
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->divergence);
  EXPECT_EQ(found->divergence->first_operation, 13u);
  EXPECT_EQ(found->divergence->last_operation, 13u);
  EXPECT_EQ(found->divergence->allocation, b);
  EXPECT_EQ(found->divergence->reference, "eager mode");
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
