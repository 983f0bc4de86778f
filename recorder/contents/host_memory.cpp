#include "recorder/contents/host_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "recorder/contents/host_pieces.h"

namespace gfxgraph::recorder {
namespace {

// The kernel copies, and reports unmapped pages instead of raising a signal. Where the call is
// forbidden (seccomp), the bytes are read directly: HIP has read them as well.
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

std::optional<std::vector<std::byte>> read_host_bytes(uint64_t address, uint64_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  if (!read_bytes(bytes.data(), address, size_bytes)) return std::nullopt;
  return bytes;
}

std::optional<std::vector<std::byte>> read_host_rows(const RawCopy& raw, const RawCopyEnd& end) {
  const auto plane = checked_mul<uint64_t>(raw.width_bytes, raw.height);
  const auto total = plane ? checked_mul<uint64_t>(*plane, raw.depth) : plane;
  if (!total) return std::nullopt;
  const uint64_t pitch = end.pitch_bytes == 0 ? raw.width_bytes : end.pitch_bytes;
  const uint64_t slice = end.slice_bytes == 0 ? pitch * raw.height : end.slice_bytes;
  std::vector<std::byte> rows(*total);
  if (pitch == raw.width_bytes && (raw.depth == 1 || slice == *plane)) {
    if (!read_bytes(rows.data(), end.address, *total)) return std::nullopt;
    return rows;
  }
  std::byte* out = rows.data();
  for (uint64_t z = 0; z < raw.depth; ++z) {
    for (uint64_t y = 0; y < raw.height; ++y) {
      if (!read_bytes(out, end.address + z * slice + y * pitch, raw.width_bytes)) {
        return std::nullopt;
      }
      out += raw.width_bytes;
    }
  }
  return rows;
}

std::optional<HostBytes> large_host_run(const RawCopy& raw, const RawCopyEnd& end) {
  constexpr uint64_t kLeastBytes = 64u << 10;
  const auto plane = checked_mul<uint64_t>(raw.width_bytes, raw.height);
  const auto total = plane ? checked_mul<uint64_t>(*plane, raw.depth) : plane;
  if (!total || *total <= kLeastBytes) return std::nullopt;
  const bool rows = end.pitch_bytes == 0 || end.pitch_bytes == raw.width_bytes;
  const bool slices = raw.depth == 1 || end.slice_bytes == 0 || end.slice_bytes == *plane;
  if (!rows || !slices) return std::nullopt;
  return HostBytes{end.address, *total};
}

bool read_host_piece(uint64_t address, std::span<std::byte> piece) {
  return read_bytes(piece.data(), address, piece.size());
}

}  // namespace gfxgraph::recorder
