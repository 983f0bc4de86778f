// A recorder whose every answer may be an error. The library finds it in a program that exports its
// symbols (gfxgraph_recorder_captures).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/live/captures.h"
#include "base/result.h"

namespace gfxgraph::replayer::testing {

// What it does.
struct FakeRecorder {
  std::vector<std::string> calls;
  std::string fails;  // the call that does
  Status status = Status::kIncomplete;
  std::string path;  // of the trace that end() gives
  live::Objects objects;
  uint64_t open = 0;
  bool capturing = false;

  live::Answer called(const char* name);
};
// Null: there is none.
extern FakeRecorder* recorder;

}  // namespace gfxgraph::replayer::testing
