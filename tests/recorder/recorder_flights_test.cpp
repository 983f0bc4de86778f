// What the recorder takes for the program's and what for the device's, while kernels that reach the
// host's memory run on.
#include "tests/recorder/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;

class RecorderFlightsTest : public RecorderTest {
 protected:
  void SetUp() override {
    RecorderTest::SetUp();
    image_ = read_text(MODULE_FILE);
    recorder_->module_loaded(this, image_.data());
    recorder_->function_found(handle(2), this, "module_increment");
    recorder_->stream_created(handle(10), 1, 0);
    recorder_->stream_created(handle(11), 1, 0);
    state_.stream = StreamState::kBusy;
  }

  // With what the kernel writes while its call is being recorded.
  void launch(void* address, Handle stream = handle(10)) {
    KernelEntry* kernel = recorder_->find_kernel(handle(2), false, "hipModuleLaunchKernel", held_);
    ASSERT_NE(kernel, nullptr);
    void* seen = reinterpret_cast<void*>(reinterpret_cast<uint64_t>(address) | uint64_t{1} << 47);
    int by = 3;
    void* params[] = {&seen, &by};
    Work work;
    RawLaunch raw;
    raw.kernel = kernel;
    raw.kernarg = kernarg_from_params(kernel->kernel, params);
    work.raw = std::move(raw);
    work.stream = stream;
    work.call = "hipModuleLaunchKernel";
    recorder_->prepare(work);
    recorder_->commit(std::move(work));
  }

  void wait(Handle stream = handle(10)) {
    recorder_->host_may_learn();
    if (during_wait_) during_wait_();
    recorder_->synchronized(format::SynchronizeKind::kStream, stream, "hipStreamSynchronize");
  }

  // A host function that runs, with what it does.
  void host_function(const std::function<void()>& body, Handle stream = handle(10)) {
    std::shared_ptr<HostCall> wrapped = recorder_->wrap_host_function(this, nullptr, false);
    Work work;
    work.raw = RawHostFunction{"hipLaunchHostFunc", wrapped};
    work.stream = stream;
    work.call = "hipLaunchHostFunc";
    recorder_->prepare(work);
    recorder_->commit(std::move(work));
    during_call_ = [this, wrapped, body] {
      const Recorder::HostRun run = recorder_->host_function_runs(*wrapped);
      body();
      recorder_->host_function_ran(run);
    };
  }

  // Positions among the events.
  template <typename T>
  static std::vector<size_t> places(const Trace& trace) {
    std::vector<size_t> found;
    for (size_t i = 0; i < trace.events().size(); ++i) {
      if (std::holds_alternative<T>(trace.events()[i].action)) found.push_back(i);
    }
    return found;
  }

  std::string image_;
  alignas(4096) char host_[8192] = {};
  alignas(4096) char other_[4096] = {};
  std::function<void()> during_wait_;
  std::function<void()> during_call_;  // the host function runs
};

// The function runs when the launch that reads what it writes has long been issued.
TEST_F(RecorderFlightsTest, WhatAHostFunctionWritesIsCopiedInItsPlace) {
  recorder_->host_registered(host_, sizeof(host_), 0);
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
  ASSERT_THAT(copies, SizeIs(2)) << "one per 4096 bytes";
  EXPECT_EQ(copies[0].destination.offset_bytes, 96u);
  EXPECT_EQ(copies[0].width_bytes, 4000u);
  EXPECT_EQ(copies[1].destination.offset_bytes, 4096u);
  EXPECT_EQ(copies[1].width_bytes, 8u);
  EXPECT_EQ(static_cast<int>((*trace->content(copies[0].host_source))[3]), 0);
  EXPECT_EQ(static_cast<int>((*trace->content(copies[0].host_source))[4]), 9);
  const auto copied = places<format::Copy>(*trace);
  const auto ran = places<format::HostFunction>(*trace);
  const auto launched = places<format::Launch>(*trace);
  ASSERT_THAT(ran, SizeIs(1));
  EXPECT_LT(launched[0], copied[0]);
  EXPECT_LT(copied[1], ran[0]);
  EXPECT_LT(ran[0], launched[1]);
}

TEST_F(RecorderFlightsTest, WhatAHostFunctionHasNotWrittenYetIsNotWritten) {
  recorder_->host_registered(host_, sizeof(host_), 0);
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
  EXPECT_TRUE(trace->complete());
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
TEST_F(RecorderFlightsTest, AFunctionThatRanIsNotLookedIntoWhileABlockIs) {
  recorder_->host_registered(host_, sizeof(host_), 0);
  launch(host_);
  Work work;
  RawMemset raw;
  raw.address = reinterpret_cast<uint64_t>(host_) + 1000;
  raw.width_elements = 64;
  work.raw = raw;
  work.stream = handle(11);
  work.call = "hipMemsetAsync";
  recorder_->prepare(work);
  recorder_->commit(std::move(work));
  host_function([] {}, handle(11));
  during_call_();
  host_[100] = 1;
  Recorder::Freeing freeing =
      recorder_->freeing(reinterpret_cast<uint64_t>(host_) | UINT64_C(1) << 47);
  ASSERT_TRUE(freeing.allocation);
  std::memset(host_, 0xEE, sizeof(host_));  // somebody else's by now
  recorder_->freed(std::move(freeing), true);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_EQ(writes[0].offset_bytes, 96u);
}

TEST_F(RecorderFlightsTest, WhatChangesDuringAWaitIsTheKernels) {
  recorder_->host_registered(host_, sizeof(host_), 0);
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

TEST_F(RecorderFlightsTest, WhatChangedBeforeAWaitIsTheProgramsAndNamed) {
  recorder_->host_registered(host_, sizeof(host_), 0);
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
  EXPECT_GT(places<format::HostWrite>(*trace)[0], places<format::Synchronize>(*trace)[0]);
  EXPECT_EQ(static_cast<int>((*trace->content(writes[0].content))[4]), 2);
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_EQ(trace->findings()[0].kind, format::FindingKind::kNote);
  EXPECT_EQ(trace->findings()[0].call, "host memory");
}

TEST_F(RecorderFlightsTest, WhatALaterLaunchMayReadIsWrittenBeforeIt) {
  recorder_->host_registered(host_, sizeof(host_), 0);
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
  recorder_->host_registered(host_, sizeof(host_), 0);
  recorder_->host_registered(other_, sizeof(other_), 0);
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
  recorder_->host_registered(host_, sizeof(host_), 0);
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
  recorder_->host_registered(host_, sizeof(host_), 0);
  recorder_->host_registered(other_, sizeof(other_), 0);
  launch(other_);
  wait();
  launch(host_);
  other_[9] = 1;
  launch(other_);
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(1));
  EXPECT_THAT(trace->findings(), SizeIs(0));
}

TEST_F(RecorderFlightsTest, KernelsOfTwoStreamsLandOneByOne) {
  recorder_->host_registered(host_, sizeof(host_), 0);
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

TEST_F(RecorderFlightsTest, FreesAndTheEndLandWhatIsInFlight) {
  recorder_->host_registered(host_, sizeof(host_), 0);
  recorder_->host_registered(other_, sizeof(other_), 0);
  launch(host_);
  launch(other_);
  auto freeing = recorder_->freeing(reinterpret_cast<uint64_t>(host_));
  recorder_->freed(std::move(freeing), true);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0));
  for (const auto& end : actions<format::AllocationEnd>(*trace)) {
    EXPECT_TRUE(end.post.stored) << end.id;
  }
}

}  // namespace
}  // namespace gfxgraph::recorder
