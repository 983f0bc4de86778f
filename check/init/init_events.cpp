#include "check/init/init_events.h"

#include "format/box.h"

namespace gfxgraph::check {

Result<void> InitEvents::allocated(const format::AllocationBegin& begin) {
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

Result<void> InitEvents::freed(const format::AllocationEnd& end) {
  const uint64_t address = address_of(end.id);
  if (address != 0) check_.memory().end(address);
  addresses_.erase(end.id);
  return {};
}

Result<void> InitEvents::written(const format::HostWrite& write) {
  const uint64_t address = address_of(write.allocation);
  if (address != 0)
    check_.memory().set_written(address + write.offset_bytes, write.content.size_bytes);
  return {};
}

Result<void> InitEvents::copied(const format::Copy& copy) {
  const uint64_t to = address_of(copy.destination.allocation);
  const uint64_t from = address_of(copy.source.allocation);
  const format::Box target = format::box_of(copy, copy.destination);
  const format::Box source = format::box_of(copy, copy.source);
  bool found = false;
  for (uint64_t plane = 0; plane < copy.depth; ++plane) {
    for (uint64_t row = 0; row < copy.height; ++row) {
      const uint64_t to_row = to + copy.destination.offset_bytes + target.row_offset(row, plane);
      const uint64_t from_row = from + copy.source.offset_bytes + source.row_offset(row, plane);
      if (to != 0 && from != 0)
        check_.memory().copy(to_row, from_row, copy.width_bytes);
      else if (to != 0)
        check_.memory().set_written(to_row, copy.width_bytes);
      else if (from != 0)
        found = check_.read_by_host(launch_, event_, from_row, copy.width_bytes) || found;
    }
  }
  if (found) found_();
  return {};
}

Result<void> InitEvents::filled(const format::Memset& memset) {
  const uint64_t address = address_of(memset.allocation);
  if (address == 0) return {};
  if (const std::optional<format::Box> box = format::box_of(memset))
    box->for_rows([&](uint64_t offset) {
      check_.memory().set_written(address + memset.offset_bytes + offset, box->width_bytes);
    });
  return {};
}

}  // namespace gfxgraph::check
