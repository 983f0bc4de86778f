// Makes a sealed trace of a torn one: of a copy, or in its place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::format {

struct RecoverReport {
  bool intact = false;  // the input was sealed and whole: the output is a copy of it
  std::string reason;   // why the input ends where it does; empty when intact
  uint64_t kept_records = 0;
  uint64_t kept_bytes = 0;  // of the input
  uint64_t lost_bytes = 0;  // of the input, behind the last whole record
  Statistics statistics;    // of the output
  std::vector<Finding> findings;
};

// Copies every whole record of `in` to `out` and seals it. When anything was lost the output
// carries a finding kIncomplete of the call "gfxgraph recover" that says what. Errors: `in` has no
// valid head or is newer; `in` and `out` are one file; a recording still writes `in`; `out` cannot
// be written.
Result<RecoverReport> recover(const std::filesystem::path& in, const std::filesystem::path& out);

struct Closing {
  // Why the recording has no end of its own: begins the finding that says so.
  std::string reason;
  // Of which program: a recording that began earlier (Environment::start_unix_ns) is another one's.
  uint64_t not_before_unix_ns = 0;
};

// The same without a copy, for who started the program that died: cuts what is behind the last
// whole record of `partial`, seals the file, and renames it to `out`, which is replaced. The
// finding kIncomplete has the call "gfxgraph-record". When it cannot be sealed, `partial` stays and
// keeps its whole records. Errors, as of recover(), and: it has no whole record; it is of an
// earlier recording; it is not only cut, but damaged (kCorrupt).
Result<RecoverReport> close_recording(const std::filesystem::path& partial,
                                      const std::filesystem::path& out, const Closing& closing);

}  // namespace gfxgraph::format
