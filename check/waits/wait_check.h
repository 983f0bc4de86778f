// The missing waits (wait_analysis.h) of the instructions that a trace executes.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/waits/wait_analysis.h"

namespace gfxgraph::check {

// Add all kernels before the first one runs. Called functions are not analysed.
class WaitCheck {
 public:
  // Analyses a kernel. Returns why not all of it was, or "".
  std::string add_kernel(uint64_t entry, const emulator::RegionTable& memory,
                         size_t most_instructions = SIZE_MAX);
  // Host memory that the results take, about.
  uint64_t kept_bytes() const { return kept_bytes_; }
  // Called by LaneObserver::decoded() before an instruction runs for the first time. Thread-safe.
  void note_reached(uint64_t pc);
  // Called when a FLAT instruction reads LDS. Thread-safe.
  void note_flat_lds(uint64_t pc) {
    if (any_flat_) note(pc, &Reached::in_lds);
  }
  // The places of a kernel whose instructions were executed.
  std::vector<MissingWait> reached_places(uint64_t entry) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<MissingWait>> kernels_;  // by entry
  uint64_t kept_bytes_ = 0;
  struct Reached {
    bool executed = false;
    bool in_lds = false;  // by a FLAT instruction
  };
  void note(uint64_t pc, bool Reached::* what);
  std::unordered_map<uint64_t, Reached> reached_;  // all places, by pc
  bool any_flat_ = false;                          // of them
};

}  // namespace gfxgraph::check
