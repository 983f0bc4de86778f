// Data that enters the trace later than its position: writes of host functions that have not ended
// (deferrals.h), and reads after the work of a stream (contents_reads.cpp). Until it is known the
// writer gets no later event. These lists change under both locks of the recorder; the read bytes
// under that of HostRuns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "format/trace.h"
#include "recorder/contents/flights.h"
#include "recorder/contents/host_effects.h"
#include "recorder/contents/kept_bytes.h"
#include "recorder/device.h"
#include "recorder/model/allocation_map.h"
#include "recorder/model/raw_actions.h"
#include "recorder/model/word_resolver.h"

namespace gfxgraph::recorder {

// Data for events that are in queue_ now.
enum class Filling : uint8_t { kNothing, kContent, kLastState };

inline constexpr const char* kInDoubt =
    "changed during a kernel that has its address, by the program or by the kernel: a replay "
    "writes it if its own kernels do not";
inline constexpr const char* kLostToReader =
    "changed during a kernel that has its address, and is used by other work: what that work read "
    "is unknown; --wait lets it wait for the kernel";

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

// Events in queue_, after functions that may write the memory.
struct DeferredBegin {
  format::AllocationId id = 0;
  format::AllocationBegin* begin = nullptr;
  KeptBytes bytes;
  bool written = false;  // since its content was made of them
};

// Bytes that are read after the work of a stream (contents_reads.cpp).
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

}  // namespace gfxgraph::recorder
