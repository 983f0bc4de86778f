// Reads the contents of memory into the trace: which contents are read, when, and what else enters
// the trace because their words point to it. The recorder's lock guards it.
//
// If only ranges are recorded, an allocation enters the trace when work of a range is about to use
// it, with everything that its words point to, and leaves it at the range's end; the next range
// begins it anew, under another id.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "format/trace.h"
#include "recorder/contents/deferred.h"
#include "recorder/contents/kept_bytes.h"
#include "recorder/core.h"
#include "recorder/model/allocations.h"
#include "recorder/model/code_registry.h"
#include "recorder/model/events.h"
#include "recorder/model/stretch.h"

namespace gfxgraph::recorder {

class Code;
class HostRuns;
class HostWrites;

// Maximum time that the program waits for the device before the recorder gives up on a buffer's
// contents. A kernel may legally wait for the host forever.
inline constexpr uint32_t kSettleTimeoutMs = 5'000;
// Contents of up to this many bytes are read and written in one piece.
inline constexpr size_t kSmallBytes = 64u << 10;

// An allocation whose release was requested. See Recorder::freeing().
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

class Contents : private Part {
 public:
  Contents(const Core& core, ByteStore& store, Allocations& allocations, Stretch& stretch,
           HostRuns& runs, Events& events, HostWrites& host_writes, Code& code) noexcept
      : Part(core),
        store_(store),
        allocations_(allocations),
        stretch_(stretch),
        runs_(runs),
        events_(events),
        host_writes_(host_writes),
        code_(code) {}

  // The call for which contents are read while this object lives. `call` must outlive it.
  class ReadingFor {
   public:
    ReadingFor(Contents& contents, std::string_view call) noexcept
        : contents_(contents), before_(std::exchange(contents.reading_for_, call)) {}
    ~ReadingFor() { contents_.reading_for_ = before_; }
    ReadingFor(const ReadingFor&) = delete;
    ReadingFor& operator=(const ReadingFor&) = delete;

   private:
    Contents& contents_;
    const std::string_view before_;
  };

  // ---- bytes ------------------------------------------------------------------------------------
  format::Content make_content(std::span<const std::byte> bytes, bool store);
  // `holder`: the allocation whose initial content it is, or is read for. `host`: of bytes that a
  // copy brings to a device or from it; those of a holder follow from where it lies.
  using HostAddresses = WordResolver::HostAddresses;
  // What words of this memory count as.
  static HostAddresses host_addresses_in(const Allocation& memory);
  format::Content make_content(std::span<const std::byte> bytes, bool store,
                               const WordResolver& words, const Allocation* holder = nullptr,
                               HostAddresses host = HostAddresses::kNumbers);
  // In pieces that `read` fills. Returns nothing if it failed.
  std::optional<format::Content> take_content(uint64_t size_bytes, bool store,
                                              const WordResolver& words, const Allocation* holder,
                                              const ReadPiece& read,
                                              HostAddresses host = HostAddresses::kNumbers);
  // `held`: the moment, for the message if it cannot be read.
  enum class Held : uint8_t { kFirst, kLast };
  format::Content read_content(const Allocation& allocation, bool store, Held held);
  // As --post says.
  format::Content post_content(const Allocation& allocation);
  // Reports data that should have been kept for later and is lost.
  void note_lost_bytes();

  // ---- allocations ------------------------------------------------------------------------------
  // Enter and leave the map.
  std::vector<std::shared_ptr<Allocation>> map(std::shared_ptr<Allocation> allocation);
  void unmap(uint64_t address);
  void insert_allocation(std::shared_ptr<Allocation> allocation, format::AllocationBegin begin);
  // With its initial content, as --contents requires, and everything that this points to. Does
  // nothing if it is in the trace.
  void take_in_trace(Allocation& allocation);
  void know_device(format::DeviceNumber device) { events_.know_device(device); }
  // Variables of a module whose kernel is about to run.
  void take_in_variables(ModuleEntry& module);
  // Host memory that functions which have not ended may write. `read`: the bytes that its content
  // was made of.
  void append_beginning(format::AllocationBegin begin, const ReadPiece& read);
  // Memory that enters the trace later than the function that changed it.
  void write_into_beginning(const HostEffects::Change& change);
  // Adds the writes of functions so far to its initial content.
  void resolve_beginnings();
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
  void mark_reachable(std::span<const format::Relocation> relocations, bool in_memory = false);
  void make_reachable(Allocation& allocation);
  // In this section: addresses that pointed to freed memory. Launches read it.
  const std::unordered_set<uint64_t>& stale_words() const noexcept { return stale_words_; }

  // ---- reads behind the work of a stream --------------------------------------------------------
  bool any_read() const noexcept { return !reads_.empty(); }
  void read_later(DeferredRead read) { reads_.push_back(std::move(read)); }
  // Before work of `stream` that may write the ranges `by`, or anything, is issued; or (no stream)
  // when the host has learned that work ended, so that the program may write what that work read.
  // Reads that this does not follow may find what it writes.
  void may_overtake_reads(std::span<const Flight> by, bool anything, std::optional<Handle> stream,
                          const Flights& flights);
  // Whether the trace's state of the block is not known, because a read of it has not arrived.
  bool is_being_read(format::AllocationId allocation, uint64_t block_offset) const;
  // A later event has the state of the block.
  void supersede_reads(format::AllocationId allocation, uint64_t block_offset);
  // Takes the results that have arrived, up to the first missing one, because nothing after it can
  // be written anyway. `all`: no more will arrive. A thread that holds only the drain lock does not
  // see the filled data, because it is blocked.
  void resolve_reads(bool all);
  // Data that has not arrived must not be written yet.
  void block_reads(EventQueue& queue) const;
  // While queued events wait for data, nothing else enters the trace.
  void filling(Filling filling) noexcept { filling_ = filling; }

  // A section begins or ends: nothing in it is ordered or found.
  void stretch_begins() noexcept { stretches_ordered_ = false; }
  void stretch_ends();
  // For the next trace.
  void forget_trace();

 private:
  void note_unread(const Allocation& allocation, std::string_view call, Held held);
  // Its content on entering the trace, as --contents requires.
  format::Content first_content(const Allocation& allocation);
  bool leaves_out(const Allocation& allocation) const;
  bool is_fresh(const Allocation& allocation) const;
  void append_words(const Allocation& allocation, const format::Content& whole);
  void take_in_trace(Allocation& allocation, format::AllocationBegin begin);
  // nullptr: it was freed.
  std::shared_ptr<const format::ImageObject> take_in_resource(Allocation& image);
  void take_in_targets(std::vector<format::Relocation>& relocations,
                       const std::function<uint64_t(uint64_t)>& held_at, const Allocation* holder);
  void refresh(Allocation& variable);
  void overtake(DeferredRead& read, const Flight& by, std::optional<Handle> stream);
  bool take_read(DeferredRead& read);
  void told(const DeferredRead& read, const DeferredRead::Block& block,
            std::span<const std::byte> bytes, const std::vector<bool>& written);

  ByteStore& store_;
  Allocations& allocations_;
  Stretch& stretch_;
  HostRuns& runs_;
  Events& events_;
  HostWrites& host_writes_;
  Code& code_;

  std::string_view reading_for_ = "memory";
  size_t unread_ = 0;      // contents that could not be read
  bool left_out_ = false;  // some content was
  Filling filling_ = Filling::kNothing;
  std::deque<DeferredRead> reads_;  // in the order in which they were issued
  std::vector<DeferredBegin> deferred_begins_;
  std::vector<Freeing> freeings_;  // by calls in progress
  unsigned taking_in_ = 0;         // calls of take_in_trace() in progress
  std::vector<format::AllocationId> in_a_cycle_;
  bool stretches_ordered_ = false;  // in the trace: this one and those before it
  std::unordered_set<uint64_t> stale_words_;
  std::unordered_set<format::AllocationId> freed_;  // in this stretch
};

}  // namespace gfxgraph::recorder
