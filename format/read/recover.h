// Turns a truncated trace into a sealed one, in a copy or in place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::format {

struct RecoverReport {
  bool intact = false;  // the input was sealed and undamaged: the output is a copy
  std::string reason;   // why the input ends where it does; empty when intact
  uint64_t kept_records = 0;
  uint64_t kept_bytes = 0;  // of the input
  uint64_t lost_bytes = 0;  // of the input, after the last intact record
  Statistics statistics;    // of the output
  std::vector<Finding> findings;
};

// Whether the finding says that the recording was cut off: recover() or close_recording() added it,
// and its detail tells the cause. All others name what the recorder could not record.
inline constexpr const char* kRecoverCall = "gfxgraph recover";
inline constexpr const char* kCloseCall = "gfxgraph-record";
inline bool is_cut(const Finding& finding) {
  return finding.kind == FindingKind::kIncomplete &&
         (finding.call == kRecoverCall || finding.call == kCloseCall);
}

// Copies every intact record of `in` to `out` and seals it. If anything was lost, the output has a
// kIncomplete finding with call "gfxgraph recover" that describes the loss. Errors: `in` has no
// valid head or a newer version; `in` and `out` are the same file; a recording still writes `in`;
// `out` cannot be written.
Result<RecoverReport> recover(const std::filesystem::path& in, const std::filesystem::path& out);

struct Closing {
  // Why the recording was cut off: the beginning of the finding's text.
  std::string reason;
  // When the program started. A recording that began earlier (Environment::start_unix_ns) belongs
  // to another program.
  uint64_t not_before_unix_ns = 0;
};

// The same in place, for the launcher of a program that died: truncates `partial` after its last
// intact record, seals it, and renames it to `out`, which is replaced. The kIncomplete finding has
// the call "gfxgraph-record". If sealing fails, `partial` remains, with its intact records. Errors:
// as recover(), and: `partial` has no intact record; belongs to an earlier recording; is damaged,
// not only truncated (kCorrupt).
Result<RecoverReport> close_recording(const std::filesystem::path& partial,
                                      const std::filesystem::path& out, const Closing& closing);

}  // namespace gfxgraph::format
