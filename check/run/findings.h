// The findings of a check: from the observers' events to the report, with buffers, source lines and
// the program's calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "check/budget.h"
#include "check/launch/loaded_code.h"
#include "check/memory/device_heap.h"
#include "check/memory/device_memory.h"
#include "check/options.h"
#include "check/report/report.h"
#include "check/report/sites.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// Not thread-safe.
class Findings {
 public:
  // All arguments must outlive this.
  Findings(const format::Trace& trace, const CheckOptions& options, Budget& budget, Sites& sites,
           const DeviceMemory& memory, const DeviceHeap& heap, const std::vector<LoadedCode>& code)
      : trace_(trace),
        options_(options),
        budget_(budget),
        sites_(sites),
        memory_(memory),
        heap_(heap),
        code_(code) {}

  // Call after a launch, and when the hazard of a copy, memset or host write was found
  // (`of_transfers`): buffers come and go, so the nearest one is looked up while the launch's
  // buffers live. `launches`: so far. `sequence`: of the current event.
  void describe(uint64_t launches, uint64_t sequence, bool of_transfers = false);
  // Fills in findings, places and calls. False: the report's text is over the budget, and lacks
  // some.
  bool finish(Report& report);

 private:
  void add_heap_places(LaneEvent& event) const;
  std::optional<NearestBuffer> nearest_to(const LaneEvent& event) const;
  Finding make_finding(const Sites::Key& key, const Site& site) const;
  bool take_text(uint64_t size_bytes);
  uint64_t text_bytes(const Sites::Key& key, const Site& site);

  const format::Trace& trace_;
  const CheckOptions& options_;
  Budget& budget_;
  Sites& sites_;
  const DeviceMemory& memory_;
  const DeviceHeap& heap_;
  const std::vector<LoadedCode>& code_;
  std::map<uint32_t, uint64_t> readable_bytes_;  // by kernel: of its readable name, and one
};

}  // namespace gfxgraph::check
