#include "format/container/chunks.h"

#include <fmt/format.h>

#include "base/cursor.h"

namespace gfxgraph::format {

BlobId ChunkListView::operator[](size_t index) const {
  const std::byte* at = entries.data() + index * kChunkEntryBytes;
  return {load_le<uint64_t>(at), load_le<uint64_t>(at + sizeof(uint64_t))};
}

std::vector<std::byte> encode_chunk_list(uint64_t chunk_bytes, std::span<const BlobId> chunks) {
  std::vector<std::byte> bytes(kChunkListHeadBytes + chunks.size() * kChunkEntryBytes);
  store_le(bytes.data(), chunk_bytes);
  std::byte* at = bytes.data() + kChunkListHeadBytes;
  for (const BlobId& id : chunks) {
    store_le(at, id.low);
    store_le(at + sizeof(uint64_t), id.high);
    at += kChunkEntryBytes;
  }
  return bytes;
}

Result<ChunkListView> decode_chunk_list(uint64_t size_bytes, std::span<const std::byte> stored) {
  if (stored.size() < kChunkListHeadBytes) {
    return fail(Status::kCorrupt, "chunk list is shorter than its own header");
  }
  ChunkListView list{size_bytes, load_le<uint64_t>(stored.data()),
                     stored.subspan(kChunkListHeadBytes)};
  if (list.chunk_bytes < kMinChunkBytes || list.chunk_bytes > kMaxChunkBytes ||
      list.chunk_bytes % kMinChunkBytes != 0) {
    return fail(
        Status::kCorrupt,
        fmt::format("chunk list: chunks of {} bytes; their size must be a multiple of {}, up to {}",
                    list.chunk_bytes, kMinChunkBytes, kMaxChunkBytes));
  }
  const uint64_t chunks =
      size_bytes / list.chunk_bytes + (size_bytes % list.chunk_bytes != 0 ? 1 : 0);
  if (chunks < 2) {
    return fail(Status::kCorrupt, fmt::format("chunk list: {} bytes fit in one chunk of {}",
                                              size_bytes, list.chunk_bytes));
  }
  if (list.entries.size() % kChunkEntryBytes != 0 || list.count() != chunks) {
    return fail(Status::kCorrupt,
                fmt::format("chunk list: {} bytes of entries; {} chunks need {}",
                            list.entries.size(), chunks, chunks * kChunkEntryBytes));
  }
  return list;
}

}  // namespace gfxgraph::format
