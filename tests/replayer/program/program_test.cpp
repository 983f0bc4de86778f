#include "replayer/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() : trace((add_test_kernels(fake), fake)) {}
  FakeHip fake;
  TestTrace trace;
};

TEST_F(ProgramTest, NumbersLaunchesThroughGraphs) {
  const auto buffer = trace.allocate(64);
  const Arguments arguments = Arguments().value(trace.address(buffer)).value(4u);
  trace.launch("double", arguments);
  format::Graph graph;
  graph.nodes.push_back({trace.make_launch("double", arguments), {}});
  graph.nodes.push_back({trace.make_copy(buffer, buffer, 4), {0}});
  graph.nodes.push_back({trace.make_launch("double", arguments), {1}});
  trace.graph_launch(graph);
  const auto program = trace.program();
  EXPECT_EQ(program->launch_count(), 3u);
  EXPECT_EQ(program->operations().size(), 4u);
  EXPECT_EQ(program->launch_operation(2), 3u);
  EXPECT_THAT(program->describe(3), HasSubstr("launch 2 kernel double"));
  EXPECT_THAT(program->describe(3), HasSubstr("graph node 2"));
}

TEST_F(ProgramTest, KeepsOnceWhatLaunchesShare) {
  const auto buffer = trace.allocate(256);
  for (uint32_t i = 0; i < 100; ++i)
    trace.launch("fill", Arguments().value(trace.address(buffer) + i % 2 * 64).value(i).value(4u));
  (void)trace.finish();
  const auto opened = format::Trace::open(trace.path(), {.lazy = true}).value();
  const auto program = Program::build(opened).value();
  EXPECT_EQ(program->launch_count(), 100u);
  EXPECT_EQ(program->launch_shapes(), 2u) << "two places in the buffer";
  for (uint32_t i = 0; i < 100; ++i) {
    const Operation& operation = program->operations()[program->launch_operation(i)];
    EXPECT_EQ(operation.launch, program->operations()[program->launch_operation(i % 2)].launch);
    uint32_t value = 0;
    std::memcpy(&value, operation.kernarg().data() + 8, sizeof(value));
    EXPECT_EQ(value, i);
  }
}

TEST_F(ProgramTest, CompleteTraceIsAccepted) {
  trace.allocate(64);
  EXPECT_TRUE(trace.program()->check_complete());
}

TEST_F(ProgramTest, RefusesIncompleteTraceByTheCallsName) {
  trace.allocate(64);
  trace.incomplete("hipMemcpyToArray");
  const Result<void> complete = trace.program()->check_complete();
  ASSERT_FALSE(complete);
  EXPECT_EQ(complete.error().status, Status::kIncomplete);
  EXPECT_THAT(complete.error().message, HasSubstr("hipMemcpyToArray"));
}

TEST_F(ProgramTest, RefusesHostWriteToDeviceMemory) {
  const auto buffer = trace.allocate(64);
  trace.host_write(buffer, 0, {1});
  const auto program = Program::build(trace.finish());
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().status, Status::kCorrupt);
}

TEST_F(ProgramTest, NamesAmbiguousWordsByKernelAndArgument) {
  const auto buffer = trace.allocate(64);
  const auto other = trace.allocate(64);
  trace.mark_ambiguous = true;
  for (int i = 0; i < 3; ++i)
    trace.launch("number", Arguments().value(trace.address(buffer)).value(trace.address(other)));
  trace.mark_ambiguous = false;
  const auto words = trace.program()->ambiguous_words();
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[1].kernel, "number");
  EXPECT_EQ(words[1].argument, "word1");
  EXPECT_EQ(words[1].allocation, other);
  EXPECT_EQ(words[1].words, 3u);
  EXPECT_EQ(words[1].targets, 1u);
}

TEST_F(ProgramTest, AmbiguousWordsAreCountedPerArgumentWhateverTheyPointInto) {
  trace.mark_ambiguous = true;
  std::vector<format::AllocationId> buffers;
  for (int i = 0; i < 5; ++i) {
    buffers.push_back(trace.allocate(64));
    trace.launch("number", Arguments().value(trace.address(buffers.back())).value(uint64_t{7}));
  }
  const auto words = trace.program()->ambiguous_words();
  ASSERT_EQ(words.size(), 1u);
  EXPECT_EQ(words[0].words, 5u);
  EXPECT_EQ(words[0].targets, 5u);
  EXPECT_EQ(words[0].allocation, buffers[0]);
}

TEST_F(ProgramTest, NamesAmbiguousWordsInMemory) {
  const auto a = trace.allocate(64);
  const auto table = trace.allocate(64);
  const auto pinned = trace.allocate(64, {}, format::AllocationKind::kHostPinned);
  std::vector<uint8_t> bytes(64);
  const uint64_t word = trace.address(a) + 4;
  std::memcpy(bytes.data() + 24, &word, sizeof(word));
  trace.mark_ambiguous = true;
  trace.copy_to_device(table, bytes);
  trace.copy_to_device(table, bytes);
  trace.host_write(pinned, 0, bytes);
  trace.mark_ambiguous = false;
  const auto words = trace.program()->ambiguous_words();
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].content, "copy to");
  EXPECT_EQ(words[0].buffer, table);
  EXPECT_EQ(words[0].offset_bytes, 24u);
  EXPECT_EQ(words[0].words, 2u);
  EXPECT_EQ(words[0].allocation, a);
  EXPECT_EQ(words[1].content, "host write to");
  EXPECT_EQ(words[1].buffer, pinned);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
