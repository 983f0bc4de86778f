// Active lanes and scalar loads, memory events, code placement, and what cannot be run.
#include <gmock/gmock.h>

#include "tests/check/trace_builder.h"

namespace gfxgraph::check {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

std::vector<uint32_t> counting(uint32_t count, uint32_t first = 0) {
  std::vector<uint32_t> words(count);
  for (uint32_t i = 0; i < count; ++i) words[i] = first + i;
  return words;
}

TEST(ActiveLanes, OutsideEveryBufferIsE1) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(50 * 4, 50 * 4);
  const auto c = trace.buffer(50 * 4, 50 * 4);
  trace.launch("no_guard", 2, 32, {a, c, 50});
  const Report report = trace.check(MaskedLaneMode::kOff);
  ASSERT_EQ(count_of(report, FindingClass::kE1), 2U) << render_text(report, "t");
  EXPECT_TRUE(report.unsafe());
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.lanes, 0xfffc0000U);
    EXPECT_EQ(finding.exec, ~0U);
    ASSERT_TRUE(finding.nearest);
    EXPECT_EQ(finding.nearest->allocation, finding.write ? c.id : a.id);
    EXPECT_EQ(finding.nearest->distance_bytes, 0);
    ASSERT_TRUE(finding.source);
    EXPECT_THAT(finding.source->file, HasSubstr("guards.hip"));
  }
}

TEST(ActiveLanes, ItsGuardedTwinIsClean) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(50 * 4, 50 * 4);
  const auto c = trace.buffer(50 * 4, 50 * 4);
  trace.launch("no_guard_safe", 2, 32, {a, c, 50});
  EXPECT_TRUE(trace.check().findings.empty());
}

TEST(ActiveLanes, SlackIsE2AndAnError) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(50 * 4);
  const auto c = trace.buffer(64 * 4);
  trace.launch("no_guard", 2, 32, {a, c, 50});
  const Report report = trace.check(MaskedLaneMode::kError);
  ASSERT_EQ(report.findings.size(), 1U) << render_text(report, "t");
  EXPECT_EQ(report.findings[0].finding_class, FindingClass::kE2);
  EXPECT_EQ(report.findings[0].severity, Severity::kError);
  EXPECT_FALSE(report.findings[0].write);
  EXPECT_TRUE(report.unsafe());
}

TEST(ActiveLanes, AnAccessThatCrossesTheEndOfWhatIsMappedIsE2) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace("memory.bundle");
  const auto to = trace.buffer(32 * 4);
  const auto from = trace.buffer(32 * 16 - 8, 32 * 16 - 8);
  trace.launch("load_wide", 1, 32, {to, from, 126});
  const Report report = trace.check();
  const Finding* const finding = first_of(report, FindingClass::kE2);
  ASSERT_NE(finding, nullptr) << render_text(report, "t");
  EXPECT_EQ(finding->lanes, 0x80000000U);
  EXPECT_EQ(finding->address_class, "unmapped");
}

TEST(ActiveLanes, TheBufferNextDoorEndsTheSlack) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  format::AllocationBegin begin;
  // Two buffers in one page, as runtimes place small ones.
  const uint64_t page = 0x7e0000000000;
  const auto out = trace.buffer(64 * 4);
  begin.id = 2;
  begin.recorded_address = page;
  begin.size_bytes = begin.initial.size_bytes = 200;
  trace.add(begin);
  begin.id = 3;
  begin.recorded_address = page + 256;
  begin.size_bytes = begin.initial.size_bytes = 256;
  trace.add(begin);
  trace.launch("no_guard", 2, 32, {page, out, 50});
  const Report report = trace.check();
  ASSERT_EQ(report.findings.size(), 1U) << render_text(report, "t");
  EXPECT_EQ(report.findings[0].finding_class, FindingClass::kE2);
  EXPECT_EQ(report.findings[0].nearest->allocation, 2U);
}

TEST(ActiveLanes, FreedBufferIsNamed) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(64 * 4);
  const auto c = trace.buffer(64 * 4);
  trace.free(a);
  trace.launch("no_guard_safe", 2, 32, {a, c, 64});
  const Report report = trace.check();
  const Finding* const finding = first_of(report, FindingClass::kE5);
  ASSERT_NE(finding, nullptr) << render_text(report, "t");
  ASSERT_TRUE(finding->nearest);
  EXPECT_TRUE(finding->nearest->freed);
  EXPECT_EQ(finding->nearest->allocation, a.id);
  EXPECT_THAT(render_text(report, "t"), HasSubstr("after it was freed"));
}

TEST(ActiveLanes, NullPointerIsNamed) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto c = trace.buffer(64 * 4);
  trace.launch("no_guard_safe", 2, 32, {uint64_t{0}, c, 64});
  const Report report = trace.check();
  const Finding* const finding = first_of(report, FindingClass::kE4);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->address_class, "null page");
}

TEST(ScalarLoads, OutsideTheMapIsE3) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto table = trace.buffer(64, 64);
  const auto out = trace.buffer(32 * 4);
  trace.launch("scalar_index", 1, 32, {table, out, 20000, 16});
  const Report report = trace.check();
  const Finding* const finding = first_of(report, FindingClass::kE3);
  ASSERT_NE(finding, nullptr) << render_text(report, "t");
  EXPECT_EQ(finding->address, table.address + 80000);
  EXPECT_EQ(finding->severity, Severity::kError);
  EXPECT_THAT(finding->mnemonic, HasSubstr("s_load_dword"));
}

TEST(ScalarLoads, CheckedIndexIsClean) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto table = trace.buffer(64, 64);
  const auto out = trace.buffer(32 * 4);
  trace.launch("scalar_index_safe", 1, 32, {table, out, 20000, 16});
  trace.launch("scalar_index", 1, 32, {table, out, 15, 16});
  const Report report = trace.check();
  EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
}

TEST(ScalarLoads, UndefinedRegisterIsE3) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto out = trace.buffer(32 * 4);
  trace.launch("scalar_undefined", 1, 32, {out});
  const Report report = trace.check();
  const Finding* const finding = first_of(report, FindingClass::kE3);
  ASSERT_NE(finding, nullptr) << render_text(report, "t");
  EXPECT_THAT(finding->detail, HasSubstr("never written"));
  TraceBuilder twin;
  const auto twin_out = twin.buffer(32 * 4);
  twin.launch("scalar_defined", 1, 32, {twin_out});
  EXPECT_TRUE(twin.check().findings.empty());
}

TEST(Trace, LaunchesSeeCopiesMemsetsAndEachOther) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto in = trace.buffer_of(counting(64, 100));
  const auto out = trace.buffer(64 * 4, 0, 0xee);
  const auto copy_of_out = trace.buffer(64 * 4);
  trace.launch("lds_reverse", 1, 64, {in, out});
  format::Copy copy;
  copy.source.allocation = out.id;
  copy.destination.allocation = copy_of_out.id;
  copy.width_bytes = 32 * 4;
  trace.add(copy);
  format::Memset memset;
  memset.allocation = in.id;
  memset.element_bytes = 4;
  memset.value = 7;
  memset.width_elements = 2;
  trace.add(memset);
  format::HostWrite write;
  write.allocation = in.id;
  write.offset_bytes = 8;
  write.content = trace.content({9});
  trace.add(write);
  std::vector<uint32_t> reversed = counting(64, 100);
  std::reverse(reversed.begin(), reversed.end());
  trace.expect(out, reversed);
  std::vector<uint32_t> half(reversed.begin(), reversed.begin() + 32);
  half.resize(64);
  trace.expect(copy_of_out, half);
  std::vector<uint32_t> changed = counting(64, 100);
  changed[0] = changed[1] = 7;
  changed[2] = 9;
  trace.expect(in, changed);
  const Report report = trace.check();
  EXPECT_EQ(report.buffers_compared, 3U);
  EXPECT_EQ(report.buffers_equal, 3U) << render_text(report, "t");
  EXPECT_TRUE(report.findings.empty());
  EXPECT_GT(report.wave_instructions, 0U);
}

// Planes of one row each, with space behind it: packed and back again.
TEST(Trace, PlanesOfOneRowKeepTheirDistance) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder t;
  const std::vector<uint32_t> words = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const auto wide = t.buffer_of(words);
  const auto packed = t.buffer_of(std::vector<uint32_t>(6, 0));
  const auto other = t.buffer_of(std::vector<uint32_t>(12, 0));
  format::Copy copy;
  copy.source = {wide.id, 0, 16, 0};
  copy.destination = {packed.id, 0, 0, 0};
  copy.width_bytes = 8;
  copy.depth = 3;
  t.add(copy);
  std::swap(copy.source, copy.destination);
  copy.destination.allocation = other.id;
  t.add(copy);
  t.expect(wide, words);
  t.expect(packed, {1, 2, 5, 6, 9, 10});
  t.expect(other, {1, 2, 0, 0, 5, 6, 0, 0, 9, 10, 0, 0});
  const Report report = t.check();
  EXPECT_EQ(report.buffers_compared, 3U);
  EXPECT_EQ(report.buffers_equal, 3U);
}

TEST(Trace, AnEndBehindTheNextBeginOfItsAddressesTakesPlaceBefore) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool cut_off : {false, true}) {
    TraceBuilder trace;
    const auto a = trace.buffer(64 * 4);
    const auto c = trace.buffer(64 * 4);
    trace.launch("no_guard_safe", 2, 32, {a, c, 64});
    format::AllocationBegin begin;
    begin.id = 100;
    begin.recorded_address = a.address;
    begin.size_bytes = 128 * 4;
    begin.initial = trace.content(counting(128));
    begin.initial.size_bytes = begin.size_bytes;
    trace.add(begin);
    if (!cut_off) trace.expect(a, std::vector<uint32_t>(64));
    trace.launch("no_guard_safe", 2, 32, {TraceBuilder::Buffer{100, a.address, 512}, c, 64});
    const Report report = trace.check();
    EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
    EXPECT_EQ(report.launches, 2U);
    EXPECT_EQ(report.buffers_equal, cut_off ? 0U : 1U);
  }
}

TEST(Trace, RegisteredMemoryIsReachedByBothAddresses) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  format::AllocationBegin begin;
  begin.id = 100;
  begin.kind = format::AllocationKind::kHostRegistered;
  begin.recorded_address = 0x7e0000001000;
  begin.host_address = 0x555500001000;
  begin.size_bytes = 64 * 4;
  begin.initial = trace.content(counting(64));
  trace.add(begin);
  const auto c = trace.buffer(64 * 4);
  trace.launch("no_guard_safe", 2, 32, {begin.host_address, c, 64});
  EXPECT_TRUE(trace.check().findings.empty());
}

TEST(Trace, DifferentEndsAreANote) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto in = trace.buffer_of(counting(64));
  const auto out = trace.buffer(64 * 4);
  trace.launch("lds_reverse", 1, 64, {in, out});
  trace.expect(out, counting(64));
  const Report report = trace.check();
  EXPECT_EQ(report.buffers_equal, 0U);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_THAT(report.notes[0], HasSubstr("buffer #2"));
}

TEST(Trace, GraphNodesAreLaunches) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(50 * 4, 50 * 4);
  const auto c = trace.buffer(50 * 4, 50 * 4);
  const format::GraphId graph = trace.graph({trace.make_launch("no_guard_safe", 2, 32, {a, c, 50}),
                                             trace.make_launch("no_guard", 2, 32, {a, c, 50})});
  trace.add(format::GraphLaunch{graph, 0});
  trace.add(format::GraphLaunch{graph, 0});
  const Report report = trace.check();
  EXPECT_EQ(report.launches, 4U);
  ASSERT_EQ(count_of(report, FindingClass::kE1), 2U) << render_text(report, "t");
  EXPECT_EQ(report.findings[0].launch, 1U);
  EXPECT_EQ(report.findings[0].launches, 2U);
}

TEST(Code, GlobalsStandAtTheirRecordedAddresses) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto counters = trace.global("g_counters", 32, 0x7d0000000000);  // 10, 20, ... 80
  const auto out = trace.buffer(32 * 4);
  trace.launch("globals", 1, 32, {out});
  std::vector<uint32_t> expected(32);
  for (uint32_t i = 0; i < 32; ++i) expected[i] = 10 * (i % 8 + 1) + 30;
  trace.expect(out, expected);
  trace.expect(counters, {100, 20, 30, 40, 50, 60, 70, 80});
  const Report report = trace.check();
  EXPECT_EQ(report.buffers_equal, 2U) << render_text(report, "t");
  EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
}

TEST(Code, RunsWithoutRecordedGlobals) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto out = trace.buffer(32 * 4);
  trace.launch("globals", 1, 32, {out});
  std::vector<uint32_t> expected(32);
  for (uint32_t i = 0; i < 32; ++i) expected[i] = i % 8 + 1 + 3;
  trace.expect(out, expected);
  const Report report = trace.check();
  EXPECT_EQ(report.buffers_equal, 1U) << render_text(report, "t");
}

TEST(Launches, KernelsSeeTheirShape) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto out = trace.buffer(3 * 3 * 4);
  trace.launch("shape", 3, 48, {out});
  trace.expect(out, {3, 48, 0, 3, 48, 1, 3, 48, 2});
  const Report report = trace.check();
  EXPECT_EQ(report.buffers_equal, 1U) << render_text(report, "t");
}

TEST(Launches, StructArgumentsWork) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  struct Rows {
    uint64_t values, sums;
    int rows, columns;
  };
  TraceBuilder trace;
  const auto values = trace.buffer(40 * 16 * 4, 40 * 16 * 4);
  const auto sums = trace.buffer(40 * 4, 40 * 4);
  trace.launch("struct_guard", 2, 32, {Rows{values.address, sums.address, 40, 16}});
  const Report report = trace.check();
  EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
}

TEST(Launches, WhatCannotRunIsNamed) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(64);
  trace.launch("no_guard", 1, 4096, {a, a, 1});
  trace.launch("shape", 1, 32, {a});
  CheckOptions options;
  const Result<Report> report = trace.try_check(options);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->failed.size(), 1U);
  EXPECT_EQ(report->failed[0].launch, 0U);
  EXPECT_EQ(report->failed[0].kernel, "no_guard");
  EXPECT_EQ(report->launches, 2U);
  EXPECT_THAT(render_text(*report, "t"), HasSubstr("was not checked"));
}

TEST(Launches, OneThatIsBlockedIsEndedWithItsWaves) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto flag = trace.buffer(4);
  trace.launch("waits", 3, 64, {flag});
  trace.launch("two_barriers", 1, 64, {});
  const Result<Report> report = trace.try_check();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->failed.size(), 1U) << render_text(*report, "t");
  EXPECT_THAT(report->failed[0].reason,
              AllOf(HasSubstr("no wave can make progress"), HasSubstr("6 waves repeating waits+0x"),
                    HasSubstr("guards.hip:"), HasSubstr("buffer #1")));
  const Finding* const still = first_of(*report, FindingClass::kS4);
  ASSERT_NE(still, nullptr) << render_text(*report, "t");
  EXPECT_EQ(still->kernel, "waits");
  EXPECT_THAT(still->detail, HasSubstr("6 waves repeating waits+0x"));
  EXPECT_TRUE(report->failed[0].finding);
  EXPECT_TRUE(report->emulator_notes.empty()) << render_text(*report, "t");
  const Finding* const barriers = first_of(*report, FindingClass::kS1);
  ASSERT_NE(barriers, nullptr) << render_text(*report, "t");
  EXPECT_EQ(barriers->launch, 1U);
  EXPECT_THAT(barriers->detail,
              AllOf(HasSubstr("wave 0 is at two_barriers+0x"),
                    HasSubstr("wave 1 at two_barriers+0x"), HasSubstr("guards.hip:")));
  EXPECT_THAT(render_text(*report, "t"),
              AllOf(HasSubstr("error S1: kernel two_barriers, pc 0x"),
                    HasSubstr("launch 0 kernel waits ended early (S4 above)")));
}

TEST(Launches, ThoseThatRunWithoutAnEndAreEnded) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto words = trace.buffer(256);
  const auto lock = trace.buffer(8);
  trace.launch("counts_in_vain", 3, 64, {words, words});
  trace.launch("locks_in_vain", 3, 64, {lock});
  CheckOptions options;
  options.threads = 1;  // where the waves stand when the limit is reached
  options.livelock_instructions = 1 << 22;
  const Result<Report> report = trace.try_check(options);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->failed.size(), 2U) << render_text(*report, "t");
  EXPECT_THAT(report->failed[0].reason, AllOf(HasSubstr("no wave ended during "),
                                              HasSubstr("6 waves repeating counts_in_vain+"),
                                              HasSubstr("guards.hip:"), HasSubstr("buffer #1")));
  EXPECT_THAT(report->failed[1].reason,
              AllOf(HasSubstr("no wave ended during "),
                    ContainsRegex("waves? repeating locks_in_vain\\+"), HasSubstr("buffer #2")));
  EXPECT_EQ(report->failed[1].finding, FindingClass::kS5);
  EXPECT_EQ(count_of(*report, FindingClass::kS5), 2U);
  EXPECT_EQ(report->lost_launches(), 2U);
}

TEST(Launches, CallsOfTheHostAreAnswered) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto out = trace.buffer(32 * 4);
  trace.launch("prints", 1, 32, {out, 0});
  trace.launch("prints", 1, 32, {out, 1});
  const Result<Report> report = trace.try_check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->failed.empty()) << render_text(*report, "t");
  EXPECT_TRUE(report->findings.empty()) << render_text(*report, "t");
}

TEST(Trace, MissingContentsAreANote) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  format::AllocationBegin begin;
  begin.id = 1;
  begin.recorded_address = 0x7f1000000000;
  begin.size_bytes = begin.initial.size_bytes = 64;
  begin.initial.stored = false;
  begin.initial.hash = {1, 2};
  trace.add(begin);
  const Report report = trace.check();
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_THAT(report.notes[0], HasSubstr("lacks contents"));
}

}  // namespace
}  // namespace gfxgraph::check
