#include "replayer/memory/input_ring.h"

#include <fmt/format.h>

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kSlotAlignment = 256;

}  // namespace

InputRing::InputRing(const MemorySource& source, RunsInFlight& runs, uint8_t* first,
                     uint64_t size_bytes)
    : source_(source), runs_(runs), size_bytes_(size_bytes) {
  places_.current() = first;
}

InputRing::~InputRing() {
  source_.release(MemoryKind::kPinned, memory_);
  source_.release(MemoryKind::kPinned, first_);
}

Result<uint8_t*> InputRing::allocate(uint64_t size_bytes) const {
  GFXGRAPH_ASSIGN_OR_RETURN(
      void* const memory,
      source_.allocate(MemoryKind::kPinned, size_bytes, 0,
                       fmt::format("pinned memory for an input of {} bytes", size_bytes_)));
  return static_cast<uint8_t*>(memory);
}

Result<void> InputRing::allocate() {
  const uint64_t stride = (size_bytes_ + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  auto& places = places_.places();
  GFXGRAPH_ASSIGN_OR_RETURN(memory_, allocate(stride * (places.size() - 1)));
  for (size_t i = 1; i < places.size(); ++i) places[i] = memory_ + (i - 1) * stride;
  return {};
}

Result<void> InputRing::turn() {
  if (current() == nullptr) {  // runs in flight have read the trace
    GFXGRAPH_ASSIGN_OR_RETURN(first_, allocate(size_bytes_));
    places_.current() = first_;
    return {};
  }
  if (places_.is_free(runs_)) return {};
  if (memory_ == nullptr) GFXGRAPH_TRY(allocate());
  GFXGRAPH_TRY(places_.free_next(runs_));
  places_.turn(runs_);
  return {};
}

}  // namespace gfxgraph::replayer
