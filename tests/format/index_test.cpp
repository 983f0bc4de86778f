// The index: by it a reader sees what a walk sees, reads nothing else, and believes nothing that
// the records do not say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/cursor.h"
#include "format/codec/pack.h"
#include "format/codec/unpack.h"
#include "format/read/recover.h"
#include "format/read/verify.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

using ::testing::HasSubstr;

constexpr size_t kBlobBytes = 300;
constexpr uint8_t kBlobs = 8;

std::vector<std::byte> blob_of(uint8_t seed) {
  std::vector<std::byte> bytes = random_bytes(kBlobBytes);
  bytes[0] = std::byte{seed};
  return bytes;
}

void fill(Writer& writer) {
  ASSERT_TRUE(add_preamble(writer));
  for (uint8_t i = 1; i <= kBlobs; ++i) {
    AllocationBegin begin = sample_allocation(i, kBlobBytes);
    begin.initial = blob_content(writer.add_blob(blob_of(i)).value(), kBlobBytes);
    ASSERT_TRUE(writer.add(event_of(begin)));
    ASSERT_TRUE(writer.flush());
  }
}

std::vector<std::byte> indexed() { return trace_bytes(fill, SIZE_MAX, 1); }

Result<std::shared_ptr<const Trace>> open_lazily(std::span<const std::byte> file) {
  return Trace::from_bytes(file, {.lazy = true});
}

size_t indexes(std::span<const std::byte> file) {
  return static_cast<size_t>(
      std::ranges::count(split_records(file), RecordKind::kIndex, &RawRecord::kind));
}

// Where the header of a record begins, by its number.
size_t offset_of(const std::vector<RawRecord>& records, size_t number) {
  const std::vector<RawRecord> before(records.begin(),
                                      records.begin() + static_cast<ptrdiff_t>(number));
  return join_records(before).size() - kFooterBytes;
}

size_t number_of_blob(const std::vector<RawRecord>& records, BlobId id) {
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].kind == RecordKind::kBlob && decode_blob_header(records[i].payload).id == id)
      return i;
  }
  ADD_FAILURE();
  return 0;
}

TEST(Index, ALazyTraceSaysTheSameByIt) {
  const std::vector<std::byte> file = indexed();
  EXPECT_EQ(indexes(file), 1u);
  const auto eager = Trace::from_bytes(file).value();
  const auto lazy = open_lazily(file).value();
  ASSERT_TRUE(lazy->load_events());
  EXPECT_EQ(dump_json(*lazy), dump_json(*eager));
  EXPECT_TRUE(lazy->sealed());
  for (uint8_t i = 1; i <= kBlobs; ++i) {
    const BlobId id = hash_bytes(blob_of(i));
    EXPECT_TRUE(std::ranges::equal(lazy->blob(id).value(), blob_of(i)));
  }
  EXPECT_EQ(lazy->blob({1, 2}).error().status, Status::kNotFound);
  EXPECT_TRUE(verify_bytes(file)->problems.empty());
}

TEST(Index, ShortFilesHaveNone) {
  EXPECT_EQ(indexes(trace_bytes(fill)), 0u) << "a third of the least";
  const std::vector<std::byte> long_file = trace_bytes([](Writer& writer) {
    fill(writer);
    for (int i = 0; i < 64; ++i)
      ASSERT_TRUE(writer.add(Finding{FindingKind::kNote, "call", 1, ""}));
  });
  EXPECT_EQ(indexes(long_file), 1u);
  EXPECT_TRUE(open_lazily(long_file));
}

TEST(Index, IsLeftOutOfVeryLongFiles) {
  const auto header = encode_record_header(0, RecordKind::kFinding, 0, 0);
  IndexBuilder builder;
  for (uint64_t i = 0; i < kMaxIndexedRecords; ++i) builder.add(header, RecordKind::kFinding, {});
  EXPECT_EQ(builder.encode(0).size(), 16 + kMaxIndexedRecords * kRecordHeaderBytes);
  builder.add(header, RecordKind::kFinding, {});
  EXPECT_TRUE(builder.encode(0).empty());
}

// Whatever of a blob's record is damaged, opening does not see it and reading does.
TEST(Index, BlobsThatNobodyAsksForAreNotLookedAt) {
  const std::vector<std::byte> file = indexed();
  const std::vector<RawRecord> records = split_records(file);
  const BlobId asked = hash_bytes(blob_of(7));
  const size_t at = offset_of(records, number_of_blob(records, asked));
  const size_t padding = at + kRecordHeaderBytes + kBlobHeaderBytes + kBlobBytes;
  for (const size_t byte :
       {at, at + 8, at + 24, at + kRecordHeaderBytes, at + kRecordHeaderBytes + 16,
        at + kRecordHeaderBytes + 24, at + kRecordHeaderBytes + 100, padding}) {
    SCOPED_TRACE(byte - at);
    std::vector<std::byte> damaged = file;
    damaged[byte] ^= std::byte{1};
    const auto eager = Trace::from_bytes(damaged);
    ASSERT_FALSE(eager);
    const auto lazy = open_lazily(damaged);
    ASSERT_TRUE(lazy) << lazy.error().message;
    EXPECT_TRUE((*lazy)->blob(hash_bytes(blob_of(8))));
    const auto blob = (*lazy)->blob(asked);
    ASSERT_FALSE(blob);
    EXPECT_EQ(blob.error().status, Status::kCorrupt);
    EXPECT_FALSE((*lazy)->check_blobs(std::array{asked}));
    EXPECT_FALSE(verify_bytes(damaged)->problems.empty());
  }
}

TEST(Index, DamageToOtherRecordsIsFoundByOpen) {
  const std::vector<std::byte> file = indexed();
  const std::vector<RawRecord> records = split_records(file);
  for (size_t number = 0; number < records.size(); ++number) {
    if (records[number].kind == RecordKind::kBlob) continue;
    for (const size_t byte : {size_t{0}, size_t{25}, kRecordHeaderBytes + 3}) {
      SCOPED_TRACE(number);
      std::vector<std::byte> damaged = file;
      damaged[offset_of(records, number) + byte] ^= std::byte{1};
      const auto lazy = open_lazily(damaged);
      ASSERT_FALSE(lazy);
      EXPECT_EQ(lazy.error().message, Trace::from_bytes(damaged).error().message);
    }
  }
}

// All hashes right, and other things in the index: what it says of blobs that are not asked for may
// pass, but only what the records say comes out.
TEST(Index, NothingComesOutThatTheRecordsDoNotSay) {
  const std::vector<std::byte> file = indexed();
  const std::vector<RawRecord> records = split_records(file);
  const size_t index = records.size() - 2;
  ASSERT_EQ(records[index].kind, RecordKind::kIndex);
  size_t opened = 0;
  for (size_t byte = 0; byte < records[index].payload.size(); ++byte) {
    std::vector<RawRecord> changed = records;
    changed[index].payload[byte] ^= std::byte{1} << (byte % 8);
    const std::vector<std::byte> forged = join_records(changed);
    EXPECT_FALSE(Trace::from_bytes(forged)) << byte;
    EXPECT_FALSE(verify_bytes(forged)->problems.empty()) << byte;
    const auto lazy = open_lazily(forged);
    if (!lazy) continue;
    ++opened;
    for (uint8_t i = 1; i <= kBlobs; ++i) {
      const auto blob = (*lazy)->blob(hash_bytes(blob_of(i)));
      if (blob) {
        EXPECT_TRUE(std::ranges::equal(*blob, blob_of(i))) << byte;
      }
    }
  }
  EXPECT_LT(opened, records.size()) << "the chain covers headers, and few entries are not used";
}

TEST(Index, OneThatTheSummaryDoesNotNameMeansNothing) {
  std::vector<RawRecord> records = split_records(indexed());
  // As a recover that does not know the kind would leave it.
  Packer packer;
  const Summary summary = unpack_summary(records.back().payload).value();
  const auto payload = packer.pack_summary(summary.statistics, summary.graphs, 1);
  records.back().payload = {payload.begin(), payload.end()};
  const std::vector<std::byte> finding = [&] {
    Packer other;
    const auto bytes = other.pack(Finding{FindingKind::kNote, "call", 1, ""});
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }();
  records.insert(records.end() - 1, {RecordKind::kFinding, 0, finding});
  const std::vector<std::byte> file = join_records(records);
  for (const bool lazy : {false, true}) {
    const auto trace = Trace::from_bytes(file, {.lazy = lazy});
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ((*trace)->statistics().blobs, kBlobs + 1u);
  }
  EXPECT_TRUE(verify_bytes(file)->problems.empty());
}

TEST(Index, RecoveredAndClosedTracesGetOneOfTheirOwn) {
  TemporaryFolder folder;
  const std::vector<std::byte> file = trace_bytes([](Writer& writer) {
    for (int i = 0; i < 64; ++i)
      ASSERT_TRUE(writer.add(Finding{FindingKind::kNote, "call", 1, ""}));
    fill(writer);
  });
  ASSERT_EQ(indexes(file), 1u);
  const std::vector<RawRecord> records = split_records(file);
  const size_t index = offset_of(records, records.size() - 2);
  const size_t summary = offset_of(records, records.size() - 1);
  for (const size_t size :
       {index, index + 100, summary, summary + 40, file.size() - kFooterBytes}) {
    SCOPED_TRACE(size);
    const std::filesystem::path partial = folder / "t.gfxg.partial";
    ASSERT_TRUE(write_file_atomic(partial, std::span(file).first(size)));
    ASSERT_TRUE(recover(partial, folder / "copy.gfxg"));
    ASSERT_TRUE(close_recording(partial, folder / "t.gfxg", {"died", 0}));
    for (const char* name : {"copy.gfxg", "t.gfxg"}) {
      EXPECT_TRUE(verify(folder / name)->problems.empty());
      const auto trace = Trace::open(folder / name, {.lazy = true});
      ASSERT_TRUE(trace) << trace.error().message;
      EXPECT_EQ((*trace)->statistics().blobs, kBlobs + 1u);
      EXPECT_TRUE((*trace)->blob(hash_bytes(blob_of(3))));
      EXPECT_NE(unpack_summary(split_records(read_file(folder / name).value()).back().payload)
                    ->index_offset,
                0u);
    }
  }
}

}  // namespace
}  // namespace gfxgraph::format
