// Files that are well formed and mean harm: what they may cost.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "base/cursor.h"
#include "format/container/event_codec.h"
#include "format/container/zstd_codec.h"
#include "format/read/loader.h"
#include "tests/format/trace_builder.h"

namespace gfxgraph::format {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Packed {
  std::vector<std::byte> bytes;
  BlobView view;
};

Packed pack(const std::vector<std::byte>& bytes, BlobId id) {
  Packed packed{*compress(bytes, 1), {}};
  packed.view = {{id, bytes.size(), BlobCodec::kZstd}, packed.bytes};
  return packed;
}

TEST(Hostile, CompressedBlobsAreCheckedInPieces) {
  const std::vector<std::byte> bytes(20 << 20, std::byte{7});
  const Packed packed = pack(bytes, hash_bytes(bytes));
  ASSERT_LT(packed.bytes.size(), 10000U);
  size_t largest = 0;
  uint64_t sum = 0;
  ASSERT_TRUE(decompress(packed.bytes, bytes.size(), [&](std::span<const std::byte> piece) {
    largest = std::max(largest, piece.size());
    sum += piece.size();
  }));
  EXPECT_LE(largest, size_t{1} << 20);
  EXPECT_EQ(sum, bytes.size());
  EXPECT_TRUE(check_blob(packed.view));
}

TEST(Hostile, WrongCompressedBlobsAreFoundInPieces) {
  const std::vector<std::byte> bytes(1 << 20, std::byte{7});
  EXPECT_THAT(check_blob(pack(bytes, {1, 2}).view).error().message,
              HasSubstr("do not match its hash"));
  for (const int64_t more : {-1, 1, 1 << 20}) {
    Packed packed = pack(bytes, hash_bytes(bytes));
    packed.view.header.size_bytes += static_cast<uint64_t>(more);
    EXPECT_FALSE(check_blob(packed.view)) << more;
  }
  for (size_t size = 0; size < 20; ++size) {
    Packed packed = pack(bytes, hash_bytes(bytes));
    packed.view.stored = packed.view.stored.first(size);
    EXPECT_FALSE(check_blob(packed.view)) << size;
  }
  Packed longer = pack(bytes, hash_bytes(bytes));
  longer.bytes.push_back(std::byte{0});
  longer.view.stored = longer.bytes;
  EXPECT_FALSE(check_blob(longer.view));
}

TEST(Hostile, AKernelHasAtMostSoManyArguments) {
  const auto with = [](size_t count) {
    return [count](Writer& writer) {
      ASSERT_TRUE(add_preamble(writer));
      Kernel kernel = sample_kernel();
      kernel.id = 2;
      kernel.arguments.assign(count, kernel.arguments.front());
      EXPECT_EQ(writer.add(kernel).has_value(), count <= 65536) << count;
    };
  };
  trace_bytes(with(65536));
  trace_bytes(with(65537));
}

TEST(Hostile, DecompressedBlobsHaveALimit) {
  const std::vector<std::byte> bytes(1 << 20, std::byte{7});
  BlobId id;
  const std::vector<std::byte> file = trace_bytes([&](Writer& writer) {
    ASSERT_TRUE(add_preamble(writer));
    id = *writer.add_blob(bytes);
  });
  for (const uint64_t limit : {uint64_t{1} << 20, (uint64_t{1} << 20) - 1}) {
    const auto trace = Trace::from_bytes(file, {.max_decompressed_bytes = limit});
    ASSERT_TRUE(trace);
    EXPECT_EQ((*trace)->blob(id).has_value(), limit == bytes.size());
    // Into memory that the caller has counted, there is no further limit.
    std::vector<std::byte> out(bytes.size());
    EXPECT_TRUE((*trace)->read_blob(id, out));
    EXPECT_EQ(out, bytes);
    out.pop_back();
    EXPECT_FALSE((*trace)->read_blob(id, out));
  }
}

TEST(Hostile, DecompressedEventsHaveALimit) {
  size_t plain_bytes = 0;
  const std::vector<std::byte> file = trace_bytes(
      [&](Writer& writer) {
        ASSERT_TRUE(add_preamble(writer));
        ASSERT_TRUE(writer.add(event_of(sample_allocation(1))));
        for (int n = 0; n < 1000; ++n) ASSERT_TRUE(writer.add(event_of(sample_launch(1, 1))));
      },
      0);
  for (const RawRecord& record : split_records(file)) {
    if (record.kind == RecordKind::kCompressedEvents) {
      plain_bytes += load_le<uint64_t>(record.payload.data());
    }
  }
  ASSERT_GT(plain_bytes, 50'000U);
  EXPECT_TRUE(Trace::from_bytes(file, {.max_decompressed_bytes = 16 * plain_bytes}));
  const auto refused = Trace::from_bytes(file, {.max_decompressed_bytes = 16 * (plain_bytes - 1)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
}

// The size that a record gives itself is believed up to a multiple of what is stored.
TEST(Hostile, FewStoredBytesHoldFewBytes) {
  const auto why = [](auto result) { return result ? std::string() : result.error().message; };
  constexpr size_t kStored = 100;
  std::vector<std::byte> events(kCompressedEventsHeaderBytes + kStored);
  const auto events_of_size = [&](uint64_t size) {
    store_le(events.data(), size);
    return why(EventDecompressor(UINT64_MAX).decompress(events));
  };
  EXPECT_THAT(events_of_size(256 * kStored), Not(HasSubstr("cannot hold")));
  EXPECT_THAT(events_of_size(256 * (kStored + 1)), HasSubstr("cannot hold events"));
  const std::vector<std::byte> bytes(1 << 20, std::byte{7});
  const std::vector<std::byte> file = trace_bytes([&](Writer& writer) {
    ASSERT_TRUE(add_preamble(writer));
    ASSERT_TRUE(writer.add_blob(bytes));
  });
  size_t blobs = 0;
  for (RawRecord& record : split_records(file)) {
    if (record.kind != RecordKind::kBlob) continue;
    if (decode_blob_header(record.payload).codec != BlobCodec::kZstd) continue;
    ++blobs;
    const uint64_t stored = record.payload.size() - kBlobHeaderBytes;
    const auto blob_of_size = [&](uint64_t size) {
      store_le(record.payload.data() + 16, size);
      return why(decode_blob(record.payload));
    };
    EXPECT_EQ(blob_of_size(32768 * stored), "");
    EXPECT_THAT(blob_of_size(32768 * (stored + 1)), HasSubstr("cannot hold a blob"));
  }
  EXPECT_EQ(blobs, 1U);
}

// Written plain: a reader would refuse what unfolds so much.
TEST(Hostile, EventsThatShrinkTooMuchAreNotCompressed) {
  EventCompressor compressor;
  const std::vector<std::byte> equal(1 << 20, std::byte{7});
  EXPECT_TRUE(compressor.compress(equal, 1).empty());
  const std::vector<std::byte> large(kMaxCompressedEventsBytes + 1);
  EXPECT_TRUE(compressor.compress(large, 1).empty());
  EXPECT_TRUE(compressor.compress(random_bytes(5000), 1).empty());
}

// Multiples of a table's size: std::hash puts all of them into one bucket.
TEST(Hostile, ChosenIdsDoNotCollide) {
  constexpr uint64_t kBuckets = 10273;
  std::vector<int> ids(kBuckets), blobs(kBuckets);
  for (uint64_t n = 1; n <= kBuckets; ++n) {
    ++ids[SeededHash{}(n * kBuckets) % kBuckets];
    ++blobs[BlobIdHash{}({77, n * kBuckets}) % kBuckets];
  }
  EXPECT_LT(*std::ranges::max_element(ids), 20);
  EXPECT_LT(*std::ranges::max_element(blobs), 20);
}

}  // namespace
}  // namespace gfxgraph::format
