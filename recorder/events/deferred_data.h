// What waits for host functions of the program, because they may write what device work reads:
// sources of copies, and memory that kernels reach. It enters the trace later than its position,
// when they have ended (work/deferrals.h); until then the writer gets no later event.
//
// Its lists change under the recorder's lock and that of HostRuns; the latter is taken here, unless
// stated otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "format/trace.h"
#include "pointers/word_resolver.h"
#include "recorder/bytes/kept_bytes.h"
#include "recorder/core.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_effects.h"
#include "recorder/events/sources_in_flight.h"
#include "recorder/events/work.h"
#include "recorder/lock_order.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/raw_actions.h"

namespace gfxgraph::recorder {

// A copy whose source host functions fill.
struct DeferredSource {
  RawCopy raw;
  format::Copy* copy = nullptr;  // in queue_
  const void* item = nullptr;    // the event that it blocks
  std::vector<uint64_t> runs;
  KeptBytes bytes = {};                         // none: not known
  std::shared_ptr<const WordsThen> words = {};  // see hold_words(); empty: their current targets
  format::AllocationId first_later = 0;         // this one and those after it begin behind it
};

// Memory that kernels reach: copies in the trace, before the function.
struct DeferredEffect {
  uint64_t run = 0;
  format::AllocationId first_later = 0;  // this one and those after it begin behind the function
  std::vector<format::Event>* events = nullptr;  // in queue_: of a stream, with one copy to fill
  format::Graph* graph = nullptr;                // in queue_
  size_t ordinal = 0;                            // among the graph's host function nodes
  bool began = false;
  bool ended = false;
  bool early = false;  // called without waiting for its predecessors, which are in `given`
  std::vector<HostEffects::Change> changes = {};
  std::shared_ptr<const WordsThen> words = {};  // see hold_words(); empty: their current targets
  format::HostFunctionId first = 0;             // of its stream's call, or of its graph's launch
  // Work that may run concurrently: memory that kernels were given, ranges that copies write.
  std::set<format::AllocationId> given = {};
  std::set<Flight> copied = {};
  void add(const Flight& flight) {
    if (flight.kernel && flight.named) given.insert(flight.allocation);
    if (!flight.kernel) copied.insert(flight);
  }
  // Ranges that copies read concurrently, and their bytes at the time of the call.
  std::vector<HostEffects::Change> read = {};
  bool was_read_before(const HostEffects::Change& change) const;
  bool changed_what_was_given() const;
  // Blocks that were recorded as a whole since it was issued.
  std::set<std::pair<format::AllocationId, uint64_t>> rewritten = {};
};

class DeferredData : private Part {
 public:
  DeferredData(const Core& core, ByteStore& store, Allocations& allocations, Flights& flights,
               HostRunsMutex& mutex) noexcept
      : Part(core),
        store_(store),
        allocations_(allocations),
        flights_(flights),
        mutex_(mutex),
        sources_in_flight_(core, allocations, flights) {}

  // ---- for HostRuns, which holds its lock -------------------------------------------------------
  void will_run(uint64_t run);
  // On a thread of the runtime: without the recorder's lock.
  void began(uint64_t run);
  // The same. False: its writes have no place in the trace.
  bool ended(uint64_t run, const std::vector<HostEffects::Change>& changes);
  // The same: reads the sources that waited for the run.
  void fill_sources(uint64_t run);
  // It will not run.
  void forget(uint64_t run);
  // The runs that the source waits for have not ended.
  void add(DeferredSource source);
  // For the next trace.
  void forget_trace();

  // ---- with the recorder's lock -----------------------------------------------------------------
  // Before the event of a host function in a stream.
  void defer_effect(uint64_t run, format::StreamId stream);
  // For the `ordinal`-th host function node of a graph. `beside`: the work of other nodes beside
  // it.
  void defer_effect(uint64_t run, format::Graph& graph, size_t ordinal,
                    const std::vector<Flight>& beside, bool early);
  // The event of the work is about to be appended: its runs have the ids from `first` on, and may
  // run beside these.
  void run_beside(const Work& work, format::HostFunctionId first,
                  const std::vector<Flight>& flights);
  // Work that is about to be issued, or was just now.
  void run_beside_functions(const std::vector<Flight>& flights, const Work& work,
                            format::StreamId stream);
  // A copy that is about to be issued; call before searching for writes of functions so far.
  void read_beside_functions(const Allocation& source, uint64_t offset, uint64_t size_bytes,
                             format::StreamId stream);
  bool functions_beside(format::StreamId stream);
  // Those that the next work of the stream waits for.
  std::vector<uint64_t> runs_before(format::StreamId stream);
  bool waits_for_effects(const Work& work);
  bool any_effect();
  // The block is written in its current state. A function that will run may change it, and precedes
  // that in the trace.
  void rewritten(const Allocation& allocation, uint64_t block);
  // The targets of words are about to change. Words that functions have left by now keep their
  // current targets, even if they are inspected later: no memory that begins after the function.
  void hold_words();
  // Fills in known data. Unknown data must not be written yet: the queue is told. `all`: takes the
  // current bytes. Requires the drain lock too.
  struct Known {
    std::vector<DeferredSource> sources;
    std::vector<DeferredEffect> effects;
    size_t cut_off = 0;  // functions that have not ended
  };
  Known take_known(EventQueue& queue, bool all);
  SourcesInFlight& sources_in_flight() noexcept { return sources_in_flight_; }

 private:
  // They require the lock of HostRuns.
  DeferredEffect* effect_of(uint64_t run);
  bool beside(const DeferredEffect& effect, format::StreamId stream) const;

  ByteStore& store_;
  Allocations& allocations_;
  const Flights& flights_;
  HostRunsMutex& mutex_;  // of HostRuns
  std::vector<DeferredSource> sources_;
  std::vector<DeferredEffect> effects_;
  SourcesInFlight sources_in_flight_;
};

}  // namespace gfxgraph::recorder
