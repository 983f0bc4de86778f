// The bytes of one buffer of the recorded process, in this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

namespace gfxgraph::check {

// Initially zero. Uses physical memory only for touched pages, because a few bytes of a trace may
// declare and fill gigabytes. Addresses never change.
class DeviceBytes {
 public:
  // kOutOfMemory if the system has no memory or address space.
  static Result<std::shared_ptr<DeviceBytes>> create(uint64_t size_bytes);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  // Sets a range to one value. Long ranges map the pages of one small file until they are written.
  void fill(uint64_t offset, uint64_t size_bytes, uint8_t value);
  // Releases the whole pages in a range, which then read as 0. Returns their size in bytes.
  // Thread-safe.
  uint64_t discard(uint64_t offset, uint64_t size_bytes);

 private:
  DeviceBytes() = default;
  bool map_pattern(std::byte* from, uint64_t size_bytes, uint8_t value);

  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
  uint64_t mapped_ = 0;  // 0: an ordinary heap block
};

}  // namespace gfxgraph::check
