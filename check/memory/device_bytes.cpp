#include "check/memory/device_bytes.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"

namespace gfxgraph::check {
namespace {

constexpr uint64_t kPage = 4096;
// Below, a plain block and memset are faster than mappings.
constexpr uint64_t kLargeBytes = uint64_t{8} << 20;
// Of the file that a fill maps repeatedly: systems allow about 65,000 mappings per process.
constexpr uint64_t kPatternBytes = uint64_t{4} << 20;
constexpr uint64_t kMaxPatternMappings = 4096;

}  // namespace

Result<std::shared_ptr<DeviceBytes>> DeviceBytes::create(uint64_t size_bytes) {
  std::shared_ptr<DeviceBytes> bytes(new DeviceBytes);
  bytes->size_ = size_bytes;
  void* data = nullptr;
  if (size_bytes < kLargeBytes) {
    data = std::calloc(std::max<uint64_t>(1, size_bytes), 1);
  } else if (const std::optional<uint64_t> mapped = checked_align_up(size_bytes, kPage)) {
    data = ::mmap(nullptr, *mapped, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) data = nullptr;
    bytes->mapped_ = data == nullptr ? 0 : *mapped;
  }
  if (data == nullptr) {
    return fail(Status::kOutOfMemory,
                fmt::format("no memory for a buffer of {} bytes", size_bytes));
  }
  bytes->data_ = static_cast<std::byte*>(data);
  return bytes;
}

DeviceBytes::~DeviceBytes() {
  if (mapped_ != 0) {
    ::munmap(data_, mapped_);
  } else {
    std::free(data_);
  }
}

void DeviceBytes::fill(uint64_t offset, uint64_t size_bytes, uint8_t value) {
  GFXGRAPH_CHECK(range_fits(offset, size_bytes, size_));
  std::byte* const begin = data_ + offset;
  if (mapped_ == 0 || size_bytes < kLargeBytes) {
    std::memset(begin, value, size_bytes);
    return;
  }
  const uint64_t first_page = (offset + kPage - 1) / kPage * kPage;
  const uint64_t end_page = (offset + size_bytes) / kPage * kPage;
  if (!map_pattern(data_ + first_page, end_page - first_page, value)) {
    std::memset(begin, value, size_bytes);
    return;
  }
  std::memset(begin, value, first_page - offset);
  std::memset(data_ + end_page, value, offset + size_bytes - end_page);
}

uint64_t DeviceBytes::discard(uint64_t offset, uint64_t size_bytes) {
  GFXGRAPH_CHECK(range_fits(offset, size_bytes, size_));
  const uint64_t first_page = (offset + kPage - 1) / kPage * kPage;
  const uint64_t end_page = (offset + size_bytes) / kPage * kPage;
  if (mapped_ == 0 || first_page >= end_page) return 0;
  const uint64_t bytes = end_page - first_page;
  return ::madvise(data_ + first_page, bytes, MADV_DONTNEED) == 0 ? bytes : 0;
}

// `from` and `size_bytes`: whole pages. False: a failed mapping left the old bytes.
bool DeviceBytes::map_pattern(std::byte* from, uint64_t size_bytes, uint8_t value) {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  if (value == 0) {
    return ::mmap(from, size_bytes, kAccess,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
  }
  if (size_bytes / kPatternBytes > kMaxPatternMappings) return false;
  const int file = ::memfd_create("gfxgraph-fill", MFD_CLOEXEC);
  if (file < 0) return false;
  bool done = ::ftruncate(file, static_cast<off_t>(kPatternBytes)) == 0;
  void* const pattern =
      done ? ::mmap(nullptr, kPatternBytes, kAccess, MAP_SHARED, file, 0) : MAP_FAILED;
  done = pattern != MAP_FAILED;
  if (done) {
    std::memset(pattern, value, kPatternBytes);
    ::munmap(pattern, kPatternBytes);
  }
  for (uint64_t at = 0; done && at < size_bytes; at += kPatternBytes) {
    done = ::mmap(from + at, std::min(kPatternBytes, size_bytes - at), kAccess,
                  MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file, 0) != MAP_FAILED;
  }
  ::close(file);
  return done;
}

}  // namespace gfxgraph::check
