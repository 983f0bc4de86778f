// Ground truth of apicheck and leakcheck: calls of HIP, and what a program leaves behind.
#include <gmock/gmock.h>

#include <utility>

#include "tests/check/truth/truth.h"

namespace gfxgraph::check {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ToolSet only(Tool tool) {
  ToolSet tools = {};
  tools[static_cast<size_t>(tool)] = true;
  return tools;
}

Report checked(TraceBuilder& trace, Tool tool) {
  CheckOptions options;
  options.threads = 1;
  options.selection.tools = only(tool);
  const Result<Report> report = trace.try_check(options);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : Report();
}

std::vector<std::string> classes(const Report& report) {
  std::vector<std::string> all;
  for (const Finding& finding : report.findings)
    all.emplace_back(class_text(finding.finding_class).code);
  return all;
}

format::CallFault fault(const char* call, const char* error, format::AllocationId id,
                        uint64_t offset, uint64_t size, bool write = true) {
  return {call, error, id, offset, size, write};
}

// With the relocations that a recorder would note.
void launch(TraceBuilder& trace, const TraceBuilder::Buffer& a, const TraceBuilder::Buffer& b) {
  format::Launch launched = trace.make_launch("plain_guard", 1, 32, {a, b, a, 32});
  for (const auto& [offset, buffer] : {std::pair{0U, &a}, std::pair{8U, &b}, std::pair{16U, &a}})
    launched.relocations.push_back(
        {offset, buffer->id, 0, format::RelocationSource::kTyped, false, false});
  trace.add(launched);
}
void launch(TraceBuilder& trace, const TraceBuilder::Buffer& buffer) {
  launch(trace, buffer, buffer);
}

TEST(CallTruth, CopiesPastTheEnd) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool accepted : {false, true}) {
    TraceBuilder trace;
    const auto buffer = trace.buffer(400);
    trace.add(fault("hipMemcpy", accepted ? "" : "hipErrorInvalidValue", buffer.id, 8, 396));
    launch(trace, buffer);
    const Report report = checked(trace, Tool::kApicheck);
    ASSERT_THAT(classes(report), ElementsAre("A1")) << render_text(report, "t");
    const Finding& finding = report.findings[0];
    EXPECT_EQ(finding.mnemonic, "hipMemcpy");
    EXPECT_EQ(finding.address, buffer.address + 8);
    EXPECT_EQ(finding.access_bytes, 396U);
    ASSERT_TRUE(finding.nearest);
    EXPECT_EQ(finding.nearest->allocation, buffer.id);
    const std::string text = render_text(report, "t");
    EXPECT_THAT(text, HasSubstr("crosses the end from byte 8 of buffer #1 (400 bytes)"));
    EXPECT_THAT(text, accepted ? HasSubstr("HIP accepted the call")
                               : HasSubstr("hipErrorInvalidValue; launch 0 had the buffer"));
    EXPECT_THAT(text, testing::Not(HasSubstr("(none)")));
    EXPECT_THAT(render_sarif(report, "t"), HasSubstr("\"ruleId\": \"A1\""));
  }
}

// What it was to write was written before a launch had it.
TEST(CallTruth, RepeatedCopiesBreakNothing) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto buffer = trace.buffer(128);
  trace.add(fault("hipMemcpy", "hipErrorInvalidValue", buffer.id, 0, 132));
  format::Copy copy;
  copy.destination.allocation = buffer.id;
  copy.width_bytes = 128;
  copy.host_source = trace.content(std::vector<uint32_t>(32, 1));
  trace.add(copy);
  launch(trace, buffer);
  const Report report = checked(trace, Tool::kApicheck);
  ASSERT_THAT(classes(report), ElementsAre("A1"));
  EXPECT_EQ(report.findings[0].detail, "it returned hipErrorInvalidValue");
}

TEST(CallTruth, FreedMemoryAndWrongFrees) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(400);
  const auto b = trace.buffer(400);
  trace.free(a);
  trace.add(fault("hipMemcpy", "hipErrorInvalidValue", a.id, 0, 400, false));
  trace.add(fault("hipFree", "hipErrorInvalidValue", a.id, 0, 0));
  trace.add(fault("hipFree", "", b.id, 4, 0));
  const Report report = checked(trace, Tool::kApicheck);
  ASSERT_THAT(classes(report), testing::UnorderedElementsAre("A2", "A3", "A3"));
  EXPECT_THAT(render_text(report, "t"), HasSubstr("in buffer #1 (400 bytes) after it was freed"));
}

TEST(CallTruth, FailedCalls) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  // The last call of a program may fail: nothing goes on without its work.
  for (const bool goes_on : {false, true}) {
    TraceBuilder trace;
    const auto buffer = trace.buffer(128);
    launch(trace, buffer);
    trace.add(fault("hipLaunchKernel", "hipErrorInvalidConfiguration", 0, 0, 0, false));
    trace.add(fault("hipEventElapsedTime", "hipErrorInvalidHandle", 0, 0, 0, false));
    if (goes_on) launch(trace, buffer);
    const Report report = checked(trace, Tool::kApicheck);
    if (!goes_on) {
      EXPECT_THAT(classes(report), ElementsAre("A5")) << render_text(report, "t");
      continue;
    }
    ASSERT_THAT(classes(report), ElementsAre("A4", "A5")) << render_text(report, "t");
    EXPECT_EQ(report.findings[0].severity, Severity::kWarning);
    EXPECT_THAT(report.findings[0].detail, HasSubstr("went on with launch 1"));
    EXPECT_EQ(report.findings[1].severity, Severity::kNote);
  }
}

// ---- leakcheck ----------------------------------------------------------------------------------

TEST(LeakTruth, MemoryStreamsAndEvents) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool leaks : {true, false}) {
    TraceBuilder trace;
    const auto buffer = trace.buffer(128);
    trace.add(format::StreamCreate{.id = 1, .flags = 0, .priority = 0});
    trace.add(format::EventCreate{.id = 1, .flags = 0});
    launch(trace, buffer);
    if (!leaks) {
      trace.add(format::EventDestroy{1});
      trace.add(format::StreamDestroy{1});
      trace.free(buffer);
    }
    const Report report = checked(trace, Tool::kLeakcheck);
    if (!leaks) {
      EXPECT_THAT(classes(report), IsEmpty()) << render_text(report, "t");
      continue;
    }
    EXPECT_THAT(classes(report), testing::UnorderedElementsAre("L1", "L2", "L2"))
        << render_text(report, "t");
    EXPECT_THAT(render_text(report, "t"), HasSubstr("warning L1: buffer #1: memory is still"));
  }
}

format::Copy copy_in(TraceBuilder& trace, const TraceBuilder::Buffer& buffer) {
  format::Copy copy;
  copy.destination.allocation = buffer.id;
  copy.width_bytes = 128;
  copy.host_source = trace.content(std::vector<uint32_t>(32, 1));
  return copy;
}

TEST(LeakTruth, UnusedMemoryAndUnreadCopies) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const bool used : {false, true}) {
    TraceBuilder trace;
    const auto buffer = trace.buffer(128);
    const auto other = trace.unwritten_buffer(128);
    const auto back = trace.buffer(128);
    launch(trace, buffer);
    trace.add(copy_in(trace, buffer));
    trace.add(copy_in(trace, back));
    trace.copy_out(back);
    if (used) launch(trace, buffer, other);
    for (const auto& one : {buffer, other, back}) trace.free(one);
    const Report report = checked(trace, Tool::kLeakcheck);
    if (used) {
      EXPECT_THAT(classes(report), IsEmpty()) << render_text(report, "t");
      continue;
    }
    ASSERT_THAT(classes(report), testing::UnorderedElementsAre("L3", "L4"))
        << render_text(report, "t");
    for (const Finding& finding : report.findings)
      EXPECT_EQ(finding.mnemonic,
                finding.finding_class == FindingClass::kL3 ? "buffer #2" : "buffer #1");
  }
}

}  // namespace
}  // namespace gfxgraph::check
