// Ground truth of racecheck: hazards in LDS and global memory, and their right twins.
#include <gmock/gmock.h>

#include "check/race/race_shadow.h"
#include "tests/check/truth/truth.h"

namespace gfxgraph::check {
namespace {

constexpr uint64_t kManyBytes = 16 * 1024;

// Who reads and writes without order may meet the write of another one or its read.
std::vector<FindingClass> other_half(FindingClass expected) {
  switch (expected) {
    case FindingClass::kR1: return {FindingClass::kR2};
    case FindingClass::kR2: return {FindingClass::kR1};
    case FindingClass::kR3: return {FindingClass::kR4};
    case FindingClass::kR4: return {FindingClass::kR3};
    default: return {};
  }
}

// One buffer, workgroups of 256.
Fault lds(FindingClass expected, const std::string& kernel, uint32_t groups, uint32_t dynamic = 0) {
  return {expected,
          kernel + " of " + std::to_string(groups),
          kernel,
          [groups, dynamic](TraceBuilder& t, const std::string& launched) {
            const auto data = t.buffer(kManyBytes);
            std::vector<TraceBuilder::Value> arguments = {data};
            if (t.code().find_kernel(launched)->explicit_size_bytes() > 8) arguments.push_back(3);
            format::Launch launch = t.make_launch(launched, groups, 256, arguments);
            launch.dynamic_lds_bytes = dynamic;
            t.add(launch);
          },
          "races.bundle",
          "",
          other_half(expected)};
}

// Two buffers; `groups` of 64.
Fault global(FindingClass expected, const std::string& kernel, uint32_t groups) {
  return {expected,
          kernel + " of " + std::to_string(groups),
          kernel,
          [groups](TraceBuilder& t, const std::string& launched) {
            const auto data = t.buffer(kManyBytes);
            const auto other = t.buffer(kManyBytes);
            std::vector<TraceBuilder::Value> arguments = {data};
            const uint64_t size = t.code().find_kernel(launched)->explicit_size_bytes();
            if (size == 16) arguments.push_back(other);
            if (size == 12) arguments.push_back(static_cast<int>(groups * 64));
            t.launch(launched, groups, 64, arguments);
          },
          "races.bundle",
          "",
          other_half(expected)};
}

TEST(RaceTruth, Lds) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const uint32_t groups : {1, 3}) {
    faults.push_back(lds(FindingClass::kR1, "lds_read_after_write", groups));
    faults.push_back(lds(FindingClass::kR1, "lds_write_after_read", groups));
    faults.push_back(lds(FindingClass::kR1, "lds_write_after_many_reads", groups));
    faults.push_back(lds(FindingClass::kR2, "lds_two_writers", groups));
    faults.push_back(lds(FindingClass::kR1, "lds_reduction", groups));
    faults.push_back(lds(FindingClass::kR2, "lds_clear_and_add", groups));
    faults.push_back(lds(FindingClass::kR1, "lds_add_and_read", groups));
    faults.push_back(lds(FindingClass::kR2, "lds_bytes", groups));
    faults.push_back(lds(FindingClass::kR1, "lds_wide", groups, 4096));
  }
  check_all(faults, with_races());
}

TEST(RaceTruth, Global) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const uint32_t groups : {2, 7}) {
    faults.push_back(global(FindingClass::kR3, "group_exchange", groups));
    faults.push_back(global(FindingClass::kR3, "shift_in_place", groups));
    faults.push_back(global(FindingClass::kR4, "two_groups_write", groups));
    faults.push_back(global(FindingClass::kR3, "lost_update", groups));
    faults.push_back(global(FindingClass::kR3, "lost_update_float", groups));
    faults.push_back(global(FindingClass::kR4, "clear_and_add", groups));
    faults.push_back(global(FindingClass::kR3, "last_block_sum", groups));
    faults.push_back(global(FindingClass::kR3, "last_block_barrier_sum", groups));
    faults.push_back(global(FindingClass::kR3, "chained_groups", groups));
    faults.push_back(global(FindingClass::kR3, "with_lock", groups));
  }
  check_all(faults, with_races());
}

// A row of several lines is followed over the end of a page of the shadow, which is where the two
// groups meet.
TEST(RaceTruth, RowsOverTheEndOfAPage) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  constexpr uint64_t kShadowPage = RaceShadow::kPageBytes;
  check_all({{FindingClass::kR4, "half_rows", "half_rows",
              [](TraceBuilder& t, const std::string& launched) {
                const auto data = t.buffer(kManyBytes);
                const uint64_t page = (data.address + kShadowPage) / kShadowPage * kShadowPage;
                t.launch(launched, 2, 32, {page - RaceShadow::kLineBytes});
              },
              "races.bundle", ""}},
            with_races());
}

// A load of one value for all lanes is named with the dword of it that others write.
TEST(RaceTruth, ScalarLoads) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace("races.bundle");
  global(FindingClass::kR3, "lost_update", 2).build(trace, "lost_update");
  CheckOptions options;
  options.selection.tools = with_races();
  const Result<Report> report = trace.try_check(options);
  ASSERT_TRUE(report) << report.error().message;
  const auto load = std::ranges::find(report->findings, "s_load_dword", &Finding::mnemonic);
  ASSERT_NE(load, report->findings.end()) << render_text(*report, "t");
  EXPECT_EQ(load->finding_class, FindingClass::kR3);
  EXPECT_EQ(load->access_bytes, 4U);
}

// ---- launches ----

// fill on one stream, then add_to that reads or writes the same buffer on another; the twin has
// `order` between them.
Fault launches(const std::string& name, bool write,
               const std::function<void(TraceBuilder&)>& order = nullptr,
               format::StreamId second = 2) {
  return {FindingClass::kR6, name, "add_to",
          [=](TraceBuilder& t, const std::string& launched) {
            for (const format::StreamId id : {1U, 2U})
              t.add(format::StreamCreate{.id = id, .flags = 1, .priority = 0});
            t.add(format::EventCreate{.id = 1, .flags = 0});
            const auto shared = t.buffer(kManyBytes);
            const auto own = t.buffer(kManyBytes);
            const bool safe = launched.ends_with("_safe");
            format::Launch first = t.make_launch("fill", 2, 64, {shared, 3});
            first.stream = 1;
            t.add(first);
            if (safe && order) order(t);
            format::Launch then =
                t.make_launch(launched, 2, 64, {write ? shared : own, write ? own : shared});
            then.stream = safe && !order ? 1 : second;
            t.add(then);
          },
          "races.bundle"};
}

void wait_by_event(TraceBuilder& t) {
  t.add(format::EventRecord{.event = 1, .stream = 1});
  t.add(format::StreamWait{.stream = 2, .event = 1, .flags = 0});
}
void wait_on_host(TraceBuilder& t) {
  t.add(format::Synchronize{.kind = format::SynchronizeKind::kStream, .object = 1, .call = ""});
}
void wait_for_device(TraceBuilder& t) {
  t.add(format::Synchronize{.kind = format::SynchronizeKind::kDevice, .object = 0, .call = ""});
}

TEST(RaceTruth, Launches) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const bool write : {false, true}) {
    faults.push_back(launches("streams, or one", write));
    faults.push_back(launches("an event", write, wait_by_event));
    faults.push_back(launches("the host waits for the stream", write, wait_on_host));
    faults.push_back(launches("the host waits for the device", write, wait_for_device));
    faults.push_back(launches("non-blocking and null stream", write, wait_on_host, 0));
  }
  check_all(faults, with_races());
}

// fill reaches registered memory at the device's address, add_to at the host's.
TEST(RaceTruth, TwoAddressesOfOneMemory) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const bool write : {false, true}) {
    faults.push_back({FindingClass::kR6, write ? "written at both" : "written and read", "add_to",
                      [=](TraceBuilder& t, const std::string& launched) {
                        for (const format::StreamId id : {1U, 2U})
                          t.add(format::StreamCreate{.id = id, .flags = 1, .priority = 0});
                        t.add(format::EventCreate{.id = 1, .flags = 0});
                        constexpr uint64_t kAtHost = 0x555500001000;
                        const auto shared = t.registered_buffer(kManyBytes, kAtHost);
                        const auto own = t.buffer(kManyBytes);
                        format::Launch first = t.make_launch("fill", 2, 64, {shared, 3});
                        first.stream = 1;
                        t.add(first);
                        if (launched.ends_with("_safe")) wait_by_event(t);
                        const TraceBuilder::Buffer at_host{shared.id, kAtHost, kManyBytes};
                        format::Launch then = t.make_launch(
                            launched, 2, 64, {write ? at_host : own, write ? own : at_host});
                        then.stream = 2;
                        t.add(then);
                      },
                      "races.bundle"});
  }
  check_all(faults, with_races());
}

// Nodes of a graph that no edge orders.
TEST(RaceTruth, GraphBranches) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool edge : {false, true}) {
    TraceBuilder trace("races.bundle");
    const auto shared = trace.buffer(kManyBytes);
    const auto own = trace.buffer(kManyBytes);
    const auto graph = trace.graph({trace.make_launch("fill", 2, 64, {shared, 3}),
                                    trace.make_launch("add_to", 2, 64, {own, shared})},
                                   edge);
    trace.add(format::GraphLaunch{.graph = graph, .stream = 0});
    CheckOptions options;
    options.selection.tools = with_races();
    const Result<Report> report = trace.try_check(options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(count_of(*report, FindingClass::kR6), edge ? 0U : 1U) << render_text(*report, "t");
  }
}

// A node that reaches memory of the host may have told it that it has ended, and what it follows;
// not that another branch has.
TEST(RaceTruth, ANodeTellsTheHostOfItsOwnBranch) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool edge : {false, true}) {
    TraceBuilder trace("races.bundle");
    const auto shared = trace.buffer(kManyBytes);
    const auto own = trace.buffer(kManyBytes);
    trace.set_kind(format::AllocationKind::kHostPinned);
    const auto seen = trace.buffer(kManyBytes);
    trace.add(format::StreamCreate{.id = 1, .flags = 1, .priority = 0});
    format::Launch tells = trace.make_launch("fill", 2, 64, {seen, 3});
    tells.relocations.push_back({.offset_bytes = 0, .allocation = seen.id});
    const auto graph = trace.graph({trace.make_launch("fill", 2, 64, {shared, 3}), tells}, edge);
    trace.add(format::GraphLaunch{.graph = graph, .stream = 0});
    format::Launch then = trace.make_launch("add_to", 2, 64, {own, shared});
    then.stream = 1;
    trace.add(then);
    CheckOptions options;
    options.selection.tools = with_races();
    const Result<Report> report = trace.try_check(options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(count_of(*report, FindingClass::kR6), edge ? 0U : 1U) << render_text(*report, "t");
  }
}

TEST(RaceTruth, SameValuesAreNotes) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool in_lds : {false, true}) {
    TraceBuilder trace("races.bundle");
    const auto data = trace.buffer(kManyBytes);
    const auto flag = trace.buffer(4);
    if (in_lds)
      trace.launch("lds_raise_flag", 2, 256, {data});
    else
      trace.launch("raise_flag", 2, 256, {data, flag});
    CheckOptions options;
    options.selection.tools = with_races();
    const Result<Report> report = trace.try_check(options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(count_of(*report, FindingClass::kR5), 1U) << render_text(*report, "t");
    EXPECT_EQ(report->count(Severity::kNote), report->findings.size());
  }
}

// Without the tool nothing is reported; and a finding names both accesses.
TEST(RaceTruth, IsOnlyDoneIfAskedFor) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool asked : {false, true}) {
    TraceBuilder trace("races.bundle");
    trace.launch("lds_read_after_write", 1, 64, {trace.buffer(kManyBytes)});
    CheckOptions options;
    if (asked) options.selection.tools = with_races();
    const Result<Report> report = trace.try_check(options);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->findings.empty(), !asked);
    if (!asked) continue;
    const std::string text = render_text(*report, "t");
    EXPECT_THAT(text, testing::HasSubstr("error R1: kernel lds_read_after_write"));
    EXPECT_THAT(text, testing::HasSubstr("nothing orders it after the"));
    EXPECT_THAT(text, testing::HasSubstr("races.hip:15)"));
    EXPECT_THAT(render_json(*report, "t"), testing::HasSubstr("\"tool\": \"racecheck\""));
    EXPECT_THAT(render_sarif(*report, "t"), testing::HasSubstr("lds-hazard"));
  }
}

}  // namespace
}  // namespace gfxgraph::check
