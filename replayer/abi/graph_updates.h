// Determines which nodes of an executable graph can get other values in place on this runtime: by
// trial, because runtimes are known to report success and launch the old values
// (base/hip_quirks.inc, kExecUpdateUnreliable).
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace gfxgraph::replayer {

class HipLibrary;
class PacketCode;
class PacketDevice;

struct GraphUpdates {
  bool kernels = false;
  bool copies = false;  // linear ones
  bool memsets = false;
};

// Results of the trials on one runtime. Thread-safe.
class UpdateTrials {
 public:
  // The first call for an architecture makes a graph of three nodes with its own stream and memory,
  // sets their values, compares, sets them back and compares again; later calls return its result.
  // Any failure counts as "no".
  GraphUpdates find(const HipLibrary& library, const std::string& architecture);
  // Whether a kernel that is launched through entry code (entry_code.h) by a graph gets the
  // arguments that its memory holds when the graph is launched.
  bool find_entries(const HipLibrary& library, const PacketDevice& device, PacketCode& code,
                    const std::string& architecture);
  // The results of later calls; for measurements on a device that executes nothing.
  void assume(const std::string& architecture, GraphUpdates updates, bool entries);

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::string, GraphUpdates>> found_;  // by architecture
  std::vector<std::pair<std::string, bool>> found_entries_;
};

}  // namespace gfxgraph::replayer
