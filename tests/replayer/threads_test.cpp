// Sessions and steps in several threads, for the thread sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gfxgraph/gfxgraph.hpp"
#include "place/live_program.h"
#include "replayer/capi/c_api_internal.h"
#include "step_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

using Words = std::vector<uint32_t>;
constexpr uint32_t kThreads = 4;
constexpr uint32_t kRuns = 40;
constexpr gfxgraph_mode_t kModes[] = {GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH,
                                      GFXGRAPH_MODE_GRAPH};

// Calls `body` with the number of each thread, in all of them at the same time.
void in_threads(uint32_t count, const std::function<void(uint32_t)>& body) {
  std::barrier start(count);
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      try {
        body(i);
      } catch (const std::exception& exception) {
        ADD_FAILURE() << "thread " << i << ": " << exception.what();
      }
    });
  }
}

class Threads : public ::testing::Test {
 protected:
  Threads() { use_hip_library_for_tests(fake.library()); }
  ~Threads() override { use_hip_library_for_tests(nullptr); }
  FakeHip fake;
};

// Sessions share the trace alone: each thread has a runtime of its own.
TEST_F(Threads, SessionsOfOneTraceRunSideBySide) {
  const StepTrace recorded(fake);
  const Trace file(recorded.trace.path().string());
  in_threads(kThreads, [&](uint32_t thread) {
    FakeHip own;
    own.keep_log = false;
    add_test_kernels(own);
    for (const gfxgraph_mode_t mode : kModes) {
      gfxgraph::Session session(file);
      const gfxgraph_range_t range = file.find_range("step#1");
      gfxgraph::Step step(session, range, mode);
      Words expected(4, 0x01010101);
      for (uint32_t n = 0; n < kRuns; ++n) {
        const Words in = {thread, n, 3, thread * n};
        for (size_t i = 0; i < 4; ++i) expected[i] += in[i];
        step.set_input(0, in.data(), 16);
        const uint32_t written = thread + n;
        step.set_input(1, &written, 4);
        step.advance(n);
        step.run(step.stream());
        if (n % 2 == 0) step.wait();
        Words out(4);
        step.read_output(0, out.data(), 16);
        ASSERT_EQ(out, expected) << "thread " << thread << " run " << n;
      }
      Words decided(kRuns);
      session.read(recorded.history, 4, decided.data(), kRuns * 4);
      for (uint32_t n = 0; n < kRuns; ++n) ASSERT_EQ(decided[n], n + 11);
    }
    EXPECT_EQ(own.alive(), 0u);
  });
}

// Both read the weights; each has a state, an input and an output of its own.
class Halves : public Threads {
 protected:
  Halves() : trace((add_test_kernels(fake), fake)) {
    fake.keep_log = false;
    const auto weights = trace.allocate_words({1, 2, 3, 4});
    format::AllocationId states[2], inputs[2];
    for (auto& id : states) id = trace.allocate_words({0, 0, 0, 0});
    for (auto& id : inputs) id = trace.allocate(16);
    for (uint32_t i = 0; i < 2; ++i) {
      const auto state = states[i], input = inputs[i];
      trace.range_begins("half", i + 1, i);
      trace.copy_to_device(input, std::vector<uint8_t>(16));
      for (const auto other : {weights, input}) {
        trace.launch("add", Arguments()
                                .value(trace.address(state))
                                .value(trace.address(other))
                                .value(trace.address(state))
                                .value(4u));
      }
      trace.copy_to_host(state);
      trace.range_ends("half", i + 1);
    }
    trace.finish();
  }
  TestTrace trace;
};

TEST_F(Halves, StepsOfOneSessionRunSideBySide) {
  const Trace file(trace.path().string());
  for (const gfxgraph_mode_t mode : kModes) {
    gfxgraph::Session session(file);
    gfxgraph_step_options_t options = gfxgraph_step_options_default();
    options.mode = mode;
    options.keep_memory = 1;
    std::vector<gfxgraph::Step> steps;
    for (gfxgraph_range_t range = 0; range < 2; ++range)
      steps.emplace_back(session, range, options);
    in_threads(2, [&](uint32_t thread) {
      fake.use_on_this_thread();
      gfxgraph::Step& step = steps[thread];
      Words expected(4);
      for (uint32_t n = 0; n < kRuns; ++n) {
        const Words in = {n, thread, n * thread, 7};
        for (uint32_t i = 0; i < 4; ++i) expected[i] += in[i] + i + 1;
        step.set_input(0, in.data(), 16);
        step.run(step.stream());
        if (n % 3 == 0) (void)step.is_complete();
        Words out(4);
        step.read_output(0, out.data(), 16);
        ASSERT_EQ(out, expected) << "thread " << thread << " run " << n;
      }
    });
  }
}

// Steps that write the same memory, each on two streams in turns: a run is made or refused.
TEST_F(Threads, StepsInEachOthersWayAreRunOrRefused) {
  const StepTrace recorded(fake);
  fake.keep_log = false;
  const Trace file(recorded.trace.path().string());
  for (const gfxgraph_mode_t mode : kModes) {
    gfxgraph::Session session(file);
    std::vector<gfxgraph::Step> steps;
    for (gfxgraph_range_t range = 0; range < 2; ++range) steps.emplace_back(session, range, mode);
    std::vector<void*> streams;
    for (const gfxgraph::Step& step : steps) streams.push_back(step.stream());
    std::atomic<uint32_t> runs = 0;
    in_threads(2, [&](uint32_t thread) {
      fake.use_on_this_thread();
      gfxgraph_step_t step = steps[thread].get();
      for (uint32_t n = 0; n < 10 * kRuns; ++n) {
        const gfxgraph_status_t status = gfxgraph_step_run(step, streams[n % 2]);
        if (status == GFXGRAPH_OK) {
          ++runs;
        } else {
          ASSERT_EQ(status, GFXGRAPH_UNSUPPORTED) << gfxgraph_last_error();
          ASSERT_THAT(gfxgraph_last_error(), ::testing::HasSubstr("nothing was submitted"));
        }
        // In between nobody waits: the other one looks whether it is complete.
        if (n % 8 != 7) continue;
        const gfxgraph_status_t complete = gfxgraph_step_query(step);
        ASSERT_TRUE(complete == GFXGRAPH_OK || complete == GFXGRAPH_NOT_READY);
        ASSERT_EQ(gfxgraph_step_wait(step), GFXGRAPH_OK);
      }
    });
    EXPECT_GT(runs, 0u);
  }
}

// Ranges are looked for, and prepared, by whoever asks for them first.
TEST_F(Threads, RangesOfOneTraceAreFoundByAllOfThem) {
  constexpr uint32_t kIterations = 5;
  const StepTrace recorded(fake, kIterations + 1, false);
  const Trace file(recorded.trace.path().string());
  std::vector<std::vector<gfxgraph_range_t>> found(kThreads,
                                                   std::vector<gfxgraph_range_t>(kIterations));
  in_threads(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < kIterations; ++i) {
      const uint32_t ordinal = (i + thread) % kIterations;
      const gfxgraph_range_t range = file.find_range("period#1#" + std::to_string(ordinal));
      found[thread][ordinal] = range;
      ASSERT_EQ(file.range(range).ordinal, ordinal);
      ASSERT_EQ(file.parameters(range).size(), 2u);
      ASSERT_EQ(file.inputs(range).size(), 2u);
      ASSERT_EQ(file.find_buffer("state", range), recorded.state);
    }
  });
  for (uint32_t thread = 1; thread < kThreads; ++thread) EXPECT_EQ(found[thread], found[0]);
}

// The program gives something back while steps in place run: those that do not use it go on.
TEST_F(Threads, StepsInPlaceLookForWhatIsGone) {
  add_test_kernels(fake);
  fake.keep_log = false;
  TestTrace trace(fake);
  trace.keep_memory = true;
  std::vector<format::AllocationId> buffers;
  for (uint32_t i = 0; i < kThreads; ++i) buffers.push_back(trace.allocate_words({i, 0, 0, 0}));
  for (const format::AllocationId id : buffers)
    trace.launch("fill", Arguments().value(trace.address(id)).value(7u).value(4u));
  const auto unused = trace.allocate(64);
  const auto program = trace.program(true);
  LiveProgram live(fake, trace, LiveProgram::By::kFunctions);
  LoadOptions options;
  options.mode = Mode::kBatch;
  options.live = live.share();
  const auto session = Session::load(program, fake.library(), options);
  ASSERT_TRUE(session) << session.error().message;
  std::vector<std::unique_ptr<Step>> steps;
  for (uint32_t i = 0; i < kThreads; ++i) {
    const uint64_t at = program->operations()[i].sequence;
    auto step = Step::prepare(*session, program->cut(at, at + 1), options);
    ASSERT_TRUE(step) << step.error().message;
    steps.push_back(*std::move(step));
  }
  live.places.erase(unused);
  const int asked = live.asked;
  in_threads(kThreads, [&](uint32_t thread) {
    fake.use_on_this_thread();
    for (uint32_t n = 0; n < kRuns; ++n) {
      if (thread == 0 && n == kRuns / 2) live.gone.allocation.store(unused);
      const auto run = steps[thread]->run();
      ASSERT_TRUE(run) << run.error().message;
      ASSERT_TRUE(steps[thread]->wait());
    }
  });
  EXPECT_GT(live.asked, asked);
  live.free(buffers[1]);
  for (uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(steps[i]->run().has_value(), i != 1) << i;
  EXPECT_EQ(live.launches, static_cast<int>(kThreads * kRuns + kThreads - 1));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
