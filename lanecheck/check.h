// Executes every launch of a trace in the emulator, without HIP, and says which lanes touch memory
// that they must not: the findings of docs/masked-lanes.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "format/reader.h"
#include "lanecheck/budget.h"

namespace gfxgraph::lanecheck {

// The classes of docs/masked-lanes.md. Names are part of the JSON contract.
enum class FindingClass : uint8_t {
  kE1,  // an active lane outside every live range
  kE2,  // an active lane past a buffer's end, in what is still mapped
  kE3,  // a scalar load outside the map, or through an undefined register
  kW1,  // a masked lane whose address was computed and is unmapped
  kW2,  // a masked lane whose address was computed and lies in slack or another allocation
  kI1,  // a masked lane with a stale address that is unmapped
  kI2,  // a masked lane with an undefined address that is unmapped
};
inline constexpr size_t kFindingClasses = 7;
const char* class_name(FindingClass finding_class) noexcept;     // "E1"
const char* class_summary(FindingClass finding_class) noexcept;  // one line for people
const char* fix_hint(FindingClass finding_class) noexcept;

enum class Severity : uint8_t { kNote, kWarning, kError };
const char* severity_name(Severity severity) noexcept;  // "note", "warning", "error"

enum class MaskedLaneMode : uint8_t {
  kOff,      // masked lanes are not looked at
  kWarn,     // W1 is a warning
  kError,    // W1 is an error
  kLiteral,  // the rule read literally: W1, I1 and I2 are errors
};
Result<MaskedLaneMode> parse_masked_lane_mode(std::string_view text);

struct CheckOptions {
  MaskedLaneMode masked_lane = MaskedLaneMode::kWarn;
  bool strict = false;   // E2 is an error
  unsigned threads = 0;  // of the emulator; 0: all cores
  // Give up on a launch when so many wave-instructions pass without a wave ending. A launch of
  // which it is proven that no wave can go on ends at once.
  uint64_t livelock_instructions = uint64_t{1} << 31;
  // Follow all registers, not only those that can reach an address: slower, the same findings. To
  // test the difference.
  bool watch_all = false;
  BudgetLimits limits;
};

// The buffer that an address is nearest to.
struct NearestBuffer {
  uint32_t allocation = 0;  // of the trace; 0: code, arguments or another range of the check itself
  std::string name;         // "buffer #3", "g_table"
  uint64_t address = 0;
  uint64_t size_bytes = 0;  // as requested
  uint64_t mapped_bytes = 0;
  // From the buffer's end to the first byte of the access (>= 0), or, negative, from the first byte
  // of the access to the buffer's start.
  int64_t distance_bytes = 0;
  bool freed = false;  // the address lies in a buffer that was freed before
};

// All events of one class at one instruction of one kernel.
struct Finding {
  FindingClass finding_class = FindingClass::kE1;
  Severity severity = Severity::kNote;
  std::string kernel;
  uint64_t code_address = 0;   // of the instruction, ELF virtual address
  uint64_t kernel_offset = 0;  // of the instruction, from the kernel's entry
  std::string mnemonic;
  std::optional<codeobj::SourceLocation> source;
  uint64_t events = 0;       // executed instructions with such a lane
  uint64_t lanes_total = 0;  // summed over these
  uint64_t launches = 0;     // in which it appeared
  // The first event, in order of launch, workgroup and wave:
  uint64_t launch = 0;  // index among the trace's launches, from 0, graph nodes counted singly
  uint64_t event_sequence = 0;  // of the trace's event
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
  uint32_t wave = 0;
  uint64_t lanes = 0;  // bit mask; a wave32 has 32
  uint64_t exec = 0;
  uint64_t address = 0;  // of the first such lane
  uint32_t access_bytes = 0;
  bool write = false;
  std::string
      address_class;  // "unmapped", "slack", "other allocation", "null page", "non-canonical"
  std::optional<NearestBuffer> nearest;
  uint64_t written_by = 0;  // kernel offset of the last writer of the address, 0: unknown
  std::string detail;       // E3: why
};

// A launch that could not be run to its end.
struct FailedLaunch {
  uint64_t launch = 0;
  uint64_t event_sequence = 0;
  std::string kernel;
  std::string reason;
  bool has_lines = false;  // the reason is the emulator's, which lists waves in lines of their own
};

// Where a check ended before the trace did.
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

struct Report {
  static constexpr size_t kMaxFailed = 1000;
  std::vector<Finding> findings;     // errors first, then by first launch and code address
  std::vector<FailedLaunch> failed;  // the first kMaxFailed
  uint64_t failed_launches = 0;      // all of them
  std::optional<Stop> stopped;
  std::vector<KernelTotals> kernels;
  std::vector<std::string> notes;
  std::vector<std::string> emulator_notes;  // may have several lines
  uint64_t launches = 0;
  uint64_t wave_instructions = 0;
  uint64_t empty_exec_scalar_loads = 0;  // ran with EXEC = 0, inside the map
  // Self check: buffers whose bytes at their end equal the recorded ones.
  uint64_t buffers_compared = 0;
  uint64_t buffers_equal = 0;

  uint64_t count(Severity severity) const;
  bool unsafe() const { return count(Severity::kError) != 0; }
};

// Errors: a trace that cannot be executed at all (blobs missing, another architecture, no memory).
// A budget that is spent is no error: the report says where the check stopped.
Result<Report> check_trace(const format::Trace& trace, const CheckOptions& options = {});

// "20-31", "0-3,7".
std::string lane_ranges(uint64_t lanes);

// For people, in the style of compilers; `trace_name` leads each line. Ends with a summary line.
std::string render_text(const Report& report, const std::string& trace_name);
// docs/masked-lanes.md, "JSON".
std::string render_json(const Report& report, const std::string& trace_name);

}  // namespace gfxgraph::lanecheck
