// Holds data that waits for host functions of the program: bytes that they write before device work
// reads them. They are known when the functions have run; until then the writer gets no later
// event. Requires the recorder's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recorder/core.h"
#include "recorder/events/deferred_data.h"
#include "recorder/events/flights.h"
#include "recorder/memory/contents.h"
#include "recorder/memory/late_reads.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/objects/allocations.h"

namespace gfxgraph::recorder {

// The node and its predecessors.
std::vector<bool> nodes_before(const std::vector<format::GraphNode>& nodes, size_t node);

class Deferrals : private Part {
 public:
  Deferrals(const Core& core, const Allocations& allocations, const Flights& flights,
            DeferredData& deferred, Contents& contents, TracedMemory& traced,
            LateReads& late_reads) noexcept
      : Part(core),
        allocations_(allocations),
        flights_(flights),
        deferred_(deferred),
        contents_(contents),
        traced_(traced),
        late_reads_(late_reads) {}

  // For the `ordinal`-th host function node. `early`: it does not wait for preceding work, which
  // may be any work; then nothing reports who reads.
  void defer_effect(uint64_t run, format::Graph& graph, size_t ordinal, bool early);
  // Fills in known data, and marks events that must not be written yet; `all`: takes the current
  // bytes. Requires the drain lock too.
  void resolve(bool all);

 private:
  std::vector<bool> nodes_done(const std::vector<format::GraphNode>& nodes,
                               const std::vector<bool>& before);
  bool is_plain(format::AllocationId id) const;
  std::vector<Flight> nodes_beside(const std::vector<format::GraphNode>& nodes, size_t function,
                                   bool early);
  void leave_later_targets(format::Content& content, format::AllocationId first_later);
  std::vector<format::Copy> copies_of(const DeferredEffect& effect, const format::Copy& pattern);
  void write_effect(DeferredEffect& effect);

  const Allocations& allocations_;
  const Flights& flights_;
  DeferredData& deferred_;
  Contents& contents_;
  TracedMemory& traced_;
  LateReads& late_reads_;
};

}  // namespace gfxgraph::recorder
