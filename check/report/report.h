// The result of a check, and its three forms: text, JSON and SARIF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/execution_table.h"
#include "check/report/finding.h"
#include "check/report/perf_table.h"
#include "check/report/selection.h"
#include "codeobj/code_object.h"
#include "format/trace.h"

namespace gfxgraph::check {

// A launch that could not run to its end.
struct FailedLaunch {
  uint64_t launch = 0;
  uint64_t event_sequence = 0;
  std::string kernel;
  std::string reason;
  bool has_lines = false;  // the reason is the emulator's and lists waves on separate lines
  std::optional<FindingClass> finding = std::nullopt;  // class of the finding that has details
};

// Where a check stopped before the end of the trace.
struct Stop {
  std::string reason;           // the exhausted limit and its option
  uint64_t event_sequence = 0;  // first event that was not completely executed
  uint64_t launches = 0;        // from there on, not checked; kernel nodes of graphs count
};

struct KernelTotals {
  std::string kernel;
  uint64_t launches = 0;
  uint64_t ended = 0;              // of these
  uint64_t wave_instructions = 0;  // of those that ended
  uint64_t dropped_lanes = 0;      // B1: lanes that a buffer's range check dropped
};

// The program's HIP calls behind a finding; empty: unknown.
struct FindingCalls {
  std::string launched_by;   // of its first event: "decode+0x1f4"
  std::string allocated_by;  // of the nearest buffer: "load_model+0x2c#3"
  format::SiteId launch_site = 0, allocation_site = 0;  // the same calls
};

// An instruction near a finding.
struct CodeLine {
  uint64_t code_address = 0;  // ELF virtual address
  std::string text;           // as llvm-objdump prints it
  enum class Role : uint8_t {
    kNone,
    kAddress,  // computes part of the address
    kFinding,  // the finding's instruction
  };
  Role role = Role::kNone;
  bool follows = false;  // directly follows the instruction of the previous line
};

// The code around a finding; both may be empty.
struct FindingPlace {
  std::vector<codeobj::SourceLocation> inline_stack;  // innermost first
  std::vector<CodeLine> code;                         // by rising address
};

struct Report {
  static constexpr size_t kMaxFailed = 1000;
  ToolSet tools = kDefaultTools;
  std::vector<Finding> findings;     // errors first, then by first launch and code address
  std::vector<FindingCalls> calls;   // one per finding
  std::vector<FindingPlace> places;  // one per finding
  std::vector<FailedLaunch> failed;  // the first kMaxFailed
  uint64_t failed_launches = 0;      // including those that `failed` omits
  std::optional<Stop> stopped;
  std::vector<KernelTotals> kernels;
  PerfTable perf;            // only of --tool perf
  ExecutionTable execution;  // only with --coverage
  std::vector<std::string> notes;
  std::vector<std::string> emulator_notes;  // may have several lines
  uint64_t launches = 0;
  uint64_t wave_instructions = 0;
  uint64_t empty_exec_scalar_loads = 0;  // executed with EXEC = 0 and a mapped address
  // Self-check: buffers compared with their recorded final contents, and those that are equal.
  uint64_t buffers_compared = 0;
  uint64_t buffers_equal = 0;

  // Findings of this severity that are not suppressed.
  uint64_t count(Severity severity) const;
  uint64_t count_suppressed() const;
  // Errors and warnings in each kernel of `execution` that are not suppressed.
  std::vector<uint64_t> findings_of_executed() const;
  // "memcheck, lanes".
  std::string tool_list() const;
  // Launches that did not finish for a reason that no finding describes.
  uint64_t lost_launches() const;
  bool unsafe() const { return count(Severity::kError) != 0; }
};

// One of several traces that are checked together.
struct TraceReport {
  std::string name;
  std::optional<Report> report;
  std::string error;  // why there is no report
};
// One document for all traces. For a single trace with a report, the same as the functions below
// return.
std::string render_sarif(const std::vector<TraceReport>& traces);
std::string render_text(const std::vector<TraceReport>& traces, bool with_code);
std::string render_json(const std::vector<TraceReport>& traces);

// Static Analysis Results Interchange Format 2.1.0, for viewers of code review tools.
std::string render_sarif(const Report& report, const std::string& trace_name);
// Text in the style of compiler messages: each line begins with `trace_name`, the last is a
// summary. `with_code`: includes the instructions around each finding.
std::string render_text(const Report& report, const std::string& trace_name,
                        bool with_code = false);
// JSON as in docs/check.md, "JSON".
std::string render_json(const Report& report, const std::string& trace_name);

}  // namespace gfxgraph::check
