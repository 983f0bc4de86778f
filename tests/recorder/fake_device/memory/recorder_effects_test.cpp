// Host functions of the program: what they write into memory that the device reads or writes.
#include "tests/recorder/fake_device/effects_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;

// The function runs when the launch that reads what it writes has long been issued.
TEST_F(RecorderEffectsTest, WhatAHostFunctionWritesIsCopiedInItsPlace) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  wait();
  host_function([&] { std::memset(host_ + 100, 9, 4000); });
  launch(host_);
  during_call_();
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0));
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1)) << "also where it goes on in the next block";
  EXPECT_EQ(copies[0].destination.offset_bytes, 96u);
  EXPECT_EQ(copies[0].width_bytes, 4008u);
  EXPECT_EQ(static_cast<int>((*trace->content(copies[0].host_source))[3]), 0);
  EXPECT_EQ(static_cast<int>((*trace->content(copies[0].host_source))[4]), 9);
  const auto copied = places<format::Copy>(*trace);
  const auto ran = places<format::HostFunction>(*trace);
  const auto launched = places<format::Launch>(*trace);
  ASSERT_THAT(ran, SizeIs(1));
  EXPECT_LT(launched[0], copied[0]);
  EXPECT_LT(copied[0], ran[0]);
  EXPECT_LT(ran[0], launched[1]);
}

TEST_F(RecorderEffectsTest, WhatAHostFunctionHasNotWrittenYetIsNotWritten) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  wait();
  host_function([&] {
    host_[8] = 1;
    launch(host_, handle(11));  // from another thread, as it were
    host_[16] = 2;
  });
  during_call_();
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete()) << "the kernel runs beside the function";
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_EQ(writes[0].offset_bytes, 8u);
  EXPECT_EQ(writes[0].content.size_bytes, 8u);
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].destination.offset_bytes, 8u);
  EXPECT_EQ(copies[0].width_bytes, 16u);
}

// What the function tells ends the flight of the memset in the middle of looking at its block.
TEST_F(RecorderEffectsTest, AFunctionThatRanIsNotLookedIntoWhileABlockIs) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  Work work;
  RawMemset raw;
  raw.address = reinterpret_cast<uint64_t>(host_) + 1000;
  raw.width_elements = 64;
  work.raw = raw;
  work.stream = handle(11);
  work.call = "hipMemsetAsync";
  recorder_->work().prepare(work);
  recorder_->commit(work);
  host_function([] {}, handle(11));
  during_call_();
  host_[100] = 1;
  Freeing freeing =
      recorder_->buffers().freeing(reinterpret_cast<uint64_t>(host_) | UINT64_C(1) << 47);
  ASSERT_TRUE(freeing);
  std::memset(host_, 0xEE, sizeof(host_));  // somebody else's by now
  recorder_->buffers().freed(std::move(freeing), true);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_EQ(writes[0].offset_bytes, 96u);
}

TEST_F(RecorderEffectsTest, ANodeBesideKernelsThatWereGivenWhatItWritesIsIncomplete) {
  for (const bool ordered : {false, true}) {
    SCOPED_TRACE(ordered);
    std::filesystem::remove(path());
    SetUp();
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    kernel_node(1, host_);
    function_node(
        2, [&] { host_[100] = ordered ? 5 : 4; },
        ordered ? std::vector{handle(1)} : std::vector<Handle>{});
    launch_graph();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->complete(), ordered);
    ASSERT_THAT(trace->graphs(), SizeIs(1));
    EXPECT_THAT(trace->graphs()[0].nodes, SizeIs(3)) << "with a copy of what was written";
  }
}

TEST_F(RecorderEffectsTest, AFunctionBesideKernelsOfAnotherStreamIsIncomplete) {
  for (const bool first : {false, true}) {
    for (const bool ordered : {false, true}) {
      SCOPED_TRACE(ordered);
      std::filesystem::remove(path());
      SetUp();
      recorder_->buffers().host_registered(host_, sizeof(host_), 0);
      launch(host_);
      wait();
      const Handle other = handle(ordered ? 10 : 11);
      if (first) launch(host_, other);
      host_function([&] { ++host_[100]; });
      if (!first) launch(host_, other);
      during_call_();
      wait();
      const auto trace = finish();
      ASSERT_TRUE(trace);
      EXPECT_EQ(trace->complete(), ordered);
    }
  }
}

// What the program wrote before stands before the function in the trace, whenever that runs.
TEST_F(RecorderEffectsTest, WhatTheProgramWroteBeforeDoesNotUndoIt) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  wait();
  host_[8] = 1;
  host_function([&] { host_[100] = 2; });
  launch(host_);  // follows it
  during_call_();
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto wrote = places<format::HostWrite>(*trace);
  const auto copied = places<format::Copy>(*trace);
  ASSERT_THAT(wrote, SizeIs(1));
  ASSERT_THAT(copied, SizeIs(1));
  EXPECT_LT(wrote[0], copied[0]);
}

TEST_F(RecorderEffectsTest, WhatTheProgramWritesWhileItIsToComeIsIncomplete) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  wait();
  host_function([&] { host_[100] = 2; });
  host_[8] = 1;
  launch(host_);
  during_call_();
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
}

// A copy node's memory that is plain until its graph is launched, behind the function.
TEST_F(RecorderEffectsTest, WhatItWritesIntoMemoryThatBeginsLaterIsThereFromTheBeginning) {
  host_function([&] { other_[100] = 2; });
  copy_node(1, other_, MemorySide::kHost, device_, MemorySide::kDevice, 64);
  copy_node(2, device_, MemorySide::kDevice, other_, MemorySide::kHost, 128, {handle(1)});
  launch_graph();
  during_call_();
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<format::AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  const auto initial = trace->content(begins[1].initial);
  ASSERT_TRUE(initial);
  EXPECT_EQ(static_cast<int>((*initial)[100]), 2);
}

// An address that the function left leads to what was there then, not to what comes there before
// the recorder looks at it.
TEST_F(RecorderEffectsTest, WhatItWroteLeadsToNoMemoryThatBeginsBehindIt) {
  alignas(256) char later[256] = {};
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  wait();
  host_function([&] {
    const char* const address = later;
    std::memcpy(host_ + 96, &address, sizeof(address));
  });
  during_call_();
  recorder_->buffers().allocated({format::AllocationKind::kDevice,
                                  reinterpret_cast<uint64_t>(later), 0, sizeof(later), 0, nullptr});
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_THAT(copies[0].host_source.relocations, SizeIs(0));
}

// The program may know that it has run before the recorder does.
TEST_F(RecorderEffectsTest, WhatItWroteLeadsToNoMemoryThatBeginsMeanwhile) {
  alignas(256) char later[256] = {};
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  wait();
  host_function([&] {
    const char* const address = later;
    std::memcpy(host_ + 96, &address, sizeof(address));
    recorder_->buffers().allocated({format::AllocationKind::kDevice,
                                    reinterpret_cast<uint64_t>(later), 0, sizeof(later), 0,
                                    nullptr});
  });
  during_call_();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_THAT(copies[0].host_source.relocations, SizeIs(0));
  const auto& findings = trace->findings();
  EXPECT_TRUE(std::ranges::any_of(findings, [](const format::Finding& one) {
    return one.detail.find("allocated while it ran") != std::string::npos;
  }));
}

// HIP 5.2.3, at the second launch (docs/runtime-quirks.md).
TEST_F(RecorderEffectsTest, AFunctionThatTheRuntimeCallsEarlyIsBesideAllBeforeIt) {
  for (const int32_t version : {50'221'153, 60'443'483}) {
    SCOPED_TRACE(version);
    begin_on(version);
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    host_[100] = 0;
    kernel_node(1, host_);
    function_node(2, [&] { ++host_[100]; }, {handle(1)});
    launch_graph();
    wait();
    launch_graph(false);
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->complete(), version > 50'300'000);
  }
}

// A launch returns after a copy to plain memory, so HIP 5.2.3 calls the function behind it in its
// turn, unless a thread of its own submits the work.
TEST_F(RecorderEffectsTest, AFunctionBehindACopyToPlainMemoryIsCalledInItsTurn) {
  for (const bool direct : {true, false}) {
    SCOPED_TRACE(direct);
    state_.direct = direct;
    begin_on(50'221'153);
    RawMemset set;
    set.address = reinterpret_cast<uint64_t>(device_);
    set.width_elements = 64;
    node(1, set);
    copy_node(2, other_, MemorySide::kHost, device_, MemorySide::kDevice, 64, {handle(1)});
    function_node(3, [&] { std::memset(other_, 100, 64); }, {handle(2)});
    copies_ = [&] { std::memset(other_, 7, 64); };
    launch_graph();
    wait();
    launch_graph(false);
    wait();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->complete(), direct);
    ASSERT_THAT(trace->graphs(), SizeIs(2));
    if (!direct) continue;
    for (const format::Graph& graph : trace->graphs()) {
      EXPECT_THAT(graph.nodes, SizeIs(4)) << "with a copy of what the function wrote";
    }
  }
}

// To pinned memory it copies later, so that who wrote last is not known.
TEST_F(RecorderEffectsTest, AFunctionThatIsCalledBeforeACopyToPinnedMemoryIsIncomplete) {
  for (const bool writes : {true, false}) {
    SCOPED_TRACE(writes);
    begin_on(50'221'153);
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    char value = 0;
    copy_node(1, host_, MemorySide::kHost, device_, MemorySide::kDevice, 64);
    function_node(2, [&] { host_[5] = writes ? ++value : host_[5]; }, {handle(1)});
    launch_graph();
    wait();
    launch_graph(false);
    wait();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->complete(), !writes);
  }
}

// HIP 5 may not keep it.
TEST_F(RecorderEffectsTest, AnEdgeThatTheRuntimeMayLoseIsNamed) {
  for (const int32_t version : {50'221'153, 60'443'483}) {
    SCOPED_TRACE(version);
    begin_on(version);
    RawMemset raw;
    raw.address = reinterpret_cast<uint64_t>(device_);
    raw.width_elements = 64;
    node(1, raw);
    node(2, raw, {handle(1)});
    node(3, raw, {handle(2)});
    node(4, raw, {handle(1), handle(3)});
    launch_graph();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    EXPECT_THAT(trace->findings(), SizeIs(version < 50'300'000 ? 1 : 0));
  }
}

// The first one tells that the copy is done; what the second one writes is known by then, too.
// Nothing else of the recorder is called between the function and the end of the memory.
TEST_F(RecorderEffectsTest, MemoryThatEndsHoldsWhatTheProgramWroteOverACopyThatAFunctionToldOf) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  async_copy(host_, device_, 13, Knows::BY_ARGUMENT);
  std::memset(host_, 1, 13);  // the copy
  host_function([] {});
  during_call_();
  std::memset(host_, 2, 16);
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(host_)), true);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_FALSE(writes.empty());
  EXPECT_EQ(writes.back().offset_bytes, 0u);
  const auto bytes = trace->content(writes.back().content);
  ASSERT_TRUE(bytes);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(static_cast<int>((*bytes)[i]), 2) << i;
  const auto waits = places<format::Synchronize>(*trace);
  ASSERT_FALSE(waits.empty());
  EXPECT_LT(waits[0], places<format::HostWrite>(*trace).back());
}

// The function tells that the copy is done; then the program writes what lay there before the copy.
TEST_F(RecorderEffectsTest, WhatTheProgramUndoesOfACopyThatAFunctionToldOfIsWritten) {
  for (const bool reachable : {true, false}) {
    SCOPED_TRACE(reachable);
    std::filesystem::remove(path());
    SetUp();
    std::memset(host_, 1, sizeof(host_));
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    if (reachable) launch(host_);
    wait();
    async_copy(host_ + 3204, device_, 2, Knows::NOTHING);
    std::memset(host_ + 3204, 9, 2);
    host_function([] {});
    during_call_();
    wait();
    std::memset(host_ + 3204, 1, 2);
    async_copy(device_, host_ + 3200, 64, Knows::NOTHING);
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    const auto writes = actions<format::HostWrite>(*trace);
    ASSERT_FALSE(writes.empty());
    const auto bytes = trace->content(writes.back().content);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(static_cast<int>((*bytes)[3204 - writes.back().offset_bytes]), 1);
    const auto copies = places<format::Copy>(*trace);
    EXPECT_GT(places<format::HostWrite>(*trace).back(), copies.front());
    EXPECT_LT(places<format::HostWrite>(*trace).back(), copies.back());
  }
}

TEST_F(RecorderEffectsTest, WhatACopyWritesBesideItIsTheCopys) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  copy_node(1, host_ + 160, MemorySide::kHost, device_, MemorySide::kDevice, 32);
  function_node(2, [&] {
    std::memset(host_ + 160, 1, 32);  // the copy
    std::memset(host_ + 128, 2, 32);
    std::memset(host_ + 192, 3, 32);
  });
  launch_graph();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  ASSERT_THAT(trace->graphs(), SizeIs(1));
  std::vector<std::pair<uint64_t, uint64_t>> written;
  for (const format::GraphNode& node : trace->graphs()[0].nodes) {
    const auto* copy = std::get_if<format::Copy>(&node.action);
    if (copy == nullptr || copy->source.allocation != 0) continue;
    written.emplace_back(copy->destination.offset_bytes, copy->width_bytes);
  }
  EXPECT_THAT(written, ::testing::ElementsAre(std::pair(128, 32), std::pair(192, 32)));
}

TEST_F(RecorderEffectsTest, WhatABoxBesideItLeavesOutIsItsOwn) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  RawMemset raw;
  raw.address = reinterpret_cast<uint64_t>(host_) + 160;
  raw.pitch_bytes = 32;
  raw.width_elements = 16;
  raw.height = 2;
  node(1, raw);
  function_node(2, [&] {
    std::memset(host_ + 160, 1, 48);
    std::memset(host_ + 176, 2, 16);  // between the rows
    std::memset(host_ + 192, 1, 16);
  });
  launch_graph();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  ASSERT_THAT(trace->graphs(), SizeIs(1));
  std::vector<std::pair<uint64_t, uint64_t>> written;
  for (const format::GraphNode& node : trace->graphs()[0].nodes) {
    const auto* copy = std::get_if<format::Copy>(&node.action);
    if (copy != nullptr) written.emplace_back(copy->destination.offset_bytes, copy->width_bytes);
  }
  EXPECT_THAT(written, ::testing::ElementsAre(std::pair(176, 16)));
}

// Until now the device has not seen the memory: it is written in the moment in which both happen.
TEST_F(RecorderEffectsTest, WhatIsWrittenWhileAMemsetIsIssuedIsTheFunctions) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  RawMemset raw;
  raw.address = reinterpret_cast<uint64_t>(host_) + 1000;
  raw.width_elements = 64;
  node(1, raw);
  function_node(2, [&] { host_[100] = 4; });
  launch_graph();
  launch(host_, handle(11));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  ASSERT_THAT(trace->graphs(), SizeIs(1));
  ASSERT_THAT(trace->graphs()[0].nodes, SizeIs(3));
  const auto* written = std::get_if<format::Copy>(&trace->graphs()[0].nodes[1].action);
  ASSERT_NE(written, nullptr);
  EXPECT_EQ(written->destination.offset_bytes, 96u);
}

}  // namespace
}  // namespace gfxgraph::recorder
