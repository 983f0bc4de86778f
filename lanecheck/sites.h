// Gathers the observer's events into one entry per kernel, instruction and class.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "emulator/engine/observer.h"
#include "lanecheck/finding.h"

namespace gfxgraph::lanecheck {

// Where and when; ordered as the program would run on one core.
struct EventPlace {
  uint64_t launch = 0;
  uint64_t group = 0;  // linear workgroup number
  uint32_t wave = 0;
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
};

struct LaneEvent {
  FindingClass finding_class = FindingClass::kE1;
  EventPlace place;
  uint64_t trace_event = 0;  // of the launch; 0: the current event
  uint64_t pc = 0;
  emulator::Op op = emulator::Op{0};
  uint64_t lanes = 0;
  uint64_t exec = 0;
  uint64_t address = 0;  // of the first of these lanes
  uint32_t access_bytes = 0;
  bool write = false;
  uint32_t written_by = 0;  // low half of the pc of the address's last writer, 0: unknown
  emulator::Space space = emulator::Space::kGlobal;
  uint64_t space_bytes = 0;  // LDS: of the workgroup; scratch: of the lane
  uint64_t pointer = 0;      // E6: address of the buffer that the lanes should be in; 0: none
  const char* address_class = "";
  std::string mnemonic;  // "": that of `op`
  std::string detail;
  uint64_t other_pc = 0;  // of the access that `detail` speaks of; 0: none
};

struct Site {
  LaneEvent first;
  uint64_t events = 0;
  uint64_t lanes_total = 0;
  std::vector<LaunchRange> launches;
  uint64_t event_sequence = 0;  // of the first
  std::optional<NearestBuffer> nearest;
  std::string owner;  // E6: of the memory that the first event lands in
};

// Thread-safe. Which event is the first does not depend on the threads' timing.
class Sites {
 public:
  struct Key {
    uint32_t kernel = 0;
    uint64_t pc = 0;
    FindingClass finding_class = FindingClass::kE1;
    auto operator<=>(const Key&) const = default;
  };

  // What is asked about each event before it is added; may be called from several threads at a
  // time.
  void set_filter(std::function<bool(uint32_t kernel, const LaneEvent& event)> filter) {
    filter_ = std::move(filter);
  }
  void add(uint32_t kernel, const LaneEvent& event);
  // Those that are new or got an earlier first event since the last call have no nearest buffer
  // yet: buffers come and go, so it is looked up after each launch.
  std::map<Key, Site>& all() { return sites_; }

 private:
  std::function<bool(uint32_t kernel, const LaneEvent& event)> filter_;
  std::mutex mutex_;
  std::map<Key, Site> sites_;
};

}  // namespace gfxgraph::lanecheck
