// The blobs of a trace as callers want them: their bytes compared with their ids when they are
// first asked for, decompressed ones kept from then on. Internal to format/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "format/loader.h"
#include "format/reader.h"

namespace gfxgraph::format {

// Blob alignment holds for copied and decompressed bytes, too.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t size);
  ~AlignedBytes();
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_;
  size_t size_;
};

// Thread-safe. May throw std::bad_alloc.
class BlobStore {
 public:
  // `name`: of the file, for messages; may be empty. `limit_bytes`: 0: this machine's memory.
  BlobStore(const BlobTable& blobs, std::string name, uint64_t limit_bytes);

  Result<std::span<const std::byte>> get(BlobId id) const;
  Result<void> read(BlobId id, std::span<std::byte> out) const;
  // Keeps nothing: what is compressed is decompressed as often as it is asked for.
  Result<void> visit(BlobId id, const Trace::Visitor& visit) const;
  // As Trace::check_blobs().
  Result<void> check(std::span<const BlobId> ids) const;
  [[nodiscard]] ReadCounts counts() const;

 private:
  Result<LoadedBlob> find(BlobId id) const;
  [[nodiscard]] bool found_right(BlobId id) const;
  [[nodiscard]] bool is_plain(const BlobView& blob) const;
  // The caller holds the lock; null: the bytes are not kept.
  void enter(const BlobView& blob, std::unique_ptr<AlignedBytes> bytes) const;
  // A blob did not unpack, or not to what it should be: a damaged record behind that is named.
  tl::unexpected<Error> explained(const LoadedBlob& blob, Error error) const;

  const BlobTable& blobs_;
  const std::string name_;
  const uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  // Blobs whose id was found right; no bytes for plain ones, and for lists that were visited.
  mutable std::unordered_map<BlobId, std::unique_ptr<AlignedBytes>, BlobIdHash> ready_;
  mutable uint64_t decompressed_bytes_ = 0;
  mutable ReadCounts counts_;
};

}  // namespace gfxgraph::format
