// How much of a kernel a trace executes, over a guard that all, some and no lanes pass.
#include "tools/check/execution.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/check/trace_builder.h"

namespace gfxgraph::check {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Executed : public testing::Test {
 protected:
  void SetUp() override { GFXGRAPH_SKIP_WITHOUT_KERNELS(); }

  // `items` work items in one block, of which `passing` pass the guard.
  ExecutedKernel of_guard(uint32_t items, uint32_t passing) {
    TraceBuilder trace;
    const auto a = trace.buffer(4096), b = trace.buffer(4096), c = trace.buffer(4096);
    trace.launch("plain_guard", 1, items, {a, b, c, passing});
    const auto opened = trace.open();
    const auto table = tools::execution_of(*opened, {}, {});
    EXPECT_TRUE(table) << table.error().message;
    if (!table || table->kernels.size() != 1) return {};
    Report report;
    report.execution = *table;
    keep_for_schemas({{"t.gfxg", std::move(report), ""}});
    EXPECT_EQ(table->stopped, "");
    table_ = *table;
    return table->kernels[0];
  }
  static const ExecutedLine* body(const ExecutedKernel& kernel) {
    const auto found = std::ranges::find(kernel.lines, 12U, &ExecutedLine::line);
    return found == kernel.lines.end() ? nullptr : &*found;
  }
  ExecutionTable table_;
};

TEST_F(Executed, AllWavesPass) {
  const ExecutedKernel kernel = of_guard(64, 64);
  EXPECT_EQ(kernel.launches, 1U);
  EXPECT_GT(kernel.counts.instructions, 5U);
  EXPECT_EQ(kernel.counts.executed, kernel.counts.instructions);
  EXPECT_EQ(kernel.counts.ways, 2U);
  EXPECT_EQ(kernel.counts.ways_taken, 1U);
  EXPECT_EQ(kernel.counts.lanes_executed, kernel.counts.lanes);
  const std::string verdict = verdict_of(kernel, "memcheck, lanes", 0);
  EXPECT_THAT(verdict, AllOf(HasSubstr("1 of 2 ways of branches, all of lanes"),
                             HasSubstr("memcheck, lanes exclude faults of the executed"),
                             HasSubstr("not those of the rest"), HasSubstr("guards.hip:12")));
}

TEST_F(Executed, OneWavePassesAndOneDoesNot) {
  const ExecutedKernel kernel = of_guard(64, 32);
  EXPECT_TRUE(kernel.counts.all());
  EXPECT_EQ(missing_lines(kernel), "");
  EXPECT_THAT(verdict_of(kernel, "memcheck", 0),
              AllOf(HasSubstr("memcheck excludes faults"), Not(HasSubstr("rest"))));
  EXPECT_THAT(verdict_of(kernel, "memcheck", 2), HasSubstr("2 findings: nothing is excluded"));
}

TEST_F(Executed, SomeLanesPass) {
  const ExecutedKernel kernel = of_guard(32, 20);
  EXPECT_EQ(kernel.counts.executed, kernel.counts.instructions);
  EXPECT_LT(kernel.counts.lanes_executed, kernel.counts.lanes);
  ASSERT_NE(body(kernel), nullptr);
  // 20 of 32 lanes of each vector instruction behind the guard.
  const ExecutionCounts& counts = body(kernel)->counts;
  EXPECT_EQ((counts.lanes - counts.lanes_executed) % 12, 0U);
}

// Lanes that are no work items do not count.
TEST_F(Executed, PartOfAWaveIsWhole) {
  const ExecutedKernel kernel = of_guard(20, 20);
  EXPECT_GT(kernel.counts.lanes, 0U);
  EXPECT_EQ(kernel.counts.lanes_executed, kernel.counts.lanes);
}

TEST_F(Executed, NoLanePasses) {
  const ExecutedKernel kernel = of_guard(64, 0);
  EXPECT_LT(kernel.counts.executed, kernel.counts.instructions);
  EXPECT_EQ(kernel.counts.ways_taken, 1U);
  ASSERT_NE(body(kernel), nullptr);
  EXPECT_LT(body(kernel)->counts.executed, body(kernel)->counts.instructions);
}

TEST_F(Executed, LcovTracefile) {
  of_guard(64, 0);
  const std::string text = render_lcov({&table_});
  EXPECT_THAT(text, AllOf(HasSubstr("guards.hip\n"), HasSubstr("FNDA:1,plain_guard\n"),
                          HasSubstr("FNF:1\nFNH:1\n"), HasSubstr("BRF:2\nBRH:1\n"),
                          HasSubstr("end_of_record\n")));
  EXPECT_EQ(render_lcov({}), "");
}

}  // namespace
}  // namespace gfxgraph::check
