// The payload of a record of compressed events (docs/format.md): how large the FlatBuffer is, and
// one zstd frame with it. Internal to format/ and its tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/zstd_codec.h"

namespace gfxgraph::format {

inline constexpr size_t kCompressedEventsHeaderBytes = 8;
// Of the FlatBuffer; what is larger is stored plain, as is what would shrink more than so many
// times. A reader's memory and time are bounded by both.
inline constexpr uint64_t kMaxCompressedEventsBytes = UINT64_C(16) << 20;
inline constexpr uint64_t kMaxCompressedEventsRatio = 256;

// Both keep their memory from record to record, and are not thread-safe.
class EventCompressor {
 public:
  // The payload, valid until the next call; empty: the record is not smaller, or may not be
  // compressed. May throw std::bad_alloc.
  std::span<const std::byte> compress(std::span<const std::byte> events, int level);

 private:
  Compressor zstd_;
  std::vector<std::byte> payload_;
};

class EventDecompressor {
 public:
  // `most_bytes`: of all that it decompresses together.
  explicit EventDecompressor(uint64_t most_bytes) : left_bytes_(most_bytes) {}
  // The FlatBuffer, valid until the next call. May throw std::bad_alloc.
  Result<std::span<const std::byte>> decompress(std::span<const std::byte> payload);

 private:
  Decompressor zstd_;
  std::vector<std::byte> events_;
  uint64_t left_bytes_;
};

}  // namespace gfxgraph::format
