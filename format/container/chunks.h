// Blobs that are lists of chunks. Contents larger than one chunk are stored this way, so parts that
// two contents share are stored once (docs/format.md, "Chunks"). Internal to format/ and its tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/container/container.h"
#include "format/trace.h"

namespace gfxgraph::format {

// The reader's limit; the writer's is kChunkBytes (writer.h). A 16-byte entry expands to at most
// kMaxChunkBytes: a smaller ratio than zstd can reach.
inline constexpr uint64_t kMinChunkBytes = 4096;
inline constexpr uint64_t kMaxChunkBytes = UINT64_C(1) << 20;
inline constexpr size_t kChunkListHeadBytes = 8;
inline constexpr size_t kChunkEntryBytes = 16;

// List entry for a chunk whose bytes all equal `byte`; it names no blob.
constexpr BlobId fill_chunk(uint8_t byte) { return {byte, 0}; }
constexpr bool is_fill_chunk(BlobId id) { return id.high == 0 && id.low <= UINT8_MAX; }

// A decoded list; borrows its bytes.
struct ChunkListView {
  uint64_t size_bytes = 0;  // of the content
  uint64_t chunk_bytes = 0;
  std::span<const std::byte> entries;

  [[nodiscard]] size_t count() const { return entries.size() / kChunkEntryBytes; }
  [[nodiscard]] BlobId operator[](size_t index) const;
  [[nodiscard]] uint64_t bytes_of(size_t index) const {
    return std::min(chunk_bytes, size_bytes - index * chunk_bytes);
  }
};

// The bytes of a list, as stored after the blob's header. May throw std::bad_alloc.
std::vector<std::byte> encode_chunk_list(uint64_t chunk_bytes, std::span<const BlobId> chunks);
// Checks only the list itself: it must have one entry per chunk of the content, and at least two.
// Checker checks the blobs that the entries name. `stored`: the bytes after the blob's header.
Result<ChunkListView> decode_chunk_list(uint64_t size_bytes, std::span<const std::byte> stored);

}  // namespace gfxgraph::format
