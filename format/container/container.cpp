#include "format/container/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/cursor.h"
#include "format/container/chunks.h"

namespace gfxgraph::format {
namespace {

// Offsets in the fixed parts; docs/format.md has the tables.
constexpr size_t kHeadMajor = 8, kHeadMinor = 10, kHeadSize = 12, kHeadHash = 56;
constexpr size_t kHeaderLength = 0, kHeaderKind = 8, kHeaderFlags = 12, kHeaderPayloadHash = 16,
                 kHeaderHash = 24;
constexpr size_t kBlobIdLow = 0, kBlobIdHigh = 8, kBlobSize = 16, kBlobCodec = 24,
                 kBlobReserved = 28;
constexpr size_t kFooterSummary = 0, kFooterRecords = 8, kFooterChain = 16;

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

bool is_chunk_list(std::span<const std::byte> blob) {
  return blob.size() >= kBlobHeaderBytes &&
         load_le<uint32_t>(&blob[kBlobCodec]) == static_cast<uint32_t>(BlobCodec::kChunks);
}

bool starts_with_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

}  // namespace

const char* record_kind_name(RecordKind kind) noexcept {
  switch (kind) {
    case RecordKind::kEnvironment: return "environment";
    case RecordKind::kCodeObject: return "code object";
    case RecordKind::kKernel: return "kernel";
    case RecordKind::kGraph: return "graph";
    case RecordKind::kFinding: return "finding";
    case RecordKind::kEvents: return "events";
    case RecordKind::kBlob: return "blob";
    case RecordKind::kSummary: return "summary";
    case RecordKind::kFooter: return "footer";
    case RecordKind::kSite: return "site";
    case RecordKind::kCompressedEvents: return "compressed events";
    case RecordKind::kIndex: return "index";
    case RecordKind::kProvenance: return "provenance";
    case RecordKind::kDevice: return "device";
  }
  return "unknown";
}

bool is_known(RecordKind kind) noexcept {
  return kind >= RecordKind::kEnvironment && kind <= RecordKind::kDevice;
}

uint32_t record_flags(RecordKind kind) noexcept {
  return kind == RecordKind::kSite || kind == RecordKind::kIndex || kind == RecordKind::kProvenance
             ? kFlagOptional
             : 0;
}

std::string RecordView::where() const {
  return fmt::format("record {} ({}) at byte {}", index, record_kind_name(kind), offset);
}

Result<void> RecordView::check_hash() const {
  if (hash64(payload) == payload_hash) return {};
  return fail(Status::kCorrupt, fmt::format("byte {}: the payload of {} is damaged (wrong hash)",
                                            offset + kRecordHeaderBytes, where()));
}

std::array<std::byte, kHeadBytes> encode_head(uint16_t major, uint16_t minor) {
  std::array<std::byte, kHeadBytes> head{};
  std::memcpy(head.data(), kMagic.data(), kMagic.size());
  store_le(&head[kHeadMajor], major);
  store_le(&head[kHeadMinor], minor);
  store_le(&head[kHeadSize], static_cast<uint32_t>(kHeadBytes));
  store_le(&head[kHeadHash], hash64(std::span(head).first(kHeadHash)));
  return head;
}

std::array<std::byte, kRecordHeaderBytes> encode_record_header(uint64_t payload_bytes,
                                                               RecordKind kind, uint32_t flags,
                                                               uint64_t payload_hash) {
  std::array<std::byte, kRecordHeaderBytes> header{};
  store_le(&header[kHeaderLength], payload_bytes);
  store_le(&header[kHeaderKind], static_cast<uint32_t>(kind));
  store_le(&header[kHeaderFlags], flags);
  store_le(&header[kHeaderPayloadHash], payload_hash);
  store_le(&header[kHeaderHash], hash64(std::span(header).first(kHeaderHash)));
  return header;
}

std::array<std::byte, kBlobHeaderBytes> encode_blob_header(const BlobHeader& header) {
  std::array<std::byte, kBlobHeaderBytes> bytes{};
  store_le(&bytes[kBlobIdLow], header.id.low);
  store_le(&bytes[kBlobIdHigh], header.id.high);
  store_le(&bytes[kBlobSize], header.size_bytes);
  store_le(&bytes[kBlobCodec], static_cast<uint32_t>(header.codec));
  return bytes;
}

std::array<std::byte, kFooterBytes> encode_footer(uint64_t summary_offset, uint64_t records,
                                                  uint64_t chain) {
  std::array<std::byte, kFooterBytes> footer{};
  const std::span<std::byte> payload =
      std::span(footer).subspan(kRecordHeaderBytes, kFooterPayloadBytes);
  store_le(&payload[kFooterSummary], summary_offset);
  store_le(&payload[kFooterRecords], records);
  store_le(&payload[kFooterChain], chain);
  const std::array<std::byte, kRecordHeaderBytes> header =
      encode_record_header(kFooterPayloadBytes, RecordKind::kFooter, 0, hash64(payload));
  std::ranges::copy(header, footer.begin());
  std::memcpy(footer.data() + kRecordHeaderBytes + kFooterPayloadBytes, kMagic.data(),
              kMagic.size());
  return footer;
}

BlobHeader decode_blob_header(std::span<const std::byte> payload) {
  return {{load_le<uint64_t>(&payload[kBlobIdLow]), load_le<uint64_t>(&payload[kBlobIdHigh])},
          load_le<uint64_t>(&payload[kBlobSize]),
          BlobCodec{load_le<uint32_t>(&payload[kBlobCodec])}};
}

Result<BlobView> decode_blob(std::span<const std::byte> payload) {
  if (payload.size() < kBlobHeaderBytes) {
    return fail(Status::kCorrupt, "blob record is shorter than its own header");
  }
  BlobView blob;
  blob.header = decode_blob_header(payload);
  const auto codec = static_cast<uint32_t>(blob.header.codec);
  blob.stored = payload.subspan(kBlobHeaderBytes);
  if (load_le<uint32_t>(&payload[kBlobReserved]) != 0) {
    return fail(Status::kCorrupt, "reserved bytes of the blob header are not zero");
  }
  if (!blob.header.id) return fail(Status::kCorrupt, "blob id is zero");
  if (blob.header.size_bytes > kMaxBlobBytes) {
    return fail(Status::kCorrupt, fmt::format("blob of {} bytes is larger than the limit of {}",
                                              blob.header.size_bytes, kMaxBlobBytes));
  }
  if (codec > static_cast<uint32_t>(BlobCodec::kChunks)) {
    return fail(Status::kVersion, fmt::format("blob codec {} is unknown: the trace was made by a "
                                              "newer gfxgraph",
                                              codec));
  }
  if (blob.header.codec == BlobCodec::kPlain && blob.stored.size() != blob.header.size_bytes) {
    return fail(Status::kCorrupt, fmt::format("uncompressed blob declares {} bytes and stores {}",
                                              blob.header.size_bytes, blob.stored.size()));
  }
  if (blob.header.codec == BlobCodec::kZstd &&
      blob.header.size_bytes / kMaxZstdRatio > blob.stored.size()) {
    return fail(Status::kCorrupt, fmt::format("{} stored bytes cannot hold a blob of {} bytes",
                                              blob.stored.size(), blob.header.size_bytes));
  }
  if (blob.header.codec == BlobCodec::kChunks) {
    GFXGRAPH_TRY(decode_chunk_list(blob.header.size_bytes, blob.stored));
  }
  return blob;
}

Result<void> RecordScanner::read_head() {
  const size_t check = std::min(file_.size(), kMagic.size());
  if (file_.empty()) return fail(Status::kTruncated, "the file is empty");
  if (std::memcmp(file_.data(), kMagic.data(), check) != 0) {
    return fail(Status::kCorrupt, "byte 0: not a gfxgraph trace (the magic number is wrong)");
  }
  if (file_.size() < kHeadBytes) {
    return fail(Status::kTruncated, fmt::format("byte {}: the file ends inside its {}-byte head",
                                                file_.size(), kHeadBytes));
  }
  const std::span<const std::byte> head = file_.first(kHeadBytes);
  if (load_le<uint64_t>(&head[kHeadHash]) != hash64(head.first(kHeadHash))) {
    return fail(Status::kCorrupt, "byte 0: the head of the file is damaged (wrong hash)");
  }
  const uint16_t major = load_le<uint16_t>(&head[kHeadMajor]);
  version_minor_ = load_le<uint16_t>(&head[kHeadMinor]);
  if (major > kVersionMajor) {
    return fail(Status::kVersion,
                fmt::format("byte {}: trace format {}.{} is newer than this gfxgraph reads ({}.x): "
                            "use a newer gfxgraph",
                            kHeadMajor, major, version_minor_, kVersionMajor));
  }
  constexpr size_t kReservedFrom = kHeadSize + sizeof(uint32_t);
  if (major == 0 || load_le<uint32_t>(&head[kHeadSize]) != kHeadBytes ||
      !all_zero(head.subspan(kReservedFrom, kHeadHash - kReservedFrom))) {
    return fail(Status::kCorrupt, "byte 8: the head of the file has values out of range");
  }
  offset_ = kHeadBytes;
  return {};
}

namespace {

Result<RecordHeader> read_header_at(std::span<const std::byte> file, uint64_t offset,
                                    uint64_t index) {
  if (file.size() - offset < kRecordHeaderBytes) {
    return fail(
        Status::kTruncated,
        fmt::format("byte {}: the file ends inside the header of record {}", file.size(), index));
  }
  const std::span<const std::byte> bytes = file.subspan(offset, kRecordHeaderBytes);
  GFXGRAPH_TRY(check_record_header(bytes, offset, index));
  return decode_record_header(bytes);
}

// The bytes of a record with this header; `end`: after its padding. Checks that they exist.
Result<RecordView> take_record(std::span<const std::byte> file, const RecordHeader& header,
                               uint64_t offset, uint64_t index, uint64_t& end) {
  RecordView record{offset, index, header.kind, header.flags, {}, header.payload_hash};
  const uint64_t payload_at = offset + kRecordHeaderBytes;
  const uint64_t left = file.size() - payload_at;
  if (header.payload_bytes > left) {
    return fail(Status::kTruncated,
                fmt::format("byte {}: the file ends inside {}, which has {} bytes", file.size(),
                            record.where(), header.payload_bytes));
  }
  record.payload = file.subspan(payload_at, header.payload_bytes);
  end = *checked_align_up(payload_at + header.payload_bytes, kRecordAlignment);
  if (end > file.size()) {
    return fail(Status::kTruncated, fmt::format("byte {}: the file ends inside the padding of {}",
                                                file.size(), record.where()));
  }
  return record;
}

// The footer's padding contains the closing magic.
Result<void> check_padding(std::span<const std::byte> file, const RecordView& record,
                           uint64_t end) {
  const uint64_t payload_end = record.offset + kRecordHeaderBytes + record.payload.size();
  if (record.kind == RecordKind::kFooter || all_zero(file.subspan(payload_end, end - payload_end)))
    return {};
  return fail(Status::kCorrupt,
              fmt::format("byte {}: the padding of {} is not zero", payload_end, record.where()));
}

Footer decode_footer(std::span<const std::byte> payload) {
  return {load_le<uint64_t>(&payload[kFooterSummary]), load_le<uint64_t>(&payload[kFooterRecords]),
          load_le<uint64_t>(&payload[kFooterChain])};
}

Result<void> check_footer_form(std::span<const std::byte> file, const RecordView& record) {
  const uint64_t end = record.offset + kFooterBytes;
  if (record.payload.size() == kFooterPayloadBytes && record.flags == 0 &&
      starts_with_magic(file.subspan(end - kMagic.size())))
    return {};
  return fail(Status::kCorrupt, fmt::format("byte {}: the footer is malformed", record.offset));
}

}  // namespace

RecordHeader decode_record_header(std::span<const std::byte> bytes) {
  return {load_le<uint64_t>(&bytes[kHeaderLength]),
          RecordKind{load_le<uint32_t>(&bytes[kHeaderKind])},
          load_le<uint32_t>(&bytes[kHeaderFlags]), load_le<uint64_t>(&bytes[kHeaderPayloadHash])};
}

Result<void> check_record_header(std::span<const std::byte> bytes, uint64_t offset,
                                 uint64_t index) {
  if (load_le<uint64_t>(&bytes[kHeaderHash]) == hash64(bytes.first(kHeaderHash))) return {};
  return fail(
      Status::kCorrupt,
      fmt::format("byte {}: the header of record {} is damaged (wrong hash)", offset, index));
}

Result<void> check_record_flags(const RecordHeader& header, uint64_t offset, uint64_t index) {
  if ((header.flags & ~kFlagOptional) != 0 ||
      (is_known(header.kind) && header.flags != record_flags(header.kind)) ||
      static_cast<uint32_t>(header.kind) == 0) {
    const RecordView record{offset, index, header.kind, header.flags, {}};
    return fail(Status::kCorrupt,
                fmt::format("{} has invalid flags {:#x}", record.where(), header.flags));
  }
  if (!is_known(header.kind) && header.flags == 0) {
    return fail(Status::kVersion,
                fmt::format("byte {}: record {} has the unknown kind {} and is not optional: the "
                            "trace was made by a newer gfxgraph",
                            offset, index, static_cast<uint32_t>(header.kind)));
  }
  return {};
}

Result<RecordView> read_record_at(std::span<const std::byte> file, uint64_t offset, uint64_t index,
                                  bool check_hash, uint64_t& end) {
  GFXGRAPH_ASSIGN_OR_RETURN(const RecordHeader header, read_header_at(file, offset, index));
  GFXGRAPH_ASSIGN_OR_RETURN(const RecordView record, take_record(file, header, offset, index, end));
  if (check_hash) GFXGRAPH_TRY(record.check_hash());
  GFXGRAPH_TRY(check_padding(file, record, end));
  GFXGRAPH_TRY(check_record_flags(header, offset, index));
  return record;
}

Result<Footer> read_footer(std::span<const std::byte> file) {
  uint64_t end = 0;
  GFXGRAPH_ASSIGN_OR_RETURN(const RecordView record,
                            read_record_at(file, file.size() - kFooterBytes, 0, true, end));
  if (record.kind != RecordKind::kFooter)
    return fail(Status::kCorrupt, "the file does not end in a footer");
  GFXGRAPH_TRY(check_footer_form(file, record));
  return decode_footer(record.payload);
}

Result<void> RecordScanner::check_footer(const RecordView& record) {
  GFXGRAPH_TRY(check_footer_form(file_, record));
  const Footer footer = decode_footer(record.payload);
  if (records_ == 0 || last_kind_ != RecordKind::kSummary ||
      footer.summary_offset != last_offset_) {
    return fail(Status::kCorrupt,
                fmt::format("byte {}: the footer does not follow the summary that it names",
                            record.offset));
  }
  if (footer.records != records_ || footer.chain != chain_.value()) {
    return fail(Status::kCorrupt,
                fmt::format("byte {}: the footer does not match the {} records before it: records "
                            "were removed, added or moved",
                            record.offset, records_));
  }
  const uint64_t end = record.offset + kFooterBytes;
  if (end != file_.size()) {
    return fail(Status::kCorrupt, fmt::format("byte {}: {} bytes follow the end of the trace", end,
                                              file_.size() - end));
  }
  return {};
}

Result<std::optional<RecordView>> RecordScanner::next() {
  after_damaged_ = 0;
  if (ended_) return std::nullopt;
  if (offset_ == file_.size()) {
    return fail(
        Status::kTruncated,
        fmt::format("byte {}: the file ends without a footer: the recording was not finished",
                    offset_));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const RecordHeader header, read_header_at(file_, offset_, records_));
  uint64_t end = 0;
  GFXGRAPH_ASSIGN_OR_RETURN(RecordView record, take_record(file_, header, offset_, records_, end));
  after_damaged_ = header.kind == RecordKind::kFooter ? 0 : end;
  const bool skipped =
      skip_blobs_ && header.kind == RecordKind::kBlob && !is_chunk_list(record.payload);
  if (!skipped) GFXGRAPH_TRY(record.check_hash());
  GFXGRAPH_TRY(check_padding(file_, record, end));
  GFXGRAPH_TRY(check_record_flags(header, offset_, records_));
  if (header.kind == RecordKind::kFooter) {
    GFXGRAPH_TRY(check_footer(record));
    ended_ = true;
    return record;
  }
  if (last_kind_ == RecordKind::kSummary && records_ > 0) {
    return fail(Status::kCorrupt, fmt::format("byte {}: a record follows the summary", offset_));
  }
  if (header.kind == RecordKind::kIndex) record.chain_before = chain_.value();
  chain_.add(file_.subspan(offset_, kRecordHeaderBytes));
  last_offset_ = offset_;
  last_kind_ = header.kind;
  offset_ = std::exchange(after_damaged_, 0);
  ++records_;
  return record;
}

bool RecordScanner::skip_damaged() {
  if (after_damaged_ == 0) return false;
  offset_ = std::exchange(after_damaged_, 0);
  ++records_;
  return true;
}

}  // namespace gfxgraph::format
