// What memory holds, on its way into the trace: which contents are read, when, and what else gets
// into the trace because their words lead to it. The recorder's lock guards it.
//
// If only ranges are recorded, an allocation gets into the trace when work of a range is about to
// touch it, with all that its words lead to, and leaves it at the range's end; the next range
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

// How long the program is made to wait for the device, at most, before the recorder gives up
// knowing what a buffer holds. A kernel may legally wait for the host for ever.
inline constexpr uint32_t kSettleTimeoutMs = 5'000;
// Contents of up to this many bytes are read and written at once.
inline constexpr size_t kSmallBytes = 64u << 10;

// An allocation whose end was asked for. See Recorder::freeing().
struct Freeing {
  std::shared_ptr<Allocation> allocation;
  format::Content post;
  // Instead of `post`: the last state is on its way, behind the work of the stream.
  std::unique_ptr<StreamRead> last_state;
  std::shared_ptr<const WordsThen> words;
};

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

  // The call for which contents are read as long as this lives. `call` must outlive it.
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
  // `holder`: whose first content it is, or is read.
  format::Content make_content(std::span<const std::byte> bytes, bool store,
                               const WordResolver& words, const Allocation* holder = nullptr);
  // In pieces that `read` fills. Nothing: it failed.
  std::optional<format::Content> take_content(uint64_t size_bytes, bool store,
                                              const WordResolver& words, const Allocation* holder,
                                              const ReadPiece& read);
  // `held`: when, for what is said if it cannot be read.
  enum class Held : uint8_t { kFirst, kLast };
  format::Content read_content(const Allocation& allocation, bool store, Held held);
  // As --post says.
  format::Content post_content(const Allocation& allocation);
  // What was to be kept for later, and is lost.
  void note_lost_bytes();

  // ---- allocations ------------------------------------------------------------------------------
  // Into the map and out of it.
  std::vector<std::shared_ptr<Allocation>> map(std::shared_ptr<Allocation> allocation);
  void unmap(uint64_t address);
  void insert_allocation(std::shared_ptr<Allocation> allocation, format::AllocationBegin begin);
  // With its first content, as --contents says, and all that this leads to; nothing is done where
  // it is in the trace.
  void take_in_trace(Allocation& allocation);
  // Of a module whose kernel is about to run.
  void take_in_variables(ModuleEntry& module);
  // Of the host's memory, which functions that have not ended may write. `read`: what its content
  // was made of.
  void append_beginning(format::AllocationBegin begin, const ReadPiece& read);
  // Memory that the trace knows from a later moment on than the function that changed it.
  void write_into_beginning(const HostEffects::Change& change);
  // What functions have written into it by now stands in its beginning.
  void resolve_beginnings();
  void end_allocation(const Allocation& allocation, bool freed, format::StreamId stream,
                      format::Content post);
  void end_allocation_later(Freeing&& freeing, format::StreamId stream);
  // One that was kept between two stretches.
  void end_kept(Allocation& allocation, bool freed);

  // ---- words ------------------------------------------------------------------------------------
  // The targets of words that are about to get into the trace, in the content of `holder` or in a
  // launch. Words that lead to memory which was freed outside of the range stay as they are, also
  // in a replay: if the range gets the address once more, a word in memory may be one or the other.
  void take_in_targets(std::vector<format::Relocation>& relocations,
                       std::span<const std::byte> bytes, const Allocation* holder);
  void mark_reachable(std::span<const format::Relocation> relocations, bool in_memory = false);
  void make_reachable(Allocation& allocation);
  // Of this stretch: addresses that led to freed memory. What launches look at.
  const std::unordered_set<uint64_t>& stale_words() const noexcept { return stale_words_; }

  // ---- reads behind the work of a stream --------------------------------------------------------
  bool any_read() const noexcept { return !reads_.empty(); }
  void read_later(DeferredRead read) { reads_.push_back(std::move(read)); }
  // Takes what has come, up to the first that has not: nothing behind that can be written anyway.
  // `all`: nothing more will come. What it fills in is not looked at by who has the drain lock
  // alone, as it is blocked.
  void resolve_reads(bool all);
  // What has not come must not be written yet.
  void block_reads(EventQueue& queue) const;
  // As long as events that stand in the queue get something, nothing else gets into the trace.
  void filling(Filling filling) noexcept { filling_ = filling; }

  // A stretch begins, or is over: nothing in it has been ordered, or found.
  void stretch_begins() noexcept { stretches_ordered_ = false; }
  void stretch_ends();
  // For the next trace.
  void forget_trace();

 private:
  void note_unread(const Allocation& allocation, std::string_view call, Held held);
  // What it holds when it gets into the trace, as --contents says.
  format::Content first_content(const Allocation& allocation);
  bool leaves_out(const Allocation& allocation) const;
  bool is_fresh(const Allocation& allocation) const;
  void append_words(const Allocation& allocation, const format::Content& whole);
  void take_in_trace(Allocation& allocation, format::AllocationBegin begin);
  void take_in_targets(std::vector<format::Relocation>& relocations,
                       const std::function<uint64_t(uint64_t)>& held_at, const Allocation* holder);
  void refresh(Allocation& variable);
  void take_read(DeferredRead& read);

  ByteStore& store_;
  Allocations& allocations_;
  Stretch& stretch_;
  HostRuns& runs_;
  Events& events_;
  HostWrites& host_writes_;
  Code& code_;

  std::string_view reading_for_ = "memory";
  size_t unread_ = 0;      // contents that could not be
  bool left_out_ = false;  // some content was
  Filling filling_ = Filling::kNothing;
  std::deque<DeferredRead> reads_;  // in the order in which they were issued
  std::vector<DeferredBegin> deferred_begins_;
  unsigned taking_in_ = 0;  // calls of take_in_trace() that are under way
  std::vector<format::AllocationId> in_a_cycle_;
  bool stretches_ordered_ = false;  // in the trace: this one and those before it
  std::unordered_set<uint64_t> stale_words_;
  std::unordered_set<format::AllocationId> freed_;  // in this stretch
};

}  // namespace gfxgraph::recorder
