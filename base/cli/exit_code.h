// Exit codes of all of gfxgraph's programs: a stable contract, listed in README.md.
#pragma once

#include "base/result.h"

namespace gfxgraph {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,       // the command failed, or a comparison found a difference
  kExitUsage = 2,        // wrong command line
  kExitDataLost = 3,     // a trace is damaged, truncated, or lacks calls of the program
  kExitUnsafeLanes = 4,  // gfxgraph check found errors, or a check of gfxgraph doctor failed
};

constexpr ExitCode exit_code(Status status) noexcept {
  switch (status) {
    case Status::kOk: return kExitOk;
    case Status::kCorrupt:
    case Status::kTruncated:
    case Status::kIncomplete: return kExitDataLost;
    case Status::kUnsafeLane: return kExitUnsafeLanes;
    default: return kExitFailed;
  }
}

}  // namespace gfxgraph
