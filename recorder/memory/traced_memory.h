// Which memory is in the trace. An allocation enters it with its contents and with everything that
// its words point to, and leaves it when the program gives it back. The recorder's lock guards it.
//
// If only ranges are recorded, an allocation enters the trace when work of a range is about to use
// it, and leaves it at the range's end; the next range begins it anew, under another id.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "format/trace.h"
#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/code_registry.h"
#include "recorder/selection/stretch.h"

namespace gfxgraph::recorder {

class Code;
class Contents;
class HostRuns;
class HostWrites;
class LateReads;

// Data for events that wait in the queue.
enum class Filling : uint8_t { kNothing, kContent, kLastState };

// An allocation whose release was requested. See BufferCalls::freeing().
struct FreedMemory {
  std::shared_ptr<Allocation> allocation;
  format::Content post;
  // Instead of `post`: the final contents are being read, after the work of the stream.
  std::unique_ptr<StreamRead> last_state;
  std::shared_ptr<const WordsThen> words;
  Handle stream = nullptr;  // the call is ordered by it
  bool ended = false;       // its AllocationEnd is appended
  // Of the call: another thread may append the end.
  uint32_t thread = 0;
  format::SiteId site = 0;
};
using Freeing = std::shared_ptr<FreedMemory>;

class TracedMemory : private Part {
 public:
  TracedMemory(const Core& core, Allocations& allocations, Stretch& stretch, HostRuns& runs,
               Events& events, Contents& contents, LateReads& late_reads, HostWrites& host_writes,
               Code& code) noexcept
      : Part(core),
        allocations_(allocations),
        stretch_(stretch),
        runs_(runs),
        events_(events),
        contents_(contents),
        late_reads_(late_reads),
        host_writes_(host_writes),
        code_(code) {}

  // ---- it enters --------------------------------------------------------------------------------
  // It enters and leaves the map of what the program has.
  std::vector<std::shared_ptr<Allocation>> map(std::shared_ptr<Allocation> allocation);
  void unmap(uint64_t address);
  void insert_allocation(std::shared_ptr<Allocation> allocation, format::AllocationBegin begin);
  // With its initial content, as --contents requires, and everything that this points to. Does
  // nothing if it is in the trace.
  void take_in_trace(Allocation& allocation);
  void know_device(format::DeviceNumber device) { events_.know_device(device); }
  // Variables of a module whose kernel is about to run.
  void take_in_variables(ModuleEntry& module);

  // ---- it ends ----------------------------------------------------------------------------------
  void end_allocation(const Allocation& allocation, bool freed, format::StreamId stream,
                      format::Content post);
  // The runtime is about to get the memory back: until forget_freeing(), the memory ends before
  // another allocation begins at its addresses, which only a call that has freed it can cause.
  void note_freeing(const Freeing& freeing);
  void forget_freeing(const Freeing& freeing);
  // Unless it has ended.
  void end_freed(FreedMemory& freed);
  // A variable that was kept between two sections.
  void end_kept(Allocation& allocation, bool freed);

  // ---- words ------------------------------------------------------------------------------------
  // The targets of words that are about to enter the trace, in the content of `holder` or in a
  // launch. Words that point to memory which was freed outside of the range keep their values, also
  // in a replay: if the range gets the address again, a word in memory may mean either.
  void take_in_targets(std::vector<format::Relocation>& relocations,
                       std::span<const std::byte> bytes, const Allocation* holder);
  // `held_at`: the word at an offset.
  void take_in_targets(std::vector<format::Relocation>& relocations,
                       const std::function<uint64_t(uint64_t)>& held_at, const Allocation* holder);
  // Kernels reach the targets. `in_memory`: any kernel does.
  void mark_reachable(std::span<const format::Relocation> relocations, bool in_memory = false);
  void make_reachable(Allocation& allocation);
  // In this section: addresses that pointed to freed memory. Launches read it.
  const std::unordered_set<uint64_t>& stale_words() const noexcept { return stale_words_; }
  // While queued events wait for data, nothing else enters the trace. Returns what was set before.
  Filling filling(Filling now) noexcept { return std::exchange(filling_, now); }

  // A section begins or ends: nothing in it is ordered or found.
  void stretch_begins() noexcept { stretches_ordered_ = false; }
  void stretch_ends();

 private:
  bool is_fresh(const Allocation& allocation) const;
  void append_words(const Allocation& allocation, const format::Content& whole);
  void take_in_trace(Allocation& allocation, format::AllocationBegin begin);
  // nullptr: it was freed.
  std::shared_ptr<const format::ImageObject> take_in_resource(Allocation& image);
  void refresh(Allocation& variable);

  Allocations& allocations_;
  Stretch& stretch_;
  HostRuns& runs_;
  Events& events_;
  Contents& contents_;
  LateReads& late_reads_;
  HostWrites& host_writes_;
  Code& code_;

  Filling filling_ = Filling::kNothing;
  std::vector<Freeing> freeings_;  // by calls in progress
  unsigned taking_in_ = 0;         // calls of take_in_trace() in progress
  std::vector<format::AllocationId> in_a_cycle_;
  bool stretches_ordered_ = false;  // in the trace: this one and those before it
  std::unordered_set<uint64_t> stale_words_;
  std::unordered_set<format::AllocationId> freed_;  // in this stretch
};

}  // namespace gfxgraph::recorder
