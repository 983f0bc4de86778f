// The recorder without HIP: captures, and what the runtime does not capture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/recorder/fake_device/recorder_graph_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class RecorderCaptureTest : public RecorderGraphTest {};

TEST_F(RecorderCaptureTest, CapturedWorkBecomesAGraph) {
  alignas(8) char data[16] = {};
  device_memory(data, sizeof(data));
  recorder_->streams().stream_created(handle(10), 0, 0);
  recorder_->graphs().capture_begins(handle(10));
  memset_work(data, 16, handle(10));
  memset_work(data, 8, handle(10));
  state_.nodes = {data, data + 1};
  recorder_->graphs().capture_ended(handle(10), handle(30));
  recorder_->executables().instantiated(handle(40), handle(30));
  for (int i = 0; i < 2; ++i) {
    Work work;
    recorder_->work().prepare_graph_launch(handle(40), handle(10), work);
    recorder_->commit(work);
  }
  RawMemset changed;
  changed.address = reinterpret_cast<uint64_t>(data);
  changed.width_elements = 4;
  recorder_->executables().changed(handle(40), data, changed, "hipGraphExecMemsetNodeSetParams");
  Work work;
  recorder_->work().prepare_graph_launch(handle(40), handle(10), work);
  recorder_->commit(work);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Memset>(*trace), SizeIs(0));
  ASSERT_THAT(trace->graphs(), SizeIs(2));
  EXPECT_THAT(trace->graphs()[0].nodes, SizeIs(2));
  EXPECT_THAT(trace->graphs()[0].nodes[1].dependencies, ElementsAre(0));
  const auto launches = actions<format::GraphLaunch>(*trace);
  ASSERT_THAT(launches, SizeIs(3));
  EXPECT_EQ(launches[0].graph, launches[1].graph);
  EXPECT_NE(launches[1].graph, launches[2].graph);
}

TEST_F(RecorderCaptureTest, ACaptureWithOtherNodesThanRecordedIsIncomplete) {
  recorder_->streams().stream_created(handle(10), 0, 0);
  recorder_->graphs().capture_begins(handle(10));
  state_.nodes = {this};
  recorder_->graphs().capture_ended(handle(10), handle(30));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
}

TEST_F(RecorderCaptureTest, ACaptureAddsToAGraphThatIsThere) {
  device_memory(data_, sizeof(data_));
  recorder_->streams().stream_created(handle(10), 0, 0);
  recorder_->graphs().graph_created(handle(30));
  add_node(handle(30), handle(31), set_bytes(1));
  add_node(handle(30), handle(32), set_bytes(2));
  const Handle after = handle(32);
  recorder_->graphs().capture_begins_in(handle(10), handle(30), &after, 1);
  memset_work(data_, 8, handle(10));
  state_.nodes = {const_cast<void*>(handle(31)), const_cast<void*>(handle(32)),
                  const_cast<void*>(handle(33))};
  recorder_->graphs().capture_ended(handle(10), handle(30));
  recorder_->executables().instantiated(handle(40), handle(30));
  launch(handle(40), handle(10));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Memset>(*trace), SizeIs(0));
  ASSERT_THAT(trace->graphs(), SizeIs(1));
  ASSERT_THAT(trace->graphs()[0].nodes, SizeIs(3));
  EXPECT_THAT(trace->graphs()[0].nodes[2].dependencies, ElementsAre(1));
}

TEST_F(RecorderCaptureTest, ACaptureIntoAnUnknownGraphIsNamed) {
  recorder_->streams().stream_created(handle(10), 0, 0);
  recorder_->graphs().capture_begins_in(handle(10), handle(30), nullptr, 0);
  recorder_->graphs().graph_created(handle(30));
  const Handle after = handle(32);
  recorder_->graphs().capture_begins_in(handle(10), handle(30), &after, 1);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  EXPECT_THAT(trace->findings(), SizeIs(2));
}

TEST_F(RecorderCaptureTest, WorkThatTheRuntimeDoesNotCaptureIsDoneAtOnce) {
  for (const int32_t version : {50'221'153, 60'443'483}) {
    std::filesystem::remove(path());
    state_.runtime_version = version;
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->graphs().capture_begins(handle(10));
    Work work;
    work.raw = set_bytes(1);
    work.stream = handle(10);
    work.call = "like hipModuleLaunchKernel";
    work.never_captured = true;
    recorder_->work().prepare(work);
    recorder_->commit(work);
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_THAT(actions<format::Memset>(*trace), SizeIs(version < 60'000'000 ? 1 : 0));
  }
}

TEST_F(RecorderCaptureTest, AListOfCopiesThatTheRuntimeDoesNotCaptureIsDoneAtOnce) {
  for (const int32_t version : {70'253'211, 80'000'000}) {
    std::filesystem::remove(path());
    state_.runtime_version = version;
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->graphs().capture_begins(handle(10));
    Work work;
    RawCopy raw;
    raw.destination.address = reinterpret_cast<uint64_t>(data_);
    raw.source.address = reinterpret_cast<uint64_t>(data_ + 16);
    raw.width_bytes = 16;
    work.raw = raw;
    work.stream = handle(10);
    work.call = "hipMemcpyBatchAsync";
    work.never_captured = true;
    recorder_->work().prepare(work);
    recorder_->commit(work);
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_THAT(actions<format::Copy>(*trace), SizeIs(version < 80'000'000 ? 1 : 0));
  }
}

TEST_F(RecorderCaptureTest, AGraphThatTheRuntimeDoesNotCaptureIsLaunchedAtOnce) {
  for (const int32_t version : {50'221'153, 60'443'483}) {
    std::filesystem::remove(path());
    state_.runtime_version = version;
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->graphs().graph_created(handle(30));
    add_node(handle(30), handle(1), set_bytes(1));
    recorder_->executables().instantiated(handle(40), handle(30));
    recorder_->graphs().capture_begins(handle(10));
    launch(handle(40), handle(10));
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->complete(), version < 60'000'000);
    EXPECT_THAT(actions<format::GraphLaunch>(*trace), SizeIs(version < 60'000'000 ? 1 : 0));
  }
}

// HIP 5.2 never executes what such a stream is given.
TEST_F(RecorderCaptureTest, AStreamThatTheRuntimeForgotIsStillCapturing) {
  device_memory(data_, sizeof(data_));
  for (uintptr_t stream : {10, 11}) recorder_->streams().stream_created(handle(stream), 0, 0);
  recorder_->streams().event_created(handle(20), 0);
  recorder_->graphs().capture_begins(handle(10));
  recorder_->streams().event_recorded(handle(20), handle(10));
  recorder_->streams().stream_waits(handle(11), handle(20), 0);
  memset_work(data_, 16, handle(11));
  state_.nodes = {data_};
  state_.capturing = {const_cast<void*>(handle(11))};
  recorder_->graphs().capture_ended(handle(10), handle(30));
  memset_work(data_, 1, handle(10));
  memset_work(data_, 2, handle(11));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto sets = actions<format::Memset>(*trace);
  ASSERT_THAT(sets, SizeIs(1));
  EXPECT_EQ(sets[0].width_elements, 1u);
  ASSERT_THAT(actions<format::AllocationEnd>(*trace), SizeIs(1)) << "the capture itself is over";
  EXPECT_TRUE(actions<format::AllocationEnd>(*trace)[0].post.hash);
}

}  // namespace
}  // namespace gfxgraph::recorder
