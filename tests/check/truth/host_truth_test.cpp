// Ground truth for kernels that call the host or the heap of device code, and for grid barriers.
#include <gmock/gmock.h>

#include "tests/check/truth/truth.h"

namespace gfxgraph::check {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Fault one_launch(FindingClass expected, const std::string& kernel, int number) {
  return {expected, kernel + " " + std::to_string(number), kernel,
          [number](TraceBuilder& t, const std::string& launched) {
            t.launch(launched, 2, 64, {t.buffer(128 * 4), number});
          },
          "host.bundle"};
}

TEST(Truth, DeviceHeap) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  GFXGRAPH_SKIP_WITHOUT_MALLOC("host.bundle");
  std::vector<Fault> faults = {
      one_launch(FindingClass::kE10, "past_block", 5),
      one_launch(FindingClass::kE10, "past_block", 3000),
      one_launch(FindingClass::kE10, "before_block", 16),
      one_launch(FindingClass::kE10, "add_past", 7),
      one_launch(FindingClass::kE11, "after_free", 5),
      one_launch(FindingClass::kE11, "after_free", 3000),
      one_launch(FindingClass::kE12, "frees_twice", 9),
      one_launch(FindingClass::kE12, "frees_middle", 9),
      one_launch(FindingClass::kE4, "unchecked_malloc", 0),
  };
  // Blocks outlive launches: the last one uses them past their ends, or after another freed them.
  faults.push_back({FindingClass::kE10, "block of another launch, past its end", "uses",
                    [](TraceBuilder& t, const std::string& kernel) {
                      const auto blocks = t.buffer(64 * 8);
                      t.launch("makes", 1, 64, {blocks, 12});
                      t.launch("uses", 1, 64, {blocks, kernel == "uses" ? 13 : 12});
                      t.launch("releases", 1, 64, {blocks, 0});
                    },
                    "host.bundle", "uses_safe"});
  faults.push_back({FindingClass::kE11, "block that another launch freed", "uses",
                    [](TraceBuilder& t, const std::string& kernel) {
                      const auto blocks = t.buffer(64 * 8);
                      t.launch("makes", 1, 64, {blocks, 12});
                      if (kernel == "uses") t.launch("releases", 1, 64, {blocks, 0});
                      t.launch("uses", 1, 64, {blocks, 12});
                      if (kernel != "uses") t.launch("releases", 1, 64, {blocks, 0});
                    },
                    "host.bundle", "uses_safe"});
  faults.push_back({FindingClass::kE12, "block that another launch freed, again", "releases",
                    [](TraceBuilder& t, const std::string& kernel) {
                      const auto blocks = t.buffer(64 * 8);
                      t.launch("makes", 1, 64, {blocks, 12});
                      t.launch("releases", 1, 64, {blocks, 0});
                      if (kernel == "releases") t.launch("releases", 1, 64, {blocks, 0});
                    },
                    "host.bundle", "releases_safe"});
  check_all(faults);
}

Fault grid(FindingClass expected, const std::string& kernel, bool cooperative,
           std::vector<FindingClass> also = {}) {
  return {expected,
          kernel,
          kernel,
          [cooperative](TraceBuilder& t, const std::string& launched) {
            const std::string safe = "_safe";
            const bool twin = launched.ends_with(safe);
            std::string name = launched;
            if (twin && !cooperative) name.resize(name.size() - safe.size());
            format::Launch launch = t.make_launch(name, 2, 64, {t.buffer(128 * 4), 1});
            launch.cooperative = cooperative || twin;
            t.add(launch);
          },
          "host.bundle",
          "",
          std::move(also)};
}

TEST(Truth, GridBarriers) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_all({
      grid(FindingClass::kS6, "grid_meets", false, {FindingClass::kS4}),
      grid(FindingClass::kS4, "group_ends", true),
      grid(FindingClass::kS2, "wave_ends", true),
  });
}

TEST(HostServices, FindingsNameTheCooperativeGroup) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const auto& [kernel, expected] :
       {std::pair{"group_ends", FindingClass::kS4}, std::pair{"wave_ends", FindingClass::kS2}}) {
    TraceBuilder trace("host.bundle");
    format::Launch launch = trace.make_launch(kernel, 2, 64, {trace.buffer(128 * 4), 1});
    launch.cooperative = true;
    trace.add(launch);
    const Report report = trace.try_check().value_or(Report());
    const Finding* const found = first_of(report, expected);
    ASSERT_NE(found, nullptr) << render_text(report, "t");
    EXPECT_THAT(found->detail, HasSubstr("grid_group::sync"));
  }
}

TEST(HostServices, KernelsThatPrintAreChecked) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  constexpr ToolSet kAllTools = {true, true, true, true, true};
  for (const ToolSet& tools : {kDefaultTools, kAllTools}) {
    TraceBuilder trace("host.bundle");
    const auto to = trace.buffer(64 * 4);
    trace.launch("prints", 1, 64, {to, 7});
    trace.launch("prints", 1, 64, {trace.buffer(60 * 4), 7});
    std::vector<uint32_t> expected;
    for (uint32_t n = 0; n < 64; ++n) expected.push_back(n + 7);
    trace.expect(to, expected);
    CheckOptions options;
    options.selection.tools = tools;
    const Result<Report> report = trace.try_check(options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->failed_launches, 0U) << render_text(*report, "t");
    ASSERT_EQ(report->findings.size(), 1U) << render_text(*report, "t");
    EXPECT_EQ(report->findings[0].finding_class, FindingClass::kE2);
    EXPECT_EQ(report->findings[0].launch, 1U);
    EXPECT_EQ(report->buffers_equal, report->buffers_compared);
  }
}

TEST(HostServices, FailedAssertsHaveTheirText) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace("host.bundle");
  trace.launch("asserts_text", 1, 64, {trace.buffer(64 * 4), 40});
  const Report report = trace.try_check().value_or(Report());
  const Finding* const found = first_of(report, FindingClass::kF1);
  ASSERT_NE(found, nullptr) << render_text(report, "t");
  EXPECT_THAT(found->detail, AllOf(HasSubstr("host.hip:22: "), HasSubstr("asserts_text"),
                                   HasSubstr("`LANE != bad && \"not this lane\"' failed")));
  EXPECT_EQ(found->wave, 1U);
}

TEST(HostServices, FindingsNameTheBlock) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  GFXGRAPH_SKIP_WITHOUT_MALLOC("host.bundle");
  TraceBuilder trace("host.bundle");
  trace.launch("after_free", 1, 64, {trace.buffer(64 * 4), 5});
  const Report report = trace.check();
  const Finding* const found = first_of(report, FindingClass::kE11);
  ASSERT_NE(found, nullptr) << render_text(report, "t");
  ASSERT_TRUE(found->nearest);
  EXPECT_EQ(found->nearest->size_bytes, 20U);
  EXPECT_TRUE(found->nearest->freed);
  EXPECT_THAT(found->detail, HasSubstr("allocated at after_free+"));
  EXPECT_THAT(found->detail, HasSubstr("and freed at after_free+"));
}

}  // namespace
}  // namespace gfxgraph::check
