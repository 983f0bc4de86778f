#include "recorder/events/host_memory.h"

#include <algorithm>

#include "base/checked.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {

KeptBytes keep_host_bytes(ByteStore& store, uint64_t address, uint64_t size_bytes) {
  return store.keep(size_bytes, [&](uint64_t offset, std::span<std::byte> piece) {
    return read_program(address + offset, piece);
  });
}

std::optional<HostRows> HostRows::of(const RawCopy& raw, const RawCopyEnd& end) {
  const auto plane = checked_mul<uint64_t>(raw.width_bytes, raw.height);
  const auto total = plane ? checked_mul<uint64_t>(*plane, raw.depth) : plane;
  if (!total) return std::nullopt;
  HostRows rows;
  rows.address_ = end.address;
  rows.box_ = box_of(raw, end);
  if (rows.box_.linear()) rows.box_ = {*total};  // one row
  return rows;
}

bool HostRows::read(uint64_t offset, std::span<std::byte> piece) const {
  while (!piece.empty()) {
    const uint64_t row = offset / box_.width_bytes;
    const uint64_t begin = offset % box_.width_bytes;
    const uint64_t size = std::min<uint64_t>(box_.width_bytes - begin, piece.size());
    const uint64_t at = box_.row_offset(row % box_.height, row / box_.height) + begin;
    if (!read_program(address_ + at, piece.first(size))) return false;
    piece = piece.subspan(size);
    offset += size;
  }
  return true;
}

KeptBytes keep_host_rows(ByteStore& store, const RawCopy& raw, const RawCopyEnd& end) {
  const std::optional<HostRows> box = HostRows::of(raw, end);
  if (!box) return {};
  return store.keep(box->size_bytes(), [&](uint64_t offset, std::span<std::byte> piece) {
    return box->read(offset, piece);
  });
}

format::Box box_of(const RawCopy& raw, const RawCopyEnd& end) {
  return {raw.width_bytes, raw.height, raw.depth, end.pitch_bytes, end.slice_bytes};
}

uint64_t copy_extent(const RawCopy& raw, const RawCopyEnd& end) {
  return box_of(raw, end).extent().value_or(UINT64_MAX);
}

}  // namespace gfxgraph::recorder
