// A part of a trace as a trace of its own (gfxgraph extract). What memory holds where the part
// begins and ends comes from executing everything before, and the part, in the emulator.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/reader.h"
#include "format/writer.h"

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

struct ExtractOptions {
  // Take memory as the emulator computes it although it differs from what the trace holds.
  bool allow_diverged = false;
  std::function<void(uint64_t events, uint64_t of)> progress;  // may be empty
};

struct ExtractReport {
  uint64_t launches = 0;  // kernels of the part
  uint64_t executed = 0;  // kernels that were executed before it
  // Buffers that live where it begins, by where their bytes come from.
  uint64_t from_trace = 0;
  uint64_t from_emulator = 0;
  uint64_t compared = 0;  // contents that the trace has, with what came out
  uint64_t different = 0;
  uint64_t dropped_relocations = 0;  // TraceCopy::dropped_relocations()
  std::vector<std::string> notes;
};

// Makes the file once everything before the part was executed, and seals it. Errors:
// kUnsupported: the emulator does not execute a kernel, or contents that the part may depend on
// are not in the trace; kMismatch: what the emulator computed is not what was recorded.
Result<ExtractReport> extract(const format::Trace& trace, const TracePart& part,
                              const std::string& output, const ExtractOptions& options);

}  // namespace gfxgraph::tools
