// Steps and buffers of one session that share memory, through the C ABI, on the fake runtime.
#include <gtest/gtest.h>

#include <vector>

#include "gfxgraph/gfxgraph.hpp"
#include "replayer/capi/c_api_internal.h"
#include "test_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

using Words = std::vector<uint32_t>;

// What had one address in the recording may have one here.
TEST(CApiSteps, LivesAtOneAddressCanBeBoundToOneMemory) {
  FakeHip fake;
  add_test_kernels(fake);
  use_hip_library_for_tests(fake.library());
  {
    TestTrace trace(fake);
    uint64_t address = 0;
    trace.edit_begin = [&](format::AllocationBegin& begin) {
      if (address == 0) address = begin.recorded_address;
      begin.recorded_address = address;
    };
    const auto one = trace.allocate(64);
    trace.free(one);
    const auto other = trace.allocate(64);
    trace.free(other);
    trace.finish();
    const Trace file(trace.path().string());
    for (const bool loaded : {false, true}) {
      gfxgraph::Session session(file);
      if (loaded) session.load();
      Words memory(16);
      session.bind(one, memory.data(), 64);
      EXPECT_NO_THROW(session.bind(other, memory.data(), 64));
      EXPECT_NO_THROW(session.load());
    }
  }
  use_hip_library_for_tests(nullptr);
}

// Steps on memory that they only read, or that no other uses, run at the same time.
TEST(CApiSteps, RunSideBySideWhereNobodyWritesWhatTheOtherUses) {
  FakeHip fake;
  add_test_kernels(fake);
  use_hip_library_for_tests(fake.library());
  {
    TestTrace trace(fake);
    const auto weights = trace.allocate_words({1, 2, 3, 4});
    const auto add = [&](format::AllocationId state) {
      trace.launch("add", Arguments()
                              .value(trace.address(state))
                              .value(trace.address(weights))
                              .value(trace.address(state))
                              .value(4u));
    };
    format::AllocationId states[2];
    for (uint32_t i = 0; i < 2; ++i) {
      const auto state = states[i] = trace.allocate_words({0, 0, 0, 0});
      trace.range_begins("half", i + 1, i);
      add(state);
      trace.range_ends("half", i + 1);
    }
    trace.finish();
    const Trace file(trace.path().string());
    gfxgraph::Session session(file);
    gfxgraph_step_options_t options = gfxgraph_step_options_default();
    options.mode = GFXGRAPH_MODE_BATCH;
    options.keep_memory = 1;
    gfxgraph::Step first(session, 0, options);
    gfxgraph::Step second(session, 1, options);
    first.run(first.stream());
    fake.busy = {first.stream()};
    EXPECT_NO_THROW(second.run(second.stream()));
    fake.busy.clear();
    // Also of the buffer that begins behind the first step's range.
    for (const format::AllocationId state : states) {
      Words words(4);
      session.read(state, 0, words.data(), 16);
      EXPECT_EQ(words, (Words{1, 2, 3, 4}));
    }
  }
  use_hip_library_for_tests(nullptr);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
