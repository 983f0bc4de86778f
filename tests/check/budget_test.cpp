// What a hostile trace may cost, and that what was not checked is said.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "check/report/sites.h"
#include "tests/check/trace_builder.h"

namespace gfxgraph::check {
namespace {

using testing::HasSubstr;

CheckOptions with(const BudgetLimits& limits) {
  CheckOptions options;
  options.threads = 2;
  options.limits = limits;
  return options;
}

// One wave ends after the other, so no limit per wave sees it.
TEST(Budget, AGridOfBillionsIsNotBegun) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(4096);
  trace.launch("no_guard_safe", 1, 32, {a, a, 0});
  format::Launch huge = trace.make_launch("no_guard_safe", 0x7fffffff, 1, {a, a, 0});
  huge.grid = {0x7fffffff, 65535, 1};
  trace.add(huge);
  trace.launch("no_guard_safe", 1, 32, {a, a, 0});
  const Result<Report> report = trace.try_check(with({}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->launches, 1U);
  EXPECT_TRUE(report->failed.empty());
  ASSERT_TRUE(report->stopped);
  EXPECT_EQ(report->stopped->event_sequence, 2U);
  EXPECT_EQ(report->stopped->launches, 2U);
  EXPECT_THAT(report->stopped->reason, HasSubstr("--max-instructions"));
  EXPECT_THAT(render_text(*report, "t"), HasSubstr("t: stopped at event 2: "));
  EXPECT_THAT(render_text(*report, "t"), HasSubstr("2 launches not checked"));
  const auto json = nlohmann::json::parse(render_json(*report, "t"));
  EXPECT_EQ(json["stopped"]["launches"], 2);
  EXPECT_EQ(json["not_checked_count"], 2);
}

TEST(Budget, InstructionsCountOverAllLaunches) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(4096);
  for (int i = 0; i < 100; ++i) trace.launch("no_guard_safe", 16, 64, {a, a, 1024});
  const Result<Report> report = trace.try_check(with({.instructions = 2000}));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->stopped);
  EXPECT_GT(report->launches, 0U);
  EXPECT_EQ(report->launches + report->stopped->launches, 100U);
}

TEST(Budget, ALaunchInItsMiddleIsStopped) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(4096);
  trace.launch("no_guard_safe", 100000, 32, {a, a, 1024});
  const Result<Report> report = trace.try_check(with({.instructions = 200000}));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->stopped);
  EXPECT_EQ(report->launches, 0U);
  EXPECT_EQ(report->stopped->launches, 1U);
}

TEST(Budget, TimeIsLookedAtBetweenEvents) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(4096);
  trace.launch("no_guard_safe", 1, 32, {a, a, 0});
  const Result<Report> report = trace.try_check(with({.seconds = 1e-9}));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->stopped);
  EXPECT_EQ(report->launches, 0U);
  EXPECT_EQ(report->stopped->launches, 1U);
  EXPECT_THAT(report->stopped->reason, HasSubstr("--max-seconds"));
}

TEST(Budget, MemoryOfBuffersIsBounded) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(4096);
  trace.launch("no_guard_safe", 1, 32, {a, a, 0});
  trace.buffer(uint64_t{1} << 40);
  trace.launch("no_guard_safe", 1, 32, {a, a, 0});
  const Result<Report> report = trace.try_check(with({.memory_bytes = uint64_t{1} << 30}));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->stopped);
  EXPECT_EQ(report->launches, 1U);
  EXPECT_EQ(report->stopped->launches, 1U);
  EXPECT_THAT(report->stopped->reason, HasSubstr("--max-memory"));
}

TEST(Budget, ScratchOfResidentWavesIsMemory) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const auto checked = [](uint64_t memory_bytes) {
    TraceBuilder trace;
    const auto a = trace.buffer(4096);
    trace.launch("much_scratch", 1, 32, {a, 1});
    trace.launch("much_scratch", 1, 1024, {a, 1});  // 128 MiB
    return trace.try_check(with({.memory_bytes = memory_bytes}));
  };
  const Result<Report> enough = checked(uint64_t{1} << 30);
  ASSERT_TRUE(enough) << enough.error().message;
  EXPECT_FALSE(enough->stopped);
  EXPECT_TRUE(enough->failed.empty());
  const Result<Report> report = checked(uint64_t{64} << 20);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->stopped);
  EXPECT_EQ(report->launches, 1U);
  EXPECT_EQ(report->stopped->launches, 1U);
  EXPECT_THAT(report->stopped->reason, HasSubstr("scratch memory"));
  EXPECT_THAT(report->stopped->reason, HasSubstr("--max-memory"));
}

TEST(Budget, DecodedCodeIsMemory) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const auto checked = [](uint64_t memory_bytes) {
    TraceBuilder trace("faults.bundle");
    const auto a = trace.buffer(4096);
    trace.launch("long_code", 1, 32, {a, 1});
    return trace.try_check(with({.memory_bytes = memory_bytes}));
  };
  const Result<Report> enough = checked(uint64_t{1} << 30);
  ASSERT_TRUE(enough) << enough.error().message;
  EXPECT_FALSE(enough->stopped);
  EXPECT_TRUE(enough->failed.empty());
  const Result<Report> report = checked(uint64_t{4} << 20);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->stopped);
  EXPECT_EQ(report->launches, 0U);
  EXPECT_THAT(report->stopped->reason, HasSubstr("decoded code"));
  EXPECT_THAT(report->stopped->reason, HasSubstr("--max-memory"));
}

TEST(Budget, FindingsAreMemory) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  Budget budget({.memory_bytes = 1 << 20});
  Sites sites;
  sites.set_budget(budget);
  LaneEvent event;
  event.detail = std::string(100, 'x');
  for (uint64_t pc = 0; pc < 100000; ++pc) {
    event.pc = pc * 4;
    sites.add(1, event);
  }
  EXPECT_TRUE(budget.exhausted());
  EXPECT_THAT(budget.reason(), HasSubstr("a finding needs"));
  EXPECT_LT(sites.all().size(), 10000U);
}

// 300 bytes of a name that the code object's debug information has.
TEST(Budget, AFunctionsNameDoesNotUnfold) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace("faults.bundle");
  trace.launch("calls_unfolding", 1, 32, {trace.buffer(4096), 0});
  const Result<Report> report = trace.try_check(with({}));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->findings.size(), 1U);
  ASSERT_FALSE(report->places.empty());
  ASSERT_FALSE(report->places[0].inline_stack.empty());
  EXPECT_THAT(report->places[0].inline_stack[0].function, testing::StartsWith("_Z1f1AIiiE"));
  EXPECT_LT(render_text(*report, "t").size(), 10000U);
}

TEST(Budget, AGraphsLaunchesCountSingly) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(4096);
  const format::Launch launch = trace.make_launch("no_guard_safe", 1, 32, {a, a, 0});
  const format::GraphId graph = trace.graph(std::vector<format::Launch>(50, launch));
  for (int i = 0; i < 200; ++i) trace.add(format::GraphLaunch{graph, 0});
  const Result<Report> report = trace.try_check(with({.instructions = 3000}));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->stopped);
  EXPECT_EQ(report->launches + report->stopped->launches, 10000U);
}

// What fails is listed up to a limit and counted beyond it.
TEST(Budget, FailedLaunchesAreCounted) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(4096);
  format::Launch bad = trace.make_launch("no_guard_safe", 1, 32, {a, a, 0});
  bad.block = {1025, 1, 1};
  const format::GraphId graph = trace.graph(std::vector<format::Launch>(100, bad));
  for (int i = 0; i < 30; ++i) trace.add(format::GraphLaunch{graph, 0});
  const Result<Report> report = trace.try_check(with({}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->failed_launches, 3000U);
  EXPECT_EQ(report->failed.size(), Report::kMaxFailed);
  EXPECT_THAT(render_text(*report, "t"), HasSubstr("not checked either: 2000 launches"));
}

}  // namespace
}  // namespace gfxgraph::check
