// Contents in chunks: what is stored, what events wait for, and how much is in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <semaphore>
#include <thread>

#include "format/container/chunks.h"
#include "format/read/loader.h"
#include "format/read/recover.h"
#include "format/read/verify.h"
#include "format/write/content_writer.h"
#include "format/write/writer_internal.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

using ::testing::HasSubstr;

constexpr size_t kChunk = kMinChunkBytes;

WriterOptions small_chunks(unsigned threads = 1) {
  WriterOptions options;
  options.compression_level = 0;
  options.content_chunk_bytes = kChunk;
  options.chunks_in_memory_bytes = 4 * kChunk;
  options.threads = threads;
  return options;
}

Result<Content> put(Writer& writer, std::span<const std::byte> bytes,
                    const ContentWriter::Look& look = {}) {
  ContentWriter content(writer, bytes.size());
  while (true) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> room, content.room());
    if (room.empty()) return content.finish();
    std::ranges::copy(bytes.first(room.size()), room.begin());
    bytes = bytes.subspan(room.size());
    GFXGRAPH_TRY(content.put(look));
  }
}

Event begin_with(AllocationId id, Content content) {
  AllocationBegin begin = sample_allocation(id, static_cast<uint32_t>(content.size_bytes));
  begin.initial = std::move(content);
  return event_of(begin);
}

// Different in each chunk, but for those that are named.
std::vector<std::byte> many_chunks(size_t size) {
  std::vector<std::byte> bytes = random_bytes(size);
  for (size_t chunk = 0; chunk * kChunk + sizeof(chunk) <= size; ++chunk) {
    std::memcpy(bytes.data() + chunk * kChunk, &chunk, sizeof(chunk));
  }
  return bytes;
}

std::vector<std::byte> visited(const Trace& trace, const Content& content) {
  std::vector<std::byte> bytes;
  const auto done = trace.visit_content(content, [&](uint64_t offset, auto piece) -> Result<void> {
    EXPECT_EQ(offset, bytes.size());
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  return bytes;
}

// What looks at the chunks sees each of them once, in order, on whichever thread.
TEST(Chunks, LooksSeeAllChunksInOrder) {
  for (const size_t count : {1, 4, 5, 40}) {
    TemporaryFolder folder;
    const auto writer = Writer::create(folder / "t.gfxg", small_chunks(2)).value();
    ASSERT_TRUE(add_preamble(*writer));
    const std::vector<std::byte> bytes = many_chunks(count * kChunk - 3);
    std::vector<std::byte> seen;
    const Result<Content> content = put(*writer, bytes, [&](std::span<const std::byte> piece) {
      seen.insert(seen.end(), piece.begin(), piece.end());
    });
    ASSERT_TRUE(content) << content.error().message;
    EXPECT_EQ(seen, bytes) << count << " chunks";
    EXPECT_EQ(content->hash, hash_bytes(bytes));
    ASSERT_TRUE(writer->seal());
  }
}

TEST(Chunks, WhatALookThrowsIsAnError) {
  for (const size_t count : {2, 20}) {
    TemporaryFolder folder;
    const auto writer = Writer::create(folder / "t.gfxg", small_chunks(2)).value();
    ASSERT_TRUE(add_preamble(*writer));
    size_t looks = 0;
    const Result<Content> content =
        put(*writer, many_chunks(count * kChunk), [&](std::span<const std::byte>) {
          if (++looks == 2) throw std::bad_alloc();
        });
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().status, Status::kOutOfMemory);
    EXPECT_EQ(looks, 2u) << "nobody looks on after an error";
  }
}

// Who gives up has nobody use its look any more.
TEST(Chunks, AContentThatIsGivenUpIsLookedAtNoMore) {
  TemporaryFolder folder;
  const auto writer = Writer::create(folder / "t.gfxg", small_chunks(2)).value();
  ASSERT_TRUE(add_preamble(*writer));
  auto looks = std::make_unique<std::atomic<size_t>>(0);
  {
    ContentWriter content(*writer, 1000 * kChunk);
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(content.room());
      ASSERT_TRUE(content.put([&](std::span<const std::byte>) { ++*looks; }));
    }
  }
  EXPECT_EQ(*looks, 50u);
  looks.reset();
  ASSERT_TRUE(writer->seal());
}

TEST(Chunks, EveryWayOfReadingGivesTheBytes) {
  TemporaryFolder folder;
  std::vector<std::vector<std::byte>> all;
  for (const size_t size :
       {size_t{1}, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk, 5 * kChunk + 7, 40 * kChunk + 1}) {
    all.push_back(many_chunks(size));
    all.push_back(std::vector<std::byte>(size, std::byte{9}));
  }
  for (const int level : {0, 1}) {
    for (const unsigned threads : {1u, 3u}) {
      WriterOptions options = small_chunks(threads);
      options.compression_level = level;
      const auto path = folder / fmt::format("{}-{}.gfxg", level, threads);
      const auto writer = Writer::create(path, options).value();
      for (size_t i = 0; i < all.size(); ++i) {
        const Result<Content> content = put(*writer, all[i]);
        ASSERT_TRUE(content) << content.error().message;
        EXPECT_EQ(content->hash, hash_bytes(all[i]));
        EXPECT_EQ(content->size_bytes, all[i].size());
        const auto added = writer->add(begin_with(static_cast<AllocationId>(i + 1), *content));
        ASSERT_TRUE(added) << added.error().message;
      }
      ASSERT_TRUE(writer->seal());
      const auto trace = Trace::open(path).value();
      for (size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(all[i].size());
        const Content& content = std::get<AllocationBegin>(trace->events()[i].action).initial;
        EXPECT_EQ(static_cast<bool>(content.blob), all[i].size() != 1 && i % 2 == 0);
        EXPECT_EQ(trace->content(content).value(), all[i]);
        EXPECT_EQ(visited(*trace, content), all[i]);
        EXPECT_EQ(visited(*trace, content), all[i]) << "the second time it is trusted";
        if (!content.blob) continue;
        std::vector<std::byte> read(all[i].size());
        EXPECT_TRUE(trace->read_blob(content.blob, read));
        EXPECT_EQ(read, all[i]);
        EXPECT_TRUE(std::ranges::equal(trace->blob(content.blob).value(), all[i]));
      }
      const auto report = verify(path);
      ASSERT_TRUE(report);
      EXPECT_TRUE(report->problems.empty()) << report->problems[0].message;
      EXPECT_EQ(report->blobs, trace->statistics().blobs);
    }
  }
}

TEST(Chunks, WhatDidNotChangeIsStoredOnce) {
  TemporaryFolder folder;
  const auto writer = Writer::create(folder / "t.gfxg", small_chunks()).value();
  std::vector<std::byte> bytes = many_chunks(64 * kChunk);
  std::ranges::fill(std::span(bytes).subspan(8 * kChunk, 16 * kChunk), std::byte{0});
  const Content first = put(*writer, bytes).value();
  ASSERT_TRUE(writer->settle());
  const Statistics one = writer->statistics();
  EXPECT_EQ(one.blobs, 64u - 16u + 1u) << "chunks of one byte are no blobs";
  EXPECT_EQ(put(*writer, bytes)->blob, first.blob);
  ASSERT_TRUE(writer->settle());
  EXPECT_EQ(writer->statistics().blobs, one.blobs);
  bytes[20 * kChunk] ^= std::byte{1};
  bytes[40 * kChunk + 5] ^= std::byte{1};
  EXPECT_NE(put(*writer, bytes)->blob, first.blob);
  ASSERT_TRUE(writer->settle());
  const Statistics two = writer->statistics();
  EXPECT_EQ(two.blobs, one.blobs + 3) << "two chunks and a list";
  EXPECT_EQ(two.blob_bytes - one.blob_bytes,
            2 * kChunk + kChunkListHeadBytes + 64 * kChunkEntryBytes);
  ASSERT_TRUE(writer->seal());
  EXPECT_EQ(Trace::open(folder / "t.gfxg").value()->statistics().blob_bytes, two.blob_bytes);
}

// Writes wait until they are let go.
class GatedFile : public OutputFile {
 public:
  GatedFile(std::vector<std::byte>& bytes, std::counting_semaphore<>& gate, std::atomic<bool>& shut)
      : bytes_(bytes), gate_(gate), shut_(shut) {}
  Result<void> write(std::span<const std::span<const std::byte>> parts) override {
    if (shut_) gate_.acquire();
    for (const auto& part : parts) bytes_.insert(bytes_.end(), part.begin(), part.end());
    return {};
  }
  Result<void> commit() override { return {}; }
  void abandon() noexcept override {}

 private:
  std::vector<std::byte>& bytes_;
  std::counting_semaphore<>& gate_;
  std::atomic<bool>& shut_;
};

// A writer of small chunks, and its file.
class GatedChunks : public ::testing::Test {
 protected:
  std::vector<std::byte> bytes;
  std::counting_semaphore<> gate{0};
  std::atomic<bool> shut{false};
  std::unique_ptr<Writer> writer =
      create_writer(std::make_unique<GatedFile>(bytes, gate, shut), small_chunks()).value();
};

// The program's thread goes on while a chunk is written; what names it follows it, and what does
// not is not kept back.
TEST_F(GatedChunks, EventsWaitForTheirChunksAlone) {
  ASSERT_TRUE(writer->add(event_of(Marker{"before"})));
  ASSERT_TRUE(writer->flush());
  const size_t before = bytes.size();
  shut = true;
  const std::vector<std::byte> content = many_chunks(3 * kChunk);
  ASSERT_TRUE(writer->add(begin_with(1, put(*writer, content).value())));
  ASSERT_TRUE(writer->add(event_of(Marker{"after"})));
  ASSERT_TRUE(writer->flush()) << "it does not wait";
  // Three chunks, their list, and the events.
  for (int left = 5; left > 0; --left) gate.release();
  ASSERT_TRUE(writer->settle());
  shut = false;
  EXPECT_GT(bytes.size(), before + content.size());
  const auto torn = Trace::from_bytes(bytes, {.allow_torn = true}).value();
  ASSERT_EQ(torn->events().size(), 3u);
  ASSERT_TRUE(writer->seal());
  const auto trace = Trace::from_bytes(bytes).value();
  const auto& begin = std::get<AllocationBegin>(trace->events()[1].action);
  EXPECT_EQ(trace->content(begin.initial).value(), content);
}

TEST_F(GatedChunks, WhatIsCompleteIsInTheFileBeforeWhatIsNot) {
  shut = true;
  gate.release();  // one chunk; the next one is on its way
  const std::vector<std::byte> content = many_chunks(2 * kChunk);
  const Content named = put(*writer, content).value();
  ASSERT_TRUE(writer->add(event_of(Marker{"complete"})));
  // Who has an event for the file waits while the chunk is being written: another thread lets it.
  std::atomic<bool> adding{false};
  std::thread opener([&] {
    while (!adding) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    // The chunk, the list, and two chunks of events.
    gate.release(4);
  });
  adding = true;
  const auto added = writer->add(begin_with(1, named));
  opener.join();
  ASSERT_TRUE(added);
  ASSERT_TRUE(writer->settle());
  shut = false;
  size_t chunks_of_events = 0;
  RecordScanner scanner(bytes);
  ASSERT_TRUE(scanner.read_head());
  for (auto record = scanner.next(); record; record = scanner.next()) {
    chunks_of_events += (*record)->kind == RecordKind::kEvents ? 1 : 0;
  }
  EXPECT_EQ(chunks_of_events, 2u) << "the marker did not wait for the content";
  ASSERT_TRUE(writer->seal());
}

TEST_F(GatedChunks, NoMoreThanTheBoundIsInMemory) {
  shut = true;
  std::atomic<size_t> taken{0};
  const std::vector<std::byte> content = many_chunks(32 * kChunk);
  std::thread program([&] {
    ContentWriter put(*writer, content.size());
    for (size_t at = 0; at < content.size(); at += kChunk) {
      const auto room = put.room();
      if (!room) return;
      ++taken;
      std::copy_n(content.begin() + static_cast<ptrdiff_t>(at), room->size(), room->begin());
      if (!put.put()) return;
    }
    (void)put.finish();
  });
  while (taken < 4) std::this_thread::yield();
  // Four buffers, and none has been written.
  EXPECT_EQ(taken, 4u);
  for (size_t written = 1; written <= 8; ++written) {
    gate.release();
    while (taken < 4 + written) std::this_thread::yield();
    EXPECT_EQ(taken, 4 + written);
  }
  shut = false;
  gate.release(64);
  program.join();
  EXPECT_EQ(taken, 32u);
  ASSERT_TRUE(writer->seal());
}

TEST(Chunks, AGraphStandsBehindTheContentsBeforeIt) {
  TemporaryFolder folder;
  const auto writer = Writer::create(folder / "t.gfxg", small_chunks(2)).value();
  ASSERT_TRUE(add_preamble(*writer));
  for (uint32_t i = 1; i <= 20; ++i) {
    std::vector<std::byte> bytes = many_chunks(9 * kChunk);
    bytes[100] = static_cast<std::byte>(i);
    const Content content = put(*writer, bytes).value();
    ASSERT_TRUE(writer->add(begin_with(i, content)));
    Copy copy;
    copy.destination.allocation = i;
    copy.width_bytes = bytes.size();
    copy.host_source = content;
    Graph graph;
    graph.id = i;
    graph.nodes = {{copy, {}}};
    const auto added = writer->add(graph);
    ASSERT_TRUE(added) << added.error().message;
    ASSERT_TRUE(writer->add(event_of(GraphLaunch{i, 0})));
  }
  ASSERT_TRUE(writer->seal());
  const auto trace = Trace::open(folder / "t.gfxg");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ((*trace)->graphs().size(), 20u);
}

TEST(Chunks, ManyThreadsGiveTheSameContents) {
  TemporaryFolder folder;
  const auto writer = Writer::create(folder / "t.gfxg", small_chunks(2)).value();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 25; ++i) {
        std::vector<std::byte> bytes = many_chunks(6 * kChunk);
        bytes[5 * kChunk] = static_cast<std::byte>(i);
        const auto content = put(*writer, bytes);
        GFXGRAPH_CHECK(content.has_value());
        GFXGRAPH_CHECK(writer->add(begin_with(1 + t * 25 + i, *content)).has_value());
        GFXGRAPH_CHECK(writer->flush().has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(writer->seal());
  const auto trace = Trace::open(folder / "t.gfxg");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ((*trace)->events().size(), 100u);
  EXPECT_EQ((*trace)->statistics().blobs, 5u + 25u + 25u);
  EXPECT_TRUE(verify(folder / "t.gfxg")->problems.empty());
}

// kill -9 while chunks, lists and events are on their way.
TEST(Chunks, AKilledWriterLeavesWhatIsWhole) {
  for (int round = 0; round < 8; ++round) {
    TemporaryFolder folder;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto writer = Writer::create(folder / "t.gfxg", small_chunks()).value();
      std::vector<std::byte> bytes = many_chunks(5 * kChunk);
      for (uint32_t i = 1;; ++i) {
        std::memcpy(bytes.data() + 2 * kChunk, &i, sizeof i);
        const auto content = put(*writer, bytes);
        if (!content || !writer->add(begin_with(i, *content)) || !writer->flush()) ::_exit(1);
      }
    }
    const std::filesystem::path partial = folder / "t.gfxg.partial";
    std::error_code ignored;
    while (!std::filesystem::exists(partial) ||
           std::filesystem::file_size(partial, ignored) < 100'000u + 7777u * round) {
      std::this_thread::yield();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto report = recover(partial, folder / "t.gfxg");
    ASSERT_TRUE(report) << report.error().message;
    const auto trace = Trace::open(folder / "t.gfxg").value();
    EXPECT_GE(trace->events().size(), 8u);
    for (const Event& event : trace->events()) {
      EXPECT_TRUE(trace->content(std::get<AllocationBegin>(event.action).initial));
    }
  }
}

// A fork while the writer's threads are at work: the child touches neither them nor the file.
TEST(Chunks, AForkedChildLeavesTheWriterAlone) {
  TemporaryFolder folder;
  auto writer = Writer::create(folder / "t.gfxg", small_chunks(2)).value();
  const std::vector<std::byte> bytes = many_chunks(40 * kChunk);
  const Content content = put(*writer, bytes).value();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    writer->abandon();
    const bool refused = !writer->add(event_of(Marker{"child"})) && !put(*writer, bytes);
    writer.reset();
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(writer->add(begin_with(1, content)));
  ASSERT_TRUE(writer->seal());
  EXPECT_EQ(Trace::open(folder / "t.gfxg").value()->content(content).value(), bytes);
}

TEST(Chunks, AListAloneIsNotTrusted) {
  const std::vector<std::byte> chunk = many_chunks(kChunk);
  const std::vector<BlobId> chunks = {hash_bytes(chunk), fill_chunk(3)};
  const std::vector<std::byte> list = encode_chunk_list(kChunk, chunks);
  EXPECT_TRUE(decode_chunk_list(2 * kChunk, list));
  EXPECT_TRUE(decode_chunk_list(kChunk + 1, list));
  for (const uint64_t size : {uint64_t{0}, uint64_t{kChunk}, uint64_t{2 * kChunk + 1},
                              uint64_t{3 * kChunk}, UINT64_MAX}) {
    EXPECT_FALSE(decode_chunk_list(size, list)) << size;
  }
  for (size_t size = 0; size < list.size(); ++size) {
    EXPECT_FALSE(decode_chunk_list(2 * kChunk, std::span(list).first(size))) << size;
  }
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{kChunk - 1}, uint64_t{kChunk + 8},
                               2 * kMaxChunkBytes, UINT64_MAX}) {
    EXPECT_FALSE(decode_chunk_list(2 * bytes, encode_chunk_list(bytes, chunks))) << bytes;
  }
  // Each chunk is right, and together they are something else.
  BlobTable table;
  table.add({{{chunks[0], kChunk, BlobCodec::kPlain}, chunk}, 0});
  const BlobView wrong{{{1, 2}, 2 * kChunk, BlobCodec::kChunks}, list};
  std::vector<std::byte> out(2 * kChunk);
  EXPECT_THAT(decode_blob_into(wrong, out, table).error().message,
              HasSubstr("do not match its hash"));
  EXPECT_THAT(check_blob(wrong, table).error().message, HasSubstr("do not match its hash"));
  EXPECT_THAT(check_blob(wrong).error().message, HasSubstr("not in this trace"));
  BlobTable shorter;
  shorter.add({{{chunks[0], kChunk - 1, BlobCodec::kPlain}, chunk}, 0});
  EXPECT_THAT(check_blob(wrong, shorter).error().message, HasSubstr("cannot be chunk 0"));
}

}  // namespace
}  // namespace gfxgraph::format
