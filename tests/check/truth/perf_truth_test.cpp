// What accesses cost (--tool perf), counted by hand, and kernels that waste the device.
#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "check/perf/access_cost.h"
#include "tests/check/truth/truth.h"

namespace gfxgraph::check {
namespace {

using testing::HasSubstr;

struct LaneAccess {
  std::array<uint64_t, 32> address = {};
  emulator::MemoryEvent event;
  LaneAccess(const std::function<uint64_t(uint64_t)>& of_lane, uint8_t bytes, uint32_t exec = ~0U) {
    for (uint64_t lane = 0; lane < 32; ++lane) address[lane] = of_lane(lane);
    event.address = address.data();
    event.access_bytes = bytes;
    event.exec = exec;
  }
  LaneAccess(const LaneAccess&) = delete;
  LaneAccess& operator=(const LaneAccess&) = delete;
};

void expect_cost(const AccessCost& cost, uint32_t lanes, uint32_t units, uint32_t least) {
  EXPECT_EQ(cost.lanes, lanes);
  EXPECT_EQ(cost.units, units);
  EXPECT_EQ(cost.least, least);
}

TEST(AccessCost, LinesOfMemory) {
  constexpr uint64_t kBase = 0x1000;
  expect_cost(line_cost(LaneAccess([](uint64_t l) { return kBase + 4 * l; }, 4).event), 32, 1, 1);
  expect_cost(line_cost(LaneAccess([](uint64_t l) { return kBase + 4 + 4 * l; }, 4).event), 32, 2,
              1);
  expect_cost(line_cost(LaneAccess([](uint64_t l) { return kBase + 128 * l; }, 4).event), 32, 32,
              1);
  expect_cost(line_cost(LaneAccess([](uint64_t l) { return kBase + 8 * l; }, 4).event), 32, 2, 1);
  expect_cost(line_cost(LaneAccess([](uint64_t l) { return kBase + 16 * l; }, 16).event), 32, 4, 4);
  expect_cost(line_cost(LaneAccess([](uint64_t) { return kBase; }, 4).event), 32, 1, 1);
  expect_cost(line_cost(LaneAccess([](uint64_t l) { return kBase + 4 * (31 - l); }, 4).event), 32,
              1, 1);
  // One lane whose bytes lie in two lines.
  expect_cost(line_cost(LaneAccess([](uint64_t) { return kBase + 124; }, 8, 4).event), 1, 2, 1);
  LaneAccess buffer([](uint64_t l) { return kBase + 128 * l; }, 4);
  buffer.event.in_range = 0xff;  // the range check drops the others
  expect_cost(line_cost(buffer.event), 8, 8, 1);
}

TEST(AccessCost, BanksOfLds) {
  expect_cost(bank_cost(LaneAccess([](uint64_t l) { return 4 * l; }, 4).event), 32, 1, 1);
  expect_cost(bank_cost(LaneAccess([](uint64_t l) { return 8 * l; }, 4).event), 32, 2, 1);
  expect_cost(bank_cost(LaneAccess([](uint64_t l) { return 128 * l; }, 4).event), 32, 32, 1);
  expect_cost(bank_cost(LaneAccess([](uint64_t l) { return 132 * l; }, 4).event), 32, 1, 1);
  expect_cost(bank_cost(LaneAccess([](uint64_t) { return 64; }, 4).event), 32, 1, 1);
  expect_cost(bank_cost(LaneAccess([](uint64_t l) { return l; }, 1).event), 32, 1, 1);
  expect_cost(bank_cost(LaneAccess([](uint64_t l) { return 16 * l; }, 16).event), 32, 4, 4);
  // Atomics of one dword take turns.
  LaneAccess atomic([](uint64_t) { return 64; }, 4);
  atomic.event.kind = emulator::AccessKind::kAtomic;
  expect_cost(bank_cost(atomic.event), 32, 32, 1);
}

Report counted(const std::string& kernel, uint32_t block, uint32_t grid = 2) {
  TraceBuilder trace("perf.bundle");
  const auto from = trace.buffer(1 << 16);
  const auto to = trace.buffer(1 << 16);
  trace.launch(kernel, grid, block, {to, from});
  CheckOptions options;
  options.selection.tools = {};
  options.selection.tools[static_cast<size_t>(Tool::kPerf)] = true;
  const Result<Report> report = trace.try_check(options);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : Report();
}

TEST(PerfTruth, PairsOfKernels) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  // The lines of each kernel that waste.
  const std::vector<std::tuple<FindingClass, std::string, uint64_t>> wasteful = {
      {FindingClass::kP1, "strided", 1},
      {FindingClass::kP2, "conflicts", 2},
      {FindingClass::kP3, "much_lds", 1},
  };
  for (const auto& [finding_class, kernel, lines] : wasteful) {
    const Report report = counted(kernel, 64);
    EXPECT_EQ(count_of(report, finding_class), lines) << render_text(report, "t");
    EXPECT_EQ(report.findings.size(), lines) << render_text(report, "t");
    const Report twin = counted(kernel + "_safe", 64);
    EXPECT_TRUE(twin.findings.empty()) << render_text(twin, "t");
    EXPECT_EQ(report.count(Severity::kWarning) + report.count(Severity::kError), 0U);
  }
  EXPECT_EQ(count_of(counted("strided_safe", 40), FindingClass::kP3), 1U);
}

TEST(PerfTruth, CountsOfATable) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const Report report = counted("strided", 64, 2);
  ASSERT_TRUE(report.perf.made);
  ASSERT_EQ(report.perf.lines.size(), 2U) << render_text(report, "t");
  // The load of each of the four waves touches 32 lines, the store behind it one.
  EXPECT_EQ(report.perf.lines[0].executions, 4U);
  EXPECT_EQ(report.perf.lines[0].units, 128U);
  EXPECT_EQ(report.perf.lines[0].least, 4U);
  EXPECT_EQ(report.perf.lines[1].units, 4U);
  EXPECT_THAT(report.perf.lines[0].file, testing::EndsWith("perf.hip"));
  EXPECT_LT(report.perf.lines[0].line, report.perf.lines[1].line);
  ASSERT_EQ(report.perf.kernels.size(), 1U);
  EXPECT_EQ(report.perf.kernels[0].block_items, 64U);
  EXPECT_EQ(report.perf.kernels[0].idle_lanes, 0U);
  EXPECT_THAT(render_json(report, "t"), HasSubstr("\"cache_lines\""));
}

TEST(PerfTruth, RunsAlone) {
  EXPECT_FALSE(parse_tools("perf,memcheck"));
  const Result<ToolSet> all = parse_tools("all");
  ASSERT_TRUE(all);
  EXPECT_FALSE((*all)[static_cast<size_t>(Tool::kPerf)]);
  EXPECT_FALSE((*all)[static_cast<size_t>(Tool::kLeakcheck)]);
  EXPECT_TRUE(parse_tools("perf"));
}

}  // namespace
}  // namespace gfxgraph::check
