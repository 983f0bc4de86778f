// What the recorder takes for the program's and what for the device's, while kernels that reach the
// host's memory run on.
#include <optional>
#include <thread>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;

class RecorderFlightsTest : public RecorderHostMemoryTest {
 protected:
  // Bytes of `width` in rows at a distance.
  void set_box(void* to, size_t pitch, size_t width, size_t height, Handle stream) {
    Work work;
    RawMemset raw;
    raw.address = reinterpret_cast<uint64_t>(to);
    raw.pitch_bytes = pitch;
    raw.width_elements = width;
    raw.height = height;
    work.raw = raw;
    work.stream = stream;
    work.call = "hipMemset2DAsync";
    recorder_->work().prepare(work);
    recorder_->commit(work);
  }
  void memset_work_async(void* to, size_t bytes) { set_box(to, 0, bytes, 1, handle(10)); }
  // What host writes say the byte of host_ holds; nothing: none writes it.
  static std::optional<int> written_at(const Trace& trace, uint64_t offset) {
    std::optional<int> found;
    for (const auto& write : actions<format::HostWrite>(trace)) {
      const uint64_t at = offset - write.offset_bytes;
      if (offset < write.offset_bytes || at >= write.content.size_bytes) continue;
      found = static_cast<int>((*trace.content(write.content))[at]);
    }
    return found;
  }
};

TEST_F(RecorderFlightsTest, WhatChangesDuringAWaitIsTheKernels) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  during_wait_ = [&] { host_[100] = 1; };
  wait();
  launch(host_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0));
  EXPECT_THAT(trace->findings(), SizeIs(0));
}

// Whether a kernel has ended when the copy is issued must not show: the next iteration of a step
// would look different.
TEST_F(RecorderFlightsTest, CopiesBesideKernelsThatReachHostMemoryKeepTheirSource) {
  alignas(8) char device[64] = {};
  device_memory(device, sizeof(device));
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  launch(host_);
  other_[3] = 1;
  copy(device, other_, sizeof(device));
  wait();
  other_[3] = 2;
  copy(device, other_, sizeof(device));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(2));
  for (const format::Copy& one : copies) EXPECT_NE(one.source.allocation, 0u);
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(2));
}

// The call of one thread frees it while another thread launches: what is there then is of whoever
// has the memory next.
TEST_F(RecorderFlightsTest, FreedMemoryIsNotLookedAt) {
  recorder_->buffers().allocated({.kind = format::AllocationKind::kHostPinned,
                                  .address = reinterpret_cast<uint64_t>(host_) | uint64_t{1} << 47,
                                  .host_address = reinterpret_cast<uint64_t>(host_),
                                  .size_bytes = sizeof(host_)});
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  launch(host_);
  wait();
  Work work;
  prepare_launch(work, other_);
  Freeing freeing = recorder_->buffers().freeing(reinterpret_cast<uint64_t>(host_));
  host_[100] = 1;
  recorder_->commit(work);
  host_[200] = 2;
  launch(other_);
  wait();
  recorder_->buffers().freed(std::move(freeing), true);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0));
}

// While one thread launches, the program writes memory of another one.
TEST_F(RecorderFlightsTest, WhatOthersWriteDuringALaunchIsNotItsKernels) {
  std::thread([&] { recorder_->buffers().host_registered(host_, sizeof(host_), 0); }).join();
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  std::thread([&] {
    launch(host_, handle(11));
    wait(handle(11));
  }).join();
  Work work;
  prepare_launch(work, other_);
  host_[100] = 1;
  other_[100] = 1;
  recorder_->commit(work);
  wait();
  std::thread([&] { launch(host_, handle(11)); }).join();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_EQ(writes[0].allocation, 1u);
  EXPECT_LT(places<format::HostWrite>(*trace)[0], places<format::Launch>(*trace)[2]);
}

TEST_F(RecorderFlightsTest, WhatChangedBeforeAWaitIsTheProgramsAndNamed) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  host_[100] = 1;
  during_wait_ = [&] { host_[100] = 2; };
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_EQ(writes[0].offset_bytes, 96u) << "the word that changed, no more";
  EXPECT_EQ(writes[0].content.size_bytes, 8u);
  EXPECT_TRUE(writes[0].in_doubt);
  EXPECT_GT(places<format::HostWrite>(*trace)[0], places<format::Synchronize>(*trace)[0]);
  EXPECT_EQ(static_cast<int>((*trace->content(writes[0].content))[4]), 2);
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_EQ(trace->findings()[0].kind, format::FindingKind::kNote);
  EXPECT_EQ(trace->findings()[0].call, "host memory");
}

// A launch that is not looked at in full joins the streams all the same: who has waited for the
// null stream knows that the copy is done, and what changes from then on is the program's.
TEST_F(RecorderFlightsTest, ALightLaunchOnTheNullStreamFollowsBlockingStreams) {
  alignas(256) static char device[256];
  recorder_->streams().stream_created(handle(12), 0, 0);
  recorder_->streams().stream_created(handle(13), 0, 0);
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  device_memory(device, sizeof(device));
  const auto copy_on_stream = [&](const void* to, const void* from) {
    Work work;
    RawCopy raw;
    raw.destination.address = reinterpret_cast<uint64_t>(to);
    raw.source.address = reinterpret_cast<uint64_t>(from);
    raw.width_bytes = 64;
    work.raw = raw;
    work.stream = handle(12);
    work.call = "hipMemcpyAsync";
    work.knows = Knows::BY_ARGUMENT;
    recorder_->work().prepare(work);
    recorder_->commit(work);
  };
  copy_on_stream(host_, device);
  KernelEntry* const kernel =
      recorder_->launches().find_kernel(handle(2), false, "hipModuleLaunchKernel", held_);
  ASSERT_NE(kernel, nullptr);
  void* address = device;
  int by = 3;
  void* params[] = {&address, &by};
  for (const Handle stream : {Handle(nullptr), handle(13)}) {
    ASSERT_NE(recorder_->launches().launch_way(*kernel, params, nullptr), LaunchWay::kWhole);
    launch_function({.function = handle(2), .stream = stream}, params);
  }
  wait(handle(13));
  host_[8] = 1;
  copy_on_stream(device, host_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_FALSE(writes.empty());
  EXPECT_LT(places<format::HostWrite>(*trace)[0], places<format::Copy>(*trace)[1]);
}

TEST_F(RecorderFlightsTest, WithWaitsWhatALaterLaunchMayReadIsWrittenBeforeIt) {
  Options options;
  options.wait = true;
  begin_anew(options);
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  std::memset(host_ + 5000, 7, 64);
  state_.idle_after = 3;  // the recorder asks until the kernel has ended
  launch(host_ + 5000);
  host_[100] = 1;
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(2));
  EXPECT_EQ(writes[0].offset_bytes, 5000u);
  EXPECT_EQ(writes[0].content.size_bytes, 64u);
  const auto written = places<format::HostWrite>(*trace);
  const auto launched = places<format::Launch>(*trace);
  EXPECT_LT(launched[0], written[0]);
  EXPECT_LT(written[0], launched[1]);
}

// The second kernel might reach the first one's memory, and changed nothing of it.
TEST_F(RecorderFlightsTest, WhatIsInDoubtIsNotTakenForALaterLaunchsWrite) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  launch(host_);
  host_[100] = 1;
  launch(other_, handle(11));
  wait(handle(11));
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_EQ(writes[0].offset_bytes, 96u);
}

TEST_F(RecorderFlightsTest, AKernelThatDoesNotEndMakesWhatLaterWorkReadsUnknown) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  host_[5000] = 1;
  state_.stream = StreamState::kError;  // nothing to wait for
  launch(host_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(1));
  bool named = false;
  for (const format::Finding& finding : trace->findings()) {
    named = named ||
            (finding.kind == format::FindingKind::kIncomplete && finding.call == "host memory");
  }
  EXPECT_TRUE(named);
}

TEST_F(RecorderFlightsTest, MemoryThatNoKernelInFlightWasGivenIsTheProgramsWithoutDoubt) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  launch(other_);
  wait();
  launch(host_);
  other_[9] = 1;
  launch(other_);
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  ASSERT_THAT(actions<format::HostWrite>(*trace), SizeIs(1));
  EXPECT_FALSE(actions<format::HostWrite>(*trace)[0].in_doubt);
  EXPECT_THAT(trace->findings(), SizeIs(0));
}

// The one before it, which ends with it, was not given the memory: its end leaves nothing to the
// program.
TEST_F(RecorderFlightsTest, WhatAKernelWritesThatHasEndedAtOnceIsNotTheProgramsBesideAnother) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  launch(host_);
  wait();
  launch(other_);
  Work work;
  prepare_launch(work, host_);
  host_[100] = 1;
  state_.stream = StreamState::kIdle;
  recorder_->commit(work);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0));
  EXPECT_THAT(trace->findings(), SizeIs(0));
}

// A host function tells that the kernel is done; then the program undoes what that wrote.
TEST_F(RecorderFlightsTest, WhatTheProgramUndoesOfAKernelThatAFunctionToldOfIsWritten) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  host_function([] {});
  host_[100] = 1;  // the kernel
  during_call_();
  host_[100] = 0;
  wait();
  launch(host_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto launched = places<format::Launch>(*trace);
  const auto written = places<format::HostWrite>(*trace);
  ASSERT_FALSE(written.empty());
  EXPECT_GT(written[0], launched[0]);
  EXPECT_LT(written[0], launched[1]);
}

// The function tells of the memset, beside a kernel that still reaches the memory. Then a call
// tells of the kernel, too.
TEST_F(RecorderFlightsTest, WhatTheProgramWritesOverWhatAFunctionToldOfBesideAKernelIsWritten) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  memset_work_async(host_, sizeof(host_));
  launch(host_, handle(11));
  host_function([] {});
  std::memset(host_, 0, sizeof(host_));  // the memset
  during_call_();
  host_[100] = 7;
  wait(handle(11));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(written_at(*trace, 100), 7);
}

// A function begins while a launch is being issued: what memory holds then may be that kernel's.
TEST_F(RecorderFlightsTest,
       WhatAKernelWritesBeforeAnEarlierFunctionIsHeardOfIsNotTheProgramsBesideIt) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  launch(host_);
  wait();
  launch(other_);
  host_function([] {});
  Work work;
  prepare_launch(work, host_);
  during_call_();
  host_[100] = 1;
  recorder_->commit(work);
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const size_t launched = places<format::Launch>(*trace).at(2);
  for (const size_t written : places<format::HostWrite>(*trace)) EXPECT_GT(written, launched);
}

// The same, while a memset is being issued.
TEST_F(RecorderFlightsTest,
       WhatTheProgramWritesBesideAMemsetWhileAFunctionTellsOfAKernelIsWritten) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  host_function([] {});
  host_[100] = 7;
  Work work;
  RawMemset raw;
  raw.address = reinterpret_cast<uint64_t>(host_);
  raw.width_elements = 32;
  work.raw = raw;
  work.stream = handle(10);
  work.call = "hipMemsetAsync";
  recorder_->work().prepare(work);
  during_call_();
  recorder_->commit(work);
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(written_at(*trace, 100), 7);
  EXPECT_EQ(written_at(*trace, 31), std::nullopt) << "the memset's";
}

TEST_F(RecorderFlightsTest, KernelsOfTwoStreamsLandOneByOne) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_, handle(10));
  launch(host_, handle(11));
  during_wait_ = [&] { host_[0] = 1; };
  wait(handle(10));
  during_wait_ = [&] { host_[1] = 1; };
  wait(handle(11));
  host_[2] = 1;  // nothing is in flight
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_EQ(writes[0].content.size_bytes, 4096u);
  EXPECT_THAT(trace->findings(), SizeIs(0));
}

// The end of a stream tells nothing of the null stream, which was given a memset since.
TEST_F(RecorderFlightsTest, ADestroyedStreamLeavesTheNullStreamsWorkInFlight) {
  recorder_->streams().stream_created(handle(12), 0, 0);
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_, handle(12));
  host_[100] = 1;
  set_box(host_ + 104, 0, 8, 1, nullptr);
  recorder_->streams().stream_destroyed(recorder_->streams().stream_leaves(handle(12)), true);
  host_[96] = 2;  // beside what the memset writes, in a word of its own
  std::memset(host_ + 104, 9, 8);
  wait(nullptr);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(written_at(*trace, 104), std::nullopt) << "the memset's";
  EXPECT_EQ(written_at(*trace, 96), 2);
}

TEST_F(RecorderFlightsTest, FreesAndTheEndLandWhatIsInFlight) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  launch(host_);
  launch(other_);
  auto freeing = recorder_->buffers().freeing(reinterpret_cast<uint64_t>(host_));
  recorder_->buffers().freed(std::move(freeing), true);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0));
  for (const auto& end : actions<format::AllocationEnd>(*trace)) {
    EXPECT_TRUE(end.post.stored) << end.id;
  }
}

// Neither the copy nor the kernel wrote them: not even one that was given the memory.
TEST_F(RecorderFlightsTest, WhatLiesBetweenTheRowsOfABoxIsTheProgramsOwn) {
  for (const bool under_kernel : {false, true}) {
    SCOPED_TRACE(under_kernel);
    std::filesystem::remove(path());
    SetUp();
    std::memset(host_, 0, sizeof(host_));
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    if (under_kernel) launch(host_);
    host_[1010] = 4;
    set_box(host_ + 1000, 16, 8, 400, handle(11));
    host_[5010] = 5;  // 1000 and 16 * 250 and 10, in a block that the box begins before
    during_wait_ = [&] {
      for (int row = 0; row < 400; ++row) std::memset(host_ + 1000 + 16 * row, 7, 8);
    };
    wait(handle(11));
    during_wait_ = nullptr;
    wait();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    EXPECT_EQ(written_at(*trace, 1010), 4);
    EXPECT_EQ(written_at(*trace, 5010), 5);
    EXPECT_NE(written_at(*trace, 1016), 7) << "the box's";
  }
}

// A pointer of which a memset before the kernel wrote a part stays one: its bytes are all there.
TEST_F(RecorderFlightsTest, AWordThatACopyWroteInPartIsWrittenAsAWhole) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  memset_work_async(host_ + 2, 48);
  launch(host_);
  // Not to its begin: wherever that lies, the first two bytes change.
  const uint64_t pointer = reinterpret_cast<uint64_t>(other_ + 8) | uint64_t{1} << 47;
  std::memset(host_ + 2, 7, 48);
  std::memcpy(host_, &pointer, sizeof(pointer));
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_TRUE(writes[0].in_doubt);
  EXPECT_EQ(writes[0].offset_bytes, 0u);
  EXPECT_EQ(writes[0].content.size_bytes, 8u);
  ASSERT_THAT(writes[0].content.relocations, SizeIs(1));
  EXPECT_EQ(writes[0].content.relocations[0].allocation, 2u);
}

TEST_F(RecorderFlightsTest, APointerThatACopyInFlightWritesInPartIsWrittenAsAWhole) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  set_box(host_, 0, 4, 1, handle(11));
  launch(host_);
  const uint64_t pointer = reinterpret_cast<uint64_t>(other_ + 8) | uint64_t{1} << 47;
  std::memcpy(host_, &pointer, sizeof(pointer));
  wait();  // for the kernel, not for the memset
  wait(handle(11));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_EQ(writes[0].offset_bytes, 0u);
  EXPECT_EQ(writes[0].content.size_bytes, 8u);
  ASSERT_THAT(writes[0].content.relocations, SizeIs(1));
  EXPECT_EQ(writes[0].content.relocations[0].allocation, 2u);
}

}  // namespace
}  // namespace gfxgraph::recorder
