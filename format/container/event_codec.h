// The payload of a record of compressed events (docs/format.md): the size of the FlatBuffer, then
// the FlatBuffer as one zstd frame. Internal to format/ and its tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/container/zstd_codec.h"

namespace gfxgraph::format {

inline constexpr size_t kCompressedEventsHeaderBytes = 8;
// Limits that bound a reader's memory and time: the size of the FlatBuffer, and how many times
// larger than its frame it may be. Events beyond either limit are stored plain.
inline constexpr uint64_t kMaxCompressedEventsBytes = UINT64_C(16) << 20;
inline constexpr uint64_t kMaxCompressedEventsRatio = 256;

// Both classes reuse their buffers between records, and are not thread-safe.
class EventCompressor {
 public:
  // The payload, valid until the next call. Empty if the record would not become smaller or exceeds
  // a limit. May throw std::bad_alloc.
  std::span<const std::byte> compress(std::span<const std::byte> events, int level);

 private:
  Compressor zstd_;
  std::vector<std::byte> payload_;
};

class EventDecompressor {
 public:
  // `most_bytes`: limit for the sum of all decompressed bytes.
  explicit EventDecompressor(uint64_t most_bytes) : left_bytes_(most_bytes) {}
  // The FlatBuffer, valid until the next call. kCorrupt; kOutOfMemory beyond `most_bytes`. May
  // throw std::bad_alloc.
  Result<std::span<const std::byte>> decompress(std::span<const std::byte> payload);

 private:
  Decompressor zstd_;
  std::vector<std::byte> events_;
  uint64_t left_bytes_;
};

}  // namespace gfxgraph::format
