#include "tools/trace/trace_buffers.h"

#include <gtest/gtest.h>

#include "tests/format/fake_trace.h"

namespace gfxgraph::tools {
namespace {

format::AllocationBegin buffer(format::AllocationId id, const char* name = "") {
  format::AllocationBegin begin;
  begin.id = id;
  begin.size_bytes = 64;
  begin.name = name;
  return begin;
}

TEST(TraceBuffers, HaveTheLastNameThatTheyWereGiven) {
  format::testing::FakeTrace trace;
  trace.add(buffer(1, "weights"));
  trace.add(buffer(2));
  format::AllocationBegin variable = buffer(3);
  variable.symbol = "table";
  trace.add(variable);
  trace.add(buffer(4, "first"));
  trace.add(format::Marker{"second", format::MarkerKind::kName, 0, 0, 4});
  trace.add(format::AllocationEnd{2, true, 0, {}});
  trace.add(format::Marker{"a mark"});
  const auto buffers = summarize_buffers(trace);
  ASSERT_EQ(buffers.size(), 4u);
  EXPECT_EQ(buffers[0].name, "weights");
  EXPECT_EQ(buffers[1].name, "");
  EXPECT_EQ(buffers[2].name, "table");
  EXPECT_EQ(buffers[3].name, "second");
  EXPECT_EQ(buffers[1].first_event, 1u);
  EXPECT_EQ(buffers[1].end_event, 5u);
  EXPECT_EQ(buffers[0].end_event, 7u);
}

TEST(TraceBuffers, CountTheLaunchesThatGetThem) {
  format::testing::FakeTrace trace;
  trace.add(buffer(1));
  trace.add(buffer(2));
  format::Launch launch;
  launch.relocations = {{0, 1, 0}, {8, 1, 8}};
  trace.add(launch);
  launch.relocations = {{0, 1, 0}, {8, 2, 0}};
  trace.add(launch);
  const auto buffers = summarize_buffers(trace);
  ASSERT_EQ(buffers.size(), 2u);
  EXPECT_EQ(buffers[0].launches, 2u) << "each launch once";
  EXPECT_EQ(buffers[1].launches, 1u);
}

TEST(TraceBuffers, WithoutANameGoByTheCallThatMadeThem) {
  format::testing::FakeTrace trace;
  trace.sites_ = {{1, "/opt/decode", "", "load(int)", 0x1234, 0x34, true, true}};
  format::Kernel kernel;
  kernel.id = 1;
  kernel.name = "attend";
  kernel.arguments = {{"scale", "by_value", format::ArgumentKind::kByValue, 0, 4},
                      {"cache", "global_buffer", format::ArgumentKind::kGlobalBuffer, 8, 8}};
  trace.kernels_ = {kernel};
  format::AllocationBegin begin = buffer(1);
  begin.site = 1;
  begin.site_ordinal = 3;
  trace.add(begin);
  begin.id = 2;
  begin.name = "weights";
  trace.add(begin);
  format::Launch launch;
  launch.kernel = 1;
  launch.relocations = {{0, 2, 0, format::RelocationSource::kMatched},
                        {8, 1, 0, format::RelocationSource::kTyped}};
  trace.add(launch);
  const auto buffers = summarize_buffers(trace);
  ASSERT_EQ(buffers.size(), 2u);
  EXPECT_EQ(buffers[0].name, "load(int)+0x34#3");
  EXPECT_EQ(buffers[0].name_source, NameSource::kCallSite);
  EXPECT_EQ(buffers[0].used_by, "attend argument 'cache' at 0x8");
  EXPECT_EQ(buffers[1].name, "weights");
  EXPECT_EQ(buffers[1].name_source, NameSource::kGiven);
  EXPECT_EQ(buffers[1].used_by, "") << "a word that looks like a pointer";
}

}  // namespace
}  // namespace gfxgraph::tools
