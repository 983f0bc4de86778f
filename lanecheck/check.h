// Executes every launch of a trace in the emulator, without HIP, and reports the findings of
// docs/check.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/reader.h"
#include "lanecheck/budget.h"
#include "lanecheck/finding.h"
#include "lanecheck/selection.h"

namespace gfxgraph::lanecheck {

enum class MaskedLaneMode : uint8_t {
  kOff,      // inactive lanes are not checked
  kWarn,     // W1 is a warning
  kError,    // W1 is an error
  kLiteral,  // the rule read literally: W1, I1 and I2 are errors
};
Result<MaskedLaneMode> parse_masked_lane_mode(std::string_view text);

struct CheckOptions {
  SelectionOptions selection;
  MaskedLaneMode masked_lane = MaskedLaneMode::kWarn;
  bool strict = false;   // warnings are errors
  unsigned threads = 0;  // of the emulator; 0: all cores
  // Give up on a launch after this many wave-instructions without the end of a wave. A launch in
  // which no wave can make progress ends immediately.
  uint64_t livelock_instructions = uint64_t{1} << 31;
  // Track all registers, not only those that can reach an address: slower, the same findings. To
  // test the difference.
  bool watch_all = false;
  BudgetLimits limits;
  LaunchProgress progress = {};
};

// A launch that could not run to its end.
struct FailedLaunch {
  uint64_t launch = 0;
  uint64_t event_sequence = 0;
  std::string kernel;
  std::string reason;
  bool has_lines = false;  // the reason is the emulator's, which lists waves in lines of their own
  std::optional<FindingClass> finding = std::nullopt;  // that tells more
};

// Where a check ended before the end of the trace.
struct Stop {
  std::string reason;           // which budget, and the option that changes it
  uint64_t event_sequence = 0;  // the first event that was not, or not wholly, executed
  uint64_t launches = 0;        // from there on, graph nodes counted singly; none was checked
};

struct KernelTotals {
  std::string kernel;
  uint64_t launches = 0;
  uint64_t wave_instructions = 0;
  uint64_t dropped_lanes = 0;  // B1: lanes that a buffer's range check dropped
};

// The program's calls of HIP that a finding comes from; empty: not known.
struct FindingCalls {
  std::string launched_by;   // of its first event: "decode+0x1f4"
  std::string allocated_by;  // of the buffer that it is nearest to: "load_model+0x2c#3"
};

// An instruction near a finding.
struct CodeLine {
  uint64_t code_address = 0;  // ELF virtual address
  std::string text;           // as llvm-objdump prints it
  enum class Role : uint8_t {
    kNone,
    kAddress,  // computes a part of the address
    kFinding,  // the finding is here
  };
  Role role = Role::kNone;
  bool follows = false;  // the line before it is the instruction in front of it
};

// Where a finding's instruction is; both may be empty.
struct FindingPlace {
  std::vector<codeobj::SourceLocation> inline_stack;  // innermost first
  std::vector<CodeLine> code;                         // in order of address
};

struct Report {
  static constexpr size_t kMaxFailed = 1000;
  ToolSet tools = kDefaultTools;
  std::vector<Finding> findings;     // errors first, then by first launch and code address
  std::vector<FindingCalls> calls;   // of each finding
  std::vector<FindingPlace> places;  // of each finding
  std::vector<FailedLaunch> failed;  // the first kMaxFailed
  uint64_t failed_launches = 0;      // all of them
  std::optional<Stop> stopped;
  std::vector<KernelTotals> kernels;
  std::vector<std::string> notes;
  std::vector<std::string> emulator_notes;  // may have several lines
  uint64_t launches = 0;
  uint64_t wave_instructions = 0;
  uint64_t empty_exec_scalar_loads = 0;  // ran with EXEC = 0, inside the map
  // Self-check: buffers whose final bytes equal the recorded ones.
  uint64_t buffers_compared = 0;
  uint64_t buffers_equal = 0;

  // Of findings that are not suppressed.
  uint64_t count(Severity severity) const;
  uint64_t count_suppressed() const;
  // Launches that did not run to their end for a reason that no finding describes.
  uint64_t lost_launches() const;
  bool unsafe() const { return count(Severity::kError) != 0; }
};

// Errors: a trace that cannot be executed at all (blobs missing, another architecture, no memory).
// A spent budget is not an error: the report contains the place where the check stopped.
Result<Report> check_trace(const format::Trace& trace, const CheckOptions& options = {});

// One of several traces that are checked together.
struct TraceReport {
  std::string name;
  std::optional<Report> report;
  std::string error;  // why there is no report
};
// One document for all. Of a single trace that could be checked it is the same as of the functions
// below.
std::string render_sarif(const std::vector<TraceReport>& traces);
std::string render_text(const std::vector<TraceReport>& traces, bool with_code);
std::string render_json(const std::vector<TraceReport>& traces);

// Static Analysis Results Interchange Format 2.1.0, for viewers of code review tools.
std::string render_sarif(const Report& report, const std::string& trace_name);
// For people, in the style of compilers; `trace_name` leads each line. Ends with a summary line.
// `with_code`: with the instructions around each finding.
std::string render_text(const Report& report, const std::string& trace_name,
                        bool with_code = false);
// docs/check.md, "JSON".
std::string render_json(const Report& report, const std::string& trace_name);

}  // namespace gfxgraph::lanecheck
