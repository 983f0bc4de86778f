// Buffers that have the same memory at different times: which may, and what a replay makes of it.
#include "replayer/program/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/reachability.h"
#include "gfxgraph/gfxgraph.h"
#include "replay_fixture.h"
#include "replayer/capi/c_api_internal.h"
#include "replayer/memory/limits.h"
#include "replayer/program/dag.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBytes = 4096;

class PackingTest : public ReplayTest {
 protected:
  PackingTest() { options.memory = MemoryUse::kPacked; }

  format::AllocationId fresh(uint64_t size = kBytes) {
    trace.edit_begin = [](format::AllocationBegin& begin) {
      begin.initial = {};
      begin.initial.size_bytes = begin.size_bytes;
      begin.initial.unwritten = true;
    };
    const auto id = trace.allocate(size, std::vector<uint8_t>(size, 0));
    trace.edit_begin = nullptr;
    return id;
  }
  // Writes the first words of it; what it held, in the others.
  void use(format::AllocationId id, uint32_t value, format::StreamId stream = 0) {
    trace.launch("fill", Arguments().value(trace.address(id)).value(value).value(8u), stream);
  }
  void add(format::AllocationId a, format::AllocationId to, format::StreamId stream = 0) {
    trace.launch("add",
                 Arguments()
                     .value(trace.address(a))
                     .value(trace.address(to))
                     .value(trace.address(to))
                     .value(8u),
                 stream);
  }
  // As hipFree, which returns when the device is idle.
  void free_and_wait(format::AllocationId id) {
    trace.synchronize_device();
    trace.free(id);
  }
  const std::shared_ptr<const Program>& program() {
    if (!program_) program_ = trace.program();
    return program_;
  }
  Packing plan() { return plan_packing(*program(), options); }
  // Whether two allocations have bytes in common.
  bool shared(format::AllocationId a, format::AllocationId b) {
    const Packing packing = plan();
    const auto place = [&](format::AllocationId id) {
      const auto found = std::ranges::find(packing.tenants, id, &Tenant::allocation);
      return found == packing.tenants.end() ? nullptr : &*found;
    };
    const Tenant* const one = place(a);
    const Tenant* const other = place(b);
    if (one == nullptr || other == nullptr) return false;
    const auto end = [&](const Tenant& tenant) {
      return tenant.arena_offset + program()->allocations()[tenant.allocation - 1].extent_bytes;
    };
    return one->arena_offset < end(*other) && other->arena_offset < end(*one);
  }
  std::unique_ptr<Step> load_step(Mode mode) {
    options.mode = mode;
    return load(fake, program(), options);
  }

  LoadOptions options;

 private:
  std::shared_ptr<const Program> program_;
};

TEST_F(PackingTest, LivesOneAfterAnotherNeedTheMemoryOfOne) {
  constexpr uint64_t kLarge = 64 << 10;
  for (uint32_t i = 0; i < 48; ++i) {
    const auto id = fresh(kLarge);
    use(id, i);
    free_and_wait(id);
  }
  const Packing packing = plan();
  EXPECT_EQ(packing.arena_bytes, kLarge);
  EXPECT_EQ(packing.tenants.size(), 48u);
  EXPECT_EQ(packing.turnovers.size(), 48u);
  EXPECT_EQ(packing.kept_bytes, 47 * kLarge);
  const auto need = memory_need(*program(), options, packing);
  ASSERT_TRUE(need);
  EXPECT_EQ(need->device, kLarge);
  EXPECT_EQ(need->device_apart, 48 * kLarge);
  EXPECT_THAT(memory_text(*need, options.memory), HasSubstr("64.0 KiB on the device, packed"));
  EXPECT_THAT(memory_text(*need, options.memory), HasSubstr("3.0 MiB without packing"));
  options.memory = MemoryUse::kApart;
  EXPECT_TRUE(plan().tenants.empty());
}

TEST_F(PackingTest, SmallOnesTakePartsOfALargeOneAndTheOtherWayRound) {
  const auto large = fresh(4 * kBytes);
  use(large, 1);
  free_and_wait(large);
  std::vector<format::AllocationId> small;
  for (uint32_t i = 0; i < 4; ++i) {
    small.push_back(fresh());
    use(small.back(), i);
  }
  for (const auto id : small) free_and_wait(id);
  const auto again = fresh(3 * kBytes);
  use(again, 9);
  free_and_wait(again);
  const Packing packing = plan();
  EXPECT_EQ(packing.arena_bytes, 4 * kBytes);
  ASSERT_EQ(packing.turnovers.size(), 6u);
  EXPECT_EQ(packing.turnovers[2].ended.size(), 1u);
  EXPECT_EQ(packing.turnovers[2].ended[0].offset_bytes, kBytes);
  EXPECT_EQ(packing.turnovers[5].ended.size(), 3u);
}

TEST_F(PackingTest, LivesThatMeetShareNothing) {
  const auto a = fresh();
  const auto b = fresh();
  use(a, 1);
  use(b, 2);
  free_and_wait(a);
  free_and_wait(b);
  EXPECT_TRUE(plan().tenants.empty());
}

TEST_F(PackingTest, UnorderedStreamsShareNothing) {
  trace.stream(1, 1);
  trace.stream(2, 1);
  const auto a = fresh();
  use(a, 1, 1);
  trace.free(a);
  const auto b = fresh();
  use(b, 2, 2);
  trace.free(b);
  EXPECT_TRUE(plan().tenants.empty());
}

// hipFreeAsync on the stream of the work, hipMallocAsync on another one.
TEST_F(PackingTest, StreamsThatAreOrderedByAnEventShare) {
  trace.stream(1, 1);
  trace.stream(2, 1);
  trace.event(1);
  const auto a = fresh();
  use(a, 1, 1);
  trace.record(1, 1);
  trace.free(a);
  trace.wait(2, 1);
  const auto b = fresh();
  use(b, 2, 2);
  trace.free(b);
  EXPECT_TRUE(shared(a, b));
}

// Work on a second stream still uses the earlier one when it is freed on the first.
TEST_F(PackingTest, FreedOnAnotherStreamThanItsLastUserSharesNothing) {
  for (format::StreamId id = 1; id <= 2; ++id) trace.stream(id, 1);
  trace.event(1);
  const auto a = fresh();
  use(a, 1, 1);
  trace.record(1, 1);
  trace.wait(2, 1);
  use(a, 2, 2);
  trace.free(a);
  const auto b = fresh();
  use(b, 3, 1);
  trace.free(b);
  EXPECT_FALSE(shared(a, b));
}

// Not named, but it may have the address: it follows work that had it.
TEST_F(PackingTest, WorkBehindAUserMayUseItToo) {
  for (format::StreamId id = 1; id <= 2; ++id) trace.stream(id, 1);
  trace.event(1);
  const auto table = trace.allocate(kBytes);
  const auto a = fresh();
  use(a, 1, 1);
  trace.record(1, 1);
  trace.wait(2, 1);
  use(table, 2, 2);
  trace.free(a);
  const auto b = fresh();
  use(b, 3, 1);
  trace.free(b);
  EXPECT_FALSE(shared(a, b));
}

TEST_F(PackingTest, UnrelatedWorkOnAnotherStreamDoesNotMatter) {
  for (format::StreamId id = 1; id <= 2; ++id) trace.stream(id, 1);
  const auto other = trace.allocate(kBytes);
  use(other, 1, 2);
  const auto a = fresh();
  use(a, 1, 1);
  use(other, 2, 2);
  trace.free(a);
  const auto b = fresh();
  use(b, 3, 1);
  trace.free(b);
  EXPECT_TRUE(shared(a, b));
}

// Its first user must come before all others: there its life begins.
TEST_F(PackingTest, TwoFirstUsersShareNothing) {
  for (format::StreamId id = 1; id <= 2; ++id) trace.stream(id, 1);
  const auto a = fresh();
  use(a, 1, 1);
  free_and_wait(a);
  const auto b = fresh();
  use(b, 2, 1);
  use(b, 3, 2);
  free_and_wait(b);
  EXPECT_FALSE(shared(a, b));
}

TEST_F(PackingTest, OnlyFreshMemoryThatIsFreedAndNotKnownElsewhereShares) {
  const auto a = fresh();
  use(a, 1);
  free_and_wait(a);
  const auto with_content = trace.allocate(kBytes);
  use(with_content, 2);
  free_and_wait(with_content);
  const auto pinned = [&] {
    const auto id = trace.allocate(kBytes, {}, format::AllocationKind::kHostPinned);
    return id;
  }();
  const auto told = fresh();  // by memory that the host writes
  std::vector<uint8_t> word(8);
  const uint64_t address = trace.address(told);
  std::memcpy(word.data(), &address, 8);
  trace.host_write(pinned, 0, word);
  use(told, 3);
  trace.host_write(pinned, 0, std::vector<uint8_t>(8, 0));
  free_and_wait(told);
  const auto named = fresh();  // by a launch after its end
  const Arguments stale = Arguments().value(trace.address(named)).value(4u).value(0u);
  use(named, 4);
  trace.edit_launch = [named](format::Launch& launch) {
    launch.relocations.push_back({8, named, 0, format::RelocationSource::kMatched, false});
  };
  free_and_wait(named);
  const auto last = fresh();
  use(last, 5);
  trace.edit_launch = nullptr;
  const Packing packing = plan();
  for (const auto id : {with_content, pinned, told, named, last}) {
    EXPECT_TRUE(std::ranges::none_of(packing.tenants, [&](const Tenant& tenant) {
      return tenant.allocation == id;
    })) << id;
  }
}

TEST_F(PackingTest, RangesThatMayBecomeStepsShareNothingWithEachOther) {
  std::vector<format::AllocationId> ids;
  for (uint32_t i = 0; i < 2; ++i) {
    trace.range_begins("step", i + 1, i);
    for (uint32_t k = 0; k < 2; ++k) {
      ids.push_back(fresh());
      use(ids.back(), k);
      free_and_wait(ids.back());
    }
    trace.range_ends("step", i + 1);
  }
  const auto across = fresh();
  use(across, 1);
  trace.range_begins("step", 3, 2);
  use(across, 2);
  free_and_wait(across);
  trace.range_ends("step", 3);
  EXPECT_TRUE(shared(ids[0], ids[1]));
  EXPECT_FALSE(shared(ids[1], ids[2]));
  EXPECT_TRUE(shared(ids[2], ids[3]));
  EXPECT_FALSE(shared(ids[0], across));
  options.only_range = EventRange{0, UINT64_MAX};
  EXPECT_TRUE(shared(ids[1], ids[2]));
  EXPECT_TRUE(shared(ids[0], across));
}

// Beyond that the DAG has edges of its own, which eager mode does not keep.
TEST_F(PackingTest, VeryWideProgramsShareNothing) {
  const auto a = fresh();
  use(a, 1);
  free_and_wait(a);
  const auto b = fresh();
  use(b, 2);
  free_and_wait(b);
  const auto other = trace.allocate(kBytes);
  for (format::StreamId id = 1; id <= Reachability::kMaxLanes; ++id) {
    trace.stream(id, 1);
    use(other, 3, id);
  }
  EXPECT_TRUE(plan().tenants.empty());
}

// Streams with events, two that share, one that lives through all, pointers in shared memory.
class PackedRunTest : public PackingTest {
 protected:
  static constexpr uint32_t kRounds = 5;
  void build() {
    for (format::StreamId id = 1; id <= 2; ++id) trace.stream(id, 1);
    trace.event(1);
    trace.event(2);
    sum = trace.allocate(kBytes, std::vector<uint8_t>(kBytes, 0));
    for (uint32_t i = 0; i < kRounds; ++i) {
      const auto a = fresh(kBytes + i * 512);
      use(a, 10 + i, 1);
      const auto b = fresh(2 * kBytes - i * 256);
      use(b, 20 + i, 1);
      add(a, b, 1);
      trace.record(1, 1);
      trace.wait(2, 1);
      add(b, sum, 2);
      trace.record(2, 2);
      trace.wait(1, 2);
      add(a, sum, 1);
      trace.free(a);
      trace.free(b);
      all.push_back(a);
      all.push_back(b);
    }
    trace.copy_to_host(sum, 1);
  }
  format::AllocationId sum = 0;
  std::vector<format::AllocationId> all;
};

TEST_F(PackedRunTest, WhatWasFreedIsKeptAndComparedInAllModesAndLayouts) {
  build();
  EXPECT_TRUE(shared(all[0], all[2]));
  options.keep_freed = true;
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph, Mode::kAuto}) {
    for (const Layout layout : {Layout::kSame, Layout::kShift}) {
      for (const bool poison : {false, true}) {
        options.layout = layout;
        options.poison_fresh = poison;
        const auto step = load_step(mode);
        ASSERT_NE(step, nullptr);
        EXPECT_LT(plan().arena_bytes, 4 * kBytes);
        ASSERT_TRUE(step->run());
        const auto report = StepCheck(*step).verify();
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->identical_throughout()) << mode_name(mode);
        EXPECT_EQ(report->identical, 2 * kRounds + 1);
        EXPECT_EQ(report->copies_identical, 1u);
        if (layout == Layout::kShift) {
          EXPECT_EQ(step->instance().memory().moved(), step->instance().memory().movable());
        }
        // Again, without setting anything back but what is summed up.
        ASSERT_TRUE(step->restore());
        expect_identical(*step);
      }
    }
  }
  EXPECT_EQ(fake.memory.size(), 0u) << "everything was freed";
}

// Its nodes are the same, what comes before them is not.
TEST_F(PackedRunTest, AGraphThatIsLaunchedAgainTurnsItsMemoryOverOnce) {
  sum = trace.allocate(kBytes, std::vector<uint8_t>(kBytes, 0));
  const auto a = fresh();
  use(a, 7);
  free_and_wait(a);
  const auto b = fresh();
  format::Graph graph;
  for (uint32_t from = 0; from < 2; ++from) {
    graph.nodes.push_back({trace.make_launch("add", Arguments()
                                                        .value(trace.address(b))
                                                        .value(trace.address(from == 0 ? b : sum))
                                                        .value(trace.address(from == 0 ? b : sum))
                                                        .value(8u)),
                           {}});
  }
  graph.nodes[1].dependencies = {0};
  use(sum, 3);
  const format::GraphId id = trace.graph_launch(graph);
  trace.graph_launch(graph, 0, id);
  free_and_wait(b);
  ASSERT_TRUE(shared(a, b));
  options.keep_freed = true;
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    const auto step = load_step(mode);
    ASSERT_NE(step, nullptr);
    expect_identical(*step);
    ASSERT_TRUE(step->restore());
    expect_identical(*step);
  }
}

TEST_F(PackedRunTest, WhatIsNotKeptIsNotCompared) {
  build();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    const auto step = load_step(mode);
    ASSERT_NE(step, nullptr);
    ASSERT_TRUE(step->run());
    const auto report = StepCheck(*step).verify();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->differs()) << mode_name(mode);
    EXPECT_FALSE(report->identical_throughout());
    // The last two still have their memory.
    EXPECT_EQ(report->uncompared, 2 * (kRounds - 1));
    EXPECT_EQ(report->identical, 3u);
    EXPECT_THAT(report->buffers[1].reason, HasSubstr("another buffer uses its memory now"));
  }
}

TEST_F(PackedRunTest, AWrongByteInWhatWasFreedIsFound) {
  trace.edit_post = [](format::Content& post) {
    post.hash.low ^= 1;
    post.blob = {};
    post.stored = false;
  };
  const auto a = fresh();
  trace.launch("fill", Arguments().value(trace.address(a)).value(1u).value(uint32_t{kBytes / 4}));
  free_and_wait(a);
  trace.edit_post = nullptr;
  const auto b = fresh();
  use(b, 2);
  free_and_wait(b);
  options.keep_freed = true;
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    const auto step = load_step(mode);
    ASSERT_NE(step, nullptr);
    ASSERT_TRUE(step->run());
    const auto report = StepCheck(*step).verify();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->different, 1u);
    EXPECT_EQ(report->identical, 1u);
  }
}

// Its life begins with fresh bytes in each run, not with what another one left there.
TEST_F(PackingTest, LivesBeginWithFreshBytes) {
  const auto result = trace.allocate(kBytes, std::vector<uint8_t>(kBytes, 0));
  const auto a = fresh();
  use(a, 7);
  free_and_wait(a);
  const auto b = fresh();
  add(b, result);  // reads what nobody wrote: zeros in the recording
  free_and_wait(b);
  options.keep_freed = true;
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    const auto step = load_step(mode);
    ASSERT_NE(step, nullptr);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(step->restore());
      expect_identical(*step);
    }
  }
}

TEST_F(PackingTest, ABoundBufferLeavesTheArena) {
  const auto a = fresh();
  use(a, 1);
  free_and_wait(a);
  const auto b = fresh();
  use(b, 2);
  free_and_wait(b);
  const auto c = fresh();
  use(c, 3);
  free_and_wait(c);
  options.keep_freed = true;
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    const auto step = load_step(mode);
    ASSERT_NE(step, nullptr);
    ASSERT_TRUE(step->run());
    std::vector<uint8_t> own(kBytes, 0x77);
    ASSERT_TRUE(step->instance().session().bind({b, own.data(), own.size(), true}));
    ASSERT_TRUE(step->run());
    const auto report = StepCheck(*step).verify();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->buffers[0].comparison, Comparison::kIdentical) << report->buffers[0].reason;
    EXPECT_EQ(report->buffers[2].comparison, Comparison::kIdentical);
    uint32_t first = 0;
    std::memcpy(&first, own.data(), 4);
    EXPECT_EQ(first, 2u);
    EXPECT_EQ(own[32], 0x77) << "only the step's own work writes it";
  }
  LoadOptions bound = options;
  std::vector<uint8_t> own(kBytes);
  bound.bindings = {{b, own.data(), own.size(), true}};
  const Packing packing = plan_packing(*program(), bound);
  EXPECT_EQ(packing.tenants.size(), 2u);
}

TEST_F(PackingTest, SharedMemoryIsNobodysBetweenRuns) {
  const auto a = fresh();
  use(a, 1);
  free_and_wait(a);
  const auto b = fresh();
  use(b, 2);
  add(b, b);
  free_and_wait(b);
  const auto own = trace.allocate(kBytes);
  use(own, 3);
  const auto step = load_step(Mode::kBatch);
  ASSERT_NE(step, nullptr);
  const Memory& memory = step->instance().memory();
  EXPECT_EQ(memory.check_own(a).error().status, Status::kUnsupported);
  EXPECT_EQ(memory.check_own(b).error().status, Status::kUnsupported);
  EXPECT_TRUE(memory.check_own(own));
  // As an argument only where the program passed it.
  const PlaceTarget first{2, ranges::PlaceKind::kArgument, 0, 8};
  EXPECT_TRUE(step->values().set_place(first, {b, 64}));
  const auto refused = step->values().set_place(first, {a, 0});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("shares its memory"));
  EXPECT_EQ(StepCheck(*step).find_divergence().error().status, Status::kUnsupported);
}

TEST_F(PackingTest, TheLimitHoldsForThePackedSize) {
  for (uint32_t i = 0; i < 16; ++i) {
    const auto id = fresh(64 << 10);
    use(id, i);
    free_and_wait(id);
  }
  const auto need = memory_need(*program(), options, plan());
  options.max_memory_bytes = need->device + need->host;
  EXPECT_NE(load_step(Mode::kBatch), nullptr);
  fake.log.clear();
  options.max_memory_bytes -= 1;
  const auto refused = Step::load(program(), fake.library(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
  EXPECT_THAT(refused.error().message,
              HasSubstr("packed by life time: 65536 bytes of device memory instead of 1048576"));
  options.memory = MemoryUse::kApart;
  const auto apart = Step::load(program(), fake.library(), options);
  ASSERT_FALSE(apart);
  EXPECT_THAT(apart.error().message,
              HasSubstr("packed by life time (--memory packed) would be 65536"));
  EXPECT_EQ(fake.alive(), 0u);
}

TEST_F(PackingTest, TheCInterfacePacksUnlessTold) {
  std::vector<format::AllocationId> ids;
  for (uint32_t i = 0; i < 3; ++i) {
    ids.push_back(fresh());
    use(ids.back(), i);
    free_and_wait(ids.back());
  }
  trace.finish();
  use_hip_library_for_tests(fake.library());
  gfxgraph_trace_t opened = nullptr;
  ASSERT_EQ(gfxgraph_trace_open(trace.path().c_str(), nullptr, &opened), GFXGRAPH_OK);
  for (const uint32_t memory :
       {GFXGRAPH_MEMORY_PACKED, GFXGRAPH_MEMORY_APART, GFXGRAPH_MEMORY_PACKED_KEPT}) {
    gfxgraph_session_options_t chosen = gfxgraph_session_options_default();
    EXPECT_EQ(chosen.memory, uint32_t{GFXGRAPH_MEMORY_PACKED});
    chosen.memory = memory;
    gfxgraph_session_t session = nullptr;
    ASSERT_EQ(gfxgraph_session_create(opened, &chosen, &session), GFXGRAPH_OK);
    gfxgraph_session_info_t info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(gfxgraph_session_info(session, &info), GFXGRAPH_OK);
    const bool apart = memory == GFXGRAPH_MEMORY_APART;
    EXPECT_EQ(info.loaded, 0u);
    EXPECT_EQ(info.device_bytes, apart ? 3 * kBytes : kBytes);
    EXPECT_EQ(info.device_bytes_apart, 3 * kBytes);
    gfxgraph_step_options_t step_options = gfxgraph_step_options_default();
    step_options.mode = GFXGRAPH_MODE_BATCH;
    gfxgraph_step_t step = nullptr;
    ASSERT_EQ(gfxgraph_step_create(session, GFXGRAPH_RANGE_ALL, &step_options, &step), GFXGRAPH_OK);
    void* stream = nullptr;
    ASSERT_EQ(gfxgraph_step_stream(step, &stream), GFXGRAPH_OK);
    ASSERT_EQ(gfxgraph_step_run(step, stream), GFXGRAPH_OK);
    gfxgraph_verification_t verification{};
    verification.struct_size = sizeof verification;
    ASSERT_EQ(gfxgraph_step_verify(step, &verification, nullptr, 0, 0), GFXGRAPH_OK);
    EXPECT_EQ(verification.uncompared, memory == GFXGRAPH_MEMORY_PACKED ? 2u : 0u);
    EXPECT_EQ(verification.identical, memory == GFXGRAPH_MEMORY_PACKED ? 1u : 3u);
    uint32_t word = 0;
    const gfxgraph_status_t expected = apart ? GFXGRAPH_OK : GFXGRAPH_UNSUPPORTED;
    void* address = nullptr;
    EXPECT_EQ(gfxgraph_session_read(session, ids[0], 0, &word, 4), expected);
    EXPECT_EQ(gfxgraph_session_write(session, ids[0], 0, &word, 4), expected);
    EXPECT_EQ(gfxgraph_session_address(session, ids[0], &address), expected);
    gfxgraph_step_destroy(step);
    gfxgraph_session_destroy(session);
  }
  gfxgraph_session_options_t chosen = gfxgraph_session_options_default();
  chosen.memory = 3;
  gfxgraph_session_t session = nullptr;
  EXPECT_EQ(gfxgraph_session_create(opened, &chosen, &session), GFXGRAPH_INVALID_ARGUMENT);
  gfxgraph_trace_destroy(opened);
  use_hip_library_for_tests(nullptr);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
