// The index of a trace (docs/format.md, "Index"): the headers of all records before it and its blob
// ids, sorted, so that a reader of a part of a large trace reads only that part. Internal to
// format/ and its tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/container/container.h"

namespace gfxgraph::format {

// An index does not speed up files with fewer records. IndexBuilder needs 64 bytes per record.
inline constexpr uint64_t kMinIndexedRecords = 64;
inline constexpr uint64_t kMaxIndexedRecords = UINT64_C(1) << 18;

struct IndexEntry {
  BlobId id;
  uint64_t size_bytes = 0;
  BlobCodec codec = BlobCodec::kPlain;
  uint32_t record = 0;  // record number
};

// Collects the entries of an index while a file is written.
class IndexBuilder {
 public:
  // Adds the next record. `payload`: its first bytes; of a blob, at least the blob header.
  void add(std::span<const std::byte> header, RecordKind kind, std::span<const std::byte> payload);
  // The payload of the index; empty if there are fewer records than `min_records`, or more than
  // kMaxIndexedRecords.
  [[nodiscard]] std::vector<std::byte> encode(uint64_t min_records);

 private:
  uint64_t records_ = 0;
  std::vector<std::byte> headers_;
  std::vector<IndexEntry> blobs_;
};

// A decoded index; borrows its bytes. Its entries have not been compared with the records.
class RecordIndex {
 public:
  // Checks only the index itself, else kCorrupt: its headers match their hashes and cover the file
  // from the head to `index_offset` without gaps; its blobs are sorted and refer to blob records.
  static Result<RecordIndex> decode(std::span<const std::byte> payload, uint64_t index_offset);

  [[nodiscard]] uint64_t records() const { return offsets_.size(); }
  [[nodiscard]] uint64_t blobs() const { return entries_.size() / kIndexEntryBytes; }
  // As in the file, one after another.
  [[nodiscard]] std::span<const std::byte> headers() const { return headers_; }
  [[nodiscard]] std::span<const std::byte> header(uint64_t record) const {
    return headers_.subspan(record * kRecordHeaderBytes, kRecordHeaderBytes);
  }
  [[nodiscard]] RecordHeader decoded(uint64_t record) const {
    return decode_record_header(header(record));
  }
  [[nodiscard]] uint64_t offset(uint64_t record) const { return offsets_[record]; }
  // The blob at a position in id order, from 0.
  [[nodiscard]] IndexEntry blob(uint64_t place) const;
  [[nodiscard]] std::optional<IndexEntry> find(BlobId id) const;

 private:
  static constexpr size_t kIndexEntryBytes = 32;
  friend class IndexBuilder;

  std::span<const std::byte> headers_;
  std::span<const std::byte> entries_;
  std::vector<uint64_t> offsets_;
};

// The index of a sealed file and its last two records, with all hashes and the footer's chain
// checked. Empty: the file has no index, or its end is damaged; a scan of the records then reports
// the damage.
struct FoundIndex {
  RecordIndex index;
  RecordView summary;
};
Result<std::optional<FoundIndex>> find_index(std::span<const std::byte> file);

}  // namespace gfxgraph::format
