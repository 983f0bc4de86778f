// Contents that are read behind the work of a stream, by copies of the recorder's own: nobody waits
// for them. Until they are there, nothing from their place on is handed to the writer. The
// recorder's lock guards it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/trace.h"
#include "pointers/word_resolver.h"
#include "recorder/bytes/kept_bytes.h"
#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/events/flights.h"
#include "recorder/objects/allocations.h"

namespace gfxgraph::recorder {

class Contents;
class TracedMemory;

inline constexpr const char* kLostToReader =
    "changed during a kernel that has its address, and is used by other work: what that work read "
    "is unknown; --wait lets it wait for the kernel";

// Bytes that are read after the work of a stream.
struct DeferredRead {
  std::unique_ptr<StreamRead> read;
  std::shared_ptr<const WordsThen> words;
  const void* item = nullptr;          // in queue_
  format::Content* content = nullptr;  // of an event: gets what was read
  // Host writes of one event: they get the differences from the known contents of the blocks,
  // except the writes of copies.
  std::vector<format::Event>* writes = nullptr;
  format::AllocationId allocation = 0;
  std::shared_ptr<const Allocation> ended = {};  // the allocation whose final contents `content` is
  struct Block {
    uint64_t offset_bytes = 0;  // in the allocation
    uint64_t place_bytes = 0;   // in what is read
    KeptBytes saved;  // the trace's state of the block; earlier reads that arrive later change it
    std::vector<Flight> over;
    bool superseded = false;  // a later event has the state of the block
    // Writers that do not follow the read, and may come before it, in the order of their issue:
    // copies, and the first kernel, host function or wait of the program.
    struct Overtaking {
      Flight by;
      KeptBytes found;                        // when it was issued
      std::unique_ptr<StreamRead> read = {};  // of a copy, if possible: what its stream finds
    };
    std::vector<Overtaking> overtaking = {};
  };
  std::vector<Block> blocks = {};
  uint32_t number = 0;   // Flights::issue_read(); 0: of no host writes
  bool arrived = false;  // before something could overtake it
};

class LateReads : private Part {
 public:
  LateReads(const Core& core, ByteStore& store, Allocations& allocations, Flights& flights,
            Events& events, Contents& contents, TracedMemory& traced) noexcept
      : Part(core),
        store_(store),
        allocations_(allocations),
        flights_(flights),
        events_(events),
        contents_(contents),
        traced_(traced) {}

  bool any() const noexcept { return !reads_.empty(); }
  void add(DeferredRead read) { reads_.push_back(std::move(read)); }
  // Before work of `stream` that may write the ranges `by`, or anything, is issued; or (no stream)
  // when the host has learned that work ended, so that the program may write what that work read.
  // Reads that this does not follow may find what it writes.
  void may_overtake(std::span<const Flight> by, bool anything, std::optional<Handle> stream);
  // Whether the device may still read the memory for one.
  bool reads(format::AllocationId allocation) const;
  // Whether the trace's state of the block is not known, because a read of it has not arrived.
  bool is_being_read(format::AllocationId allocation, uint64_t block_offset) const;
  // A later event has the state of the block.
  void supersede(format::AllocationId allocation, uint64_t block_offset);
  // Takes the results that have arrived, up to the first missing one, because nothing after it can
  // be written anyway. `all`: no more will arrive. A thread that holds only the drain lock does not
  // see the filled data, because it is blocked.
  void resolve(bool all);
  // Data that has not arrived must not be written yet.
  void hold_back(EventQueue& queue) const;

 private:
  void overtake(DeferredRead& read, const Flight& by, std::optional<Handle> stream);
  bool take_read(DeferredRead& read);
  void told(const DeferredRead& read, const DeferredRead::Block& block,
            std::span<const std::byte> bytes, const std::vector<bool>& written);

  ByteStore& store_;
  Allocations& allocations_;
  Flights& flights_;
  Events& events_;
  Contents& contents_;
  TracedMemory& traced_;
  std::deque<DeferredRead> reads_;  // in the order in which they were issued
};

}  // namespace gfxgraph::recorder
