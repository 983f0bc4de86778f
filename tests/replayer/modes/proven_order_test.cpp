// Steps that keep a proven order (order/needed_edges.h) in mode graph, on the fake HIP, whose
// graphs run nodes as far out of order as their edges allow.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "gfxgraph/order.h"
#include "order/needed_edges.h"
#include "replay_fixture.h"
#include "replayer/capi/c_api_internal.h"
#include "replayer/program/identity.h"
#include "tests/support/must.h"

namespace gfxgraph::replayer::testing {
namespace {

using gfxgraph::testing::must;
using order::NeededEdges;

// fill a; fill b; add a and b to c; fill a again: a diamond and a write behind a read.
class ProvenOrderTest : public ReplayTest {
 protected:
  ProvenOrderTest() {
    trace.edit_begin = [](format::AllocationBegin& begin) {
      begin.initial = {};
      begin.initial.size_bytes = begin.size_bytes;
      begin.initial.unwritten = true;
    };
    a = trace.allocate(16);
    b = trace.allocate(16);
    c = trace.allocate(16);
    fill(a, 1);
    fill(b, 2);
    trace.launch("add", Arguments()
                            .value(trace.address(a))
                            .value(trace.address(b))
                            .value(trace.address(c))
                            .value(4u));
    fill(a, 3);
  }
  void fill(format::AllocationId id, uint32_t value) {
    trace.launch("fill", Arguments().value(trace.address(id)).value(value).value(4u));
  }
  static std::vector<std::vector<uint32_t>> needed() { return {{}, {}, {0, 1}, {2}}; }
  std::shared_ptr<NeededEdges> edges(const std::vector<std::vector<uint32_t>>& needs,
                                     const std::vector<uint32_t>& anything = {}) {
    auto edges = std::make_shared<NeededEdges>();
    edges->trace = identity_of(*program);
    for (uint32_t n = 0; n < needs.size(); ++n)
      edges->add(needs[n], std::ranges::find(anything, n) != anything.end());
    return edges;
  }
  // The whole trace, or the part behind `first_event`.
  std::unique_ptr<Step> prepare(const std::shared_ptr<const NeededEdges>& order,
                                Mode mode = Mode::kGraph, uint64_t first_event = 0) {
    auto session = Session::load(program, fake.library(), session_options);
    EXPECT_TRUE(session);
    if (!session) return nullptr;
    const auto used = (*session)->use_order(order);
    EXPECT_TRUE(used) << (used ? "" : used.error().message);
    StepOptions options;
    options.mode = mode;
    const auto part = first_event == 0 ? program : program->cut(first_event, UINT64_MAX);
    auto step = Step::prepare(*session, part, options);
    EXPECT_TRUE(step) << (step ? "" : step.error().message);
    return step ? std::move(*step) : nullptr;
  }
  std::vector<uint32_t> words(Step& step, format::AllocationId id) {
    std::vector<uint32_t> got(4);
    EXPECT_TRUE(step.instance().memory().read(id, 0, std::as_writable_bytes(std::span(got))));
    return got;
  }
  static void run(Step& step) {
    const auto ran = step.run();
    ASSERT_TRUE(ran) << ran.error().message;
    ASSERT_TRUE(step.wait());
  }

  format::AllocationId a = 0, b = 0, c = 0;
  SessionOptions session_options;
  std::shared_ptr<const Program> program;
};

TEST_F(ProvenOrderTest, AGraphHasOnlyTheNeededEdges) {
  program = trace.program();
  const auto step = prepare(edges(needed()));
  ASSERT_NE(step, nullptr);
  const OrderUse use = step->executor().order_use();
  EXPECT_TRUE(use.proven);
  EXPECT_EQ(use.edges_recorded, 3u);
  EXPECT_EQ(use.edges_needed, 3u);
  EXPECT_EQ(step->graph_statistics().edges, 3u);
  fake.log.clear();
  expect_identical(*step);
}

// The graphs of the fake run the latest node that they may: a missing edge shows.
TEST_F(ProvenOrderTest, AMissingEdgeShows) {
  program = trace.program();
  const auto step = prepare(edges({{}, {}, {0, 1}, {}}));
  ASSERT_NE(step, nullptr);
  run(*step);
  EXPECT_EQ(words(*step, c), std::vector<uint32_t>(4, 3)) << "fill a was the first and the last";
  EXPECT_EQ(words(*step, a), std::vector<uint32_t>(4, 1));
}

TEST_F(ProvenOrderTest, OtherModesKeepTheRecordedOrder) {
  program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch}) {
    const auto step = prepare(edges(needed()), mode);
    ASSERT_NE(step, nullptr);
    EXPECT_FALSE(step->executor().order_use().proven);
    expect_identical(*step);
  }
}

// The proof is one for the recorded value.
TEST_F(ProvenOrderTest, AnArgumentThatIsSetBringsTheRecordedOrderBack) {
  program = trace.program();
  // As if fill wrote nothing: only the recorded order has the edges.
  std::string log;
  session_options.log = {[](void* context, int32_t, const char* text) {
                           static_cast<std::string*>(context)->append(text);
                         },
                         &log};
  const auto step = prepare(edges(needed()));
  ASSERT_NE(step, nullptr);
  run(*step);
  const uint32_t same = 3, other = 7;
  ASSERT_TRUE(step->values().set_kernarg(3, 8, std::as_bytes(std::span(&same, 1))));
  run(*step);
  EXPECT_TRUE(step->executor().order_use().proven) << "it is the recorded value";
  ASSERT_TRUE(step->values().set_kernarg(3, 8, std::as_bytes(std::span(&other, 1))));
  run(*step);
  const OrderUse use = step->executor().order_use();
  EXPECT_FALSE(use.proven);
  EXPECT_STREQ(use.reason, "an argument of a kernel was set to another value");
  EXPECT_NE(log.find("the recorded order instead of the proven one: an argument"), log.npos);
  EXPECT_EQ(step->graph_statistics().edges, 3u);
  EXPECT_EQ(words(*step, a), std::vector<uint32_t>(4, 7));
  EXPECT_EQ(words(*step, c), std::vector<uint32_t>(4, 3));
}

// The proof holds for any value of such an argument, and of that alone.
TEST_F(ProvenOrderTest, AnOpenArgumentMayBeSet) {
  program = trace.program();
  const auto order = edges(needed());
  order->open = {{0, 8, 4}, {3, 8, 4}};
  const auto step = prepare(order);
  ASSERT_NE(step, nullptr);
  for (const uint32_t value : {7u, 8u, 3u}) {
    ASSERT_TRUE(step->values().set_kernarg(3, 8, std::as_bytes(std::span(&value, 1))));
    run(*step);
    EXPECT_TRUE(step->executor().order_use().proven);
    EXPECT_EQ(words(*step, a), std::vector<uint32_t>(4, value));
  }
  const uint32_t fewer = 2;
  ASSERT_TRUE(step->values().set_kernarg(3, 12, std::as_bytes(std::span(&fewer, 1))));
  run(*step);
  EXPECT_FALSE(step->executor().order_use().proven);
}

// Launches have other numbers in a range than in the trace.
TEST_F(ProvenOrderTest, AnOpenArgumentOfARangeMayBeSet) {
  program = trace.program();
  const auto order = edges(needed());
  order->open = {{3, 8, 4}};
  const auto step = prepare(order, Mode::kGraph, program->operations()[2].sequence);
  ASSERT_NE(step, nullptr);
  const uint32_t value = 9;
  ASSERT_TRUE(step->values().set_kernarg(3, 8, std::as_bytes(std::span(&value, 1))));
  run(*step);
  EXPECT_TRUE(step->executor().order_use().proven);
  EXPECT_EQ(words(*step, a), std::vector<uint32_t>(4, value));
}

TEST_F(ProvenOrderTest, APointerThatIsSetBringsTheRecordedOrderBack) {
  program = trace.program();
  const auto step = prepare(edges(needed()));
  ASSERT_NE(step, nullptr);
  // The last fill gets c in place of a: behind nothing but what it needed for a.
  ASSERT_TRUE(step->values().set_place({3, ranges::PlaceKind::kArgument, 0, 8}, {c, 0}));
  run(*step);
  EXPECT_FALSE(step->executor().order_use().proven);
  EXPECT_EQ(words(*step, c), std::vector<uint32_t>(4, 3));
}

TEST_F(ProvenOrderTest, ASizeThatIsSetBringsTheRecordedOrderBack) {
  program = trace.program();
  const auto step = prepare(edges(needed()));
  ASSERT_NE(step, nullptr);
  ASSERT_TRUE(step->values().set_grid(0, {7, 1, 1}));
  run(*step);
  EXPECT_STREQ(step->executor().order_use().reason,
               "a launch, copy or memset was set to another size");
}

// It is ordered with all work, whatever it does.
TEST_F(ProvenOrderTest, WhatMayAccessAnythingMayBeSet) {
  program = trace.program();
  const auto step = prepare(edges(needed(), {3}));
  ASSERT_NE(step, nullptr);
  const uint32_t other = 7;
  ASSERT_TRUE(step->values().set_kernarg(3, 8, std::as_bytes(std::span(&other, 1))));
  run(*step);
  EXPECT_TRUE(step->executor().order_use().proven);
  EXPECT_EQ(words(*step, a), std::vector<uint32_t>(4, 7));
}

TEST_F(ProvenOrderTest, AnotherPlaceOfABufferIsProvenAsWell) {
  program = trace.program();
  const auto step = prepare(edges(needed()));
  ASSERT_NE(step, nullptr);
  alignas(256) uint32_t mine[4] = {};
  ASSERT_TRUE(step->instance().session().bind({c, mine, sizeof mine, true}));
  run(*step);
  EXPECT_TRUE(step->executor().order_use().proven);
  EXPECT_EQ(mine[0], 3u);
}

TEST_F(ProvenOrderTest, ARangeHasItsPartOfTheEdges) {
  program = trace.program();
  const uint64_t third = program->operations()[2].sequence;
  const auto step = prepare(edges(needed()), Mode::kGraph, third);
  ASSERT_NE(step, nullptr);
  EXPECT_TRUE(step->executor().order_use().proven);
  EXPECT_EQ(step->executor().order_use().edges_needed, 1u);
  expect_identical(*step);
}

TEST_F(ProvenOrderTest, CopiesAndMemsetsThatAreSetBringItBack) {
  trace.copy(trace.make_copy(b, a, 16));
  format::Memset memset;
  memset.allocation = c;
  memset.width_elements = 8;
  memset.value = 5;
  trace.memset(memset);
  program = trace.program();
  const std::vector<std::vector<uint32_t>> needs = {{}, {}, {0, 1}, {2}, {3}, {2}};
  const auto with = [&](const PlaceTarget& target, const PlaceValue& value) {
    const auto step = prepare(edges(needs));
    EXPECT_TRUE(step->executor().order_use().proven);
    EXPECT_TRUE(step->values().set_place(target, value));
    run(*step);
    const char* const reason = step->executor().order_use().reason;
    return std::string(reason == nullptr ? "" : reason);
  };
  using ranges::PlaceKind;
  EXPECT_EQ(with({4, PlaceKind::kWidth, 0, 8}, {0, 8}), "") << "less of the same";
  EXPECT_EQ(with({4, PlaceKind::kDestination, 0, 8}, {c, 0}),
            "a copy or memset was set to another place");
  EXPECT_EQ(with({4, PlaceKind::kSource, 0, 8}, {c, 0}),
            "a copy or memset was set to another place");
  EXPECT_EQ(with({5, PlaceKind::kMemsetValue, 0, 4}, {0, 6}), "");
  EXPECT_EQ(with({5, PlaceKind::kDestination, 0, 8}, {c, 8}),
            "a copy or memset was set to another place");
}

// The caller's memory for an output may be that of a buffer, which no other work must write then.
TEST_F(ProvenOrderTest, AnOutputWithinABufferBringsItBack) {
  trace.copy_to_host(c);
  program = trace.program();
  const auto step = prepare(edges({{}, {}, {0, 1}, {2}, {2}}));
  ASSERT_NE(step, nullptr);
  const std::vector<Transfer> outputs = find_outputs(*program);
  ASSERT_EQ(outputs.size(), 1u);
  uint32_t mine[4] = {};
  ASSERT_TRUE(step->set_output(outputs[0], std::as_writable_bytes(std::span(mine))));
  run(*step);
  EXPECT_TRUE(step->executor().order_use().proven);
  EXPECT_EQ(mine[0], 3u);
  auto* const buffer = reinterpret_cast<std::byte*>(step->instance().memory().device_pointer(b));
  ASSERT_TRUE(step->set_output(outputs[0], {buffer, 16}));
  run(*step);
  EXPECT_STREQ(step->executor().order_use().reason,
               "a copy from or to the host uses memory of a buffer");
}

TEST_F(ProvenOrderTest, AnotherTracesOrderIsRefused) {
  program = trace.program();
  auto session = must(Session::load(program, fake.library(), {}));
  auto other = edges(needed());
  other->trace.low ^= 1;
  const auto used = session->use_order(other);
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().status, Status::kInvalidArgument);
  EXPECT_NE(used.error().message.find("another trace"), std::string::npos);
  EXPECT_FALSE(session->use_order(edges({{}, {}, {}}))) << "too few operations";
  EXPECT_EQ(session->order(), nullptr);
}

TEST_F(ProvenOrderTest, PackedMemoryIsRefused) {
  trace.free(c);
  const format::AllocationId later = trace.allocate(16);
  fill(later, 8);
  trace.free(later);
  program = trace.program();
  session_options.memory = MemoryUse::kPacked;
  auto session = must(Session::load(program, fake.library(), session_options));
  const auto used = session->use_order(edges({{}, {}, {0, 1}, {2}, {}}));
  ASSERT_FALSE(used);
  EXPECT_NE(used.error().message.find("--memory apart"), std::string::npos);
}

TEST_F(ProvenOrderTest, TheLibraryTakesItFromMemory) {
  program = trace.program();
  const std::vector<std::byte> bytes = order::to_bytes(*edges(needed()));
  use_hip_library_for_tests(fake.library());
  gfxgraph_trace_t opened = nullptr;
  gfxgraph_session_t session = nullptr;
  gfxgraph_step_t step = nullptr;
  ASSERT_EQ(gfxgraph_trace_open(trace.path().c_str(), nullptr, &opened), GFXGRAPH_OK);
  ASSERT_EQ(gfxgraph_session_create(opened, nullptr, &session), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_session_use_order(session, bytes.data(), bytes.size() - 1), GFXGRAPH_CORRUPT);
  EXPECT_EQ(gfxgraph_session_use_order(session, bytes.data(), bytes.size()), GFXGRAPH_OK);
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = GFXGRAPH_MODE_GRAPH;
  ASSERT_EQ(gfxgraph_step_create(session, GFXGRAPH_RANGE_ALL, &options, &step), GFXGRAPH_OK);
  gfxgraph_order_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(gfxgraph_step_order_info(step, &info), GFXGRAPH_OK);
  EXPECT_EQ(info.proven, 1u);
  EXPECT_EQ(info.reason, nullptr);
  EXPECT_EQ(info.edges_needed, 3u);
  gfxgraph_step_destroy(step);
  ASSERT_EQ(gfxgraph_session_use_order(session, nullptr, 0), GFXGRAPH_OK);
  ASSERT_EQ(gfxgraph_step_create(session, GFXGRAPH_RANGE_ALL, &options, &step), GFXGRAPH_OK);
  ASSERT_EQ(gfxgraph_step_order_info(step, &info), GFXGRAPH_OK);
  EXPECT_EQ(info.proven, 0u);
  gfxgraph_step_destroy(step);
  gfxgraph_session_destroy(session);
  gfxgraph_trace_destroy(opened);
  use_hip_library_for_tests(nullptr);
}

// Buffers that share bytes at another distance than recorded.
TEST(SharedBytes, AreSeen) {
  const auto shares = [](uint64_t first, uint64_t second) {
    return AddressMap({Placement{256, 0x1000, 0, first, 0}, Placement{256, 0x1080, 0, second, 0}})
        .shares_as_recorded();
  };
  EXPECT_TRUE(shares(0x9000, 0x9080)) << "as recorded";
  EXPECT_TRUE(shares(0x9000, 0x9100)) << "apart";
  EXPECT_FALSE(shares(0x9000, 0x9040));
  EXPECT_FALSE(shares(0x9080, 0x9000));
  const AddressMap map({Placement{256, 0x1000, 0, 0x9000, 0}, Placement{16, 0x2000, 0, 0x9400, 0}});
  EXPECT_TRUE(map.holds_any(0x8fff, 2));
  EXPECT_FALSE(map.holds_any(0x8fff, 1));
  EXPECT_TRUE(map.holds_any(0x90ff, 1));
  EXPECT_FALSE(map.holds_any(0x9100, 0x300));
  EXPECT_TRUE(map.holds_any(0x9100, 0x301));
  EXPECT_FALSE(map.holds_any(0x9410, 64));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
