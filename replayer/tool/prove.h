// gfxgraph-replay --prove: whether a replay depends on where its memory lies, or on what fresh
// memory holds.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gfxgraph::replayer {

// One way to place and fill the memory of a replay: values of --layout and --fresh.
struct ProveSetting {
  const char* layout;
  const char* fresh;
};

struct ProveRequest {
  std::string trace;
  std::string json;  // a file, or - for stdout; empty: none
  bool quiet = false;
};

// Replays and compares once with each setting, in processes of their own. `replay` runs there: it
// writes its report to the given file descriptor as JSON, and returns its exit code. The caller
// must not have loaded HIP, nor have other threads. Returns the worst exit code.
Result<int> prove(const ProveRequest& request,
                  const std::function<int(const ProveSetting&, int report)>& replay);

// What `replay` writes its report with.
Result<void> send_report(int to, std::string_view text);

}  // namespace gfxgraph::replayer
