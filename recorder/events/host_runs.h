// Host functions of the program: which will run, which run, which the host knows to have run. Their
// writes and the work that waits for them are parts of their own under the same lock (effects(),
// deferred()).
//
// The runtime's threads call into it while a function runs. Its own lock is taken last, and never
// held during a wait; methods marked so also need the recorder's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "recorder/bytes/kept_bytes.h"
#include "recorder/core.h"
#include "recorder/events/deferred_data.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_effects.h"
#include "recorder/events/work.h"
#include "recorder/lock_order.h"
#include "recorder/objects/allocations.h"

namespace gfxgraph::recorder {

class HostRuns : private Part {
 public:
  HostRuns(const Core& core, ByteStore& store, Allocations& allocations, Flights& flights) noexcept
      : Part(core),
        deferred_(core, store, allocations, flights, mutex_),
        effects_(store, allocations, mutex_) {}

  // What they write into memory that kernels reach.
  HostEffects& effects() noexcept { return effects_; }
  // What waits for them.
  DeferredData& deferred() noexcept { return deferred_; }

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
  // 0: none.
  format::HostFunctionId id_of(uint64_t token) const;
  // The trace reports that this one ran.
  void told(uint64_t token);
  std::vector<uint64_t> runs_to_come();
  // The copy's source is read when its runs have ended; those that have are taken out.
  void defer(DeferredSource source);
  // For half a second at most: the device may be idle before the runtime's thread has left a
  // function that reports it.
  void wait_for_functions();
  // For the next trace.
  void forget_trace();

 private:
  std::atomic<bool> any_ran_{false};
  // With the recorder's lock.
  uint64_t next_run_ = 1;
  std::unordered_map<uint64_t, format::HostFunctionId> ids_;  // of runs still to come
  std::unordered_map<uint64_t, Work*> issuing_;               // by run: not appended yet

  HostRunsMutex mutex_;
  std::vector<uint64_t> ran_;
  std::unordered_map<HostCall*, std::shared_ptr<HostCall>> host_calls_;  // that the runtime has
  std::unordered_set<uint64_t> running_;  // runs that began and have not ended
  DeferredData deferred_;
  HostEffects effects_;
};

}  // namespace gfxgraph::recorder
