// Contents that arrive later: read behind the work of a stream while the program goes on.
#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;

class RecorderReadsTest : public RecorderHostMemoryTest {
 protected:
  void SetUp() override {
    RecorderHostMemoryTest::SetUp();
    state_.reads_behind = true;
    state_.synchronizes = false;  // whoever waits for the device waits in vain
  }

  void stream_memory(void* memory, size_t bytes) {
    recorder_->buffers().allocated({format::AllocationKind::kStreamOrdered,
                                    reinterpret_cast<uint64_t>(memory), 0, bytes, 0, handle(10)});
  }
  void free_async(void* memory) {
    recorder_->buffers().freed(
        recorder_->buffers().freeing(reinterpret_cast<uint64_t>(memory), handle(10), true), true);
  }
  // The device goes on, and ends.
  std::shared_ptr<const Trace> arrive_and_finish() {
    state_.arrive();
    state_.synchronizes = true;
    return finish();
  }
  // A range with two launches; between them the host writes memory that the first one was given.
  // Nothing in it touches words_.
  std::shared_ptr<const Trace> range_in_doubt(const std::function<void()>& host_writes) {
    Options options;
    options.ranges = {"step"};
    begin_anew(options);
    state_.synchronizes = true;  // the range begins
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    stream_memory(words_, sizeof(words_));
    const format::RangeId range = recorder_->marks().range_begins("step");
    recorder_->streams().call_begins();
    state_.synchronizes = false;
    launch(host_);
    host_writes();
    launch(host_, handle(11));
    state_.arrive();
    state_.synchronizes = true;
    recorder_->marks().range_ends(range);
    return finish();
  }
  std::vector<std::byte> last_state(const Trace& trace, format::AllocationId id) {
    for (const auto& end : actions<format::AllocationEnd>(trace)) {
      if (end.id != id || !end.post.hash) continue;
      if (auto bytes = trace.content(end.post)) return {bytes->begin(), bytes->end()};
    }
    return {};
  }

  alignas(256) uint64_t words_[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  alignas(4096) char far_[3 * 4096] = {};
};

TEST_F(RecorderReadsTest, TheLastStateIsWhatTheStreamLeaves) {
  stream_memory(words_, sizeof(words_));
  free_async(words_);
  words_[3] = 44;  // by work of the stream that has not ended
  state_.arrive();
  words_[3] = 55;  // by whoever has the memory next
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(trace->findings(), SizeIs(0));
  const std::vector<std::byte> bytes = last_state(*trace, 1);
  ASSERT_THAT(bytes, SizeIs(sizeof(words_)));
  EXPECT_EQ(static_cast<int>(bytes[24]), 44);
}

TEST_F(RecorderReadsTest, WordsLeadToWhatLivedThen) {
  alignas(256) static std::byte target[256];
  stream_memory(target, sizeof(target));  // 1
  stream_memory(words_, sizeof(words_));  // 2
  words_[0] = words_[1] = reinterpret_cast<uint64_t>(target);
  free_async(words_);
  free_async(target);
  stream_memory(target, sizeof(target));  // 3, at the same address
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  for (const auto& end : actions<format::AllocationEnd>(*trace)) {
    if (end.id != 2) continue;
    ASSERT_THAT(end.post.relocations, SizeIs(2));
    EXPECT_EQ(end.post.relocations[0].allocation, 1u);
  }
}

TEST_F(RecorderReadsTest, NothingBehindIsWrittenBeforeItArrives) {
  stream_memory(words_, sizeof(words_));
  free_async(words_);
  recorder_->streams().synchronized(format::SynchronizeKind::kStream, handle(11),
                                    "hipStreamSynchronize");
  const auto torn = Trace::open(path() + ".partial", {.allow_torn = true});
  ASSERT_TRUE(torn) << torn.error().message;
  EXPECT_THAT(actions<format::AllocationEnd>(**torn), SizeIs(0));
  EXPECT_THAT(actions<format::Synchronize>(**torn), SizeIs(0));
  state_.arrive();
  recorder_->streams().synchronized(format::SynchronizeKind::kStream, handle(10),
                                    "hipStreamSynchronize");
  const auto later = Trace::open(path() + ".partial", {.allow_torn = true});
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_THAT(actions<format::AllocationEnd>(**later), SizeIs(1));
  EXPECT_THAT(actions<format::Synchronize>(**later), SizeIs(2));
}

TEST_F(RecorderReadsTest, WhatNeverArrivesIsNotKnownAndNamed) {
  stream_memory(words_, sizeof(words_));
  free_async(words_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete()) << "the last state is compared, not replayed";
  EXPECT_TRUE(last_state(*trace, 1).empty());
  const bool named = std::ranges::any_of(
      trace->findings(), [](const format::Finding& one) { return one.call == "hipFreeAsync"; });
  EXPECT_TRUE(named);
}

// Without reads behind a stream the device is waited for, and must become idle.
TEST_F(RecorderReadsTest, MemoryOfADeviceThatStaysBusyHasNoLastState) {
  state_.reads_behind = false;
  Options options;
  options.wait = true;
  begin_anew(options);
  stream_memory(words_, sizeof(words_));
  free_async(words_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete()) << "the last state is compared, not replayed";
  EXPECT_TRUE(last_state(*trace, 1).empty());
  const bool named = std::ranges::any_of(trace->findings(), [](const format::Finding& one) {
    return one.call == "hipFreeAsync" &&
           one.detail.find("did not become idle") != std::string::npos;
  });
  EXPECT_TRUE(named);
}

TEST_F(RecorderReadsTest, MemoryThatIsNotFreedAfterAllLivesOn) {
  stream_memory(words_, sizeof(words_));
  recorder_->buffers().freed(
      recorder_->buffers().freeing(reinterpret_cast<uint64_t>(words_), handle(10), true), false);
  free_async(words_);
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(last_state(*trace, 1), SizeIs(sizeof(words_)));
  EXPECT_THAT(actions<format::AllocationEnd>(*trace), SizeIs(1));
}

TEST_F(RecorderReadsTest, NothingIsWaitedForAndNothingAskedTwice) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  state_.stream = StreamState::kBusy;
  state_.idle_after = 100;  // questions; a launch asks where something is in doubt
  launch(host_);
  host_[5000] = 1;
  launch(host_);
  EXPECT_EQ(state_.idle_after, 99);
  state_.reads_behind = false;
  stream_memory(words_, sizeof(words_));
  free_async(words_);
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete()) << "what is in doubt is read behind the second launch's stream";
  EXPECT_TRUE(last_state(*trace, 2).empty());
}

// The reader follows the memset, which wrote a part of the word.
TEST_F(RecorderReadsTest, AWordThatACopyWroteInPartIsReadAsAWhole) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  Work work;
  RawMemset raw;
  raw.address = reinterpret_cast<uint64_t>(host_) + 2;
  raw.width_elements = 48;
  work.raw = raw;
  work.stream = handle(10);
  work.call = "hipMemsetAsync";
  recorder_->work().prepare(work);
  recorder_->commit(work);
  launch(host_);
  // Not to its begin: wherever that lies, the first two bytes change.
  const uint64_t pointer = reinterpret_cast<uint64_t>(other_ + 8) | uint64_t{1} << 47;
  std::memset(host_ + 2, 7, 48);
  std::memcpy(host_, &pointer, sizeof(pointer));
  launch(host_);
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_FALSE(writes.empty());
  EXPECT_EQ(writes[0].offset_bytes, 0u);
  EXPECT_EQ(writes[0].content.size_bytes, 8u);
  EXPECT_THAT(writes[0].content.relocations, SizeIs(1));
}

// The reader of memory in doubt gets what its stream finds there.
TEST_F(RecorderReadsTest, WhatIsInDoubtIsReadWhereTheReaderStands) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  host_[5000] = 1;
  state_.stream = StreamState::kError;  // no use in waiting for it
  launch(host_, handle(11));
  host_[5001] = 2;  // before the stream comes to it
  state_.arrive();
  host_[5002] = 3;
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(2)) << "what the second launch read, and what is there at the end";
  EXPECT_EQ(writes[0].offset_bytes, 5000u);
  EXPECT_TRUE(writes[0].in_doubt);
  const auto bytes = trace->content(writes[0].content);
  ASSERT_TRUE(bytes);
  ASSERT_THAT(*bytes, SizeIs(8));
  EXPECT_EQ(static_cast<int>((*bytes)[0]), 1);
  EXPECT_EQ(static_cast<int>((*bytes)[1]), 2);
  EXPECT_EQ(static_cast<int>((*bytes)[2]), 0);
  EXPECT_LT(places<format::HostWrite>(*trace)[0], places<format::Launch>(*trace)[1]);
  EXPECT_GT(places<format::HostWrite>(*trace)[0], places<format::Launch>(*trace)[0]);
}

// A kernel ends at once and writes into memory that is in doubt because of another one, which runs
// on. The program then undoes what it wrote.
TEST_F(RecorderReadsTest, WhatTheProgramUndoesOfAKernelThatEndedAtOnceIsWritten) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  host_[5000] = 1;
  Work work;
  prepare_launch(work, host_, handle(11));
  state_.arrive();
  host_[4104] = 5;  // the second kernel
  state_.stream = StreamState::kIdle;
  recorder_->commit(work);
  state_.stream = StreamState::kBusy;
  host_[4104] = 0;
  launch(host_, handle(11));
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  std::vector<int> written;
  for (const auto& write : actions<format::HostWrite>(*trace)) {
    const uint64_t at = 4104 - write.offset_bytes;
    if (write.offset_bytes > 4104 || at >= write.content.size_bytes) continue;
    written.push_back(static_cast<int>((*trace->content(write.content))[at]));
  }
  ASSERT_FALSE(written.empty());
  EXPECT_EQ(written.back(), 0);
}

// What lies between is not read: it may be more than can be read behind a stream.
TEST_F(RecorderReadsTest, PartsInDoubtThatLieApartAreReadApart) {
  recorder_->buffers().host_registered(far_, sizeof(far_), 0);
  launch(far_);
  far_[0] = 1;
  far_[sizeof(far_) - 1] = 2;
  launch(far_, handle(11));
  EXPECT_THAT(state_.under_way, SizeIs(2));
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(4)) << "what the second launch read, and what is there at the end";
  EXPECT_EQ(writes[0].offset_bytes, 0u);
  EXPECT_EQ(writes[1].offset_bytes, sizeof(far_) - 8);
  EXPECT_LT(places<format::HostWrite>(*trace)[1], places<format::Launch>(*trace)[1]);
}

// It follows a kernel that was given the memory, and may have stored the address where this one
// finds it.
TEST_F(RecorderReadsTest, WhatIsInDoubtIsReadBeforeKernelsThatMayFindIt) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  launch(host_);
  host_[100] = 1;
  launch(other_, handle(11));
  EXPECT_THAT(state_.under_way, SizeIs(0)) << "it does not follow the first one";
  launch(other_);
  EXPECT_THAT(state_.under_way, SizeIs(1));
  launch(other_);
  EXPECT_THAT(state_.under_way, SizeIs(1)) << "it finds the same";
  host_[100] = 2;
  launch(other_);
  EXPECT_THAT(state_.under_way, SizeIs(2));
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_FALSE(writes.empty());
  EXPECT_EQ(writes[0].offset_bytes, 96u);
  EXPECT_TRUE(writes[0].in_doubt);
  const auto launched = places<format::Launch>(*trace);
  const auto written = places<format::HostWrite>(*trace);
  ASSERT_THAT(launched, SizeIs(5));
  EXPECT_GT(written[0], launched[1]);
  EXPECT_LT(written[0], launched[2]);
}

TEST_F(RecorderReadsTest, WhatIsInDoubtIsReadBehindThePerThreadStream) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_, per_thread_stream());
  host_[5000] = 1;
  launch(host_, per_thread_stream());
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  ASSERT_FALSE(actions<format::HostWrite>(*trace).empty());
  EXPECT_LT(places<format::HostWrite>(*trace)[0], places<format::Launch>(*trace)[1]);
}

TEST_F(RecorderReadsTest, WhatIsInDoubtIsReadInRanges) {
  const auto trace = range_in_doubt([&] { host_[5000] = 1; });
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(2)) << "what the second launch read, and what is there at the end";
  EXPECT_EQ(writes[0].offset_bytes, 5000u);
  EXPECT_LT(places<format::HostWrite>(*trace)[0], places<format::Launch>(*trace)[1]);
}

// Its content would have had to be read before the launch.
TEST_F(RecorderReadsTest, AWordToMemoryThatTheRangeHadNotTouchedMakesItIncomplete) {
  const auto trace = range_in_doubt([&] {
    const auto address = reinterpret_cast<uint64_t>(words_);
    std::memcpy(host_ + 5000, &address, sizeof(address));
  });
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
}

TEST_F(RecorderReadsTest, WhatIsInDoubtAndNeverArrivesMakesATraceIncomplete) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  host_[5000] = 1;
  state_.stream = StreamState::kError;
  launch(host_, handle(11));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
}

// What is in doubt is told where the second launch stands. The program then restores what was there
// before.
class RecorderRestoredTest : public RecorderReadsTest {
 protected:
  void SetUp() override {
    RecorderReadsTest::SetUp();
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    launch(host_);
    host_[5000] = 1;
    launch(host_, handle(11));
  }
  // The byte in the trace, in the end.
  int last_written(const Trace& trace) {
    int last = -1;
    for (const auto& write : actions<format::HostWrite>(trace)) {
      if (write.offset_bytes > 5000 || write.offset_bytes + write.content.size_bytes <= 5000)
        continue;
      last = static_cast<int>((*trace.content(write.content))[5000 - write.offset_bytes]);
    }
    return last;
  }
};

TEST_F(RecorderRestoredTest, AfterTheReadHasArrived) {
  state_.arrive();
  wait(handle(12));  // takes it
  host_[5000] = 0;
  wait(handle(10));
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(last_written(*trace), 0);
}

TEST_F(RecorderRestoredTest, BeforeTheReadIsTaken) {
  state_.arrive();
  host_[5000] = 0;
  recorder_->streams().host_may_learn();
  recorder_->streams().synchronized(format::SynchronizeKind::kDevice, nullptr,
                                    "hipDeviceSynchronize");
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(last_written(*trace), 0);
}

TEST_F(RecorderRestoredTest, ForAnotherReader) {
  state_.arrive();
  host_[5000] = 0;
  launch(host_, handle(11));
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  int last = -1;
  const auto writes = actions<format::HostWrite>(*trace);
  for (size_t i = 0; i < writes.size(); ++i) {
    if (places<format::HostWrite>(*trace)[i] > places<format::Launch>(*trace)[2]) continue;
    if (writes[i].offset_bytes == 5000)
      last = static_cast<int>((*trace->content(writes[i].content))[0]);
  }
  EXPECT_EQ(last, 0) << "what the third launch finds";
}

// The second launch's stream comes to its read late. Until then others, which that launch does not
// touch, may write other parts of the memory: that is not what the launch found.
class RecorderOvertakenReadsTest : public RecorderReadsTest {
 protected:
  void SetUp() override {
    RecorderReadsTest::SetUp();
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    launch(host_);
    host_[5000] = 1;
    launch(host_, handle(11));
  }
  void set_async(size_t offset, size_t bytes, uintptr_t stream) {
    Work work;
    RawMemset raw;
    raw.address = reinterpret_cast<uint64_t>(host_) + offset;
    raw.width_elements = bytes;
    raw.value = 7;
    work.raw = raw;
    work.stream = handle(stream);
    work.call = "hipMemsetAsync";
    const size_t reads = state_.under_way.size();
    recorder_->work().prepare(work);
    recorder_->commit(work);
    // The device is quick: it comes to the memset, and what it has been given before that.
    while (state_.under_way.size() > reads) {
      state_.under_way.back()();
      state_.under_way.pop_back();
    }
    std::memset(host_ + offset, 7, bytes);
  }
  // Offsets of the bytes of the program's writes before the second launch.
  std::set<uint64_t> written_before_reader(const Trace& trace) {
    std::set<uint64_t> offsets;
    const auto places_of_writes = places<format::HostWrite>(trace);
    const auto writes = actions<format::HostWrite>(trace);
    for (size_t i = 0; i < writes.size(); ++i) {
      if (places_of_writes[i] > places<format::Launch>(trace)[1]) continue;
      for (uint64_t byte = 0; byte < writes[i].content.size_bytes; ++byte)
        offsets.insert(writes[i].offset_bytes + byte);
    }
    return offsets;
  }
  static std::set<uint64_t> word(uint64_t at) {
    std::set<uint64_t> bytes;
    for (uint64_t byte = 0; byte < 8; ++byte) bytes.insert(at + byte);
    return bytes;
  }
};

TEST_F(RecorderOvertakenReadsTest, ByAMemset) {
  set_async(5100, 100, 12);
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(written_before_reader(*trace), word(5000));
}

TEST_F(RecorderOvertakenReadsTest, ByAKernel) {
  launch(host_, handle(12));
  host_[5100] = 2;
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(written_before_reader(*trace), word(5000));
}

TEST_F(RecorderOvertakenReadsTest, ByTheProgramAfterItHasWaited) {
  wait();
  host_[5100] = 2;
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(written_before_reader(*trace), word(5000));
}

TEST_F(RecorderOvertakenReadsTest, ByAHostFunction) {
  host_function([&] { host_[5100] = 2; }, handle(12));
  during_call_();
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete()) << "it writes beside the first kernel, which has the memory";
  EXPECT_EQ(written_before_reader(*trace), word(5000));
}

// The memset's stream knows what was there before it.
TEST_F(RecorderOvertakenReadsTest, ByAMemsetOfWhatIsInDoubt) {
  set_async(4996, 8, 12);
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(written_before_reader(*trace), word(5000));
  const auto bytes = trace->content(actions<format::HostWrite>(*trace)[0].content);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(static_cast<int>((*bytes)[0]), 1);
  EXPECT_EQ(static_cast<int>((*bytes)[1]), 0);
}

// Whether the reader found what the program, an earlier kernel or the third one wrote is not known.
TEST_F(RecorderOvertakenReadsTest, ByAKernelThatWritesWhatIsInDoubt) {
  launch(host_, handle(12));
  host_[5000] = 2;
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
}

// It follows a kernel that overtakes as well, and finds what that wrote.
TEST_F(RecorderOvertakenReadsTest, ByAKernelAndAMemsetBehindIt) {
  launch(host_, handle(12));
  host_[5100] = 2;
  set_async(5096, 8, 12);
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(written_before_reader(*trace), word(5000));
}

// What follows the read, by its stream or by an event, does not overtake it. Changes until then are
// those of earlier kernels, or of the program for a kernel that waits for it.
TEST_F(RecorderOvertakenReadsTest, NotByWhatFollowsIt) {
  launch(host_, handle(11));
  recorder_->streams().event_recorded(handle(99), handle(11));
  recorder_->streams().stream_waits(handle(12), handle(99), 0);
  launch(host_, handle(12));
  host_[5100] = 2;
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  std::set<uint64_t> expected = word(5000);
  expected.merge(word(5096));
  EXPECT_EQ(written_before_reader(*trace), expected);
}

// A read that has arrived is not overtaken.
TEST_F(RecorderOvertakenReadsTest, NotAfterItHasArrived) {
  host_[5100] = 2;  // an earlier kernel
  state_.arrive();
  set_async(5000, 200, 12);
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  std::set<uint64_t> expected = word(5000);
  expected.merge(word(5096));
  EXPECT_EQ(written_before_reader(*trace), expected);
}

}  // namespace
}  // namespace gfxgraph::recorder
