#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace gfxgraph {

const char* status_name(Status status) noexcept {
  switch (status) {
    case Status::kOk: return "ok";
    case Status::kInvalidArgument: return "invalid argument";
    case Status::kNotFound: return "not found";
    case Status::kUnsupported: return "unsupported";
    case Status::kCorrupt: return "corrupt";
    case Status::kTruncated: return "truncated";
    case Status::kVersion: return "version";
    case Status::kIo: return "io";
    case Status::kOutOfMemory: return "out of memory";
    case Status::kDevice: return "device";
    case Status::kMismatch: return "mismatch";
    case Status::kUnsafeLane: return "unsafe lane";
    case Status::kInternal: return "internal";
    case Status::kIncomplete: return "incomplete";
    case Status::kNotReady: return "not ready";
  }
  return "unknown";
}

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "gfxgraph: internal error: %s does not hold (%s:%d)\n", condition, file,
               line);
  std::abort();
}

}  // namespace gfxgraph
