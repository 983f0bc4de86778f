// The contents of memory, as the trace has them: bytes that are read, hashed and stored, with the
// pointers in them. The recorder's lock guards it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "format/trace.h"
#include "recorder/bytes/kept_bytes.h"
#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/events/host_effects.h"
#include "recorder/objects/allocations.h"

namespace gfxgraph::recorder {

class HostRuns;
class TracedMemory;

// Maximum time that the program waits for the device before the recorder gives up on a buffer's
// contents. A kernel may legally wait for the host forever.
inline constexpr uint32_t kSettleTimeoutMs = 5'000;
// Contents of up to this many bytes are read and written in one piece.
inline constexpr size_t kSmallBytes = 64u << 10;

// Events that wait in the queue, after functions that may write the memory.
struct DeferredBegin {
  format::AllocationId id = 0;
  format::AllocationBegin* begin = nullptr;
  KeptBytes bytes;
  bool written = false;  // since its content was made of them
};

class Contents : private Part {
 public:
  Contents(const Core& core, ByteStore& store, Allocations& allocations, HostRuns& runs,
           Events& events, TracedMemory& traced) noexcept
      : Part(core),
        store_(store),
        allocations_(allocations),
        runs_(runs),
        events_(events),
        traced_(traced) {}

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

  format::Content make_content(std::span<const std::byte> bytes, bool store);
  // `holder`: the allocation whose initial content it is, or is read for.
  format::Content make_content(std::span<const std::byte> bytes, bool store,
                               const WordResolver& words, const Allocation* holder = nullptr);
  // In pieces that `read` fills. Returns nothing if it failed.
  std::optional<format::Content> take_content(uint64_t size_bytes, bool store,
                                              const WordResolver& words, const Allocation* holder,
                                              const ReadPiece& read);
  // `held`: the moment, for the message if it cannot be read.
  enum class Held : uint8_t { kFirst, kLast };
  format::Content read_content(const Allocation& allocation, bool store, Held held);
  // Its content on entering the trace, as --contents requires.
  format::Content first_content(const Allocation& allocation);
  // As --post says.
  format::Content post_content(const Allocation& allocation);
  // The content cannot be read. `call`: the program's, for the message.
  void note_unread(const Allocation& allocation, std::string_view call, Held held);
  // Reports data that should have been kept for later and is lost.
  void note_lost_bytes();

  // ---- initial contents that host functions may still change ------------------------------------
  // Host memory that functions which have not ended may write. `read`: the bytes that its content
  // was made of.
  void append_beginning(format::AllocationBegin begin, const ReadPiece& read);
  // Memory that enters the trace later than the function that changed it.
  void write_into_beginning(const HostEffects::Change& change);
  // Adds the writes of functions so far to its initial content.
  void resolve_beginnings();

  // For the next trace.
  void forget_trace();

 private:
  bool leaves_out(const Allocation& allocation) const;

  ByteStore& store_;
  Allocations& allocations_;
  HostRuns& runs_;
  Events& events_;
  TracedMemory& traced_;

  std::string_view reading_for_ = "memory";
  size_t unread_ = 0;      // contents that could not be read
  bool left_out_ = false;  // some content was
  std::vector<DeferredBegin> deferred_begins_;
};

}  // namespace gfxgraph::recorder
