// Traces opened for a part of what they hold: nothing else is read, and what is read is checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "format/container/chunks.h"
#include "format/read/verify.h"
#include "format/write/content_writer.h"
#include "golden/golden_cases.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kLaunches = 100;
constexpr size_t kBlobBytes = 3000;

std::vector<std::byte> blob_of(uint8_t seed) {
  std::vector<std::byte> bytes = random_bytes(kBlobBytes);
  bytes[0] = std::byte{seed};
  return bytes;
}

// Two allocations with a blob each, and launches; events in chunks of 10.
void write_trace(const std::filesystem::path& path) {
  WriterOptions options;
  options.compression_level = 0;
  options.events_per_chunk = 10;
  const auto writer = Writer::create(path, options).value();
  ASSERT_TRUE(add_preamble(*writer));
  for (uint8_t i = 1; i <= 2; ++i) {
    AllocationBegin begin = sample_allocation(i, kBlobBytes + 4096);
    begin.initial = blob_content(writer->add_blob(blob_of(i)).value(), kBlobBytes);
    ASSERT_TRUE(writer->add(event_of(begin)));
  }
  for (uint64_t i = 0; i < kLaunches; ++i) ASSERT_TRUE(writer->add(event_of(sample_launch(1, 2))));
  ASSERT_TRUE(writer->seal());
}

// Changes one byte behind the first place where `bytes` stand in the file.
void damage(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::vector<std::byte> file = read_file(path).value();
  const auto at = std::ranges::search(file, bytes).begin();
  ASSERT_NE(at, file.end());
  *(at + static_cast<ptrdiff_t>(bytes.size() / 2)) ^= std::byte{1};
  ASSERT_TRUE(write_file_atomic(path, file));
}

class Lazy : public ::testing::Test {
 protected:
  Lazy() { write_trace(path); }
  Result<std::shared_ptr<const Trace>> open() const {
    return Trace::open(path, {.lazy = true, .keep_events = 0});
  }
  TemporaryFolder folder;
  const std::filesystem::path path = folder / "t.gfxg";
};

TEST_F(Lazy, EventsAreDecodedWhereTheyAreAskedFor) {
  const auto eager = Trace::open(path).value();
  const auto trace = open().value();
  const uint64_t all = kLaunches + 2;
  EXPECT_EQ(trace->statistics().events, all);
  EXPECT_EQ(trace->read_counts().events_decoded, all) << "once, to check them";
  uint64_t next = 0;
  ASSERT_TRUE(trace->visit_events(kEveryAction, [&](const Event& event) -> Result<void> {
    EXPECT_EQ(event.sequence, next);
    EXPECT_EQ(event.action.index(), eager->events()[next++].action.index());
    return {};
  }));
  EXPECT_EQ(next, all);
  uint64_t begins = 0;
  const auto count = [&](const Event& event) -> Result<void> {
    begins += std::holds_alternative<AllocationBegin>(event.action) ? 1 : 0;
    return {};
  };
  ASSERT_TRUE(trace->visit_events(kinds_of<AllocationBegin>(), count));
  EXPECT_EQ(begins, 2u);
  EXPECT_EQ(trace->read_counts().events_decoded, 2 * all + 10) << "of one chunk of eleven";
  ASSERT_TRUE(trace->visit_events(kinds_of<Marker, Checkpoint>(), count));
  EXPECT_EQ(trace->read_counts().events_decoded, 2 * all + 10) << "there are none";
  ASSERT_TRUE(trace->load_events());
  ASSERT_TRUE(trace->load_events());
  EXPECT_EQ(trace->events().size(), all);
  EXPECT_EQ(trace->read_counts().events_decoded, 3 * all + 10);
  EXPECT_EQ(dump_json(*trace), dump_json(*eager));
  const auto stopped = trace->visit_events(
      kEveryAction, [](const Event&) -> Result<void> { return fail(Status::kIo, "enough"); });
  EXPECT_EQ(stopped.error().message, "enough");
}

TEST_F(Lazy, FewEventsAreKept) {
  const uint64_t all = kLaunches + 2;
  const auto kept = Trace::open(path, {.lazy = true, .keep_events = all}).value();
  ASSERT_TRUE(kept->visit_events(kEveryAction, [](const Event&) { return Result<void>(); }));
  ASSERT_TRUE(kept->load_events());
  EXPECT_EQ(kept->events().size(), all);
  EXPECT_EQ(kept->read_counts().events_decoded, all);
  const auto decoded = Trace::open(path, {.lazy = true, .keep_events = all - 1}).value();
  ASSERT_TRUE(decoded->load_events());
  EXPECT_EQ(decoded->read_counts().events_decoded, 2 * all);
  EXPECT_EQ(dump_json(*kept), dump_json(*decoded));
}

TEST_F(Lazy, ABlobIsHashedWhenItIsReadAndOnce) {
  const auto trace = open().value();
  EXPECT_EQ(trace->read_counts().blobs_hashed, 0u);
  const BlobId id = hash_bytes(blob_of(1));
  for (int i = 0; i < 2; ++i) {
    std::vector<std::byte> bytes(kBlobBytes);
    EXPECT_TRUE(trace->read_blob(id, bytes));
    EXPECT_EQ(bytes, blob_of(1));
    EXPECT_TRUE(std::ranges::equal(trace->blob(id).value(), bytes));
    EXPECT_TRUE(trace->check_blobs(std::array{id}));
  }
  EXPECT_EQ(trace->read_counts().blobs_hashed, 1u);
  EXPECT_EQ(trace->read_counts().blob_bytes_hashed, kBlobBytes);
  const BlobId other = hash_bytes(blob_of(2));
  EXPECT_TRUE(trace->check_blobs(std::array{id, other, other}));
  EXPECT_EQ(trace->read_counts().blobs_hashed, 2u);
}

TEST_F(Lazy, DamageToABlobIsFoundByWhoReadsItAndByVerify) {
  damage(path, blob_of(2));
  const auto eager = Trace::open(path);
  ASSERT_FALSE(eager);
  EXPECT_THAT(eager.error().message, HasSubstr("(blob)"));
  EXPECT_THAT(eager.error().message, HasSubstr("is damaged (wrong hash)"));
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  const Trace& trace = **opened;
  EXPECT_TRUE(trace.blob(hash_bytes(blob_of(1))));
  const BlobId damaged = hash_bytes(blob_of(2));
  std::vector<std::byte> out(kBlobBytes);
  Content content = blob_content(damaged, kBlobBytes);
  const auto ignore = [](uint64_t, auto) { return Result<void>(); };
  for (const Error& error :
       {trace.blob(damaged).error(), trace.read_blob(damaged, out).error(),
        trace.content(content).error(), trace.visit_content(content, ignore).error(),
        trace.check_blobs(std::array{damaged}).error()}) {
    EXPECT_EQ(error.status, eager.error().status);
    EXPECT_EQ(error.message, eager.error().message);
  }
  const auto report = verify(path).value();
  ASSERT_FALSE(report.problems.empty());
  EXPECT_THAT(eager.error().message, HasSubstr(report.problems[0].message));
  const auto torn = Trace::open(path, {.allow_torn = true, .lazy = true});
  ASSERT_TRUE(torn);
  EXPECT_FALSE((*torn)->sealed()) << "it ends where the damage begins";
}

TEST_F(Lazy, DamageToAChunkIsNamed) {
  const std::vector<std::byte> bytes = random_bytes(8 * kMinChunkBytes);
  {
    WriterOptions options;
    options.compression_level = 0;
    options.content_chunk_bytes = kMinChunkBytes;
    const auto writer = Writer::create(path, options).value();
    ContentWriter content(*writer, bytes.size());
    for (size_t at = 0; at < bytes.size();) {
      const std::span<std::byte> room = content.room().value();
      std::ranges::copy(std::span(bytes).subspan(at, room.size()), room.begin());
      at += room.size();
      ASSERT_TRUE(content.put());
    }
    AllocationBegin begin = sample_allocation(1, bytes.size());
    begin.initial = content.finish().value();
    ASSERT_TRUE(writer->add(event_of(begin)));
    ASSERT_TRUE(writer->seal());
  }
  const BlobId list = hash_bytes(bytes);
  {
    const auto trace = open().value();
    EXPECT_TRUE(trace->check_blobs(std::array{list}));
    EXPECT_EQ(trace->read_counts().blobs_hashed, 1u) << "its chunks not once more";
    EXPECT_EQ(trace->read_counts().blob_bytes_hashed, bytes.size());
    EXPECT_TRUE(std::ranges::equal(trace->blob(list).value(), bytes));
    EXPECT_EQ(trace->read_counts().blob_bytes_hashed, bytes.size());
  }
  damage(path, std::span(bytes).subspan(5 * kMinChunkBytes, 64));
  const std::string expected = Trace::open(path).error().message;
  EXPECT_THAT(expected, HasSubstr("is damaged (wrong hash)"));
  const auto trace = open().value();
  const auto ignore = [](uint64_t, auto) { return Result<void>(); };
  EXPECT_EQ(trace->check_blobs(std::array{list}).error().message, expected);
  EXPECT_EQ(trace->visit_content(blob_content(list, bytes.size()), ignore).error().message,
            expected);
}

TEST_F(Lazy, OtherDamageIsFoundByOpen) {
  const std::vector<std::byte> file = read_file(path).value();
  size_t refused = 0;
  for (size_t at = 0; at < file.size(); at += 7) {
    std::vector<std::byte> changed = file;
    changed[at] ^= std::byte{0x10};
    const auto eager = Trace::from_bytes(changed);
    ASSERT_FALSE(eager);
    const auto lazy = Trace::from_bytes(changed, {.lazy = true});
    if (!lazy) {
      ++refused;
      EXPECT_EQ(lazy.error().message, eager.error().message) << at;
      continue;
    }
    EXPECT_THAT(eager.error().message, HasSubstr("(blob)")) << at;
  }
  EXPECT_GT(refused, 100u);
}

#if defined(__SANITIZE_THREAD__)
constexpr size_t kStride = 29;  // one thread reads: only its time grows
#else
constexpr size_t kStride = 1;
#endif

// Of all that the goldens hold no byte that was changed is handed out.
TEST(LazyGolden, SaysTheSameAndHandsOutNothingElse) {
  for (const GoldenCase& golden : golden_cases()) {
    SCOPED_TRACE(golden.name);
    const auto eager = Trace::from_bytes(golden.bytes, {.allow_torn = golden.torn}).value();
    const auto lazy =
        Trace::from_bytes(golden.bytes, {.allow_torn = golden.torn, .lazy = true}).value();
    ASSERT_TRUE(lazy->load_events());
    EXPECT_EQ(dump_json(*lazy), dump_json(*eager));
    if (golden.torn) continue;
    std::vector<Content> contents;
    for (const Event& event : eager->events()) {
      if (const auto* begin = std::get_if<AllocationBegin>(&event.action))
        contents.push_back(begin->initial);
      if (const auto* copy = std::get_if<Copy>(&event.action))
        contents.push_back(copy->host_source);
    }
    std::vector<std::byte> bytes = golden.bytes;
    for (size_t at = 0; at < bytes.size(); at += kStride) {
      bytes[at] ^= std::byte{1} << (at % 8);
      const auto trace = Trace::from_bytes(bytes, {.lazy = true});
      bytes[at] ^= std::byte{1} << (at % 8);
      if (!trace) continue;
      for (const Content& content : contents) {
        if (!content.stored) continue;
        const auto read = (*trace)->content(content);
        if (!read) continue;
        EXPECT_EQ(*read, eager->content(content).value()) << at;
      }
    }
  }
}

}  // namespace
}  // namespace gfxgraph::format
