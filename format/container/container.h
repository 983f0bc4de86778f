// The container of a trace file (docs/format.md, "Container"): fixed head, records, footer. Does
// not interpret payloads. Internal to format/ and its tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::format {

// The first and last 8 bytes of a sealed file. It has a non-ASCII byte, CR LF and SUB, so a file
// damaged by a text-mode transfer is detected immediately.
inline constexpr std::array<uint8_t, 8> kMagic = {0x89, 'G', 'F', 'X', 'G', 0x0d, 0x0a, 0x1a};
inline constexpr uint16_t kVersionMajor = 1;
inline constexpr uint16_t kVersionMinor = 0;

inline constexpr size_t kHeadBytes = 64;
inline constexpr size_t kRecordHeaderBytes = 32;
inline constexpr size_t kBlobHeaderBytes = 32;
inline constexpr size_t kFooterPayloadBytes = 24;
inline constexpr size_t kFooterBytes = kRecordHeaderBytes + kFooterPayloadBytes + kMagic.size();
// Every record starts at a multiple of this, and so do the bytes of a plain blob.
inline constexpr size_t kRecordAlignment = 64;
static_assert((kRecordHeaderBytes + kBlobHeaderBytes) % kRecordAlignment == 0);
static_assert(kHeadBytes % kRecordAlignment == 0 && kFooterBytes == 64);

// Limits; docs/format.md has them in one table.
inline constexpr uint64_t kMaxStructuredBytes = UINT64_C(1)
                                                << 30;  // FlatBuffers' own limit is 2^31 - 1
inline constexpr uint64_t kMaxBlobBytes = UINT64_C(1) << 40;
inline constexpr uint64_t kMaxZstdRatio =
    32768;  // zstd's maximum, for equal bytes: 4 bytes for 128 KiB

// Append only.
enum class RecordKind : uint32_t {
  kEnvironment = 1,
  kCodeObject = 2,
  kKernel = 3,
  kGraph = 4,
  kFinding = 5,
  kEvents = 6,
  kBlob = 7,
  kSummary = 8,
  kFooter = 9,
  kSite = 10,
  kCompressedEvents = 11,
  kIndex = 12,
  kProvenance = 13,
  kDevice = 14,
};
// First of the kinds that gfxgraph never assigns: for private records of other programs, which must
// have kFlagOptional.
inline constexpr uint32_t kFirstPrivateKind = 0x80000000;
// For example "events"; "unknown" for unknown kinds.
const char* record_kind_name(RecordKind kind) noexcept;
bool is_known(RecordKind kind) noexcept;
// The flags that records of this known kind must have.
uint32_t record_flags(RecordKind kind) noexcept;

// A reader may skip the record if it does not know its kind.
inline constexpr uint32_t kFlagOptional = 1;

// kChunks: a list of other blobs (chunks.h). Readers that do not know a codec fail with kVersion.
enum class BlobCodec : uint32_t { kPlain = 0, kZstd = 1, kChunks = 2 };

struct BlobHeader {
  BlobId id;
  uint64_t size_bytes = 0;  // uncompressed
  BlobCodec codec = BlobCodec::kPlain;
};

// XXH3-64.
uint64_t hash64(std::span<const std::byte> bytes) noexcept;
// Incremental XXH3-64.
class RunningHash {
 public:
  RunningHash();
  ~RunningHash();
  RunningHash(RunningHash&& other) noexcept;
  RunningHash& operator=(RunningHash&& other) noexcept;
  void add(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] uint64_t value() const noexcept;

 private:
  void* state_;
};
// Incremental BlobId, for bytes that arrive in pieces.
class RunningBlobId {
 public:
  RunningBlobId();
  ~RunningBlobId();
  RunningBlobId(const RunningBlobId&) = delete;
  RunningBlobId& operator=(const RunningBlobId&) = delete;
  void add(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] BlobId value() const noexcept;

 private:
  void* state_;
};
// XXH3-64 of the concatenated parts.
uint64_t hash64_parts(std::span<const std::span<const std::byte>> parts) noexcept;

std::array<std::byte, kHeadBytes> encode_head(uint16_t major = kVersionMajor,
                                              uint16_t minor = kVersionMinor);
std::array<std::byte, kRecordHeaderBytes> encode_record_header(uint64_t payload_bytes,
                                                               RecordKind kind, uint32_t flags,
                                                               uint64_t payload_hash);
std::array<std::byte, kBlobHeaderBytes> encode_blob_header(const BlobHeader& header);
// `chain`: XXH3-64 of the headers of all records before the footer.
std::array<std::byte, kFooterBytes> encode_footer(uint64_t summary_offset, uint64_t records,
                                                  uint64_t chain);

struct BlobView {
  BlobHeader header;
  std::span<const std::byte> stored;
};
// `payload` has at least kBlobHeaderBytes. Checks nothing.
BlobHeader decode_blob_header(std::span<const std::byte> payload);
// Checks all but the stored bytes. The result borrows `payload`.
Result<BlobView> decode_blob(std::span<const std::byte> payload);

struct RecordView {
  uint64_t offset = 0;  // of its header, in the file
  uint64_t index = 0;   // from 0
  RecordKind kind = RecordKind::kFooter;
  uint32_t flags = 0;
  std::span<const std::byte> payload;
  uint64_t payload_hash = 0;  // as in its header
  uint64_t chain_before = 0;  // index from the scanner: chain of all earlier headers
  // "record 3 (events) at byte 4096"
  [[nodiscard]] std::string where() const;
  // kCorrupt if the payload does not match `payload_hash`.
  [[nodiscard]] Result<void> check_hash() const;
};

struct RecordHeader {
  uint64_t payload_bytes = 0;
  RecordKind kind = RecordKind::kFooter;
  uint32_t flags = 0;
  uint64_t payload_hash = 0;
};
// `bytes` has at least kRecordHeaderBytes. Checks nothing.
RecordHeader decode_record_header(std::span<const std::byte> bytes);
// kCorrupt if the header of record `index` at `offset` does not match its hash.
Result<void> check_record_header(std::span<const std::byte> bytes, uint64_t offset, uint64_t index);
// kCorrupt if the flags are wrong for the kind, kVersion if the kind is unknown and not optional.
Result<void> check_record_flags(const RecordHeader& header, uint64_t offset, uint64_t index);
// The record with number `index` at `offset`, which must be within the file. Checks header, padding
// and flags, and with `check_hash` the payload's hash. Sets `end` to the offset after the padding.
Result<RecordView> read_record_at(std::span<const std::byte> file, uint64_t offset, uint64_t index,
                                  bool check_hash, uint64_t& end);

struct Footer {
  uint64_t summary_offset = 0;
  uint64_t records = 0;
  uint64_t chain = 0;
};
// Reads the footer of a file that has at least kFooterBytes. Checks only the footer itself.
Result<Footer> read_footer(std::span<const std::byte> file);

// Reads a file from front to back. Returns only records with correct header and payload hashes and
// zero padding. Errors name the byte offset. Borrows the file's bytes. Not thread-safe.
class RecordScanner {
 public:
  // `skip_blobs`: does not hash the payloads of blobs other than lists.
  explicit RecordScanner(std::span<const std::byte> file, bool skip_blobs = false)
      : file_(file), skip_blobs_(skip_blobs) {}

  // Call first. kCorrupt if the file is not a trace, kVersion for a newer major version.
  Result<void> read_head();
  // The next record; empty after a valid footer at the end of the file. kTruncated if bytes are
  // missing, kCorrupt if they are wrong, kVersion for a record of unknown kind that is not
  // optional. Returns optional records of unknown kind like any other.
  Result<std::optional<RecordView>> next();
  // After next() failed on a record with a valid header, continues after that record. False: not
  // possible.
  bool skip_damaged();

  [[nodiscard]] uint16_t version_minor() const noexcept { return version_minor_; }
  // Where the next record should begin; after an error, the end of the last intact record.
  [[nodiscard]] uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] uint64_t records() const noexcept { return records_; }

 private:
  Result<void> check_footer(const RecordView& record);

  std::span<const std::byte> file_;
  const bool skip_blobs_;
  uint64_t offset_ = 0;
  uint64_t after_damaged_ = 0;  // 0: unknown
  uint64_t records_ = 0;
  uint64_t last_offset_ = 0;  // of the last intact record
  RecordKind last_kind_ = RecordKind::kFooter;
  uint16_t version_minor_ = 0;
  bool ended_ = false;
  RunningHash chain_;
};

}  // namespace gfxgraph::format
