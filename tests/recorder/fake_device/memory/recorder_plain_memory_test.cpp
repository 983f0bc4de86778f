// Memory of the program that HIP does not know (malloc, stack) and that copy nodes of graphs write.
#include "tests/recorder/fake_device/effects_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;

class RecorderPlainMemoryTest : public RecorderEffectsTest {
 protected:
  // Of the only such memory of 64 bytes.
  static std::vector<int> held_in_the_end(const format::Trace& trace) {
    std::vector<int> held;
    for (const format::AllocationEnd& end : actions<format::AllocationEnd>(trace)) {
      if (end.post.size_bytes != 64) continue;
      if (const auto bytes = trace.content(end.post)) {
        for (const std::byte byte : *bytes) held.push_back(static_cast<int>(byte));
      }
    }
    return held;
  }
};

// The function tells that the copy is done, and writes the same memory.
TEST_F(RecorderPlainMemoryTest, HoldsInTheEndWhatTheFunctionWrote) {
  copy_node(1, other_, MemorySide::kHost, device_, MemorySide::kDevice, 64);
  launch_graph();
  std::memset(other_, 1, 64);  // the copy
  host_function([&] { other_[3] = 2; });
  during_call_();
  std::memset(other_, 9, 64);  // and who knows what
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto bytes = held_in_the_end(*trace);
  ASSERT_THAT(bytes, SizeIs(64));
  EXPECT_EQ(bytes[2], 1);
  EXPECT_EQ(bytes[3], 2);
}

// The copy's byte lies in a word that the program wrote when a function had told it of the copy.
TEST_F(RecorderPlainMemoryTest, HoldsInTheEndWhatTheProgramWroteOverACopy) {
  copy_node(1, other_, MemorySide::kHost, device_, MemorySide::kDevice, 64);
  launch_graph();
  std::memset(other_, 1, 64);  // the copy
  wait();
  RawCopy byte;
  byte.destination.address = reinterpret_cast<uint64_t>(other_);
  byte.destination_side = MemorySide::kHost;
  byte.source.address = reinterpret_cast<uint64_t>(device_);
  byte.source_side = MemorySide::kDevice;
  byte.width_bytes = 1;
  recorder_->graphs().graph_created(handle(31));
  recorder_->graphs().node_added(handle(31), handle(2), nullptr, 0, byte, "add");
  recorder_->executables().instantiated(handle(41), handle(31));
  Work work;
  recorder_->work().prepare_graph_launch(handle(41), handle(10), work);
  recorder_->commit(work);
  other_[0] = 3;  // the copy
  host_function([] {});
  during_call_();
  std::memset(other_, 2, 8);
  recorder_->streams().synchronized(format::SynchronizeKind::kDevice, nullptr);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto bytes = held_in_the_end(*trace);
  ASSERT_THAT(bytes, SizeIs(64));
  EXPECT_EQ(bytes[0], 2);
  EXPECT_EQ(bytes[1], 2);
  EXPECT_EQ(bytes[8], 1);
}

TEST_F(RecorderPlainMemoryTest, HoldsInTheEndWhatALaterFunctionWrote) {
  copy_node(1, other_, MemorySide::kHost, device_, MemorySide::kDevice, 64);
  launch_graph();
  std::memset(other_, 1, 64);  // the copy
  host_function([] {});
  const auto first = std::exchange(during_call_, {});
  host_function([&] { other_[3] = 2; });
  first();
  during_call_();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto bytes = held_in_the_end(*trace);
  ASSERT_THAT(bytes, SizeIs(64));
  EXPECT_EQ(bytes[2], 1);
  EXPECT_EQ(bytes[3], 2);
}

// What the program, or whoever has the memory now, writes beside a copy into a part of it.
TEST_F(RecorderPlainMemoryTest, HoldsInTheEndNothingThatIsNotInTheTrace) {
  copy_node(1, host_, MemorySide::kHost, device_, MemorySide::kDevice, 4096);
  copy_node(2, host_ + 4000, MemorySide::kHost, device_, MemorySide::kDevice, 4000, {handle(1)});
  launch_graph();
  wait();
  host_[5000] = 5;
  copy(host_, device_, 64);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto begins = actions<format::AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0));
  for (const format::AllocationEnd& end : actions<format::AllocationEnd>(*trace)) {
    if (end.id != begins[1].id) continue;
    const auto post = trace->content(end.post);
    ASSERT_TRUE(post);
    EXPECT_EQ(static_cast<int>((*post)[5000]), 0);
  }
}

// The trace says that the copy leads out of every allocation.
TEST_F(RecorderPlainMemoryTest, WhatACopyLeavesInMemoryOfCopyNodesBesideOthersIsTheHosts) {
  char* const shared = host_ + 4096;
  copy_node(1, device_ + 2048, MemorySide::kDevice, shared, MemorySide::kHost, 64);
  copy_node(2, shared, MemorySide::kHost, device_, MemorySide::kDevice, 64, {handle(1)});
  launch_graph();
  std::memset(shared, 3, 64);  // the second node
  Work work;
  RawCopy raw;
  raw.destination.address = reinterpret_cast<uint64_t>(shared) - 96;
  raw.destination_side = MemorySide::kHost;
  raw.source.address = reinterpret_cast<uint64_t>(device_);
  raw.width_bytes = 256;
  work.raw = raw;
  work.stream = handle(10);
  work.call = "hipMemcpyWithStream";
  work.knows = Knows::STREAM;
  recorder_->work().prepare(work);
  std::memset(shared - 96, 7, 256);
  recorder_->commit(work);
  launch_graph(false);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_FALSE(writes.empty());
  const auto bytes = trace->content(writes.back().content);
  ASSERT_TRUE(bytes);
  ASSERT_THAT(*bytes, SizeIs(64));
  EXPECT_EQ(static_cast<int>((*bytes)[0]), 7);
  const auto graphs = places<format::GraphLaunch>(*trace);
  ASSERT_THAT(graphs, SizeIs(2));
  EXPECT_LT(places<format::HostWrite>(*trace).back(), graphs[1]);
}

// One node writes a part of what another reads.
TEST_F(RecorderPlainMemoryTest, OfCopyNodesIsAllThatTheyReadAndWrite) {
  copy_node(1, other_ + 100, MemorySide::kHost, device_, MemorySide::kDevice, 512);
  copy_node(2, device_, MemorySide::kDevice, other_ + 300, MemorySide::kHost, 512, {handle(1)});
  copy_node(3, device_ + 1024, MemorySide::kDevice, other_ + 2000, MemorySide::kHost, 512);
  launch_graph();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<format::AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  EXPECT_EQ(begins[1].host_address, reinterpret_cast<uint64_t>(other_) + 100);
  EXPECT_EQ(begins[1].size_bytes, 712u);
  ASSERT_THAT(trace->graphs(), SizeIs(1));
  const auto& nodes = trace->graphs()[0].nodes;
  ASSERT_THAT(nodes, SizeIs(3));
  EXPECT_EQ(std::get<format::Copy>(nodes[0].action).destination.allocation, begins[1].id);
  EXPECT_EQ(std::get<format::Copy>(nodes[1].action).source.allocation, begins[1].id);
  EXPECT_EQ(std::get<format::Copy>(nodes[1].action).source.offset_bytes, 200u);
  EXPECT_EQ(std::get<format::Copy>(nodes[2].action).source.allocation, 0u);
}

}  // namespace
}  // namespace gfxgraph::recorder
