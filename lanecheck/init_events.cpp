#include "lanecheck/init_events.h"

#include <algorithm>

namespace gfxgraph::lanecheck {
namespace {

// Visits the rows of a box: offsets from its first byte, and their number among all rows.
template <typename Visit>
void for_rows(uint64_t height, uint64_t depth, uint64_t pitch, uint64_t slice, const Visit& visit) {
  for (uint64_t z = 0; z < depth; ++z)
    for (uint64_t y = 0; y < height; ++y) visit(z * slice + y * pitch, y, z);
}

}  // namespace

Result<void> InitEvents::apply(const format::AllocationBegin& begin) {
  if (begin.kind != format::AllocationKind::kDevice &&
      begin.kind != format::AllocationKind::kArray &&
      begin.kind != format::AllocationKind::kStreamOrdered)
    return {};
  addresses_[begin.id] = begin.recorded_address;
  GFXGRAPH_TRY(check_.memory().begin(begin.recorded_address, begin.size_bytes));
  // What kernels store there may still be undefined.
  if (!begin.initial.unwritten)
    check_.memory().set_written(begin.recorded_address, begin.size_bytes);
  return {};
}

Result<void> InitEvents::apply(const format::AllocationEnd& end) {
  const uint64_t address = address_of(end.id);
  if (address != 0) check_.memory().end(address);
  addresses_.erase(end.id);
  return {};
}

Result<void> InitEvents::apply(const format::HostWrite& write) {
  const uint64_t address = address_of(write.allocation);
  if (address != 0)
    check_.memory().set_written(address + write.offset_bytes, write.content.size_bytes);
  return {};
}

Result<bool> InitEvents::apply(const format::Copy& copy, uint64_t launch, uint64_t trace_event) {
  bool found = false;
  const uint64_t to = address_of(copy.destination.allocation);
  const uint64_t from = address_of(copy.source.allocation);
  const uint64_t width = copy.width_bytes;
  const auto pitch = [&](const format::CopyEnd& end) {
    return end.pitch_bytes != 0 ? end.pitch_bytes : width;
  };
  const auto slice = [&](const format::CopyEnd& end) {
    return end.slice_bytes != 0 ? end.slice_bytes : pitch(end) * copy.height;
  };
  for_rows(copy.height, copy.depth, 0, 0, [&](uint64_t, uint64_t y, uint64_t z) {
    const auto row = [&](uint64_t base, const format::CopyEnd& end) {
      return base + end.offset_bytes + z * slice(end) + y * pitch(end);
    };
    if (to != 0 && from != 0) {
      check_.memory().copy(row(to, copy.destination), row(from, copy.source), width);
    } else if (to != 0) {
      check_.memory().set_written(row(to, copy.destination), width);
    } else if (from != 0) {
      found = check_.read_by_host(launch, trace_event, row(from, copy.source), width) || found;
    }
  });
  return found;
}

Result<void> InitEvents::apply(const format::Memset& memset) {
  const uint64_t address = address_of(memset.allocation);
  if (address == 0) return {};
  const uint64_t width = memset.width_elements * memset.element_bytes;
  const uint64_t pitch = memset.pitch_bytes != 0 ? memset.pitch_bytes : width;
  const uint64_t slice = memset.slice_bytes != 0 ? memset.slice_bytes : pitch * memset.height;
  for_rows(memset.height, memset.depth, pitch, slice, [&](uint64_t offset, uint64_t, uint64_t) {
    check_.memory().set_written(address + memset.offset_bytes + offset, width);
  });
  return {};
}

}  // namespace gfxgraph::lanecheck
