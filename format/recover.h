// Makes a sealed trace of a torn one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

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
};

// Copies every whole record of `in` to `out` and seals it. When anything was lost the output
// carries a finding kIncomplete of the call "gfxgraph recover" that says what. Errors: `in` has no
// valid head or is newer; `in` and `out` are one file; a recording still writes `in`; `out` cannot
// be written.
Result<RecoverReport> recover(const std::filesystem::path& in, const std::filesystem::path& out);

}  // namespace gfxgraph::format
