#include "recorder/contents/host_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "recorder/contents/flights.h"

namespace gfxgraph::recorder {
namespace {

// The kernel copies, and reports unmapped pages without a signal. If the call is forbidden
// (seccomp), the bytes are read directly: HIP has read them as well.
bool read_bytes(std::byte* destination, uint64_t address, uint64_t size_bytes) {
  constexpr uint64_t kMostAtOnce = uint64_t{1} << 30;
  for (uint64_t done = 0; done < size_bytes;) {
    const size_t size = std::min(kMostAtOnce, size_bytes - done);
    const iovec local{destination + done, size};
    const iovec remote{reinterpret_cast<void*>(address + done), size};
    const ssize_t count = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (count < 0 && (errno == EPERM || errno == ENOSYS)) {
      std::memcpy(destination + done, reinterpret_cast<const void*>(address + done), size);
      done += size;
      continue;
    }
    if (count <= 0) return false;
    done += static_cast<uint64_t>(count);
  }
  return true;
}

}  // namespace

KeptBytes keep_host_bytes(ByteStore& store, uint64_t address, uint64_t size_bytes) {
  return store.keep(size_bytes, [&](uint64_t offset, std::span<std::byte> piece) {
    return read_bytes(piece.data(), address + offset, piece.size());
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
    if (mapped_) {
      std::memcpy(piece.data(), reinterpret_cast<const void*>(address_ + at), size);
    } else if (!read_bytes(piece.data(), address_ + at, size)) {
      return false;
    }
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

bool read_host_piece(uint64_t address, std::span<std::byte> piece) {
  return read_bytes(piece.data(), address, piece.size());
}

uint64_t copy_extent(const RawCopy& raw, const RawCopyEnd& end) {
  return extent(end.pitch_bytes, end.slice_bytes, raw.width_bytes, raw.height, raw.depth);
}

}  // namespace gfxgraph::recorder
