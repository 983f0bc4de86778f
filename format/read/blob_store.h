// Access to the blobs of a trace. Checks a blob's bytes against its id at first use, and keeps
// decompressed bytes from then on. Internal to format/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "format/read/loader.h"
#include "format/read/reader.h"

namespace gfxgraph::format {

// A buffer with the alignment of blobs, for copied and decompressed bytes.
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
  // `blobs` must outlive the store. `name`: the file's, for messages; may be empty. `limit_bytes`:
  // the most decompressed bytes to keep; 0: the size of physical memory.
  BlobStore(const BlobTable& blobs, std::string name, uint64_t limit_bytes);

  // As Trace::blob().
  Result<std::span<const std::byte>> get(BlobId id) const;
  // As Trace::read_blob().
  Result<void> read(BlobId id, std::span<std::byte> out) const;
  // Keeps no bytes: decompresses compressed blobs at each call.
  Result<void> visit(BlobId id, const Trace::Visitor& visit) const;
  // As Trace::nonzero_bytes(); 0 if the blob cannot be read.
  [[nodiscard]] uint64_t nonzero_bytes(BlobId id) const;
  // As Trace::check_blobs().
  Result<void> check(std::span<const BlobId> ids) const;
  [[nodiscard]] ReadCounts counts() const;

 private:
  Result<LoadedBlob> find(BlobId id) const;
  [[nodiscard]] bool found_right(BlobId id) const;
  [[nodiscard]] bool is_plain(const BlobView& blob) const;
  // Needs `mutex_`. `bytes` null: only records that the id was verified.
  void enter(const BlobView& blob, std::unique_ptr<AlignedBytes> bytes) const;
  // The error for a blob that does not decompress to its declared bytes; names a damaged record as
  // the cause if there is one.
  tl::unexpected<Error> explained(const LoadedBlob& blob, Error error) const;

  const BlobTable& blobs_;
  const std::string name_;
  const uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  // Blobs whose id was verified; null for plain blobs and for visited lists.
  mutable std::unordered_map<BlobId, std::unique_ptr<AlignedBytes>, BlobIdHash> ready_;
  mutable uint64_t decompressed_bytes_ = 0;
  mutable ReadCounts counts_;
};

}  // namespace gfxgraph::format
