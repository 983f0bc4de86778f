// Steps that the program captures of itself: what belongs to one, and what is told when something
// of it is gone.
#include <thread>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Traces in files, and in memory where they were not written.
class RecorderCapturesTest : public RecorderHostMemoryTest,
                             public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    image_ = read_text(MODULE_FILE);
    Options options;
    options.in_process = true;
    options.status_folder = folder_.path().string();
    recorder_ = std::make_unique<Recorder>(options, std::make_unique<FakeDevice>(state_));
    call([&] { begin(); });
    state_.stream = StreamState::kIdle;
    call([&] { device_memory(a_, sizeof(a_)); });
    call([&] { device_memory(b_, sizeof(b_)); });
  }
  // As an outermost call of the program.
  void call(const std::function<void()>& body) {
    recorder_->streams().call_begins();
    body();
  }
  void free_memory(void* memory) {
    recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(memory)),
                               true);
  }
  static void elsewhere(const std::function<void()>& body) { std::thread(body).join(); }

  void kernel(void* address, Handle stream = handle(10)) {
    int by = 3;
    void* params[] = {&address, &by};
    call([&] { launch_function({.function = handle(2), .stream = stream}, params); });
  }
  void fill(void* memory, Handle stream = handle(10)) {
    call([&] { memset_work(memory, 64, stream); });
  }
  void follow(Handle first, Handle second) {
    call([&] { recorder_->streams().event_recorded(handle(20), first); });
    call([&] { recorder_->streams().stream_waits(second, handle(20), 0); });
  }

  LiveCaptures& live() { return recorder_->live(); }
  uint64_t capture(bool contents = false, uint32_t wait_ms = 0) {
    recorder_->begin();
    const Result<uint64_t> begun = live().begin({.name = "step",
                                                 .stream = handle(10),
                                                 .contents = contents,
                                                 .held = GetParam() && !contents,
                                                 .wait_ms = wait_ms});
    EXPECT_TRUE(begun) << (begun ? "" : begun.error().message);
    return begun ? *begun : 0;
  }
  struct Ended {
    std::shared_ptr<const Trace> trace;
    std::shared_ptr<LiveStep> step;
  };
  Ended end(uint64_t capture) {
    Result<Captured> ended = live().end(capture);
    EXPECT_TRUE(ended) << (ended ? "" : ended.error().message);
    if (!ended) return {};
    auto trace =
        ended->held ? Trace::of(ended->held) : Trace::open_descriptor(ended->file.fd(), {});
    EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
    if (!trace) return {};
    const Result<void> loaded = (*trace)->load_events();
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return {*trace, ended->step};
  }
  static std::vector<std::string> incomplete(const Trace& trace) {
    std::vector<std::string> texts;
    for (const format::Finding& one : trace.findings()) {
      if (one.kind == format::FindingKind::kIncomplete)
        texts.push_back(one.call + ": " + one.detail);
    }
    return texts;
  }
  static size_t memsets(const Trace& trace) { return actions<format::Memset>(trace).size(); }

  alignas(256) uint64_t a_[32] = {};
  alignas(256) uint64_t b_[32] = {};
};
INSTANTIATE_TEST_SUITE_P(Traces, RecorderCapturesTest, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "Held" : "InFiles"; });

TEST_P(RecorderCapturesTest, HasTheWorkOfItsThreadOnly) {
  fill(a_);
  const uint64_t one = capture();
  kernel(a_);
  fill(b_, handle(11));  // of this thread, on another stream
  elsewhere([&] { fill(b_, handle(12)); });
  const Ended ended = end(one);
  fill(a_);
  ASSERT_NE(ended.trace, nullptr);
  EXPECT_EQ(actions<format::Launch>(*ended.trace).size(), 1u);
  EXPECT_EQ(memsets(*ended.trace), 1u);
  EXPECT_THAT(incomplete(*ended.trace), IsEmpty());
}

TEST_P(RecorderCapturesTest, StreamsJoinByEvents) {
  const uint64_t one = capture();
  elsewhere([&] { fill(b_, handle(11)); });
  fill(a_);
  follow(handle(10), handle(11));
  elsewhere([&] { fill(b_, handle(11)); });
  EXPECT_EQ(memsets(*end(one).trace), 2u);
}

TEST_P(RecorderCapturesTest, WaitingForWorkOutsideIsIncomplete) {
  const uint64_t one = capture();
  elsewhere([&] {
    fill(b_, handle(11));
    call([&] { recorder_->streams().event_recorded(handle(20), handle(11)); });
  });
  call([&] { recorder_->streams().stream_waits(handle(10), handle(20), 0); });
  fill(a_);
  EXPECT_THAT(incomplete(*end(one).trace),
              ElementsAre(HasSubstr("waits for work that another thread gave")));
}

TEST_P(RecorderCapturesTest, IterationsAreRangesAndWhatIsBetweenThemIsNot) {
  const uint64_t one = capture();
  fill(a_);
  ASSERT_TRUE(live().pause(one));
  fill(a_);
  fill(a_);
  ASSERT_TRUE(live().resume(one));
  fill(a_);
  const Ended ended = end(one);
  EXPECT_EQ(memsets(*ended.trace), 2u);
  std::vector<uint32_t> ordinals;
  for (const auto& marker : actions<format::Marker>(*ended.trace)) {
    if (marker.kind == format::MarkerKind::kRangeBegin) ordinals.push_back(marker.ordinal);
  }
  EXPECT_THAT(ordinals, ElementsAre(0, 1));
}

TEST_P(RecorderCapturesTest, WhatTheProgramGivesBackLaterIsTold) {
  const uint64_t one = capture();
  kernel(a_);
  fill(b_);
  const Ended ended = end(one);
  const auto begun = actions<format::AllocationBegin>(*ended.trace);
  ASSERT_THAT(begun, SizeIs(2));
  EXPECT_EQ(ended.step->place(begun[0].id).device, a_);
  EXPECT_EQ(ended.step->place(begun[1].id).device, b_);
  EXPECT_EQ(ended.step->code(1).function, handle(2));
  EXPECT_EQ(ended.step->gone().allocation.load(), 0u);

  call([&] { free_memory(b_); });
  EXPECT_EQ(ended.step->gone().allocation.load(), begun[1].id);
  EXPECT_EQ(ended.step->place(begun[1].id).device, nullptr);
  EXPECT_EQ(ended.step->place(begun[0].id).device, a_);
  call([&] { device_memory(b_, sizeof(b_)); });  // another one, at the same address
  EXPECT_EQ(ended.step->place(begun[1].id).device, nullptr);

  EXPECT_EQ(ended.step->gone().code_object.load(), 0u);
  call([&] { recorder_->code().module_unloading(this); });
  EXPECT_NE(ended.step->gone().code_object.load(), 0u);
  EXPECT_EQ(ended.step->code(1).function, nullptr);
}

TEST_P(RecorderCapturesTest, MemoryOfTheCaptureBeginsUnwritten) {
  alignas(256) uint64_t inside[32] = {};
  fill(a_);
  const uint64_t one = capture();
  call([&] { device_memory(inside, sizeof(inside)); });
  fill(inside);
  fill(a_);
  call([&] { free_memory(inside); });
  const Ended ended = end(one);
  std::vector<bool> unwritten;
  for (const auto& begin : actions<format::AllocationBegin>(*ended.trace)) {
    unwritten.push_back(begin.initial.unwritten);
    if (begin.initial.unwritten) {
      EXPECT_EQ(ended.step->place(begin.id).device, nullptr);
    }
  }
  EXPECT_THAT(unwritten, ::testing::UnorderedElementsAre(true, false));
}

TEST_P(RecorderCapturesTest, AStreamMayEndBetweenTwoTraces) {
  uint64_t one = capture();
  fill(a_);
  const LeavingStream leaving = recorder_->streams().stream_leaves(handle(10));
  EXPECT_NE(leaving.id, 0u);
  (void)end(one);
  one = capture();
  fill(b_, handle(11));  // has the id that the other one had
  recorder_->streams().stream_destroyed(leaving, true);
  fill(b_, handle(11));
  const Ended ended = end(one);
  EXPECT_THAT(actions<format::StreamDestroy>(*ended.trace), IsEmpty());
  EXPECT_EQ(memsets(*ended.trace), 2u);
  EXPECT_THAT(incomplete(*ended.trace), IsEmpty());
}

TEST_P(RecorderCapturesTest, ACallThatReturnsAfterTheEndIsOfNoCapture) {
  uint64_t one = capture();
  fill(a_);
  recorder_->streams().call_begins();
  Work work;
  RawMemset raw;
  raw.address = reinterpret_cast<uint64_t>(b_);
  raw.width_elements = 8;
  work.raw = raw;
  work.call = "hipMemset";
  recorder_->work().prepare(work);
  EXPECT_THAT(incomplete(*end(one).trace), IsEmpty());
  recorder_->commit(work);
  one = capture();
  fill(a_);
  EXPECT_THAT(incomplete(*end(one).trace), IsEmpty());
}

TEST_P(RecorderCapturesTest, OneAtATime) {
  const uint64_t one = capture();
  const auto refused = [](const auto& result, Status status, const char* word) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().status, status);
    EXPECT_THAT(result.error().message, HasSubstr(word));
  };
  refused(live().begin({.name = "step", .stream = handle(10)}), Status::kInvalidArgument,
          "this thread");
  elsewhere([&] {
    refused(live().begin({.name = "step", .stream = handle(10), .wait_ms = 1}), Status::kNotReady,
            "another thread");
  });
  refused(live().resume(one), Status::kInvalidArgument, "does not pause");
  refused(live().pause(one + 1), Status::kInvalidArgument, "not open");
  ASSERT_TRUE(live().pause(one));
  refused(live().pause(one), Status::kInvalidArgument, "pauses already");
  EXPECT_FALSE(live().capturing());  // it pauses
  live().abandon(one);
  refused(live().end(one), Status::kInvalidArgument, "not open");
  const uint64_t two = capture();
  EXPECT_TRUE(live().capturing());
  EXPECT_NE(two, one);
  live().abandon(two);
}

TEST_P(RecorderCapturesTest, WhatWasGivenUpLeavesNothing) {
  const uint64_t given_up = capture();
  kernel(a_);
  live().abandon(given_up);
  const uint64_t one = capture();
  fill(b_);
  const Ended ended = end(one);
  EXPECT_THAT(actions<format::Launch>(*ended.trace), IsEmpty());
  EXPECT_THAT(actions<format::AllocationBegin>(*ended.trace), SizeIs(1));
  EXPECT_THAT(ended.trace->kernels(), IsEmpty());
}

TEST_P(RecorderCapturesTest, ContentsAreThoseOfTheBeginning) {
  a_[0] = 1234;
  call([&] { kernel_outside(); });
  const uint64_t one = capture(true);
  fill(a_);
  std::memset(a_, 7, 64);
  const Ended ended = end(one);
  const auto begun = actions<format::AllocationBegin>(*ended.trace);
  const auto ends = actions<format::AllocationEnd>(*ended.trace);
  ASSERT_THAT(begun, SizeIs(1));
  ASSERT_THAT(ends, SizeIs(1));
  const auto first = ended.trace->content(begun[0].initial);
  const auto last = ended.trace->content(ends[0].post);
  ASSERT_TRUE(first && last);
  EXPECT_EQ((*first)[0], std::byte{1234 % 256});
  EXPECT_EQ((*last)[0], std::byte{7});
}

TEST_P(RecorderCapturesTest, NotWhereAllOfTheProcessIsRecorded) {
  make({});
  begin();
  const Result<uint64_t> begun = recorder_->live().begin({.name = "step"});
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().status, Status::kUnsupported);
  EXPECT_THAT(begun.error().message, HasSubstr("being recorded"));
}

}  // namespace
}  // namespace gfxgraph::recorder
