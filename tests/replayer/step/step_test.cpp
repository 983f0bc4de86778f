// Steps: parts of a program, prepared in a session of the whole trace.
#include "replayer/step/step.h"
#include "replayer/step/step_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <vector>

#include "base/file/file.h"
#include "replayer/check/fingerprint.h"
#include "replayer/program/parameters.h"
#include "replayer/session/session_steps.h"
#include "scenario.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<Session> open_session(FakeHip& fake, std::shared_ptr<const Program> program,
                                      Layout layout = Layout::kShift) {
  SessionOptions options;
  options.layout = layout;
  auto session = Session::load(std::move(program), fake.library(), options);
  EXPECT_TRUE(session) << (session ? "" : session.error().message);
  return session ? std::move(*session) : nullptr;
}

std::unique_ptr<Step> prepare(const std::shared_ptr<Session>& session,
                              std::shared_ptr<const Program> program, Mode mode) {
  StepOptions options;
  options.mode = mode;
  auto step = Step::prepare(session, std::move(program), options);
  EXPECT_TRUE(step) << (step ? "" : step.error().message);
  return step ? std::move(*step) : nullptr;
}

Result<ranges::RangeSummary> find_range_in(const format::Trace& trace, std::string_view name) {
  const std::vector<ranges::RangeSummary> all = ranges::summarize_ranges(trace);
  GFXGRAPH_ASSIGN_OR_RETURN(const size_t at, find_range(all, name));
  return all[at];
}

class StepInEveryMode : public ::testing::TestWithParam<Mode> {};

// Wherever a program is cut in two, its second part ends where the whole ends, and the first part
// receives what the whole received.
TEST_P(StepInEveryMode, BothPartsOfAnyCutAgreeWithTheRecording) {
  FakeHip fake;
  {
    TestTrace trace(fake);
    build_scenario(fake, trace);
    const auto whole = trace.program();
    const uint64_t end = whole->trace().events().size();
    const auto session = open_session(fake, whole);
    ASSERT_NE(session, nullptr);
    size_t compared = 0;
    for (uint64_t at = 0; at <= end; ++at) {
      for (const auto& part : {whole->cut(0, at), whole->cut(at, end)}) {
        const auto step = prepare(session, part, GetParam());
        ASSERT_NE(step, nullptr);
        ASSERT_TRUE(step->run());
        const auto report = StepCheck(*step).verify();
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_FALSE(report->differs()) << "cut at event " << at;
        compared += report->identical;
      }
      const auto second = prepare(session, whole->cut(at, end), GetParam());
      ASSERT_NE(second, nullptr);
      ASSERT_TRUE(second->run());
      const auto report = StepCheck(*second).verify();
      ASSERT_TRUE(report);
      EXPECT_EQ(report->uncompared, 0u) << "cut at event " << at;
    }
    EXPECT_GT(compared, end * 5);
  }
  EXPECT_EQ(fake.alive(), 0u);
}

TEST(Cut, KeepsTheNumbersOfLaunches) {
  FakeHip fake;
  TestTrace trace(fake);
  add_test_kernels(fake);
  const auto buffer = trace.allocate(64);
  std::vector<uint64_t> events;
  for (uint32_t i = 0; i < 4; ++i) {
    trace.launch("fill", Arguments().value(trace.address(buffer)).value(i).value(4u));
  }
  const auto whole = trace.program();
  const uint64_t third = whole->operations()[2].sequence;
  const auto part = whole->cut(third, third + 1);
  EXPECT_EQ(part->first_launch(), 2u);
  EXPECT_EQ(part->launch_count(), 1u);
  EXPECT_EQ(part->operations().size(), 1u);
  EXPECT_THAT(part->describe(part->launch_operation(2)), HasSubstr("launch 2 kernel fill"));
  // Another launch writes the buffer before it ends.
  EXPECT_FALSE(part->ends_with(part->allocations()[buffer - 1]));
  EXPECT_TRUE(whole->cut(third, third + 2)->ends_with(part->allocations()[buffer - 1]));
}

// Bytes that are neither pointers nor smaller when compressed.
std::vector<uint8_t> odd_bytes(uint8_t seed) {
  std::vector<uint8_t> bytes(64);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i * 7 + i + seed);
  return bytes;
}

// Two ranges with memory of their own, opened as the tools do; the later one's memory is damaged.
TEST(LazyRange, ReadsTheContentsThatItNeeds) {
  FakeHip fake;
  TestTrace trace(fake);
  add_test_kernels(fake);
  for (uint32_t i = 0; i < 2; ++i) {
    const auto buffer = trace.allocate(64, odd_bytes(static_cast<uint8_t>(i + 1)));
    trace.range_begins("use", i + 1, i);
    trace.launch("double", Arguments().value(trace.address(buffer)).value(4u));
    trace.range_ends("use", i + 1);
  }
  (void)trace.finish();
  std::vector<std::byte> file = read_file(trace.path()).value();
  const std::vector<uint8_t> second = odd_bytes(2);
  const auto found = std::ranges::search(file, std::as_bytes(std::span(second)));
  ASSERT_FALSE(found.empty());
  found.front() ^= std::byte{1};
  ASSERT_TRUE(write_file_atomic(trace.path(), file));
  const auto eager = format::Trace::open(trace.path());
  ASSERT_FALSE(eager);

  const auto opened = format::Trace::open(trace.path(), {.lazy = true});
  ASSERT_TRUE(opened) << opened.error().message;
  const auto whole = Program::build(*opened).value();
  EXPECT_EQ((*opened)->read_counts().blobs_hashed, 0u);
  const auto session = open_session(fake, whole);
  ASSERT_NE(session, nullptr);
  const auto ranges = ranges_of(**opened).value();
  ASSERT_EQ(ranges.size(), 2u);
  const auto range = [&](size_t index) {
    return whole->cut(ranges[index].first_event, ranges[index].end_event);
  };
  const auto step = prepare(session, range(0), Mode::kBatch);
  ASSERT_NE(step, nullptr);
  ASSERT_TRUE(step->run());
  ASSERT_TRUE(step->wait());
  EXPECT_EQ((*opened)->read_counts().blobs_hashed, 2u) << "the code object and one buffer";
  const auto refused = Step::prepare(session, range(1), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kCorrupt);
  EXPECT_THAT(refused.error().message, HasSubstr(eager.error().message));
}

// A step of decoding: position is an argument and the size of a copy, two buffers take turns.
class Decoding : public StepInEveryMode {
 protected:
  Decoding() : trace((add_test_kernels(fake), fake)) {
    history = trace.allocate(64 * 4);
    turns[0] = trace.allocate_words(std::vector<uint32_t>(4, 1));
    turns[1] = trace.allocate_words(std::vector<uint32_t>(4, 1));
    for (uint32_t i = 0; i < kRecorded; ++i) step(i);
  }

  // history[i] = i + 10; a word w of the turn becomes 2 w + 1.
  void step(uint32_t i) {
    trace.range_begins("decode", i + 1, i);
    trace.launch("fill", Arguments().value(trace.address(history) + 4 * i).value(i + 10).value(1u));
    trace.launch("double", Arguments().value(trace.address(turns[i % 2])).value(4u));
    trace.range_ends("decode", i + 1);
  }

  std::vector<uint32_t> read(Step& step, format::AllocationId id, size_t words) {
    std::vector<uint32_t> result(words);
    EXPECT_TRUE(step.wait());
    EXPECT_TRUE(step.instance().memory().read(id, 0, std::as_writable_bytes(std::span(result))));
    return result;
  }

  static constexpr uint32_t kRecorded = 4;
  FakeHip fake;
  TestTrace trace;
  format::AllocationId history = 0;
  format::AllocationId turns[2] = {};
};

TEST_P(Decoding, ParametersGoOnAsRecorded) {
  const auto whole = trace.program();
  const auto range = find_range_in(whole->trace(), "decode#3");
  ASSERT_TRUE(range) << range.error().message;
  const auto program = whole->cut(range->first_event, range->end_event);
  const std::vector<StepParameter> parameters = find_parameters(*program, *range).value();
  ASSERT_EQ(parameters.size(), 3u);  // the place in history, the value, the turn
  const auto session = open_session(fake, whole);
  ASSERT_NE(session, nullptr);
  const auto step = prepare(session, program, GetParam());
  ASSERT_NE(step, nullptr);
  constexpr uint32_t kSteps = 20;
  for (uint32_t n = 0; n < kSteps; ++n) {
    for (const StepParameter& parameter : parameters) {
      for (const PlaceTarget& target : parameter.targets) {
        const auto set = step->values().set_place(target, parameter.value(n));
        ASSERT_TRUE(set) << set.error().message;
      }
    }
    ASSERT_TRUE(step->run());
    ASSERT_TRUE(step->wait());
  }
  std::vector<uint32_t> expected(3 + kSteps);
  for (uint32_t i = 0; i < 3 + kSteps; ++i) expected[i] = i + 10;
  EXPECT_EQ(read(*step, history, 3 + kSteps), expected);
  EXPECT_EQ(read(*step, turns[0], 4)[0], (1u << (3 + kSteps / 2)) - 1);
  EXPECT_EQ(read(*step, turns[1], 4)[0], (1u << (2 + kSteps / 2)) - 1);
}

TEST_P(Decoding, ValuesThatLeaveTheirBuffersAreRefusedByName) {
  const auto whole = trace.program();
  const auto range = find_range_in(whole->trace(), "decode");
  ASSERT_TRUE(range);
  const auto program = whole->cut(range->first_event, range->end_event);
  const auto step = prepare(open_session(fake, whole), program, GetParam());
  ASSERT_NE(step, nullptr);
  const PlaceTarget pointer{0, ranges::PlaceKind::kArgument, 0, 8};
  EXPECT_TRUE(step->values().set_place(pointer, {history, 0}));
  for (const PlaceValue& value : {PlaceValue{history, 64 * 4 + 1}, PlaceValue{history, -1}}) {
    const auto refused = step->values().set_place(pointer, value);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr("launch 0 kernel fill"));
  }
  const auto unknown = step->values().set_place(pointer, {UINT32_MAX, 0});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().status, Status::kNotFound);
  const PlaceTarget outside{0, ranges::PlaceKind::kArgument, 1000, 8};
  EXPECT_FALSE(step->values().set_place(outside, {0, 1}));
}

TEST_P(Decoding, RangesAreFoundByNameAndNumber) {
  const auto program = trace.program();
  const format::Trace& read = program->trace();
  EXPECT_EQ(find_range_in(read, "decode")->ordinal, 0u);
  EXPECT_EQ(find_range_in(read, "decode#2")->ordinal, 2u);
  for (const char* text : {"decode#4", "decode#", "decode#x", "decode#1x", "encode", ""}) {
    const auto missing = find_range_in(read, text);
    ASSERT_FALSE(missing) << text;
    EXPECT_EQ(missing.error().status, Status::kNotFound);
    EXPECT_THAT(missing.error().message, HasSubstr("the trace has decode#0, decode#1, decode#2"));
  }
}

// Memory for bindings: what is bound must be at hand to the end.
class Buffers {
 public:
  Binding make(const Program& program, format::AllocationId id, bool keep) {
    const uint64_t size = program.allocations()[id - 1].extent_bytes;
    memory_.emplace_back(std::max<uint64_t>(size, 1), uint8_t{0xEE});
    return {id, memory_.back().data(), size, keep};
  }

 private:
  std::list<std::vector<uint8_t>> memory_;
};

std::vector<format::AllocationId> bindable(const Program& program) {
  std::vector<format::AllocationId> ids;
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin != nullptr && info.begin->kind != format::AllocationKind::kModuleGlobal)
      ids.push_back(info.begin->id);
  }
  return ids;
}

// Whatever is bound while a session lives, a run from the initial state is as recorded.
// Eager mode has streams of its own, as many as the program: what the next run, or another step on
// the caller's stream, begins there is behind nothing.
TEST(EagerStep, IsWaitedForBeforeWhatFollowsIt) {
  FakeHip fake;
  add_test_kernels(fake);
  TestTrace trace(fake);
  const auto buffer = trace.allocate(64);
  for (format::StreamId stream = 1; stream <= 2; ++stream) {
    trace.stream(stream, 1);
    trace.launch("double", Arguments().value(trace.address(buffer)).value(4u), stream);
    trace.synchronize_stream(stream);
  }
  const auto program = trace.program();
  const auto session = open_session(fake, program);
  const auto eager = prepare(session, program, Mode::kEager);
  const auto batch = prepare(session, program, Mode::kBatch);
  int stream = 0;
  for (Step* const step : {eager.get(), batch.get()}) step->set_stream(&stream);
  ASSERT_TRUE(eager->run());
  fake.log.clear();
  ASSERT_TRUE(eager->run());
  const auto launch = std::ranges::find(fake.log, "launch");
  EXPECT_GE(std::count(fake.log.begin(), launch, "stream sync"), 2);
  fake.busy = {&stream};
  for (uintptr_t handle = 0; handle < 0x2000; ++handle)
    fake.busy.insert(reinterpret_cast<void*>(handle));
  const auto refused = batch->run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  fake.busy.clear();
  EXPECT_TRUE(batch->run());
}

TEST_P(StepInEveryMode, AnyBufferCanBeBoundBetweenRuns) {
  FakeHip fake;
  {
    TestTrace trace(fake);
    build_scenario(fake, trace);
    const auto whole = trace.program();
    Buffers buffers;
    const auto session = open_session(fake, whole);
    ASSERT_NE(session, nullptr);
    const auto step = prepare(session, whole, GetParam());
    ASSERT_NE(step, nullptr);
    for (int round = 0; round < 2; ++round) {
      for (const format::AllocationId id : bindable(*whole)) {
        const Binding binding = buffers.make(*whole, id, false);
        ASSERT_TRUE(session->bind(binding));
        ASSERT_TRUE(step->restore());
        ASSERT_TRUE(step->run());
        const auto report = StepCheck(*step).verify();
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->identical_throughout()) << "bound " << id;
      }
    }
    EXPECT_GT(session->moves().size(), 10u);
  }
  EXPECT_EQ(fake.alive(), 0u);
}

// A buffer that takes the place of another one, with its content, in the middle of a row of runs.
TEST_P(StepInEveryMode, PointersInMemoryFollowABoundBuffer) {
  FakeHip fake;
  TestTrace trace(fake);
  build_scenario(fake, trace);
  const auto whole = trace.program();
  const auto reference_session = open_session(fake, whole);
  const auto reference = prepare(reference_session, whole, GetParam());
  ASSERT_NE(reference, nullptr);
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(reference->run());
    ASSERT_TRUE(reference->wait());
  }
  const auto expected = fingerprint(reference->instance());
  ASSERT_TRUE(expected);
  Buffers buffers;
  for (const format::AllocationId id : bindable(*whole)) {
    const auto session = open_session(fake, whole);
    const auto step = prepare(session, whole, GetParam());
    ASSERT_NE(step, nullptr);
    ASSERT_TRUE(step->run());
    ASSERT_TRUE(step->wait());
    const Binding binding = buffers.make(*whole, id, true);
    std::vector<std::byte> content(binding.size_bytes);
    ASSERT_TRUE(session->memory().read(id, 0, content));
    std::memcpy(binding.pointer, content.data(), content.size());
    ASSERT_TRUE(session->bind(binding));
    ASSERT_TRUE(step->run());
    ASSERT_TRUE(step->wait());
    const auto got = fingerprint(step->instance());
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, *expected) << "bound " << id;
  }
}

// What the caller brings stays, whatever the work before a range did to that buffer.
TEST_P(Decoding, TheCallersContentIsNotOverwrittenByTheWorkBefore) {
  const auto whole = trace.program();
  const auto range = find_range_in(whole->trace(), "decode#2");
  ASSERT_TRUE(range);
  const auto session = open_session(fake, whole);
  ASSERT_NE(session, nullptr);
  Buffers buffers;
  ASSERT_TRUE(session->bind(buffers.make(*whole, history, true)));
  const auto step = prepare(session, whole->cut(range->first_event, range->end_event), GetParam());
  ASSERT_NE(step, nullptr);
  ASSERT_TRUE(step->run());
  std::vector<uint32_t> expected(64, 0xEEEEEEEE);
  expected[2] = 12;
  EXPECT_EQ(read(*step, history, 64), expected);
  EXPECT_EQ(read(*step, turns[0], 4)[0], 7u) << "two of its turns were run";
}

TEST_P(Decoding, WhatCannotBeBoundIsRefusedAndChangesNothing) {
  const auto whole = trace.program();
  const auto session = open_session(fake, whole);
  ASSERT_NE(session, nullptr);
  uint32_t small = 0;
  EXPECT_EQ(session->bind({history, &small, sizeof small, true}).error().status,
            Status::kInvalidArgument);
  EXPECT_EQ(session->bind({99, &small, sizeof small, true}).error().status, Status::kNotFound);
  EXPECT_TRUE(session->moves().empty());
  const auto step = prepare(session, whole, GetParam());
  ASSERT_NE(step, nullptr);
  ASSERT_TRUE(step->run());
  EXPECT_TRUE(StepCheck(*step).verify()->identical_throughout());
}

INSTANTIATE_TEST_SUITE_P(Modes, StepInEveryMode,
                         ::testing::Values(Mode::kEager, Mode::kBatch, Mode::kGraph));
INSTANTIATE_TEST_SUITE_P(Modes, Decoding,
                         ::testing::Values(Mode::kEager, Mode::kBatch, Mode::kGraph));

// By words in memory, from buffer to buffer; nothing leads to the last one.
TEST(UsedBuffers, LaunchesReachWhatWordsLeadTo) {
  FakeHip fake;
  TestTrace trace(fake);
  add_test_kernels(fake);
  const auto bytes_of = [&](format::AllocationId id) {
    return Arguments().value(trace.address(id)).bytes;
  };
  const auto target = trace.allocate_words({1, 2});
  const auto middle = trace.allocate(8, bytes_of(target));
  const auto given = trace.allocate(8, bytes_of(middle));
  const auto apart = trace.allocate(8, bytes_of(given));
  trace.launch("double", Arguments().value(trace.address(given)).value(0u));
  const UsedBuffers found = find_used_buffers(*trace.program());
  EXPECT_TRUE(found.used.at(target - 1));
  EXPECT_TRUE(found.used.at(middle - 1));
  EXPECT_TRUE(found.used.at(given - 1));
  EXPECT_FALSE(found.used.at(apart - 1));
  EXPECT_EQ(found.written, std::vector<bool>(4)) << "they end as they began";
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
