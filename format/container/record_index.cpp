#include "format/container/record_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/checked.h"
#include "base/cursor.h"
#include "format/codec/unpack.h"

namespace gfxgraph::format {
namespace {

// docs/format.md has the table.
constexpr size_t kIndexRecords = 0, kIndexBlobs = 8, kIndexHeadBytes = 16;
constexpr size_t kEntryIdLow = 0, kEntryIdHigh = 8, kEntrySize = 16, kEntryCodec = 24,
                 kEntryRecord = 28;

bool before(BlobId a, BlobId b) { return std::tie(a.high, a.low) < std::tie(b.high, b.low); }

}  // namespace

void IndexBuilder::add(std::span<const std::byte> header, RecordKind kind,
                       std::span<const std::byte> payload) {
  const uint64_t record = records_++;
  if (records_ > kMaxIndexedRecords) {
    headers_ = {};
    blobs_ = {};
    return;
  }
  headers_.insert(headers_.end(), header.begin(), header.end());
  if (kind != RecordKind::kBlob) return;
  const BlobHeader blob = decode_blob_header(payload);
  blobs_.push_back({blob.id, blob.size_bytes, blob.codec, static_cast<uint32_t>(record)});
}

std::vector<std::byte> IndexBuilder::encode(uint64_t min_records) {
  if (records_ < min_records || records_ > kMaxIndexedRecords) return {};
  std::ranges::sort(blobs_, before, &IndexEntry::id);
  std::vector<std::byte> bytes(kIndexHeadBytes + headers_.size() +
                               blobs_.size() * RecordIndex::kIndexEntryBytes);
  store_le(&bytes[kIndexRecords], records_);
  store_le(&bytes[kIndexBlobs], uint64_t{blobs_.size()});
  std::ranges::copy(headers_, bytes.begin() + kIndexHeadBytes);
  std::byte* at = bytes.data() + kIndexHeadBytes + headers_.size();
  for (const IndexEntry& blob : blobs_) {
    store_le(at + kEntryIdLow, blob.id.low);
    store_le(at + kEntryIdHigh, blob.id.high);
    store_le(at + kEntrySize, blob.size_bytes);
    store_le(at + kEntryCodec, static_cast<uint32_t>(blob.codec));
    store_le(at + kEntryRecord, blob.record);
    at += RecordIndex::kIndexEntryBytes;
  }
  return bytes;
}

Result<RecordIndex> RecordIndex::decode(std::span<const std::byte> payload, uint64_t index_offset) {
  const auto wrong = [](const char* what) {
    return fail(Status::kCorrupt, fmt::format("index: {}", what));
  };
  if (payload.size() < kIndexHeadBytes) return wrong("shorter than its own header");
  const uint64_t records = load_le<uint64_t>(&payload[kIndexRecords]);
  const uint64_t blobs = load_le<uint64_t>(&payload[kIndexBlobs]);
  if (records > payload.size() / kRecordHeaderBytes || blobs > payload.size() / kIndexEntryBytes ||
      blobs > records ||
      payload.size() != kIndexHeadBytes + records * kRecordHeaderBytes + blobs * kIndexEntryBytes) {
    return wrong("its numbers of records and blobs do not fit its size");
  }
  RecordIndex index;
  index.headers_ = payload.subspan(kIndexHeadBytes, records * kRecordHeaderBytes);
  index.entries_ = payload.subspan(kIndexHeadBytes + records * kRecordHeaderBytes);
  index.offsets_.reserve(records);
  uint64_t offset = kHeadBytes;
  uint64_t blob_records = 0;
  for (uint64_t i = 0; i < records; ++i) {
    GFXGRAPH_TRY(check_record_header(index.header(i), offset, i));
    const RecordHeader header = index.decoded(i);
    GFXGRAPH_TRY(check_record_flags(header, offset, i));
    if (header.kind == RecordKind::kSummary || header.kind == RecordKind::kFooter)
      return wrong("a summary or footer among the records before it");
    blob_records += header.kind == RecordKind::kBlob ? 1 : 0;
    index.offsets_.push_back(offset);
    const std::optional<uint64_t> end =
        checked_add(offset + kRecordHeaderBytes, header.payload_bytes);
    const std::optional<uint64_t> next =
        end ? checked_align_up(*end, kRecordAlignment) : std::nullopt;
    if (!next || *next > index_offset) return wrong("its records extend past it");
    offset = *next;
  }
  if (offset != index_offset) return wrong("its records end before it");
  if (blob_records != blobs) return wrong("it does not list each blob once");
  BlobId last;
  for (uint64_t i = 0; i < blobs; ++i) {
    const IndexEntry entry = index.blob(i);
    if (!before(last, entry.id)) return wrong("its blobs are not in ascending order");
    last = entry.id;
    if (entry.record >= records || index.decoded(entry.record).kind != RecordKind::kBlob)
      return wrong("a blob at a record that is not a blob");
    if (entry.codec > BlobCodec::kChunks || entry.size_bytes > kMaxBlobBytes ||
        index.decoded(entry.record).payload_bytes < kBlobHeaderBytes)
      return wrong("an impossible blob");
  }
  return index;
}

IndexEntry RecordIndex::blob(uint64_t place) const {
  const std::byte* const at = entries_.data() + place * kIndexEntryBytes;
  return {{load_le<uint64_t>(at + kEntryIdLow), load_le<uint64_t>(at + kEntryIdHigh)},
          load_le<uint64_t>(at + kEntrySize),
          BlobCodec{load_le<uint32_t>(at + kEntryCodec)},
          load_le<uint32_t>(at + kEntryRecord)};
}

std::optional<IndexEntry> RecordIndex::find(BlobId id) const {
  uint64_t first = 0, end = blobs();
  while (first < end) {
    const uint64_t middle = first + (end - first) / 2;
    if (before(blob(middle).id, id)) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  if (first == blobs()) return std::nullopt;
  const IndexEntry entry = blob(first);
  // The file may have been changed since decode().
  if (entry.id != id || entry.record >= records()) return std::nullopt;
  return entry;
}

Result<std::optional<FoundIndex>> find_index(std::span<const std::byte> file) {
  constexpr std::optional<FoundIndex> kNone;
  if (file.size() < kHeadBytes + kRecordAlignment + kFooterBytes ||
      file.size() % kRecordAlignment != 0)
    return kNone;
  // A walk reports errors at the file's end.
  const Result<Footer> footer = read_footer(file);
  if (!footer) return kNone;
  const uint64_t footer_offset = file.size() - kFooterBytes;
  if (footer->summary_offset % kRecordAlignment != 0 || footer->summary_offset < kHeadBytes ||
      footer->summary_offset >= footer_offset || footer->records < 2)
    return kNone;
  const uint64_t last = footer->records - 1;
  uint64_t end = 0;
  GFXGRAPH_ASSIGN_OR_RETURN(const RecordView summary_record,
                            read_record_at(file, footer->summary_offset, last, true, end));
  if (summary_record.kind != RecordKind::kSummary || end != footer_offset) return kNone;
  GFXGRAPH_ASSIGN_OR_RETURN(const Summary summary, unpack_summary(summary_record.payload));
  if (summary.index_offset == 0) return kNone;
  const auto wrong = [&](const char* what) {
    return fail(Status::kCorrupt, fmt::format("byte {}: index: {}", footer->summary_offset, what));
  };
  if (summary.index_offset % kRecordAlignment != 0 || summary.index_offset < kHeadBytes ||
      summary.index_offset >= footer->summary_offset)
    return wrong("it is not at the offset in the summary");
  GFXGRAPH_ASSIGN_OR_RETURN(const RecordView record,
                            read_record_at(file, summary.index_offset, last - 1, true, end));
  if (record.kind != RecordKind::kIndex || end != footer->summary_offset)
    return wrong("it is not at the offset in the summary");
  GFXGRAPH_ASSIGN_OR_RETURN(RecordIndex index,
                            RecordIndex::decode(record.payload, summary.index_offset));
  const std::array parts = {index.headers(), file.subspan(summary.index_offset, kRecordHeaderBytes),
                            file.subspan(footer->summary_offset, kRecordHeaderBytes)};
  if (index.records() != footer->records - 2 || hash64_parts(parts) != footer->chain)
    return wrong("its headers differ from those of the records");
  return FoundIndex{std::move(index), summary_record};
}

}  // namespace gfxgraph::format
