// Copies from pinned memory whose events carry the copied bytes, beside host functions that may
// write the memory: whether it still holds these bytes when the host learns that the copy is done.
// The recorder's lock guards it.
#pragma once

#include <cstdint>
#include <vector>

#include "format/trace.h"
#include "recorder/core.h"
#include "recorder/events/flights.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/raw_actions.h"

namespace gfxgraph::recorder {

class SourcesInFlight : private Part {
 public:
  SourcesInFlight(const Core& core, const Allocations& allocations, Flights& flights) noexcept
      : Part(core), allocations_(allocations), flights_(flights) {}

  // Before the event of the copy is appended, for the bytes that the source holds now.
  void add(format::AllocationId source, const RawCopy& copy, format::StreamId stream);
  // An event told the host that work is done. `late`: at a time that the recorder cannot observe
  // exactly, so the host may have written the sources since.
  void host_learned(bool late);
  // The trace ends, or waits for nothing any more.
  void end();
  // For the next trace.
  void forget_trace() { sources_.clear(); }

 private:
  struct Source {
    format::AllocationId allocation = 0;
    RawCopy copy;
    uint64_t hash = 0;  // of the copied bytes, XXH3
    uint32_t read = 0;  // Flights::issue_read()
  };
  void compare(const Source& source);

  const Allocations& allocations_;
  Flights& flights_;
  std::vector<Source> sources_;
};

}  // namespace gfxgraph::recorder
