// Holds data that waits for host functions of the program: bytes that they write before device work
// reads them. They are known when the functions have run; until then the writer gets no later
// event. Requires the recorder's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recorder/contents/contents.h"
#include "recorder/contents/deferred.h"
#include "recorder/contents/flights.h"
#include "recorder/contents/host_runs.h"
#include "recorder/core.h"
#include "recorder/model/allocations.h"

namespace gfxgraph::recorder {

// The node and its predecessors.
std::vector<bool> nodes_before(const std::vector<format::GraphNode>& nodes, size_t node);

class Deferrals : private Part {
 public:
  Deferrals(const Core& core, const Allocations& allocations, const Flights& flights,
            HostRuns& runs, Contents& contents) noexcept
      : Part(core),
        allocations_(allocations),
        flights_(flights),
        runs_(runs),
        contents_(contents) {}

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
  HostRuns& runs_;
  Contents& contents_;
};

}  // namespace gfxgraph::recorder
