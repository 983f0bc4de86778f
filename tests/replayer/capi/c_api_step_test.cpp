// Sessions and steps through the C ABI and its C++ header, on the fake runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gfxgraph/gfxgraph.hpp"
#include "replayer/capi/c_api_internal.h"
#include "step_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class CApiStep : public ::testing::TestWithParam<gfxgraph_mode_t> {
 protected:
  CApiStep() : CApiStep(StepTrace::kRecorded, true) {}
  CApiStep(uint32_t iterations, bool marked) : recorded(fake, iterations, marked) {
    use_hip_library_for_tests(fake.library());
  }
  ~CApiStep() override { use_hip_library_for_tests(nullptr); }

  Trace open() { return Trace(trace.path().string()); }
  std::vector<uint32_t> read(gfxgraph::Session& session, uint32_t buffer, size_t words) {
    std::vector<uint32_t> result(words);
    session.read(buffer, 0, result.data(), words * 4);
    return result;
  }

  static constexpr uint32_t kRecorded = StepTrace::kRecorded;
  FakeHip fake;
  StepTrace recorded;
  TestTrace& trace = recorded.trace;
  const format::AllocationId state = recorded.state, history = recorded.history,
                             flag = recorded.flag;
};

using Words = std::vector<uint32_t>;

TEST_P(CApiStep, RangesAndWhatMayBeSetInThemAreListed) {
  const Trace file = open();
  EXPECT_EQ(file.environment().range_count, kRecorded);
  const gfxgraph_range_t range = file.find_range("step#1");
  EXPECT_EQ(range, 1u);
  EXPECT_EQ(file.find_range("step"), 0u);
  EXPECT_EQ(file.find_range("all"), GFXGRAPH_RANGE_ALL);
  EXPECT_STREQ(file.range(range).name, "step");
  EXPECT_EQ(file.range(range).ordinal, 1u);
  EXPECT_EQ(file.range(range).launches, 3u);
  EXPECT_EQ(file.range(GFXGRAPH_RANGE_ALL).launches, 9u);
  EXPECT_EQ(file.range(GFXGRAPH_RANGE_ALL).copies, 6u);
  const auto inputs = file.inputs(range);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_STREQ(inputs[0].name, "input");
  EXPECT_EQ(inputs[0].kind, static_cast<uint32_t>(GFXGRAPH_TRANSFER_COPY));
  EXPECT_EQ(inputs[0].size_bytes, 16u);
  EXPECT_STREQ(inputs[1].name, "flag+0x4");
  EXPECT_EQ(inputs[1].kind, static_cast<uint32_t>(GFXGRAPH_TRANSFER_HOST_WRITE));
  const auto outputs = file.outputs(range);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_STREQ(outputs[0].name, "state");
  EXPECT_EQ(file.inputs(GFXGRAPH_RANGE_ALL).size(), 6u);
  EXPECT_STREQ(file.inputs(GFXGRAPH_RANGE_ALL)[2].name, "input@3");
  const auto parameters = file.parameters(range);
  ASSERT_EQ(parameters.size(), 2u);
  for (const gfxgraph_parameter_t& parameter : parameters) {
    EXPECT_EQ(parameter.pattern, static_cast<uint32_t>(GFXGRAPH_PATTERN_STEP));
    EXPECT_EQ(parameter.step, parameter.buffer == history ? 4 : 1);
    EXPECT_EQ(parameter.number, parameter.buffer == history ? 4 : 11);
  }
  EXPECT_EQ(file.find_parameter(range, parameters[1].name), 1u);
  EXPECT_EQ(file.find_parameter(range, "#1"), 1u);
  EXPECT_EQ(file.find_input(range, "flag+0x4"), 1u);
  EXPECT_EQ(file.find_output(range, "#0"), 0u);
  EXPECT_EQ(file.find_buffer("state", range), state);
  EXPECT_EQ(file.find_buffer("#" + std::to_string(state)), state);
  for (const auto& wrong : {+[](const Trace& one) { one.find_range("stop"); },
                            +[](const Trace& one) { one.find_buffer("nothing"); },
                            +[](const Trace& one) { one.find_parameter(0, "#7"); },
                            +[](const Trace& one) { one.find_input(0, "state"); },
                            +[](const Trace& one) { (void)one.range(3); },
                            +[](const Trace& one) { (void)one.inputs(3); }}) {
    try {
      wrong(open());
      ADD_FAILURE() << "found";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status(), GFXGRAPH_NOT_FOUND) << failure.what();
    }
  }
}

TEST_P(CApiStep, InputsOutputsAndParametersFollowTheCallerFromRunToRun) {
  const Trace file = open();
  const gfxgraph_range_t range = file.find_range("step#2");
  gfxgraph::Session session(file);
  gfxgraph::Step step(session, range, GetParam());
  // What the first two iterations left: 1 + 2 in each byte.
  EXPECT_EQ(read(session, state, 1)[0], 0x03030303u);
  Words expected(4, 0x03030303);
  Words flags(2, 0);
  session.read(flag, 0, flags.data(), 8);
  for (uint32_t n = 0; n < 9; ++n) {
    const Words in = {n, 2 * n, 3, 100 * n};
    for (size_t i = 0; i < 4; ++i) expected[i] += in[i];
    step.set_input(0, in.data(), 16);
    const uint32_t written = 1000 + n;
    step.set_input(1, &written, 4);
    step.advance(n);
    step.run(step.stream());
    Words out(4);
    step.read_output(0, out.data(), 16);
    EXPECT_EQ(out, expected) << n;
    EXPECT_EQ(read(session, flag, 2)[1], 2 * (1000 + n) + 1);
  }
  Words decided(11);
  for (uint32_t i = 0; i < 11; ++i) decided[i] = i + 10;
  EXPECT_EQ(read(session, history, 11), decided);
}

// Each run gets the bytes that stood there when it was submitted, however many are in flight.
TEST_P(CApiStep, AnInputThatIsSetAgainDoesNotChangeRunsSessionStep) {
  const Trace file = open();
  gfxgraph::Session session(file);
  gfxgraph::Step step(session, 0, GetParam());
  fake.log.clear();
  std::vector<const void*> places;
  const auto size = static_cast<uint32_t>(sizeof(uint32_t) * 4);
  for (uint32_t n = 0; n < 6; ++n) {
    const Words in(4, n);
    step.set_input(0, in.data(), size);
    step.run(step.stream());  // not waited for
  }
  EXPECT_EQ(std::ranges::count(fake.log, "event sync"), GetParam() == GFXGRAPH_MODE_EAGER ? 0 : 2)
      << "four places: the fifth and sixth input wait for one";
  EXPECT_EQ(read(session, state, 1)[0], 0u + 1 + 2 + 3 + 4 + 5);
}

TEST_P(CApiStep, OutputsGoToTheCallersMemory) {
  const Trace file = open();
  gfxgraph::Session session(file);
  gfxgraph::Step step(session, 0, GetParam());
  Words mine(4);
  step.set_output(0, mine.data(), 16);
  step.run(step.stream());
  step.wait();
  EXPECT_EQ(mine, Words(4, 0x01010101));
  EXPECT_EQ(step.verify().copies_identical, 1u);
  Words other(4);
  step.set_output(0, other.data(), 16);
  step.run(step.stream());
  step.wait();
  EXPECT_EQ(mine, Words(4, 0x01010101)) << "written once";
  EXPECT_EQ(other, Words(4, 0x02020202));
  step.set_output(0, nullptr, 0);
  step.run(step.stream());
  step.read_output(0, mine.data(), 16);
  EXPECT_EQ(mine, Words(4, 0x03030303));
  EXPECT_EQ(other, Words(4, 0x02020202));
  EXPECT_THROW(step.set_output(0, mine.data(), 15), Failure);
  EXPECT_THROW(step.set_output(1, mine.data(), 16), Failure);
  EXPECT_THROW(step.set_input(0, mine.data(), 15), Failure);
  EXPECT_THROW(step.read_output(0, mine.data(), 17), Failure);
}

TEST_P(CApiStep, ArgumentsAndGridsAreSetByTheirLaunchInTheTrace) {
  const Trace file = open();
  gfxgraph::Session session(file);
  gfxgraph::Step step(session, file.find_range("step#1"), GetParam());
  const gfxgraph_step_info_t info = step.info();
  EXPECT_EQ(info.first_launch, 3u);
  EXPECT_EQ(info.launches, 3u);
  step.set_argument(info.first_launch + 1, 8, uint32_t{99});
  step.set_grid(info.first_launch + 1, 2);
  step.run(step.stream());
  EXPECT_EQ(read(session, history, 2), (Words{10, 99}));
  EXPECT_THROW(step.set_argument(0, 8, uint32_t{1}), Failure) << "not of this range";
  EXPECT_THROW(step.set_grid(info.first_launch, 0), Failure);
  EXPECT_THROW(step.set_grid(info.first_launch, 0xffffffff, 0xffffffff, 0xffffffff), Failure)
      << "more work items than 32 bits can tell";
  EXPECT_THROW(step.set_grid(info.first_launch, 0x10000001), Failure) << "in one dimension";
  EXPECT_THROW(step.set_grid(9, 1), Failure);
}

TEST_P(CApiStep, ParametersAreSetToNumbersAndAddresses) {
  const Trace file = open();
  const gfxgraph_range_t range = file.find_range("step#1");
  const auto parameters = file.parameters(range);
  ASSERT_EQ(parameters.size(), 2u);
  const uint32_t place = parameters[0].buffer == history ? 0 : 1;
  const uint32_t value = 1 - place;
  gfxgraph::Session session(file);
  gfxgraph::Step step(session, range, GetParam());
  Words expected(64, 0x5A5A5A5A);
  expected[0] = 10;  // the iteration before
  const auto run = [&](uint32_t at, uint32_t holds) {
    step.run(step.stream());
    step.wait();
    expected[at] = holds;
    EXPECT_EQ(read(session, history, 64), expected) << "at " << at;
  };
  for (uint32_t n = 0; n < 5; ++n) {
    step.set_parameter(value, 500 + n);
    step.set_parameter(place, history, 4 * (20 + n));
    run(20 + n, 500 + n);
  }
  step.set_parameter(value, -1);
  run(24, UINT32_MAX);
  step.set_parameter(value, (int64_t{1} << 32) + 7);  // cut to the size of the place
  run(24, 7);
  step.set_parameter(place, history, 63 * 4);
  run(63, 7);
  const auto refused = [&](gfxgraph_status_t status, gfxgraph_status_t expected_status,
                           const char* text) {
    EXPECT_EQ(status, expected_status) << text;
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(text));
  };
  const auto set_address = [&](uint32_t parameter, uint32_t buffer, uint64_t offset) {
    return gfxgraph_step_set_parameter_address(step.get(), parameter, buffer, offset);
  };
  for (const uint64_t offset : {uint64_t{64 * 4 + 1}, uint64_t{1} << 63, UINT64_MAX}) {
    refused(set_address(place, history, offset), GFXGRAPH_INVALID_ARGUMENT, "of 256 bytes");
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(parameters[place].name));
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr("launch 4 kernel fill"));
  }
  refused(set_address(place, 0, 0), GFXGRAPH_NOT_FOUND, "buffer 0 does not exist");
  refused(set_address(place, 99, 0), GFXGRAPH_NOT_FOUND, parameters[place].name);
  refused(set_address(2, history, 0), GFXGRAPH_NOT_FOUND,
          "parameter 2 does not exist: range step#1 has 2");
  refused(gfxgraph_step_set_parameter(step.get(), 2, 0), GFXGRAPH_NOT_FOUND,
          "parameter 2 does not exist: range step#1 has 2");
  // A pointer has eight bytes: half of one is no address.
  refused(set_address(value, history, 0), GFXGRAPH_INVALID_ARGUMENT, "4 bytes");
  run(63, 7);
  step.advance(0);
  run(1, 11);
}

TEST_P(CApiStep, MemoryOfTheCallerIsBoundBeforeAndAfterLoading) {
  const Trace file = open();
  gfxgraph::Session session(file);
  Words mine(4, 1000), filled(4, 1000), later(64, 7);
  session.bind(state, mine.data(), 16);
  const size_t alive = fake.alive();
  gfxgraph::Step step(session, file.find_range("step#1"), GetParam());
  EXPECT_EQ(mine, Words(4, 1000)) << "setup does not write it, though a copy ran before the range";
  step.run(step.stream());
  step.wait();
  EXPECT_EQ(mine, Words(4, 1000 + 0x02020202));
  EXPECT_GT(fake.alive(), alive);
  // From now on another one; what it holds stays.
  session.bind(history, later.data(), 256);
  session.bind(state, filled.data(), 16, GFXGRAPH_BIND_FILL);
  step.run(step.stream());
  step.wait();
  EXPECT_EQ(filled, Words(4, 1000 + 0x02020202));
  EXPECT_EQ(later[1], 11u);
  EXPECT_EQ(later[0], 7u);
  step.restore();
  EXPECT_EQ(filled, Words(4, 0x01010101)) << "as the first iteration left it";
  EXPECT_EQ(later[0], 7u);
}

TEST_P(CApiStep, StepsOfOneSessionShareItsMemory) {
  const Trace file = open();
  gfxgraph::Session session(file);
  gfxgraph::Step first(session, 0, GetParam());
  first.run(first.stream());
  first.wait();
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.keep_memory = 1;
  options.mode = GetParam();
  gfxgraph::Step second(session, 1, options);
  EXPECT_EQ(read(session, state, 1)[0], 0x01010101u) << "kept";
  second.run(second.stream());
  second.wait();
  EXPECT_EQ(read(session, state, 1)[0], 0x03030303u);
  gfxgraph::Step third(session, 2, GetParam());
  EXPECT_EQ(read(session, state, 1)[0], 0x03030303u) << "what the recorded work before it leaves";
  options.mode = GFXGRAPH_MODE_AUTO;
  EXPECT_THROW(gfxgraph::Step(session, 2, options), Failure);
}

// Of several bindings of one buffer the last one holds; two buffers have no byte in common.
TEST_P(CApiStep, ABufferIsBoundTwiceAndMemoryOnce) {
  const Trace file = open();
  gfxgraph::Session session(file);
  Words first(4, 7), second(4, 1000), third(4, 2000), wide(12, 50);
  const auto expect_refused = [&](uint32_t buffer, void* memory, uint64_t size, const char* one,
                                  const char* other) {
    EXPECT_EQ(gfxgraph_session_bind(session.get(), buffer, memory, size, 0),
              GFXGRAPH_INVALID_ARGUMENT);
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(std::string("(") + one + "): "));
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(std::string("(") + other + ") uses a part of"));
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr("bind the other one elsewhere first"));
  };
  EXPECT_EQ(gfxgraph_session_bind(session.get(), state, first.data(), 15, 0),
            GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr(" (state): it needs 16 bytes, not 15"));
  session.bind(state, first.data(), 16);
  session.bind(state, second.data(), 16);
  expect_refused(recorded.input, second.data(), 16, "input", "state");
  session.bind(recorded.input, first.data(), 16);  // which is free again
  gfxgraph::Step step(session, file.find_range("step#1"), GetParam());
  step.run(step.stream());
  step.wait();
  EXPECT_EQ(second, Words(4, 1000 + 0x02020202));
  EXPECT_EQ(first, Words(4, 0x02020202));
  // While it is loaded: also memory of the library, and where only a part overlaps.
  expect_refused(state, first.data(), 16, "state", "input");
  void* theirs = nullptr;
  ASSERT_EQ(gfxgraph_session_address(session.get(), history, &theirs), GFXGRAPH_OK);
  expect_refused(state, theirs, 16, "state", "history");
  session.bind(state, wide.data() + 4, 16);
  expect_refused(recorded.input, wide.data() + 1, 16, "input", "state");
  expect_refused(recorded.input, wide.data() + 7, 16, "input", "state");
  session.bind(recorded.input, wide.data(), 16);  // side by side
  session.bind(recorded.input, wide.data() + 8, 16);
  session.bind(state, second.data(), 16);
  session.bind(state, third.data(), 16);
  step.run(step.stream());
  step.wait();
  EXPECT_EQ(second, Words(4, 1000 + 0x02020202)) << "not bound any more";
  EXPECT_EQ(third, Words(4, 2000 + 0x02020202));
}

// Memory that was loaded and never restored holds nothing to keep.
TEST_P(CApiStep, TheFirstStepOfALoadedSessionHasTheRecordedContent) {
  const Trace file = open();
  gfxgraph::Session session(file);
  session.load();
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.keep_memory = 1;
  options.mode = GetParam();
  gfxgraph::Step step(session, 1, options);
  EXPECT_EQ(read(session, state, 1)[0], 0x01010101u);
  step.run(step.stream());
  EXPECT_EQ(read(session, state, 1)[0], 0x03030303u);
}

TEST_P(CApiStep, StepsInFlightThatShareWrittenMemoryAreRefusedByName) {
  const Trace file = open();
  gfxgraph::Session session(file);
  gfxgraph::Step first(session, 0, GetParam());
  gfxgraph::Step second(session, 1, GetParam());
  first.run(first.stream());
  fake.busy = {nullptr, first.stream()};
  EXPECT_FALSE(first.is_complete());
  try {
    second.run(second.stream());
    FAIL() << "submitted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), GFXGRAPH_UNSUPPORTED);
    EXPECT_THAT(failure.what(), HasSubstr("(input)"));
    EXPECT_THAT(failure.what(), HasSubstr("nothing was submitted"));
  }
  if (GetParam() != GFXGRAPH_MODE_EAGER) second.run(first.stream());  // behind it: no conflict
  fake.busy.clear();
  EXPECT_TRUE(first.is_complete());
  second.run(second.stream());

  gfxgraph_session_options_t options = gfxgraph_session_options_default();
  options.concurrent_steps = 1;
  gfxgraph::Session ordered(file, options);
  gfxgraph::Step third(ordered, 0, GetParam());
  gfxgraph::Step fourth(ordered, 1, GetParam());
  third.run(third.stream());
  fake.busy = {nullptr, third.stream()};
  EXPECT_NO_THROW(fourth.run(fourth.stream()));
  fake.busy.clear();
}

TEST_P(CApiStep, TheThreadsDeviceIsPutBack) {
  fake.devices = 3;
  fake.current_device = 2;
  const Trace file = open();
  gfxgraph_session_options_t options = gfxgraph_session_options_default();
  options.device = 1;
  {
    gfxgraph::Session session(file, options);
    EXPECT_EQ(fake.current_device, 2);
    EXPECT_EQ(session.info().device, 1);
    gfxgraph::Step step(session, 0, GetParam());
    EXPECT_EQ(fake.current_device, 2);
    step.run(step.stream());
    step.wait();
    (void)step.verify();
    EXPECT_EQ(fake.current_device, 2);
  }
  EXPECT_EQ(fake.current_device, 2);
  options.device = 3;
  try {
    gfxgraph::Session session(file, options);
    FAIL() << "there are three";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), GFXGRAPH_DEVICE);
    EXPECT_EQ(failure.hip_error(), 0);
  }
  EXPECT_EQ(fake.current_device, 2);
}

TEST_P(CApiStep, MemoryOfAnotherDeviceIsRefusedByName) {
  fake.devices = 2;
  const Trace file = open();
  const HipTable hip = fake.table();
  void *here = nullptr, *there = nullptr;
  ASSERT_EQ(hip.hipMalloc(&here, 16), 0);
  fake.current_device = 1;
  ASSERT_EQ(hip.hipMalloc(&there, 16), 0);
  fake.current_device = 0;
  {
    gfxgraph::Session session(file);
    gfxgraph::Step step(session, 0, GetParam());
    const size_t alive = fake.alive();
    try {
      session.bind(state, there, 16);
      FAIL() << "bound";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status(), GFXGRAPH_INVALID_ARGUMENT);
      EXPECT_THAT(failure.what(),
                  HasSubstr("the memory is on device 1, and the session on device 0"));
    }
    EXPECT_EQ(fake.alive(), alive);
    step.run(step.stream());
    EXPECT_EQ(read(session, state, 1)[0], 0x01010101u);
    session.bind(state, here, 16, GFXGRAPH_BIND_FILL);
    step.restore();
    step.run(step.stream());
    EXPECT_EQ(read(session, state, 1)[0], 0x01010101u);
  }
  hip.hipFree(here);
  hip.hipFree(there);
}

TEST_P(CApiStep, HipsErrorsComeWithTheirNumber) {
  const Trace file = open();
  gfxgraph::Session session(file);
  gfxgraph::Step step(session, 0, GetParam());
  fake.fail_call(3, 719);
  try {
    step.run(step.stream());
    FAIL() << "submitted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), GFXGRAPH_DEVICE);
    EXPECT_EQ(failure.hip_error(), 719);
  }
  EXPECT_EQ(gfxgraph_step_run(nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_last_hip_error(), 0);
}

TEST_P(CApiStep, TheLogSaysWhatWasLoadedAndPrepared) {
  std::vector<std::string> lines;
  gfxgraph_session_options_t options = gfxgraph_session_options_default();
  options.log_context = &lines;
  options.log = [](void* context, int32_t level, const char* text) {
    static_cast<std::vector<std::string>*>(context)->push_back(std::to_string(level) + text);
  };
  const Trace file = open();
  gfxgraph::Session session(file, options);
  gfxgraph::Step step(session, 0, GetParam());
  EXPECT_THAT(lines, Contains(HasSubstr("0loaded 1 code object and 4 buffers")));
  EXPECT_THAT(lines, Contains(HasSubstr("step of 5 operations with 3 launches, in mode ")));
}

TEST_P(CApiStep, MemoryComesFromTheCallersAllocator) {
  struct Pool {
    FakeHip& fake;
    std::map<void*, int32_t> kinds;
  } pool{fake, {}};
  gfxgraph_session_options_t options = gfxgraph_session_options_default();
  options.allocator_context = &pool;
  options.allocate = [](void* context, void** pointer, size_t size, int32_t kind) -> int32_t {
    auto& self = *static_cast<Pool*>(context);
    const HipTable hip = self.fake.table();
    const int32_t code = kind == GFXGRAPH_MEMORY_PINNED ? hip.hipHostMalloc(pointer, size, 0)
                                                        : hip.hipMalloc(pointer, size);
    if (code == 0) self.kinds[*pointer] = kind;
    return code;
  };
  const Trace file = open();
  EXPECT_THROW(gfxgraph::Session(file, options), Failure) << "nothing to release with";
  options.release = [](void* context, void* pointer) {
    auto& self = *static_cast<Pool*>(context);
    const HipTable hip = self.fake.table();
    if (self.kinds.at(pointer) == GFXGRAPH_MEMORY_PINNED)
      hip.hipHostFree(pointer);
    else
      hip.hipFree(pointer);
    self.kinds.erase(pointer);
  };
  {
    gfxgraph::Session session(file, options);
    gfxgraph::Step step(session, 0, GetParam());
    const size_t loaded = pool.kinds.size();
    EXPECT_GE(loaded, 5u) << "four buffers, one place for copies";
    const Words in(4, 7);
    step.run(step.stream());
    step.set_input(0, in.data(), 16);
    EXPECT_EQ(pool.kinds.size(), loaded + (GetParam() == GFXGRAPH_MODE_EAGER ? 0 : 1));
    step.run(step.stream());
    EXPECT_EQ(read(session, state, 1)[0], 0x01010101u + 7);
  }
  EXPECT_TRUE(pool.kinds.empty());
}

INSTANTIATE_TEST_SUITE_P(Modes, CApiStep,
                         ::testing::Values(GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH,
                                           GFXGRAPH_MODE_GRAPH));

// Six iterations without a mark.
class CApiPeriod : public CApiStep {
 protected:
  CApiPeriod() : CApiStep(6, false) {}
};

TEST_P(CApiPeriod, IsARangeForWhoAsksForIt) {
  const Trace file = open();
  EXPECT_EQ(file.environment().range_count, 0u);
  const gfxgraph_range_t range = file.find_range("period#1#2");
  EXPECT_EQ(file.find_range("period#1"), range + 1) << "another one";
  EXPECT_EQ(file.find_range("period#1#2"), range) << "the same one";
  EXPECT_EQ(file.environment().range_count, 0u);
  const gfxgraph_range_info_t info = file.range(range);
  EXPECT_STREQ(info.name, "period#1");
  EXPECT_EQ(info.ordinal, 2u);
  EXPECT_EQ(info.launches, 3u);
  EXPECT_EQ(info.copies, 2u);
  EXPECT_EQ(info.copy_bytes, 32u);
  EXPECT_EQ(info.host_writes, 1u);
  EXPECT_EQ(info.shape, 0u);
  EXPECT_EQ(info.ended, 1u);
  EXPECT_EQ(file.parameters(range).size(), 2u);
  EXPECT_EQ(file.find_range("all"), GFXGRAPH_RANGE_ALL);
  for (const char* wrong : {"period#2", "period#1#6", "step"}) {
    try {
      file.find_range(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status(), GFXGRAPH_NOT_FOUND);
      EXPECT_THAT(failure.what(), HasSubstr("period#1,")) << wrong;
    }
  }
}

TEST_P(CApiPeriod, GoesOnWithOtherInputs) {
  const Trace file = open();
  const gfxgraph_range_t range = file.find_range("period#1#2");
  gfxgraph::Session session(file);
  gfxgraph::Step step(session, range, GetParam());
  Words expected = read(session, state, 4);
  EXPECT_NE(expected[0], 0u) << "what the iterations before it left";
  for (uint32_t n = 0; n < 5; ++n) {
    const Words in = {n + 1, 2 * n, 3, 100 * n};
    for (size_t i = 0; i < 4; ++i) expected[i] += in[i];
    step.set_input(file.find_input(range, "input"), in.data(), 16);
    step.advance(n);
    step.run(step.stream());
    Words out(4);
    step.read_output(0, out.data(), 16);
    EXPECT_EQ(out, expected) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, CApiPeriod,
                         ::testing::Values(GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH,
                                           GFXGRAPH_MODE_GRAPH));

}  // namespace
}  // namespace gfxgraph::replayer::testing
