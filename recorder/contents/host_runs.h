// Host functions of the program: which will run, which run, which the host knows to have run; and
// the work that waits for them, because they may write what device work reads: sources of copies,
// and memory that kernels reach.
//
// The runtime's threads call into it while a function runs. Its own lock is taken last, and never
// held during a wait; methods marked so also need the recorder's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "recorder/contents/deferred.h"
#include "recorder/contents/flights.h"
#include "recorder/contents/host_effects.h"
#include "recorder/contents/kept_bytes.h"
#include "recorder/core.h"
#include "recorder/model/allocations.h"
#include "recorder/work.h"

namespace gfxgraph::recorder {

class HostRuns : private Part {
 public:
  HostRuns(const Core& core, ByteStore& store, Allocations& allocations,
           const Flights& flights) noexcept
      : Part(core), store_(store), allocations_(allocations), flights_(flights) {}

  // ---- for hooks --------------------------------------------------------------------------------
  // Keeps it alive until it has run. Functions of graph nodes stay for the life of the process: the
  // runtime copies their pointers, and runs them after hipGraphExecDestroy() has returned if a
  // launch is still in flight; no call reports when the last one is done. nullptr: out of memory.
  std::shared_ptr<HostCall> wrap_host_function(void* function, void* data, bool in_graph) noexcept;
  // A wrapped host function is about to run, on a thread of the runtime: takes no lock that is held
  // while the recorder waits for anything. Work that was issued before it is done. The result keeps
  // `call` alive while the program's function runs.
  struct HostRun {
    std::shared_ptr<HostCall> keep;
    uint64_t token = 0;
  };
  HostRun host_function_runs(HostCall& call) noexcept;
  // It returned, and its writes are visible: sources of copies that wait for it are read.
  void host_function_ran(const HostRun& run) noexcept;

  // ---- runs, each with a token; with the recorder's lock ----------------------------------------
  // It is part of a captured graph now, and stays.
  void in_graph(HostCall& call);
  // The work, which is about to be issued, will run these.
  void will_run(Work& work, std::vector<std::shared_ptr<HostCall>> calls, Handle executable);
  // The call failed, or its work is now a node of a capture: nothing runs yet. Takes the lock.
  void forget_runs(Work& work) noexcept;
  // Some ran that the trace does not report yet. Any thread; no lock.
  bool any_ran() const noexcept { return any_ran_.load(std::memory_order_acquire); }
  // Those, in order. Returned ones were not issued yet.
  std::vector<uint64_t> take_ran();
  void give_back_ran(const std::vector<uint64_t>& tokens);
  // The work whose call has not returned yet; nullptr: it has.
  Work* issuing(uint64_t token) const;
  // The event of the work is about to be appended: its runs have the ids from `first` on.
  void issued(const Work& work, format::HostFunctionId first);
  // The work that they run beside.
  void run_beside(const Work& work, format::HostFunctionId first,
                  const std::vector<Flight>& flights);
  // 0: none.
  format::HostFunctionId id_of(uint64_t token) const;
  // The trace reports that this one ran. Until told(), completed work is attributed to its report.
  void telling(uint64_t token) noexcept { telling_ = token; }
  void told(uint64_t token);
  std::vector<uint64_t> runs_to_come();
  // Those that the next work of the stream waits for.
  std::vector<uint64_t> runs_before(format::StreamId stream);
  // For half a second at most: the device may be idle before the runtime's thread has left a
  // function that reports it.
  void wait_for_functions();

  // ---- what they write into memory that kernels reach -------------------------------------------
  void watch(Allocation& allocation);
  void unwatch(Allocation& allocation);
  // Writes of host functions are in the trace, and must not be found again as writes of the
  // program.
  void take_effects();
  // Like HostEffects::changed_meanwhile(). nullopt: one has ended since take_effects().
  std::optional<HostEffects::Meanwhile> changed_meanwhile(
      const Allocation& allocation, uint64_t block, std::span<const std::byte> bytes,
      std::vector<HostEffects::Change>& changes);
  // The block is written in its current state. A function that will run may change it, and precedes
  // that in the trace.
  void rewritten(const Allocation& allocation, uint64_t block);
  // Whether the block also had its known content when the function that reported the work began. If
  // that was not recorded, kernels are assumed to have written nothing that the program undid.
  bool told_unchanged(const Allocation& allocation, uint64_t block, bool copies);
  // The contents at that time of memory that only copy nodes write.
  KeptBytes told_to_hold(const Allocation& allocation);

  // ---- what waits for them ----------------------------------------------------------------------
  void defer(DeferredSource source);
  // Before the event of a host function in a stream.
  void defer_effect(uint64_t run, format::StreamId stream);
  // For the `ordinal`-th host function node of a graph. `beside`: the work of other nodes beside
  // it.
  void defer_effect(uint64_t run, format::Graph& graph, size_t ordinal,
                    const std::vector<Flight>& beside, bool early);
  bool waits_for_effects(const Work& work);
  bool any_deferred_effect();
  // Work that is about to be issued, or was just now.
  void run_beside_functions(const std::vector<Flight>& flights, const Work& work,
                            format::StreamId stream);
  bool functions_beside(format::StreamId stream);
  // A copy that is about to be issued; call before searching for writes of functions so far.
  void read_beside_functions(const Allocation& source, uint64_t offset, uint64_t size_bytes,
                             format::StreamId stream);
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
  // For the next trace.
  void forget_trace();

 private:
  DeferredEffect* effect_of(uint64_t run);
  void host_function_ended(uint64_t run);
  bool beside(const DeferredEffect& effect, format::StreamId stream) const;

  ByteStore& store_;
  Allocations& allocations_;
  const Flights& flights_;

  std::atomic<bool> any_ran_{false};
  // With the recorder's lock.
  uint64_t next_run_ = 1;
  std::unordered_map<uint64_t, format::HostFunctionId> ids_;  // of runs still to come
  std::unordered_map<uint64_t, Work*> issuing_;               // by run: not appended yet
  uint64_t telling_ = 0;

  std::mutex mutex_;
  std::vector<uint64_t> ran_;
  std::unordered_map<HostCall*, std::shared_ptr<HostCall>> host_calls_;  // that the runtime has
  std::unordered_set<uint64_t> running_;  // runs that began and have not ended
  // Lists change under the recorder's lock too.
  std::vector<DeferredSource> deferred_;
  std::vector<DeferredEffect> deferred_effects_;
  HostEffects effects_{store_};
  std::atomic<bool> any_effect_{false};
  std::vector<HostEffects::Effect> ended_effects_;  // not yet taken into the known state
};

}  // namespace gfxgraph::recorder
