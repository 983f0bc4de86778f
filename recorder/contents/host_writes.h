// Finds the program's own writes to host-visible memory by comparison, before work may read them.
// Writes of device work are the device's, from the moment when the host knows that the work is
// done. The recorder's lock guards it.
//
// While work is in flight over a block of such memory, the trace's state of the block is kept as
// bytes (saved_blocks). What differs from them beside the ranges of copies was written by a kernel
// or by the program, and nothing tells which. So the recorder looks at moments at which only one of
// them can have written:
// - While a launch is being issued, and while a call of the program waits for a kernel, the
//   thread of the program cannot write: what changes is the kernel's. What changes in memory of
//   another thread is that thread's; if this launch was given it, too, the change is in doubt.
// - Memory that no kernel in flight was given changes by the program only.
// - What had changed before, when the wait began, is in doubt. What it holds when the kernel is
//   known to have ended is recorded as written by the program: the bytes are right either way,
//   but a replay does not compare what it is told to write. A finding says so.
// - When work is issued that was given the same memory, or follows a kernel that was and may have
//   stored the address, and may read what is in doubt, the bytes may not be the kernel's last ones:
//   they are read behind the work that the reader follows (contents_reads.cpp).
// Nothing waits. With --wait there is less doubt: each launch of a kernel that reaches memory of
// the host waits for a short while, and a reader of what is in doubt waits for the kernel; a
// program that does this once is from then on waited for at each launch. A kernel that does not end
// in time may wait for the host: from then on nothing waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "recorder/contents/contents.h"
#include "recorder/contents/flights.h"
#include "recorder/contents/host_blocks.h"
#include "recorder/contents/host_runs.h"
#include "recorder/contents/kept_bytes.h"
#include "recorder/core.h"
#include "recorder/model/allocations.h"
#include "recorder/model/events.h"
#include "recorder/model/graph_model.h"
#include "recorder/work.h"

namespace gfxgraph::recorder {

class HostWrites final : public Landing, private Part {
 public:
  HostWrites(const Core& core, ByteStore& store, Allocations& allocations, Flights& flights,
             HostRuns& runs, Events& events, Contents& contents) noexcept
      : Part(core),
        store_(store),
        allocations_(allocations),
        flights_(flights),
        runs_(runs),
        events_(events),
        contents_(contents) {}

  // Bytes that changed since they were last taken in were changed by the program: writes of device
  // work are taken in when it is done. `reader`: work that is about to be issued and may read them;
  // nullptr: ambiguous bytes stay so.
  void check_host_writes(Allocation& allocation, uint64_t offset, uint64_t size_bytes,
                         const Work* reader = nullptr);
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
  // See Contents::may_overtake_reads().
  void host_learns() override;
  void may_overtake_reads(const Work& work);
  void read_is_over(uint32_t read) { flights_.forget_read(read); }

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
  bool told_meanwhile(Allocation& allocation, uint64_t block, std::span<const std::byte> bytes);
  // Under flights. Also where nothing was.
  static bool holds_what_was_saved(const Allocation& allocation, uint64_t block);
  bool may_find(Allocation& allocation, format::StreamId stream);
  void write_from_host(Allocation& allocation, uint64_t begin, std::span<const std::byte> bytes,
                       bool in_doubt = false);
  void write_from_host(Allocation& allocation, uint64_t begin, uint64_t size_bytes,
                       const ReadPiece& read);

  void check_around_flights(Allocation& allocation, uint64_t block, std::span<const Flight> flights,
                            std::span<const std::byte> now);
  // Who wrote what has changed since the last look.
  enum class Writer : uint8_t { kDevice, kProgram, kEither };
  static Writer writer_beside(const Allocation& allocation, bool named) noexcept;
  void take_in(Allocation& allocation, uint64_t begin, std::span<const std::byte> now,
               Writer writer);
  void take_in(Allocation& allocation, Writer writer);
  static bool nothing_to_take_in(const Allocation& allocation, uint64_t begin, uint64_t size_bytes,
                                 BlockFlights& flights);
  void let_kernels_fly(Work& work, format::StreamId stream);
  void take_in_kernels(const Work& work, bool named_only);
  bool idle_within(Handle stream, std::chrono::microseconds time);
  bool kernels_end_soon(Handle stream);
  void land_block(Allocation& allocation, uint64_t block, std::span<const Flight> landing,
                  std::span<const std::byte> now);
  void land_plain(Allocation& allocation, std::span<const Flight> landing, KeptBytes now);

  static bool changed_in_flight(const Allocation& allocation, uint64_t block,
                                const HashedBytes& saved, std::span<const Flight> over);
  bool in_doubt(Allocation& allocation, uint64_t first_block, uint64_t last_block);
  std::set<uint64_t> end_doubt(Allocation& allocation, uint64_t offset, uint64_t size_bytes,
                               const Work& reader);
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

  std::chrono::microseconds patience_{10'000};
  bool patient_ = false;
  bool kernels_wait_for_host_ = false;  // one did not end: nothing waits for others
};

}  // namespace gfxgraph::recorder
