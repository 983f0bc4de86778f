#include "recorder/contents/host_memory.h"

#include <algorithm>

#include "base/checked.h"
#include "recorder/contents/flights.h"
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
  HostRows box;
  box.address_ = end.address;
  box.row_bytes_ = raw.width_bytes;
  box.rows_ = raw.height;
  box.pitch_bytes_ = end.pitch_bytes == 0 ? raw.width_bytes : end.pitch_bytes;
  box.slice_bytes_ = end.slice_bytes == 0 ? box.pitch_bytes_ * raw.height : end.slice_bytes;
  box.size_bytes_ = *total;
  if (box.pitch_bytes_ == raw.width_bytes && (raw.depth == 1 || box.slice_bytes_ == *plane)) {
    box.row_bytes_ = *total;  // rows without gaps: treat them as one row
    box.rows_ = 1;
  }
  return box;
}

bool HostRows::read(uint64_t offset, std::span<std::byte> piece) const {
  while (!piece.empty()) {
    const uint64_t row = offset / row_bytes_;
    const uint64_t begin = offset % row_bytes_;
    const uint64_t size = std::min<uint64_t>(row_bytes_ - begin, piece.size());
    const uint64_t at = row / rows_ * slice_bytes_ + row % rows_ * pitch_bytes_ + begin;
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

uint64_t copy_extent(const RawCopy& raw, const RawCopyEnd& end) {
  return extent(end.pitch_bytes, end.slice_bytes, raw.width_bytes, raw.height, raw.depth);
}

}  // namespace gfxgraph::recorder
