// Which nodes of an executable graph can be given other values in place on this runtime: found by
// trial, since runtimes are known to report success and launch the old values
// (base/hip_quirks.inc, kExecUpdateUnreliable).
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace gfxgraph::replayer {

class HipLibrary;

struct GraphUpdates {
  bool kernels = false;
  bool copies = false;  // linear ones
  bool memsets = false;
};

// What was found so far on one runtime. Thread-safe.
class UpdateTrials {
 public:
  // The first call for an architecture makes a graph of three nodes on a stream and memory of its
  // own, sets their values, looks, sets them back and looks again; the others take its answer.
  // Whatever fails counts as "no".
  GraphUpdates find(const HipLibrary& library, const std::string& architecture);
  // The answer of later calls; for measurements on a device that runs nothing.
  void assume(const std::string& architecture, GraphUpdates updates);

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::string, GraphUpdates>> found_;  // by architecture
};

}  // namespace gfxgraph::replayer
