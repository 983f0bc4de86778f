// Collects the observers' events, with one entry per kernel, instruction and class.
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

#include "check/budget.h"
#include "check/report/finding.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {

// Launch, workgroup and wave of an event, which order events as if waves ran one after another.
struct EventPlace {
  uint64_t launch = 0;
  uint64_t group = 0;  // linear workgroup number
  uint32_t wave = 0;
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
};

struct LaneEvent {
  FindingClass finding_class = FindingClass::kE1;
  EventPlace place;
  uint64_t trace_event = 0;  // event of the launch; 0: the current event
  uint64_t pc = 0;
  emulator::Op op = emulator::Op{0};
  uint64_t lanes = 0;
  uint64_t exec = 0;
  uint64_t address = 0;  // of the first lane in `lanes`
  uint32_t access_bytes = 0;
  bool write = false;
  // Low half of the pc of the last write to the address register; 0: unknown.
  uint32_t written_by = 0;
  emulator::Space space = emulator::Space::kGlobal;
  uint64_t space_bytes = 0;  // LDS: size of the workgroup's; scratch: size of the lane's
  uint64_t pointer = 0;      // E6: address of the buffer that the lanes should access; 0: none
  const char* address_class = "";
  std::string mnemonic;  // "": the mnemonic of `op`
  std::string detail;
  uint64_t other_pc = 0;  // of the other access in `detail`; 0: none
};

struct Site {
  LaneEvent first;
  uint64_t events = 0;
  uint64_t lanes_total = 0;
  std::vector<LaunchRange> launches;
  uint64_t event_sequence = 0;  // of `first`
  std::optional<NearestBuffer> nearest;
  std::string owner;  // E6: owner of the memory that the first event accesses
};

// add() is thread-safe; which event is the first does not depend on timing.
class Sites {
 public:
  struct Key {
    uint32_t kernel = 0;
    uint64_t pc = 0;
    FindingClass finding_class = FindingClass::kE1;
    auto operator<=>(const Key&) const = default;
  };

  // Only events for which `filter` returns true are added. It may be called from several threads at
  // once.
  void set_filter(std::function<bool(uint32_t kernel, const LaneEvent& event)> filter) {
    filter_ = std::move(filter);
  }
  // From now on, entries count in the budget, which must outlive this; what is over it is dropped.
  void set_budget(Budget& budget) { budget_ = &budget; }
  // `kernel`: id in the trace; 0: unknown.
  void add(uint32_t kernel, const LaneEvent& event);
  // Entries that are new, or got an earlier first event, have no nearest buffer yet. Look it up
  // after each launch, because buffers change. Call while no kernel runs.
  std::map<Key, Site>& all() { return sites_; }

 private:
  bool take(uint64_t size_bytes);

  std::function<bool(uint32_t kernel, const LaneEvent& event)> filter_;
  Budget* budget_ = nullptr;
  std::mutex mutex_;
  std::map<Key, Site> sites_;
};

}  // namespace gfxgraph::check
