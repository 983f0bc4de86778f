// The index of a trace (docs/format.md, "Index"): the headers of all records before it and the ids
// of its blobs in order, so that who needs a part of a large trace reads that part alone. Internal
// to format/ and its tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/container.h"

namespace gfxgraph::format {

// A file of fewer records is read as fast without one; the builder holds 64 bytes for each.
inline constexpr uint64_t kMinIndexedRecords = 64;
inline constexpr uint64_t kMaxIndexedRecords = UINT64_C(1) << 18;

struct IndexEntry {
  BlobId id;
  uint64_t size_bytes = 0;
  BlobCodec codec = BlobCodec::kPlain;
  uint32_t record = 0;  // its number
};

// Gathers what an index says while a file is written.
class IndexBuilder {
 public:
  // The next record. `payload`: its beginning, of a blob at least the blob's header.
  void add(std::span<const std::byte> header, RecordKind kind, std::span<const std::byte> payload);
  // The payload of the index; empty: fewer records than `min_records`, or too many.
  [[nodiscard]] std::vector<std::byte> encode(uint64_t min_records);

 private:
  uint64_t records_ = 0;
  std::vector<std::byte> headers_;
  std::vector<IndexEntry> blobs_;
};

// What an index says, in borrowed bytes, and where that lies. Nothing of it has been compared with
// the records themselves.
class RecordIndex {
 public:
  // Checks the index by itself: its headers have their hashes and lie between the head and
  // `index_offset` without a gap, its blobs rise and are records of that kind. kCorrupt.
  static Result<RecordIndex> decode(std::span<const std::byte> payload, uint64_t index_offset);

  [[nodiscard]] uint64_t records() const { return offsets_.size(); }
  [[nodiscard]] uint64_t blobs() const { return entries_.size() / kIndexEntryBytes; }
  // As they stand in the file, one after another.
  [[nodiscard]] std::span<const std::byte> headers() const { return headers_; }
  [[nodiscard]] std::span<const std::byte> header(uint64_t record) const {
    return headers_.subspan(record * kRecordHeaderBytes, kRecordHeaderBytes);
  }
  [[nodiscard]] RecordHeader decoded(uint64_t record) const {
    return decode_record_header(header(record));
  }
  [[nodiscard]] uint64_t offset(uint64_t record) const { return offsets_[record]; }
  [[nodiscard]] IndexEntry blob(uint64_t place) const;
  [[nodiscard]] std::optional<IndexEntry> find(BlobId id) const;

 private:
  static constexpr size_t kIndexEntryBytes = 32;
  friend class IndexBuilder;

  std::span<const std::byte> headers_;
  std::span<const std::byte> entries_;
  std::vector<uint64_t> offsets_;
};

// The index of a sealed file and its last two records, all with the right hashes and compared with
// the footer's chain. Nothing: the file has none, or no proper end, which a walk names.
struct FoundIndex {
  RecordIndex index;
  RecordView summary;
};
Result<std::optional<FoundIndex>> find_index(std::span<const std::byte> file);

}  // namespace gfxgraph::format
