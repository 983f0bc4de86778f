// Finds the program's own writes to host-visible memory by comparison, before work may read them.
// Writes of device work are the device's, from the moment when the host knows that the work is
// done. The recorder's lock guards it.
//
// While work is in flight over a block of such memory, the trace's state of the block is kept as
// bytes (BlockStates::saved). What differs from them beside the ranges of copies was written by a
// kernel or by the program, and nothing tells which. So the recorder looks at moments at which only
// one of them can have written:
// - While a launch is being issued, and while a call of the program waits for a kernel, the
//   thread of the program cannot write: what changes is the kernel's. What changes in memory of
//   another thread is that thread's; if this launch was given it, too, the change is in doubt.
// - Memory that no kernel in flight was given changes by the program only.
// - What had changed before, when the wait began, is in doubt. What it holds when the kernel is
//   known to have ended is recorded as written by the program: the bytes are right either way,
//   but a replay does not compare what it is told to write. A finding says so.
// - When work is issued that was given the same memory, or follows a kernel that was and may have
//   stored the address, and may read what is in doubt, the bytes may not be the kernel's last ones:
//   they are read behind the work that the reader follows (late_reads.h).
// - Work whose stream does not follow the kernel finds what that has written so far, and the trace
//   gets these bytes before it. They are put right before the next work that follows the kernel. So
//   no other thread looks between the look before such work and its place in the trace
//   (issuing.h); of calls that wait, what the kernels have left is written before their place.
// Blocks of which the page tables say that nobody wrote them since they were last read are not read
// again (host_writes_pages.cpp).
// Nothing waits. With --wait there is less doubt: each launch of a kernel that reaches memory of
// the host waits for a short while, and a reader of what is in doubt waits for the kernel; a
// program that does this once is from then on waited for at each launch. A kernel that does not end
// in time may wait for the host: from then on nothing waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "recorder/bytes/kept_bytes.h"
#include "recorder/bytes/page_watch.h"
#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_runs.h"
#include "recorder/events/work.h"
#include "recorder/memory/block_ledger.h"
#include "recorder/memory/contents.h"
#include "recorder/memory/host_blocks.h"
#include "recorder/memory/late_reads.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/graph_model.h"

namespace gfxgraph::recorder {

class HostWrites final : public Landing, private Part {
 public:
  HostWrites(const Core& core, ByteStore& store, Allocations& allocations, Flights& flights,
             HostRuns& runs, Events& events, Contents& contents, TracedMemory& traced,
             LateReads& late_reads) noexcept
      : Part(core),
        store_(store),
        allocations_(allocations),
        flights_(flights),
        runs_(runs),
        events_(events),
        contents_(contents),
        traced_(traced),
        late_reads_(late_reads),
        ledger_(core, store, allocations, runs, events, contents, late_reads) {}

  // While it lives, no thread of the program that matters continues: pages of memory are looked at
  // once.
  class Glance {
   public:
    explicit Glance(HostWrites& writes) noexcept : writes_(writes) {
      writes.glance_ = ++writes.glances_;
    }
    ~Glance() { writes_.glance_ = 0; }
    Glance(const Glance&) = delete;
    Glance& operator=(const Glance&) = delete;

   private:
    HostWrites& writes_;
  };

  // Bytes that changed since they were last taken in were changed by the program: writes of device
  // work are taken in when it is done. `reader`: work that is about to be issued and may read them;
  // nullptr: ambiguous bytes stay so. kNothing: what the page tables say is checked, too.
  enum class Trust : uint8_t { kPages, kNothing };
  void check_host_writes(Allocation& allocation, uint64_t offset, uint64_t size_bytes,
                         const Work* reader = nullptr, Trust trust = Trust::kPages);
  // All of it, before its final contents are read.
  void check_last_host_writes(Allocation& allocation);
  // Before kernels that were given these, or follow a kernel in flight that was: it may have stored
  // the address where they find it. Other ambiguous memory stays so.
  void check_reachable_host_writes(const Work& reader, format::StreamId stream);
  // A host function is about to be issued: earlier writes of the program are not attributed to the
  // function, nor written over its results.
  void check_watched_host_writes();
  // A call of the program is about to wait or query: bytes that a kernel in flight may write and
  // that have changed by now may have been written by the program.
  void look_before_wait();
  // For memory that ends in a call which does not wait for all work: nothing waits here either.
  format::Content content_at_end(Allocation& allocation, const char* call);

  // The work is issued: from now on its ranges change by themselves.
  void take_off(Work& work, format::StreamId stream);
  // The work's kernels are issued, and the program's thread has not continued: changes since
  // prepare() were made by kernels.
  void kernels_take_off(Work& work, format::StreamId stream);
  // The host knows that they are done, and has not used that yet: the current bytes are the
  // device's. If the host may have used it already, the bytes are left to be found as host writes,
  // which they may be; they are right in either case.
  void land(const std::vector<Flight>& landing) override;
  // See LateReads::may_overtake().
  void host_learns(bool late) override;
  void may_overtake_reads(const Work& work);

  // For tests, before any memory is watched.
  void watch_pages_with(std::shared_ptr<PageWatch> pages) noexcept {
    pages_ = std::move(pages);
    pages_asked_for_ = true;
  }
  // In a forked child. Takes no lock.
  void abandon() noexcept {
    if (pages_) pages_->abandon();
  }

  // ---- plain host memory that copy nodes write --------------------------------------------------
  // A copy node to plain host memory may be followed by one that reads it, in the same graph: both
  // must stay copies. The memory, with everything that is read along with it, becomes an allocation
  // that lives from the first such launch on.
  void adopt_host_memory(const ExecutableGraph& graph, Work& work);
  // For a copy to plain host memory that partly overlaps such memory: in the trace both write it,
  // or its final contents are unknown, and the copy's bytes there are the host's.
  Allocation* find_adopted_for(uint64_t address, uint64_t size_bytes);
  // The copy, which is done and in the trace, partly writes such memory, and the trace describes it
  // as a copy out of every allocation.
  void write_around_adopted(const RawCopy& raw);
  format::Content last_content(const Allocation& allocation);

 private:
  // host_writes_pages.cpp
  // Whether settled blocks of the memory still hold what they held when they were last read.
  bool look(Allocation& allocation);
  bool begin_watch(Allocation& allocation);
  void note_unseen_write(Allocation& allocation, uint64_t block);
  // Calls `visit` with the saved blocks of [first, last] that may differ from what was saved, or
  // are in doubt, until it returns true.
  template <typename Visit>
  bool any_suspect(Allocation& allocation, uint64_t first, uint64_t last, Visit&& visit);

  bool may_find(Allocation& allocation, format::StreamId stream);
  void take_in(Allocation& allocation, uint64_t begin, std::span<const std::byte> now,
               BlockLedger::Writer writer);
  void take_in(Allocation& allocation, BlockLedger::Writer writer);
  static bool nothing_to_take_in(Allocation& allocation, uint64_t begin, uint64_t size_bytes,
                                 BlockFlights& flights);
  bool lands_as_a_whole(Allocation& allocation, const std::vector<Flight>& landing);
  void let_kernels_fly(Work& work, format::StreamId stream);
  void take_in_kernels(const Work& work, bool named_only);
  bool idle_within(Handle stream, std::chrono::microseconds time);
  bool kernels_end_soon(Handle stream);
  void land_plain(Allocation& allocation, std::span<const Flight> landing, KeptBytes now);

  bool in_doubt(Allocation& allocation, uint64_t first_block, uint64_t last_block);
  std::optional<std::set<uint64_t>> end_doubt(Allocation& allocation, uint64_t offset,
                                              uint64_t size_bytes, const Work& reader);
  bool doubted_kernels_end(const Allocation& allocation, uint64_t offset, uint64_t size_bytes);
  std::optional<std::set<uint64_t>> read_doubted(Allocation& allocation, uint64_t first_block,
                                                 uint64_t last_block, const Work& reader);
  bool read_run(const Allocation& allocation, std::span<DeferredRead::Block> blocks,
                const Work& reader);

  ByteStore& store_;
  Allocations& allocations_;
  Flights& flights_;
  HostRuns& runs_;
  Events& events_;
  Contents& contents_;
  TracedMemory& traced_;
  LateReads& late_reads_;
  BlockLedger ledger_;

  // With --wait.
  struct Waits {
    std::chrono::microseconds patience{10'000};
    bool patient = false;
    bool kernels_wait_for_host = false;  // one did not end: nothing waits for others
  };
  Waits waits_;

  std::shared_ptr<PageWatch> pages_;
  bool pages_asked_for_ = false;
  std::vector<PageRun> written_;  // by the last look
  uint64_t glance_ = 0;           // 0: none
  uint64_t glances_ = 0;
};

template <typename Visit>
bool HostWrites::any_suspect(Allocation& allocation, uint64_t first, uint64_t last, Visit&& visit) {
  const BlockStates& states = allocation.blocks;
  if (!look(allocation)) {
    const auto end = states.saved().upper_bound(last);
    for (auto at = states.saved().lower_bound(first); at != end; ++at)
      if (visit(at->first, at->second)) return true;
    return false;
  }
  uint64_t unsettled = states.next_unsettled(first);
  auto doubted = states.doubted().lower_bound(first);
  while (true) {
    const bool doubt = doubted != states.doubted().end() && *doubted <= unsettled;
    const uint64_t block = doubt ? *doubted : unsettled;
    if (block > last || block >= states.count()) return false;
    if (doubt) ++doubted;
    if (block == unsettled) unsettled = states.next_unsettled(block + 1);
    const HashedBytes* const saved = states.saved(block);
    if (saved != nullptr && visit(block, *saved)) return true;
  }
}

}  // namespace gfxgraph::recorder
