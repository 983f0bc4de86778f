// Writes a part of a trace as a trace of its own (gfxgraph extract). The emulator runs the trace
// up to the end of the part, to determine memory at its beginning and end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "check/budget.h"
#include "format/read/reader.h"
#include "format/write/writer.h"

namespace gfxgraph::tools {

// Events [first_event, end_event) of the trace, or one node of the graph that `first_event`
// launches, as a launch of its own.
struct TracePart {
  uint64_t first_event = 0;
  uint64_t end_event = 0;
  std::optional<size_t> node;
  std::string text;  // "range decode#2", for messages and the note in the new trace
};

// NAME, NAME#N or period#P[#N]: as gfxgraph-replay --range.
Result<TracePart> find_range_part(const format::Trace& trace, const std::string& range);
// N:M, N: or :M: launches from the N-th to the one before the M-th with what stands between them,
// the kernels of launched graphs counted singly. kInvalidArgument where a graph would be cut.
Result<TracePart> find_launches_part(const format::Trace& trace, const std::string& launches);
// GLOB or GLOB#N: the first, or the N-th launch of the kernels that match, from 0.
Result<TracePart> find_kernel_part(const format::Trace& trace, const std::string& kernel);

// Cuts the whole trace before `count` - 1 of its launches, so that each piece has about as many. A
// graph launch is not cut. kInvalidArgument: more pieces than launches, or more than kMostPieces.
inline constexpr uint32_t kMostPieces = 256;
Result<std::vector<TracePart>> find_pieces(const format::Trace& trace, uint32_t count);

struct ExtractOptions {
  // Use the emulator's memory even if it differs from recorded contents.
  bool allow_diverged = false;
  check::BudgetLimits limits;
  std::function<void(uint64_t events, uint64_t of)> progress;  // may be empty
};

struct ExtractReport {
  uint64_t launches = 0;  // kernels of the part
  uint64_t executed = 0;  // kernels that were executed before it
  // Buffers at its beginning, by the source of their bytes.
  uint64_t from_trace = 0;
  uint64_t from_emulator = 0;
  uint64_t compared = 0;  // recorded contents, with the emulator's memory
  uint64_t different = 0;
  uint64_t dropped_relocations = 0;  // TraceCopy::dropped_relocations()
  std::vector<std::string> notes;
};

// Creates and seals the file after everything before the part was executed. Errors:
// kUnsupported: the emulator cannot execute a kernel, or the trace lacks contents that the part may
// depend on; kMismatch: the emulator computed other contents than recorded; kOutOfMemory: a limit
// was reached.
Result<ExtractReport> extract(const format::Trace& trace, const TracePart& part,
                              const std::string& output, const ExtractOptions& options);
// Writes several parts, which follow each other in the trace, in one execution of it: part N to
// output N. Contents are compared up to the launch behind the last part, and counted in its report;
// after an error no output was written, unless it is one of writing. At least one part.
Result<std::vector<ExtractReport>> extract(const format::Trace& trace,
                                           std::span<const TracePart> parts,
                                           std::span<const std::string> outputs,
                                           const ExtractOptions& options);

}  // namespace gfxgraph::tools
