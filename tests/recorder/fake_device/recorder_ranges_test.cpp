// Recordings of ranges only: what gets into the trace, and when.
#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using format::AllocationBegin;
using format::AllocationEnd;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecorderRangesTest : public RecorderTest {
 protected:
  void SetUp() override { select({"step"}); }

  void select(std::vector<std::string> ranges) {
    Options options;
    options.ranges = std::move(ranges);
    make(options);
    kernel_outside();  // memory is the program's, with what it holds
  }
  // As a call of the program.
  void call(const std::function<void()>& body) {
    recorder_->streams().call_begins();
    body();
  }
  void fill(void* memory, size_t bytes) {
    call([&] { memset_work(memory, bytes); });
    std::memset(memory, 7, bytes);
  }
  void copy_to(const void* destination, const void* source, size_t bytes) {
    call([&] { copy(destination, source, bytes); });
  }
  static std::vector<format::AllocationId> begun(const Trace& trace) {
    std::vector<format::AllocationId> ids;
    for (const auto& begin : actions<AllocationBegin>(trace)) ids.push_back(begin.id);
    return ids;
  }
  template <typename Action>
  static std::vector<std::byte> content(const Trace& trace, const format::Content& content) {
    const auto bytes = trace.content(content);
    return bytes ? std::vector<std::byte>(bytes->begin(), bytes->end()) : std::vector<std::byte>();
  }

  alignas(256) uint64_t a_[32] = {};
  alignas(256) uint64_t b_[32] = {};
  alignas(256) uint64_t c_[32] = {};
};

TEST_F(RecorderRangesTest, OnlyWhatTheRangeTouchesIsInTheTrace) {
  device_memory(a_, sizeof(a_));
  device_memory(b_, sizeof(b_));
  fill(a_, 64);
  fill(b_, 64);
  const format::RangeId range = recorder_->marks().range_begins("step");
  fill(a_, 8);
  recorder_->marks().range_ends(range);
  fill(b_, 8);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(begun(*trace), SizeIs(1));
  EXPECT_THAT(actions<format::Memset>(*trace), SizeIs(1));
  const auto begins = actions<AllocationBegin>(*trace);
  EXPECT_EQ(begins[0].recorded_address, reinterpret_cast<uint64_t>(a_));
  const auto initial = trace->content(begins[0].initial);
  ASSERT_TRUE(initial);
  EXPECT_EQ(static_cast<int>((*initial)[63]), 7) << "what was done before the range";
  const auto ends = actions<AllocationEnd>(*trace);
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_FALSE(ends[0].freed);
  EXPECT_TRUE(ends[0].post.hash);
}

TEST_F(RecorderRangesTest, ContentIsReadBeforeTheWorkThatTouchesIt) {
  device_memory(a_, sizeof(a_));
  const format::RangeId range = recorder_->marks().range_begins("step");
  fill(a_, 64);  // the memory changes after the call was prepared
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto initial = trace->content(actions<AllocationBegin>(*trace)[0].initial);
  ASSERT_TRUE(initial);
  EXPECT_EQ(static_cast<int>((*initial)[0]), 0);
  const auto post = trace->content(actions<AllocationEnd>(*trace)[0].post);
  ASSERT_TRUE(post);
  EXPECT_EQ(static_cast<int>((*post)[0]), 7);
}

TEST_F(RecorderRangesTest, WhatWordsLeadToComesAlong) {
  device_memory(a_, sizeof(a_));
  device_memory(b_, sizeof(b_));
  device_memory(c_, sizeof(c_));
  a_[0] = a_[1] = reinterpret_cast<uint64_t>(b_);
  b_[0] = b_[1] = reinterpret_cast<uint64_t>(c_) + 8;
  const format::RangeId range = recorder_->marks().range_begins("step");
  call([&] { memset_work(a_ + 8, 8); });
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(3));
  EXPECT_EQ(begins[0].recorded_address, reinterpret_cast<uint64_t>(c_)) << "targets first";
  EXPECT_EQ(begins[2].recorded_address, reinterpret_cast<uint64_t>(a_));
  ASSERT_THAT(begins[2].initial.relocations, SizeIs(2));
  EXPECT_EQ(begins[2].initial.relocations[0].allocation, begins[1].id);
  EXPECT_EQ(begins[1].initial.relocations[0].addend, 8);
}

TEST_F(RecorderRangesTest, WhatOnlyLastContentsLeadToEnds) {
  device_memory(a_, sizeof(a_));
  device_memory(b_, sizeof(b_));
  device_memory(c_, sizeof(c_));
  const format::RangeId range = recorder_->marks().range_begins("step");
  fill(b_, 64);
  // As a kernel would: to memory in front of it and behind it.
  b_[0] = reinterpret_cast<uint64_t>(a_);
  b_[1] = reinterpret_cast<uint64_t>(c_);
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(begun(*trace), SizeIs(3));
  EXPECT_THAT(actions<format::AllocationEnd>(*trace), SizeIs(3));
}

// A list whose elements point at each other.
TEST_F(RecorderRangesTest, CyclesOfWordsAreWhole) {
  device_memory(a_, sizeof(a_));
  device_memory(b_, sizeof(b_));
  a_[0] = a_[1] = reinterpret_cast<uint64_t>(b_);
  b_[0] = b_[1] = reinterpret_cast<uint64_t>(a_);
  const format::RangeId range = recorder_->marks().range_begins("step");
  call([&] { memset_work(a_ + 8, 8); });
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1)) << "the one that began first is written once more";
  EXPECT_EQ(copies[0].destination.allocation, begins[0].id);
  ASSERT_THAT(copies[0].host_source.relocations, SizeIs(2));
  EXPECT_EQ(copies[0].host_source.relocations[0].allocation, begins[1].id);
  EXPECT_THAT(begins[1].initial.relocations, SizeIs(2));
}

TEST_F(RecorderRangesTest, WordsToMemoryThatIsGoneStayAsTheyAre) {
  device_memory(a_, sizeof(a_));
  device_memory(b_, sizeof(b_));
  a_[0] = a_[1] = reinterpret_cast<uint64_t>(b_);
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(b_)), true);
  const format::RangeId range = recorder_->marks().range_begins("step");
  call([&] { memset_work(a_ + 8, 8); });
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(1));
  EXPECT_THAT(begins[0].initial.relocations, IsEmpty());
}

// The replay keeps the number, and may compare it with the new memory's address.
TEST_F(RecorderRangesTest, WordsToMemoryThatIsGoneMayLookLikeNewOnes) {
  device_memory(a_, sizeof(a_));
  device_memory(b_, sizeof(b_));
  a_[0] = a_[1] = reinterpret_cast<uint64_t>(b_);
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(b_)), true);
  const format::RangeId range = recorder_->marks().range_begins("step");
  call([&] { memset_work(a_ + 8, 8); });
  device_memory(b_, sizeof(b_));
  call([&] { memset_work(b_, 8); });
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto ends = actions<AllocationEnd>(*trace);
  ASSERT_THAT(ends, SizeIs(2));
  for (const AllocationEnd& end : ends) {
    if (end.id != begun(*trace)[0]) continue;
    ASSERT_THAT(end.post.relocations, SizeIs(2));
    EXPECT_TRUE(end.post.relocations[0].ambiguous);
  }
}

// What a kernel of the range stored leads there also in a replay, at its address.
TEST_F(RecorderRangesTest, WordsToMemoryThatTheRangeFreedLeadThere) {
  device_memory(a_, sizeof(a_));
  device_memory(b_, sizeof(b_));
  const format::RangeId range = recorder_->marks().range_begins("step");
  fill(a_, 64);
  fill(b_, 64);
  a_[0] = a_[1] = reinterpret_cast<uint64_t>(b_) + 8;
  call([&] {
    Freeing freeing = recorder_->buffers().freeing(reinterpret_cast<uint64_t>(b_));
    recorder_->buffers().freed(std::move(freeing), true);
  });
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto ends = actions<AllocationEnd>(*trace);
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_TRUE(ends[0].freed);
  ASSERT_THAT(ends[1].post.relocations, SizeIs(2));
  EXPECT_EQ(ends[1].post.relocations[0].allocation, ends[0].id);
  EXPECT_EQ(ends[1].post.relocations[0].addend, 8);
}

TEST_F(RecorderRangesTest, EachRangeBeginsItsMemoryAnew) {
  device_memory(a_, sizeof(a_));
  for (int i = 0; i < 2; ++i) {
    const format::RangeId range = recorder_->marks().range_begins("step");
    fill(a_, 8 * (i + 1));
    recorder_->marks().range_ends(range);
    recorder_->streams().call_begins();
    a_[31] = 99;  // by work outside of the ranges
  }
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  EXPECT_NE(begins[0].id, begins[1].id);
  EXPECT_EQ(begins[0].recorded_address, begins[1].recorded_address);
  const auto second = trace->content(begins[1].initial);
  ASSERT_TRUE(second);
  EXPECT_EQ(static_cast<int>((*second)[31 * 8]), 99);
  const auto sets = actions<format::Memset>(*trace);
  ASSERT_THAT(sets, SizeIs(2));
  EXPECT_EQ(sets[1].allocation, begins[1].id);
  EXPECT_THAT(actions<AllocationEnd>(*trace), SizeIs(2));
}

// Nothing was asked of HIP between them.
TEST_F(RecorderRangesTest, RangesThatFollowAtOnceAreOneStretch) {
  select({"step#0-1", "step#3"});
  device_memory(a_, sizeof(a_));
  for (int i = 0; i < 4; ++i) {
    const format::RangeId range = recorder_->marks().range_begins("step");
    fill(a_, 8 * (i + 1));
    recorder_->marks().range_ends(range);
    recorder_->marks().mark("between");
  }
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<AllocationBegin>(*trace), SizeIs(2));
  EXPECT_THAT(actions<AllocationEnd>(*trace), SizeIs(2));
  std::vector<uint32_t> ordinals;
  for (const auto& marker : actions<format::Marker>(*trace)) {
    EXPECT_NE(marker.kind, format::MarkerKind::kMark) << "it stands in no range";
    if (marker.kind == format::MarkerKind::kRangeBegin) ordinals.push_back(marker.ordinal);
  }
  EXPECT_THAT(ordinals, ElementsAre(0, 1, 3));
  EXPECT_THAT(trace->findings(), IsEmpty());
}

TEST_F(RecorderRangesTest, OrdinalsSelect) {
  select({"step#1-2", "other#0"});
  device_memory(a_, sizeof(a_));
  std::vector<uint64_t> sizes;
  for (int i = 0; i < 4; ++i) {
    const format::RangeId range = recorder_->marks().range_begins("step");
    call([&] { memset_work(a_, i + 1); });
    recorder_->marks().range_ends(range);
  }
  const format::RangeId other = recorder_->marks().range_begins("other");
  call([&] { memset_work(a_, 100); });
  recorder_->marks().range_ends(other);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  for (const auto& set : actions<format::Memset>(*trace)) sizes.push_back(set.width_elements);
  EXPECT_THAT(sizes, ElementsAre(2, 3, 100));
  std::vector<uint32_t> ordinals;
  for (const auto& marker : actions<format::Marker>(*trace)) {
    if (marker.kind == format::MarkerKind::kRangeBegin) ordinals.push_back(marker.ordinal);
  }
  EXPECT_THAT(ordinals, ElementsAre(1, 2, 0)) << "as the program counts them";
  EXPECT_THAT(trace->findings(), IsEmpty());
}

TEST_F(RecorderRangesTest, OverlappingRangesAreOneStretch) {
  select({"one", "two"});
  device_memory(a_, sizeof(a_));
  const format::RangeId outer = recorder_->marks().range_begins("not selected");
  const format::RangeId one = recorder_->marks().range_begins("one");
  call([&] { memset_work(a_, 1); });
  const format::RangeId two = recorder_->marks().range_begins("two");
  const format::RangeId inner = recorder_->marks().range_begins("inside");
  recorder_->marks().range_ends(one);
  call([&] { memset_work(a_, 2); });
  recorder_->marks().range_ends(outer);
  recorder_->marks().range_ends(two);
  call([&] { memset_work(a_, 3); });
  recorder_->marks().range_ends(inner);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Memset>(*trace), SizeIs(2));
  EXPECT_THAT(actions<AllocationBegin>(*trace), SizeIs(1));
  std::string order;
  for (const auto& marker : actions<format::Marker>(*trace)) {
    order += (marker.kind == format::MarkerKind::kRangeBegin ? "<" : ">") + marker.text + " ";
  }
  EXPECT_EQ(order, "<one <two <inside >one >two >inside ");
}

// A call that began outside, and one that ends after the range.
TEST_F(RecorderRangesTest, CallsCountWhereTheyBegin) {
  device_memory(a_, sizeof(a_));
  recorder_->streams().call_begins();
  const format::RangeId range = recorder_->marks().range_begins("step");
  memset_work(a_, 1);
  Work work;
  work.raw = RawMemset{};
  std::get<RawMemset>(work.raw).address = reinterpret_cast<uint64_t>(a_);
  std::get<RawMemset>(work.raw).width_elements = 2;
  work.call = "hipMemset";
  recorder_->streams().call_begins();
  recorder_->work().prepare(work);
  recorder_->marks().range_ends(range);
  recorder_->streams().call_begins();  // of another thread, which leaves the range
  recorder_->commit(work);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::Memset>(*trace), IsEmpty());
  EXPECT_FALSE(trace->complete()) << "it may have written what the range left";
}

TEST_F(RecorderRangesTest, StreamsAndEventsComeWhenTheyAreUsed) {
  device_memory(a_, sizeof(a_));
  recorder_->streams().stream_created(handle(10), 1, -1);
  recorder_->streams().stream_created(handle(11), 0, 0);
  recorder_->streams().event_created(handle(20), 2);
  recorder_->streams().event_recorded(handle(20), handle(11));
  recorder_->streams().synchronized(format::SynchronizeKind::kStream, handle(11));
  const format::RangeId range = recorder_->marks().range_begins("step");
  recorder_->streams().call_begins();
  memset_work(a_, 1, handle(10));
  recorder_->streams().event_recorded(handle(20), handle(10));
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto streams = actions<format::StreamCreate>(*trace);
  ASSERT_THAT(streams, SizeIs(1));
  EXPECT_EQ(streams[0].flags, 1u);
  EXPECT_EQ(streams[0].priority, -1);
  const auto events = actions<format::EventCreate>(*trace);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].flags, 2u);
  EXPECT_THAT(actions<format::EventRecord>(*trace), SizeIs(1));
}

TEST_F(RecorderRangesTest, NothingIsAskedOfTheDeviceOutside) {
  const std::function<void()> never = [] { FAIL() << "the device was asked"; };
  device_memory(a_, sizeof(a_));
  fill(a_, 64);
  state_.synchronizes = false;
  state_.during_call = never;
  fill(a_, 64);
  copy_to(a_, b_, 64);
  recorder_->streams().synchronized(format::SynchronizeKind::kDevice, nullptr);
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(a_)), true);
  state_.during_call = {};
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(trace->events(), IsEmpty());
  EXPECT_FALSE(trace->complete()) << "the range was never entered";
}

TEST_F(RecorderRangesTest, RangesThatWereNotThereAreNamed) {
  select({"step#5", "nothing", "step#0-9"});
  device_memory(a_, sizeof(a_));
  for (int i = 0; i < 3; ++i)
    recorder_->marks().range_ends(recorder_->marks().range_begins("step"));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  std::vector<std::string> lines;
  for (const format::Finding& finding : trace->findings()) lines.push_back(finding.detail);
  EXPECT_THAT(lines,
              ElementsAre("'step#5' was never entered: there were 3 ranges of that name",
                          "'nothing' was never entered: there were 0 ranges of that name",
                          "'step#0-9' was entered 3 times: there were 3 ranges of that name"));
  EXPECT_EQ(trace->findings()[2].kind, format::FindingKind::kNote);
}

TEST_F(RecorderRangesTest, AMisspeltRangeIsToldOfTheOthers) {
  select({"stp"});
  for (const char* name : {"step", "fill", "step"})
    recorder_->marks().range_ends(recorder_->marks().range_begins(name));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_EQ(trace->findings()[0].detail,
            "'stp' was never entered: there were 0 ranges of that name; others: step, fill");
}

TEST_F(RecorderRangesTest, ARangeThatIsNotLeftEndsWithTheProgram) {
  device_memory(a_, sizeof(a_));
  (void)recorder_->marks().range_begins("step");
  fill(a_, 8);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<AllocationEnd>(*trace), SizeIs(1));
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_EQ(trace->findings()[0].call, "ranges");
}

TEST_F(RecorderRangesTest, ADeviceThatIsBusyMakesTheStateUnknown) {
  device_memory(a_, sizeof(a_));
  state_.synchronizes = false;
  const format::RangeId range = recorder_->marks().range_begins("step");
  fill(a_, 8);
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  const auto ends = actions<AllocationEnd>(*trace);
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_FALSE(ends[0].post.hash);
}

TEST(RangePattern, Forms) {
  const auto whole = parse_range_pattern("layer");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->name, "layer");
  EXPECT_EQ(whole->first, 0u);
  EXPECT_EQ(whole->last, UINT64_MAX);
  const auto one = parse_range_pattern("a b#3");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->name, "a b");
  EXPECT_EQ(one->first, 3u);
  EXPECT_EQ(one->last, 3u);
  const auto some = parse_range_pattern("x#1#2-10");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->name, "x#1");
  EXPECT_EQ(some->first, 2u);
  EXPECT_EQ(some->last, 10u);
  for (const char* wrong :
       {"x#", "x#a", "x#1-", "x#-1", "x#3-2", "x#1-2-3", "x\ny", "x#99999999999999999999"}) {
    EXPECT_FALSE(parse_range_pattern(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace gfxgraph::recorder
