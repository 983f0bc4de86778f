// Findings of gfxgraph check, and their classes (docs/check.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codeobj/code_object.h"

namespace gfxgraph::check {

// The tools of a check; `gfxgraph check --tool` selects them.
enum class Tool : uint8_t {
  kMemcheck,   // accesses of active lanes, and faults
  kSynccheck,  // barriers and s_waitcnt
  kLanes,      // addresses of inactive lanes
  kRacecheck,  // unordered accesses
  kInitcheck,  // uses of unwritten values
  kApicheck,   // calls of HIP
  kLeakcheck,  // what the program leaves behind, or never uses
  kPerf,       // accesses and launches that waste the device
};
inline constexpr size_t kTools = 8;
const char* tool_name(Tool tool) noexcept;  // "memcheck"
// Finds a tool by name.
std::optional<Tool> find_tool(std::string_view name) noexcept;

enum class Severity : uint8_t { kNote, kWarning, kError };
const char* severity_name(Severity severity) noexcept;  // "note", "warning", "error"

// Codes and names are part of the JSON contract.
enum class FindingClass : uint8_t {
#define GFXGRAPH_CLASS(enumerator, ...) enumerator,
#include "check/report/classes.inc"
#undef GFXGRAPH_CLASS
};

struct ClassText {
  const char* code;  // "E1"
  const char* name;  // "outside-memory"
  Tool tool;
  Severity severity;  // unless options change it
  const char* summary;
  const char* fix;
};
inline constexpr ClassText kClassTexts[] = {
#define GFXGRAPH_CLASS(enumerator, code, name, tool, severity, summary, fix) \
  {code, name, Tool::tool, Severity::severity, summary, fix},
#include "check/report/classes.inc"
#undef GFXGRAPH_CLASS
};
inline constexpr size_t kFindingClasses = sizeof(kClassTexts) / sizeof(kClassTexts[0]);

inline constexpr const ClassText& class_text(FindingClass finding_class) noexcept {
  return kClassTexts[static_cast<size_t>(finding_class)];
}
// Finds a class by code or name.
std::optional<FindingClass> find_class(std::string_view text) noexcept;

// Indices of a trace's launches, from 0; each kernel node of a graph counts. `end` is excluded.
struct LaunchRange {
  uint64_t first = 0;
  uint64_t end = UINT64_MAX;
};
// The union, sorted and without overlaps.
std::vector<LaunchRange> join_ranges(std::vector<LaunchRange> a, const std::vector<LaunchRange>& b);
uint64_t count_of(const std::vector<LaunchRange>& ranges);

// The buffer nearest to an address.
struct NearestBuffer {
  uint32_t allocation = 0;  // id in the trace; 0: code, arguments or other memory of the check
  std::string name;         // "buffer #3", "g_table"
  uint64_t address = 0;
  uint64_t size_bytes = 0;  // as requested
  uint64_t mapped_bytes = 0;
  // From the buffer's end to the first byte of the access (>= 0), or, negative, from the buffer's
  // start to the first byte of the access.
  int64_t distance_bytes = 0;
  bool freed = false;  // the address is in a freed buffer
};

// All events of one class at one source line or instruction of one kernel.
struct Finding {
  FindingClass finding_class = FindingClass::kE1;
  Severity severity = Severity::kNote;
  std::string kernel;
  uint64_t code_address = 0;   // of the instruction, ELF virtual address
  uint64_t kernel_offset = 0;  // of the instruction, from the kernel's entry
  std::string mnemonic;
  std::optional<codeobj::SourceLocation> source;
  uint64_t events = 0;       // executed instructions with an affected lane
  uint64_t lanes_total = 0;  // affected lanes, summed over the events
  uint64_t launches = 0;     // launches with an event
  std::vector<LaunchRange> in_launches;
  // The instructions of the line by rising address, including the one above.
  struct Place {
    uint64_t code_address = 0;
    uint64_t kernel_offset = 0;
    std::string mnemonic;
    uint64_t events = 0;
  };
  std::vector<Place> places;
  // The first event, ordered by launch, workgroup and wave:
  uint64_t launch = 0;          // index among the trace's launches, as in LaunchRange
  uint64_t event_sequence = 0;  // of the launch's event in the trace
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
  uint32_t wave = 0;
  uint64_t lanes = 0;  // bit mask of affected lanes; 32 bits for a wave32
  uint64_t exec = 0;
  uint64_t address = 0;  // of the first affected lane
  uint32_t access_bytes = 0;
  bool write = false;
  std::string
      address_class;  // "unmapped", "slack", "other allocation", "null page", "non-canonical"
  std::optional<NearestBuffer> nearest;
  uint64_t written_by = 0;    // kernel offset of the last write to the address register; 0: unknown
  std::string detail;         // more about the cause or place; several lines for S4 and S5
  std::string suppressed_by;  // the reason; "": not suppressed

  // Of a call of HIP, not of a kernel's instruction: `mnemonic` is its name.
  bool of_call() const {
    const Tool tool = class_text(finding_class).tool;
    return tool == Tool::kApicheck || tool == Tool::kLeakcheck;
  }
};

// Describes a finding, without kernel and place, in one line (S4 and S5: several).
std::string describe(const Finding& finding);

// The lanes of a mask: "20-31", "0-3,7".
std::string lane_ranges(uint64_t lanes);

}  // namespace gfxgraph::check
