// Which initial contents get into the trace (gfxgraph-record --contents), and what cannot be read.
#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using format::AllocationBegin;
using format::AllocationEnd;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class RecorderContentsTest : public RecorderTest {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < std::size(a_); ++i) a_[i] = b_[i] = c_[i] = i + 1;
  }
  // `written`: a kernel may have, before a range.
  void use(WhichContents contents, bool range = true, bool written = true) {
    Options options;
    if (range) options.ranges = {"step"};
    options.contents = contents;
    make(options);
    if (range && written) kernel_outside();
    device_memory(a_, sizeof(a_));
    device_memory(b_, sizeof(b_));
  }
  void pinned_memory(void* memory, size_t bytes) {
    recorder_->buffers().allocated({format::AllocationKind::kHostPinned,
                                    reinterpret_cast<uint64_t>(memory),
                                    reinterpret_cast<uint64_t>(memory), bytes, 0, nullptr});
  }
  void fill(void* memory, size_t bytes) {
    recorder_->streams().call_begins();
    memset_work(memory, bytes);
  }
  void step(const std::function<void()>& body) {
    const format::RangeId range = recorder_->marks().range_begins("step");
    body();
    recorder_->marks().range_ends(range);
  }

  alignas(256) uint64_t a_[32];
  alignas(256) uint64_t b_[32];
  alignas(256) uint64_t c_[32];
};

TEST_F(RecorderContentsTest, AllIsWhatNothingTouchesToo) {
  use(WhichContents::kAll);
  step([&] { fill(a_, 8); });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  for (const AllocationBegin& begin : begins) {
    const auto bytes = trace->content(begin.initial);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(static_cast<int>((*bytes)[8]), 2);
  }
  EXPECT_THAT(actions<AllocationEnd>(*trace), SizeIs(2));
}

TEST_F(RecorderContentsTest, NoneIsWhatTheHostGaveOnly) {
  use(WhichContents::kNone);
  pinned_memory(c_, sizeof(c_));
  step([&] {
    fill(a_, 8);
    recorder_->streams().call_begins();
    copy(a_, c_, 64);
    recorder_->streams().call_begins();
    uint64_t back[4];
    copy(back, a_, sizeof(back), MemorySide::kHost);
  });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(1)) << "the copy out of pinned memory brings what the range needs";
  EXPECT_FALSE(begins[0].initial.stored);
  EXPECT_EQ(begins[0].initial.size_bytes, sizeof(a_));
  const auto source = trace->content(actions<format::Copy>(*trace)[0].host_source);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->size(), 64u);
  for (const AllocationEnd& end : actions<AllocationEnd>(*trace)) {
    EXPECT_FALSE(end.post.stored || end.post.hash) << "nothing that could be compared";
  }
  for (const format::Copy& copy : actions<format::Copy>(*trace)) {
    EXPECT_FALSE(copy.host_result.hash || copy.host_result.blob);
  }
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_EQ(trace->findings()[0].kind, format::FindingKind::kNote);
  EXPECT_EQ(trace->findings()[0].call, "--contents none");
}

TEST_F(RecorderContentsTest, NoneOfAWholeProgram) {
  use(WhichContents::kNone, false);
  recorder_->streams().call_begins();
  copy(a_, c_, 64);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  for (const AllocationBegin& begin : actions<AllocationBegin>(*trace)) {
    EXPECT_TRUE(begin.initial.unwritten);
  }
  EXPECT_THAT(trace->findings(), SizeIs(0)) << "nothing was left out";
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1));
  const auto source = trace->content(copies[0].host_source);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->size(), 64u) << "what the program gave the device is kept";
}

// Nobody has written it: it means nothing.
TEST_F(RecorderContentsTest, FreshMemoryIsNotRead) {
  make({});
  recorder_->begin();
  int reads = 0;
  state_.during_call = [&] { ++reads; };
  device_memory(a_, sizeof(a_));
  recorder_->buffers().allocated({format::AllocationKind::kStreamOrdered,
                                  reinterpret_cast<uint64_t>(b_), 0, sizeof(b_), 0, handle(10)});
  EXPECT_EQ(reads, 0);
  pinned_memory(c_, sizeof(c_));
  fill(a_, 8);
  EXPECT_EQ(reads, 0);
  const auto trace = finish();
  EXPECT_GE(reads, 2) << "final states";
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(3));
  for (const AllocationBegin& begin : {begins[0], begins[1]}) {
    EXPECT_TRUE(begin.initial.unwritten);
    EXPECT_EQ(begin.initial.size_bytes, begin.size_bytes);
  }
  EXPECT_FALSE(begins[2].initial.unwritten) << "the host sees it: its writes are looked for";
  EXPECT_TRUE(begins[2].initial.blob);
}

// Of ranges: what they are given themselves, and what was given out when no kernel had run.
TEST_F(RecorderContentsTest, MemoryThatNobodyCanHaveWrittenIsFreshInRanges) {
  use(WhichContents::kTouched, true, false);
  fill(b_, 8);
  step([&] {
    fill(a_, 8);
    fill(b_, 8);
    device_memory(c_, sizeof(c_));
    fill(c_, 8);
  });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(3));
  EXPECT_TRUE(begins[0].initial.unwritten);
  EXPECT_FALSE(begins[1].initial.unwritten) << "a memset outside of the range wrote it";
  EXPECT_TRUE(begins[1].initial.blob);
  EXPECT_TRUE(begins[2].initial.unwritten);
}

TEST_F(RecorderContentsTest, CopiesOutsideOfRangesWrite) {
  use(WhichContents::kTouched, true, false);
  recorder_->streams().call_begins();
  copy(a_ + 4, c_, 8);
  step([&] {
    fill(a_, 8);
    fill(b_, 8);
  });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  EXPECT_FALSE(begins[0].initial.unwritten);
  EXPECT_TRUE(begins[1].initial.unwritten);
}

// A kernel outside, on whatever way its launch takes, may write what was given out before it, and
// what is while it may still run.
TEST_F(RecorderContentsTest, KernelsOutsideOfRangesMayWriteAnything) {
  for (const bool idle : {false, true}) {
    std::filesystem::remove(path());
    use(WhichContents::kTouched, true, false);
    if (idle) {
      ASSERT_TRUE(recorder_->launches().idle());
      EXPECT_EQ(recorder_->launches().find_kernel(handle(2), true, "hipLaunchKernel", held_),
                nullptr);
    } else {
      kernel_outside();
    }
    device_memory(c_, sizeof(c_));
    step([&] {
      for (uint64_t* memory : {a_, b_, c_}) fill(memory, 8);
    });
    const auto trace = finish();
    ASSERT_TRUE(trace);
    const auto begins = actions<AllocationBegin>(*trace);
    ASSERT_THAT(begins, SizeIs(3));
    for (const AllocationBegin& begin : begins) EXPECT_FALSE(begin.initial.unwritten);
  }
}

// The kernels of a range may have written what it was given, and did not touch by name.
TEST_F(RecorderContentsTest, MemoryOfAnEarlierRangeIsNotFresh) {
  use(WhichContents::kTouched, true, false);
  step([&] { fill(a_, 8); });
  recorder_->streams().call_begins();
  device_memory(c_, sizeof(c_));
  step([&] {
    for (uint64_t* memory : {a_, b_, c_}) fill(memory, 8);
  });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(4));
  EXPECT_TRUE(begins[0].initial.unwritten);
  EXPECT_FALSE(begins[1].initial.unwritten);
  EXPECT_FALSE(begins[2].initial.unwritten);
  EXPECT_TRUE(begins[3].initial.unwritten) << "given out after the range, before the next one";
}

// What it holds was left there by memory that is in no trace.
TEST_F(RecorderContentsTest, MemoryGivenOutAgainIsNotFreshInRanges) {
  use(WhichContents::kTouched, true, false);
  recorder_->streams().call_begins();
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(a_)), true);
  step([&] {
    device_memory(a_ + 4, 8);
    fill(a_ + 4, 8);
  });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(1));
  EXPECT_FALSE(begins[0].initial.unwritten);
  EXPECT_TRUE(begins[0].initial.stored);
}

TEST_F(RecorderContentsTest, MemoryOfOthersIsNotFresh) {
  make({});
  recorder_->buffers().host_registered(a_, sizeof(a_), 0);
  recorder_->buffers().allocated({format::AllocationKind::kManaged, reinterpret_cast<uint64_t>(b_),
                                  reinterpret_cast<uint64_t>(b_), sizeof(b_), 1, nullptr});
  const auto trace = finish();
  ASSERT_TRUE(trace);
  for (const AllocationBegin& begin : actions<AllocationBegin>(*trace)) {
    EXPECT_FALSE(begin.initial.unwritten);
    EXPECT_TRUE(begin.initial.blob);
  }
}

// Checkpoints hash whole buffers, and a replay compares with them: it has to know every byte.
TEST_F(RecorderContentsTest, CheckpointsNeedWhatFreshMemoryHeld) {
  Options options;
  options.checkpoints = true;
  make(options);
  device_memory(a_, sizeof(a_));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(1));
  EXPECT_FALSE(begins[0].initial.unwritten);
  EXPECT_TRUE(begins[0].initial.blob);
}

// A table of pointers leads to memory that no argument names.
TEST_F(RecorderContentsTest, NoneKeepsWordsThatLeadToMemory) {
  use(WhichContents::kNone);
  a_[4] = a_[5] = reinterpret_cast<uint64_t>(b_) + 16;
  step([&] { fill(a_, 8); });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  EXPECT_EQ(begins[0].recorded_address, reinterpret_cast<uint64_t>(b_));
  EXPECT_FALSE(begins[1].initial.stored);
  ASSERT_THAT(begins[1].initial.relocations, SizeIs(2));
  EXPECT_EQ(begins[1].initial.relocations[0].offset_bytes, 32u);
  EXPECT_EQ(begins[1].initial.relocations[0].addend, 16);
}

TEST_F(RecorderContentsTest, NoneKeepsCyclesOfWords) {
  use(WhichContents::kNone);
  a_[4] = a_[5] = a_[9] = reinterpret_cast<uint64_t>(b_);
  b_[4] = b_[5] = b_[9] = reinterpret_cast<uint64_t>(a_);
  step([&] { fill(a_ + 16, 8); });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  uint64_t bytes = 0;
  for (const format::Copy& copy : actions<format::Copy>(*trace)) {
    EXPECT_EQ(copy.destination.allocation, begins[0].id);
    EXPECT_FALSE(copy.host_source.relocations.empty());
    bytes += copy.width_bytes;
  }
  EXPECT_EQ(bytes, 24u) << "the words, and nothing beside them";
}

// Up to 32 of them; the rest is counted.
TEST_F(RecorderTest, MemoryThatCannotBeReadIsNamed) {
  alignas(8) char memory[16 + 24 + 40 * 8] = {};  // their last states are read in this order
  char* const data = memory;
  char* const freed = memory + 16;
  device_memory(data, 16);
  recorder_->marks().name_memory(data, "kv cache");
  device_memory(freed, 24);
  state_.readable = false;
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(freed)), true);
  for (int i = 0; i < 40; ++i) device_memory(memory + 40 + 8 * i, 8);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete()) << "nothing but last states is missing";
  std::map<std::string, uint64_t> findings;
  for (const format::Finding& finding : trace->findings()) {
    findings[finding.call + ": " + finding.detail] += finding.count;
  }
  EXPECT_EQ(
      findings.count("hipFree: buffer #2 (device, 24 bytes) cannot be read: its state is unknown"),
      1u);
  EXPECT_EQ(findings.count("exit: buffer #1 (device, 16 bytes, \"kv cache\") cannot be read: its "
                           "state is unknown"),
            1u);
  EXPECT_EQ(findings["exit: one more buffer cannot be read: its state is unknown"], 42u - 32u);
}

TEST_F(RecorderTest, MemoryThatCannotBeReadBeforeItsFirstUseMakesTheTraceIncomplete) {
  Options options;
  options.ranges = {"step"};
  make(options);
  kernel_outside();
  alignas(8) char data[16] = {};
  device_memory(data, sizeof(data));
  const format::RangeId range = recorder_->marks().range_begins("step");
  state_.readable = false;
  recorder_->streams().call_begins();
  memset_work(data, 16);
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  std::vector<std::string> findings;
  for (const format::Finding& finding : trace->findings()) {
    findings.push_back(finding.call + ": " + finding.detail);
  }
  EXPECT_THAT(
      findings,
      ElementsAre("hipMemset: buffer #1 (device, 16 bytes) cannot be read: what it held "
                  "before is unknown",
                  "range: buffer #1 (device, 16 bytes) cannot be read: its state is unknown"));
}

}  // namespace
}  // namespace gfxgraph::recorder
