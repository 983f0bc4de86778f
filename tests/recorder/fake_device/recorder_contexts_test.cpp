// Execution contexts, and what else newer runtimes changed for graphs.
#include <fmt/format.h>

#include "tests/recorder/fake_device/recorder_graph_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecorderContextsTest : public RecorderTest {
 protected:
  static constexpr const char* kRecord = "hipExecutionCtxRecordEvent";
  static constexpr const char* kWait = "hipExecutionCtxWaitEvent";
  static constexpr const char* kSynchronize = "hipExecutionCtxSynchronize";

  ContextCalls& contexts() { return recorder_->contexts(); }
  void stream(Handle context, Handle stream) {
    recorder_->streams().stream_created(stream, 1, 0);
    contexts().stream_made(context, stream);
  }
  void made(Handle context) { contexts().made(context, 0, false); }
  // "record EVENT STREAM", "wait STREAM EVENT" and "done STREAM" in their order; then why the trace
  // is incomplete.
  std::string outcome() {
    const auto trace = finish();
    if (!trace) return "no trace";
    std::string text;
    for (const format::Event& event : trace->events()) {
      if (const auto* wait = std::get_if<format::StreamWait>(&event.action)) {
        text += fmt::format("wait {} {}, ", wait->stream, wait->event);
      } else if (const auto* record = std::get_if<format::EventRecord>(&event.action)) {
        text += fmt::format("record {} {}, ", record->event, record->stream);
      } else if (const auto* done = std::get_if<format::Synchronize>(&event.action)) {
        text += fmt::format("done {}, ", done->object);
      }
    }
    for (const format::Finding& finding : trace->findings()) {
      if (finding.kind == format::FindingKind::kIncomplete)
        text += finding.call + ": " + finding.detail + ", ";
    }
    return text;
  }
};

TEST_F(RecorderContextsTest, AnEventOfAContextIsBehindEachOfItsStreams) {
  made(handle(1));
  stream(handle(1), handle(10));
  stream(handle(1), handle(11));
  recorder_->streams().stream_created(handle(12), 1, 0);  // not the context's
  recorder_->streams().event_created(handle(20), 0);
  contexts().event_recorded(handle(1), handle(20), kRecord);
  recorder_->streams().stream_waits(handle(12), handle(20), 0);
  contexts().event_recorded(handle(1), handle(20), kRecord);
  // Streams 1 and 2; 4 joins them, each time by event 2.
  EXPECT_EQ(outcome(),
            "record 2 1, wait 4 2, record 2 2, wait 4 2, record 1 4, wait 3 1, "
            "record 2 1, wait 4 2, record 2 2, wait 4 2, record 1 4, ");
}

TEST_F(RecorderContextsTest, OnlyStreamsThatItHasCount) {
  made(handle(1));
  made(handle(2));
  recorder_->streams().event_created(handle(20), 0);
  contexts().event_recorded(handle(1), handle(20), kRecord);  // none
  stream(handle(1), handle(10));
  stream(handle(1), handle(11));
  stream(handle(2), handle(12));
  contexts().stream_leaves(handle(10));
  contexts().event_recorded(handle(1), handle(20), kRecord);
  contexts().waits(handle(2), handle(20), kWait);
  contexts().synchronized(handle(1), kSynchronize);
  contexts().waits(handle(1), handle(20), kWait);
  EXPECT_EQ(outcome(), "record 1 2, wait 3 1, done 2, wait 2 1, ");
}

TEST_F(RecorderContextsTest, AContextThatIsNotDestroyedKeepsItsStreams) {
  made(handle(1));
  stream(handle(1), handle(10));
  contexts().put_back(handle(1), contexts().leaves(handle(1)));
  contexts().synchronized(handle(1), kSynchronize);
  (void)contexts().leaves(handle(1));
  made(handle(1));  // another one
  contexts().synchronized(handle(1), kSynchronize);
  EXPECT_EQ(outcome(), "done 1, ");
}

TEST_F(RecorderContextsTest, AContextWhoseStreamsAreNotKnownIsNamed) {
  contexts().made(handle(1), 0, true);
  contexts().made(handle(1), 0, true);
  stream(handle(1), handle(10));
  EXPECT_FALSE(contexts().leaves(handle(1)).known);
  contexts().synchronized(handle(1), kSynchronize);
  contexts().waits(handle(3), handle(20), kWait);
  EXPECT_EQ(outcome(),
            "hipExecutionCtxSynchronize: of a device's primary context: which streams it means is "
            "not known, hipExecutionCtxWaitEvent: of a context whose creation was not seen, ");
}

TEST_F(RecorderContextsTest, AnEventOfAContextInACaptureIsNamed) {
  made(handle(1));
  stream(handle(1), handle(10));
  recorder_->graphs().capture_begins(handle(10));
  contexts().event_recorded(handle(1), handle(20), kRecord);
  EXPECT_EQ(outcome(), "hipExecutionCtxRecordEvent: while a stream of the context is captured, ");
}

class RecorderNewerGraphsTest : public RecorderGraphTest {};

// The memory of a node that was freed in the graph is that of a later one: larger, and in part.
TEST_F(RecorderNewerGraphsTest, NodesThatReuseMemoryAreRecorded) {
  const uint64_t address = reinterpret_cast<uint64_t>(data_);
  recorder_->graphs().graph_created(handle(30));
  std::vector<Handle> after;
  uintptr_t node = 0;
  const auto add = [&](RawAction action) {
    add_node(handle(30), handle(++node), std::move(action), after);
    after = {handle(node)};
  };
  for (const uint64_t bytes : {8, 32, 16}) {
    recorder_->buffers().graph_memory(address, bytes, 0);
    add(RawGraphMemory{address, false});
    RawMemset set = set_bytes(static_cast<uint32_t>(bytes));
    set.width_elements = bytes;
    add(set);
    add(RawGraphMemory{address, true});
  }
  recorder_->executables().instantiated(handle(40), handle(30));
  launch(handle(40), nullptr);
  launch(handle(40), nullptr);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(trace->findings(), IsEmpty());
  ASSERT_THAT(trace->graphs(), SizeIs(1));
  std::vector<uint64_t> widths;
  std::set<format::AllocationId> targets;
  for (const format::GraphNode& one : trace->graphs()[0].nodes) {
    if (const auto* set = std::get_if<format::Memset>(&one.action)) {
      widths.push_back(set->width_elements);
      targets.insert(set->allocation);
      EXPECT_EQ(set->offset_bytes, 0u);
    }
  }
  EXPECT_THAT(widths, ::testing::ElementsAre(8u, 32u, 16u));
  EXPECT_THAT(targets, SizeIs(1));
}

}  // namespace
}  // namespace gfxgraph::recorder
