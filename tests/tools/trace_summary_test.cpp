#include "tools/trace/trace_summary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/format/fake_trace.h"
#include "tools/info/ambiguous_report.h"
#include "tools/trace/trace_walk.h"

namespace gfxgraph::tools {
namespace {

using format::RelocationSource;

format::Relocation relocation(uint64_t offset, RelocationSource source, bool ambiguous = false) {
  return {.offset_bytes = offset,
          .allocation = 1,
          .addend = 64,
          .source = source,
          .ambiguous = ambiguous};
}

format::AllocationBegin allocation(format::AllocationId id, uint64_t size_bytes,
                                   format::AllocationKind kind = format::AllocationKind::kDevice) {
  format::AllocationBegin begin;
  begin.id = id;
  begin.kind = kind;
  begin.size_bytes = size_bytes;
  return begin;
}

format::AllocationEnd end_of(format::AllocationId id, bool freed) {
  format::AllocationEnd end;
  end.id = id;
  end.freed = freed;
  return end;
}

format::Launch launch_of(format::KernelId kernel, std::vector<format::Relocation> relocations) {
  format::Launch launch;
  launch.kernel = kernel;
  launch.relocations = std::move(relocations);
  return launch;
}

format::testing::FakeTrace trace_with_kernel() {
  format::testing::FakeTrace trace;
  format::Kernel kernel;
  kernel.id = 1;
  kernel.name = "scale";
  kernel.arguments = {{"data", "global_buffer", format::ArgumentKind::kGlobalBuffer, 0, 8},
                      {"seed", "by_value", format::ArgumentKind::kByValue, 8, 8}};
  trace.kernels_ = {kernel};
  return trace;
}

TEST(TraceSummary, CountsAnEmptyTrace) {
  const TraceSummary summary = summarize(format::testing::FakeTrace());
  EXPECT_TRUE(summary.kernels.empty());
  EXPECT_EQ(summary.peak_bytes, 0u);
  EXPECT_EQ(summary.span_ns, 0u);
}

TEST(TraceSummary, TracksThePeakOfLiveAllocations) {
  format::testing::FakeTrace trace;
  trace.add(allocation(1, 100));
  trace.add(end_of(1, true));
  trace.add(allocation(2, 60));
  trace.add(allocation(3, 50, format::AllocationKind::kHostPinned));
  trace.add(end_of(2, false));
  const TraceSummary summary = summarize(trace);
  EXPECT_EQ(summary.peak_bytes, 110u);
  EXPECT_EQ(summary.allocations.at("device").count, 2u);
  EXPECT_EQ(summary.allocations.at("device").bytes, 160u);
  EXPECT_EQ(summary.allocations.at("host_pinned").count, 1u);
  EXPECT_EQ(summary.events.at("allocation_end"), 2u);
  EXPECT_EQ(summary.span_ns, 40u);
}

TEST(TraceSummary, TellsCopiesApartByDirection) {
  format::testing::FakeTrace trace;
  format::Copy copy;
  copy.width_bytes = 10;
  copy.height = 3;
  copy.destination.allocation = 1;
  trace.add(copy);
  copy.source.allocation = 2;
  trace.add(copy);
  const TraceSummary summary = summarize(trace);
  EXPECT_EQ(summary.copies.at("host_to_device").bytes, 30u);
  EXPECT_EQ(summary.copies.at("device_to_device").count, 1u);
}

TEST(TraceSummary, CountsLaunchesInTheStreamAndInGraphs) {
  format::testing::FakeTrace trace = trace_with_kernel();
  trace.add(launch_of(1, {}));
  trace.add(launch_of(1, {}), 3);
  trace.graphs_ = {{.id = 1,
                    .nodes = {{.action = launch_of(1, {}), .dependencies = {}},
                              {.action = format::Memset{}, .dependencies = {0}}}}};
  const TraceSummary summary = summarize(trace);
  EXPECT_EQ(summary.kernels[0].launches, 2u);
  EXPECT_EQ(summary.kernels[0].graph_nodes, 1u);
  EXPECT_EQ(summary.threads, 4u);
}

TEST(TraceSummary, GathersRelocationsBySite) {
  format::testing::FakeTrace trace = trace_with_kernel();
  const std::vector<format::Relocation> relocations = {
      relocation(0, RelocationSource::kTyped), relocation(8, RelocationSource::kMatched, true)};
  trace.add(launch_of(1, relocations));
  trace.add(launch_of(1, relocations));
  const TraceSummary summary = summarize(trace);
  EXPECT_EQ(summary.relocations.typed, 2u);
  EXPECT_EQ(summary.relocations.matched, 2u);
  EXPECT_EQ(summary.relocations.ambiguous, 2u);
  ASSERT_EQ(summary.sites.size(), 2u);
  EXPECT_EQ(summary.sites[0].place, "scale argument 'data' at 0x0");
  EXPECT_EQ(summary.sites[0].count, 2u);
  EXPECT_EQ(summary.sites[1].kernel, 1u);
  EXPECT_EQ(summary.sites[1].argument, "argument 'seed' at 0x8");
  EXPECT_EQ(summary.sites[1].place, "scale argument 'seed' at 0x8");
  EXPECT_TRUE(summary.sites[1].ambiguous);
  EXPECT_EQ(summary.sites[1].example, "event 0: allocation 1 + 64");
}

TEST(TraceSummary, SaysWhyAWordIsAPointer) {
  format::testing::FakeTrace trace;
  format::Kernel kernel;
  kernel.id = 1;
  kernel.name = "Cijk_Ailk_Bljk";
  const auto by_value = format::ArgumentKind::kByValue;
  kernel.arguments = {{"out", "global_buffer", format::ArgumentKind::kGlobalBuffer, 0, 8},
                      {"AddressA", "by_value", by_value, 8, 8},
                      {"n", "by_value", by_value, 16, 8},
                      {"sizes", "by_value", by_value, 24, 32}};
  trace.kernels_ = {kernel};
  trace.add(launch_of(
      1,
      {relocation(0, RelocationSource::kTyped), relocation(8, RelocationSource::kMatched),
       relocation(16, RelocationSource::kMatched, true), relocation(32, RelocationSource::kMatched),
       relocation(56, RelocationSource::kMatched), relocation(8, RelocationSource::kTyped)}));
  format::AllocationBegin begin = allocation(4, 32);
  begin.initial.relocations = {relocation(16, RelocationSource::kMatched),
                               relocation(24, RelocationSource::kProven)};
  trace.add(begin);
  const TraceSummary summary = summarize(trace);
  std::vector<std::string> reasons;
  for (const RelocationSite& site : summary.sites) reasons.emplace_back(site.reason);
  const std::vector<std::string> expected = {"argument type",
                                             "argument name",
                                             "its value only",
                                             "field of a struct",
                                             "value in a kernel without argument metadata",
                                             "rule (base of a tensor in a Tensile kernel)",
                                             "pointers next to it",
                                             "use as an address"};
  EXPECT_EQ(reasons, expected);
}

TEST(AmbiguousLines, OneForEachKernelAndPlace) {
  format::testing::FakeTrace trace = trace_with_kernel();
  std::vector<format::Relocation> relocations = {relocation(0, RelocationSource::kTyped)};
  for (const uint64_t offset : {8, 12, 16, 20, 24, 28})
    relocations.push_back(relocation(offset, RelocationSource::kMatched, true));
  trace.add(launch_of(1, relocations));
  trace.add(launch_of(1, relocations));
  format::AllocationBegin begin = allocation(4, 32);
  begin.initial.relocations = {relocation(16, RelocationSource::kMatched, true)};
  trace.add(begin);
  const std::vector<std::string> lines = ambiguous_lines(summarize(trace));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "      12 x ambiguous: scale: argument 'seed' at 0x8, argument 'seed' at 0xc, "
            "kernarg at 0x10, kernarg at 0x14 and 2 more (event 0: allocation 1 + 64)");
  EXPECT_EQ(lines[1],
            "       1 x ambiguous: initial contents of allocation 4 (event 2 at 0x10: allocation 1 "
            "+ 64)");
}

TEST(AmbiguousLines, KernelsOfOneShortNameAreToldApart) {
  format::testing::FakeTrace trace;
  for (const char* const name : {"_Z4fillIiEvPT_", "_Z4fillIiEvPT_i", "_Z5otherv"}) {
    format::Kernel kernel;
    kernel.id = static_cast<format::KernelId>(trace.kernels_.size() + 1);
    kernel.name = name;
    trace.kernels_.push_back(kernel);
  }
  const std::vector<format::Relocation> relocations = {
      relocation(8, RelocationSource::kMatched, true)};
  for (const format::KernelId kernel : {1, 2, 3}) trace.add(launch_of(kernel, relocations));
  const std::vector<std::string> lines = ambiguous_lines(summarize(trace));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].starts_with("       1 x ambiguous: fill<int> (kernel 1): kernarg at 0x8"))
      << lines[0];
  EXPECT_TRUE(lines[1].starts_with("       1 x ambiguous: fill<int> (kernel 2): kernarg at 0x8"));
  EXPECT_TRUE(lines[2].starts_with("       1 x ambiguous: other: kernarg at 0x8"));
}

TEST(TraceSummary, FindsPointersInContents) {
  format::testing::FakeTrace trace;
  format::AllocationBegin begin = allocation(4, 32);
  begin.initial.relocations = {relocation(16, RelocationSource::kMatched)};
  trace.add(begin);
  format::Copy copy;
  copy.destination.allocation = 4;
  copy.host_source.relocations = {relocation(24, RelocationSource::kProven)};
  trace.add(copy);
  const TraceSummary summary = summarize(trace);
  EXPECT_EQ(summary.relocations.matched, 1u);
  EXPECT_EQ(summary.relocations.proven, 1u);
  EXPECT_EQ(summary.sites[0].place, "initial contents of allocation 4");
  EXPECT_EQ(summary.sites[0].kernel, 0u);
  EXPECT_EQ(summary.sites[1].place, "copy from host memory to allocation 4");
}

TEST(TraceSummary, SurvivesALaunchOfAnUnknownKernel) {
  format::testing::FakeTrace trace;
  trace.add(launch_of(7, {relocation(0, RelocationSource::kTyped)}));
  EXPECT_EQ(summarize(trace).sites[0].place, "kernel 7 at 0x0");
}

TEST(TraceWalk, VisitsContentsOfGraphNodes) {
  format::testing::FakeTrace trace;
  format::Copy copy;
  copy.destination.allocation = 1;
  trace.graphs_ = {{.id = 2, .nodes = {{.action = copy, .dependencies = {}}}}};
  std::vector<std::string> seen;
  for_each_content(trace,
                   [&](const format::Content&, const std::string& what) { seen.push_back(what); });
  EXPECT_EQ(seen,
            std::vector<std::string>{"graph 2 node 0: copy from host memory to allocation 1"});
}

// 3 MB of a trace: 65,536 pointers in one kernarg segment, each in an argument of its own, under a
// name of 64 KB. Every place with the whole name would be 4 GB of text.
TEST(TraceSummary, LongNamesAreNotRepeatedForEachArgument) {
  format::testing::FakeTrace trace;
  format::Kernel kernel;
  kernel.id = 1;
  kernel.name = std::string(65000, 'k');
  std::vector<format::Relocation> relocations;
  for (uint32_t n = 0; n < 65536; ++n) {
    kernel.arguments.push_back(
        {std::string(1000, 'a'), "global_buffer", format::ArgumentKind::kGlobalBuffer, 8 * n, 8});
    relocations.push_back(relocation(8 * uint64_t{n}, RelocationSource::kTyped));
  }
  trace.kernels_ = {kernel};
  for (int n = 0; n < 20; ++n) trace.add(launch_of(1, relocations));
  const TraceSummary summary = summarize(trace);
  ASSERT_EQ(summary.sites.size(), 65536u);
  EXPECT_EQ(summary.sites[65535].count, 20u);
  EXPECT_EQ(summary.sites[65535].place, std::string(500, 'k') + "... (kernel 1) argument '" +
                                            std::string(500, 'a') + "' at 0x7fff8");
}

}  // namespace
}  // namespace gfxgraph::tools
