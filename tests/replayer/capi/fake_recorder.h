// A recorder whose every answer may be an error. The library finds it in a program that exports its
// symbols (gfxgraph_recorder_captures).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/live/captures.h"
#include "base/result.h"
#include "format/held_trace.h"

namespace gfxgraph::replayer::testing {

// What it does.
struct FakeRecorder {
  std::vector<std::string> calls;
  std::string fails;  // the call that does
  Status status = Status::kIncomplete;
  std::string path;                               // of the trace that end() gives
  std::shared_ptr<const format::HeldTrace> held;  // or this one: hold()
  int released = 0;                               // how often end() gave that, and it came back
  live::Objects objects;
  uint64_t open = 0;
  bool capturing = false;

  live::Answer called(const char* name);
  // Holds the trace of a file, instead of handing that over.
  void hold(const std::string& file);
};
// Null: there is none.
extern FakeRecorder* recorder;

}  // namespace gfxgraph::replayer::testing
