// The N-th operation fails, for every N until none is left to fail; and recovery of what remains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "base/log.h"
#include "format/container/chunks.h"
#include "format/read/recover.h"
#include "format/read/verify.h"
#include "format/write/content_writer.h"
#include "format/write/writer_internal.h"
#include "golden/golden_cases.h"
#include "tests/support/allocations.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

using gfxgraph::testing::fail_allocation;
using gfxgraph::testing::Failing;
using gfxgraph::testing::OfThreads;
using gfxgraph::testing::stop_failing_allocations;

using ::testing::HasSubstr;

// Keeps what was written; the N-th operation fails, a write after half of its bytes.
class FailingFile : public OutputFile {
 public:
  FailingFile(std::vector<std::byte>& bytes, int& operations, int fail_at)
      : bytes_(bytes), operations_(operations), fail_at_(fail_at) {}

  Result<void> write(std::span<const std::span<const std::byte>> parts) override {
    size_t total = 0;
    for (const auto& part : parts) total += part.size();
    const bool fails = operations_++ == fail_at_;
    size_t left = fails ? total / 2 : total;
    for (const auto& part : parts) {
      const size_t take = std::min(left, part.size());
      bytes_.insert(bytes_.end(), part.begin(), part.begin() + static_cast<ptrdiff_t>(take));
      left -= take;
    }
    if (fails) return fail(Status::kIo, "write: No space left on device");
    return {};
  }
  Result<void> commit() override {
    if (operations_++ == fail_at_) return fail(Status::kIo, "sync: Input/output error");
    return {};
  }
  void abandon() noexcept override {}

 private:
  std::vector<std::byte>& bytes_;
  int& operations_;
  int fail_at_;
};

TEST(Fault, EveryFailedWriteLeavesAReadablePrefix) {
  WriterOptions options;
  options.events_per_chunk = 4;
  size_t events_before = 0;
  for (int fail_at = 0;; ++fail_at) {
    SCOPED_TRACE(fail_at);
    ASSERT_LT(fail_at, 1000);
    std::vector<std::byte> bytes;
    int operations = 0;
    auto writer = create_writer(std::make_unique<FailingFile>(bytes, operations, fail_at), options);
    if (fail_at == 0) {
      EXPECT_EQ(writer.error().status, Status::kIo);
      continue;
    }
    ASSERT_TRUE(writer);
    const Result<void> written = write_everything(**writer, true);
    const Result<void> sealed = (*writer)->seal();
    if (operations <= fail_at) {
      EXPECT_TRUE(written && sealed);
      break;
    }
    ASSERT_FALSE(sealed);
    EXPECT_EQ(sealed.error().status, Status::kIo);
    if (!written) {
      EXPECT_EQ(written.error().message, sealed.error().message) << "the first error stays";
    }
    const int operations_then = operations;
    EXPECT_FALSE((*writer)->add(event_of(Marker{"late"})));
    EXPECT_FALSE((*writer)->flush());
    EXPECT_FALSE((*writer)->add_blob({}));
    writer->reset();
    EXPECT_EQ(operations, operations_then) << "nothing may follow half a record";
    const auto trace = Trace::from_bytes(bytes, {.allow_torn = true});
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_GE((*trace)->events().size(), events_before);
    events_before = (*trace)->events().size();
  }
}

// A file of the writer's own that the program changes between the last write and the check.
class MeddledFile : public OutputFile {
 public:
  MeddledFile(std::unique_ptr<OutputFile> file, std::function<void()> meddle)
      : file_(std::move(file)), meddle_(std::move(meddle)) {}
  Result<void> write(std::span<const std::span<const std::byte>> parts) override {
    return file_->write(parts);
  }
  Result<void> commit() override {
    meddle_();
    return file_->commit();
  }
  void abandon() noexcept override { file_->abandon(); }

 private:
  std::unique_ptr<OutputFile> file_;
  std::function<void()> meddle_;
};

TEST(Fault, ASealThatIsNotInTheFileIsNotClaimed) {
  TemporaryFolder folder;
  const std::filesystem::path path = folder / "t.gfxg";
  const std::filesystem::path partial = folder / "t.gfxg.partial";
  const auto overwrite = [&](int64_t from_end) {
    std::fstream file(partial, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(-from_end, std::ios::end);
    const int was = file.get();
    file.seekp(-from_end, std::ios::end);
    file.put(static_cast<char>(~was));
  };
  struct Case {
    const char* name;
    std::function<void()> meddle;
    bool sealed;
  };
  for (const Case& one :
       {Case{"nothing", [] {}, true}, Case{"the seal's last byte", [&] { overwrite(1); }, false},
        Case{"the seal's first byte", [&] { overwrite(kFooterBytes); }, false},
        Case{"cut", [&] { std::filesystem::resize_file(partial, 100); }, false},
        Case{"appended to",
             [&] { std::ofstream(partial, std::ios::binary | std::ios::app).put('x'); }, false}}) {
    SCOPED_TRACE(one.name);
    auto file = create_partial_file(path);
    ASSERT_TRUE(file);
    auto writer = create_writer(std::make_unique<MeddledFile>(std::move(*file), one.meddle), {});
    ASSERT_TRUE(writer);
    ASSERT_TRUE(write_everything(**writer, true));
    const Result<void> sealed = (*writer)->seal();
    EXPECT_EQ(static_cast<bool>(sealed), one.sealed);
    EXPECT_EQ(std::filesystem::exists(path), one.sealed);
    if (!sealed) {
      EXPECT_EQ(sealed.error().status, Status::kIo);
      EXPECT_THAT(sealed.error().message, HasSubstr("changed by the program or another process"));
    }
    writer->reset();
    std::filesystem::remove(path);
    std::filesystem::remove(partial);
  }
}

// Five chunks, and a content of one byte.
Result<void> write_contents(Writer& writer) {
  for (const size_t size : {5 * kMinChunkBytes - 9, 2 * kMinChunkBytes}) {
    ContentWriter content(writer, size);
    for (uint64_t chunk = 0; chunk * kMinChunkBytes < size; ++chunk) {
      GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> room, content.room());
      std::ranges::fill(room, std::byte{1});
      if (size % 2 != 0) std::memcpy(room.data(), &chunk, sizeof(chunk));
      GFXGRAPH_TRY(content.put());
    }
    AllocationBegin begin = sample_allocation(size % 2 != 0 ? 1 : 2, static_cast<uint32_t>(size));
    GFXGRAPH_ASSIGN_OR_RETURN(begin.initial, content.finish());
    GFXGRAPH_TRY(writer.add(event_of(begin)));
    GFXGRAPH_TRY(writer.flush());
  }
  return writer.settle();
}

WriterOptions small_chunks() {
  WriterOptions options;
  options.content_chunk_bytes = kMinChunkBytes;
  options.chunks_in_memory_bytes = 2 * kMinChunkBytes;
  options.threads = 1;
  return options;
}

// The writer's thread finds it, and whoever waits for the thread is told.
TEST(Fault, EveryFailedWriteOfAChunkLeavesAReadablePrefix) {
  for (int fail_at = 1;; ++fail_at) {
    SCOPED_TRACE(fail_at);
    ASSERT_LT(fail_at, 1000);
    std::vector<std::byte> bytes;
    int operations = 0;
    auto writer =
        create_writer(std::make_unique<FailingFile>(bytes, operations, fail_at), small_chunks());
    ASSERT_TRUE(writer);
    const Result<void> written = write_contents(**writer);
    const Result<void> sealed = (*writer)->seal();
    writer->reset();
    if (operations <= fail_at) {
      EXPECT_TRUE(written && sealed);
      EXPECT_GT(fail_at, 8);
      break;
    }
    ASSERT_FALSE(sealed);
    EXPECT_EQ(sealed.error().status, Status::kIo);
    EXPECT_EQ(operations, fail_at + 1) << "nothing may follow half a record";
    const auto trace = Trace::from_bytes(bytes, {.allow_torn = true});
    ASSERT_TRUE(trace) << trace.error().message;
  }
}

// `prepare` gives what writes to a writer; of its allocations one after the other fails, until all
// that there are have. `lost`: of what the file holds after that.
template <typename Prepare, typename Lost>
void fail_every_allocation(const WriterOptions& options, OfThreads threads, Failing failing,
                           int64_t least, Prepare&& prepare, Lost&& lost) {
  for (int64_t fail_at = 1;; ++fail_at) {
    SCOPED_TRACE(fail_at);
    ASSERT_LT(fail_at, 100000);
    std::vector<std::byte> bytes;
    bytes.reserve(1 << 20);  // the test's own file must not be what fails
    int operations = 0;
    auto writer = create_writer(std::make_unique<FailingFile>(bytes, operations, -1), options);
    ASSERT_TRUE(writer);
    auto write = prepare();
    fail_allocation(fail_at, threads, failing);
    const Result<void> written = write(**writer);
    const Result<void> sealed = (*writer)->seal();
    writer->reset();
    const bool failed = stop_failing_allocations();
    if (!failed) {
      EXPECT_GT(fail_at, least);
      EXPECT_TRUE(written) << written.error().message;
      EXPECT_TRUE(sealed) << sealed.error().message;
      EXPECT_TRUE(Trace::from_bytes(bytes));
      break;
    }
    EXPECT_TRUE(Trace::from_bytes(bytes, {.allow_torn = true}));
    lost(bytes, sealed);
  }
}

void fail_every_allocation_of_chunks(Failing failing) {
  const auto write = [](Writer& writer) -> Result<void> {
    try {
      return write_contents(writer);
    } catch (const std::bad_alloc&) {
      return fail(Status::kOutOfMemory, "here");  // the test's own, or ContentWriter's beginning
    }
  };
  fail_every_allocation(
      small_chunks(), OfThreads::kAll, failing, 20, [&] { return write; },
      [](const std::vector<std::byte>& bytes, const Result<void>& sealed) {
        EXPECT_EQ(Trace::from_bytes(bytes).has_value(), sealed.has_value());
      });
}

TEST(Fault, EveryFailedAllocationOfAChunkIsAnError) {
  fail_every_allocation_of_chunks(Failing::kOnce);
}
TEST(Fault, NothingIsThrownByChunksWhenNoMemoryIsLeft) {
  fail_every_allocation_of_chunks(Failing::kFromThenOn);
}

void fail_every_allocation_of_records(Failing failing) {
  // The callers' own objects allocate as well: made before, moved in.
  const auto prepare = [] {
    return [blob = random_bytes(5000), environment = sample_environment(), kernel = sample_kernel(),
            begin = event_of(sample_allocation(1)), launch = event_of(sample_launch(1, 1)),
            finding =
                Finding{FindingKind::kNote, "hipSomething", 1, "detail of it, longer than short"},
            code_object = CodeObject{1, {}, "amdgcn-amd-amdhsa--gfx1030"}](
               Writer& writer) mutable -> Result<void> {
      code_object.elf = hash_bytes(blob);
      (void)writer.add(environment);
      (void)writer.add_blob(blob);
      (void)writer.add(code_object);
      (void)writer.add(kernel);
      (void)writer.add(std::move(begin));
      (void)writer.add(std::move(launch));
      (void)writer.add(finding);
      return {};
    };
  };
  fail_every_allocation({}, OfThreads::kThis, failing, 5, prepare,
                        [](const std::vector<std::byte>& bytes, const Result<void>& sealed) {
                          ASSERT_FALSE(sealed);
                          EXPECT_FALSE(Trace::from_bytes(bytes));
                        });
}

TEST(Fault, EveryFailedAllocationIsAnError) { fail_every_allocation_of_records(Failing::kOnce); }
TEST(Fault, NothingIsThrownWhenNoMemoryIsLeft) {
  fail_every_allocation_of_records(Failing::kFromThenOn);
}

TEST(Fault, ReaderReportsEveryFailedAllocation) {
  const std::vector<std::byte> bytes = golden_cases()[2].bytes;
  for (int64_t fail_at = 1;; ++fail_at) {
    ASSERT_LT(fail_at, 100000);
    fail_allocation(fail_at, OfThreads::kThis);
    const auto trace = Trace::from_bytes(bytes);
    const bool failed = stop_failing_allocations();
    ASSERT_EQ(trace.has_value(), !failed) << fail_at;
    if (!failed) break;
    EXPECT_EQ(trace.error().status, Status::kOutOfMemory);
  }
}

TEST(Recover, KeepsEveryWholeRecordOfEveryTruncation) {
  TemporaryFolder folder;
  const std::vector<std::byte> whole = golden_cases()[2].bytes;
  size_t last_records = 0;
  for (size_t size = 0; size < whole.size(); size += 97) {
    SCOPED_TRACE(size);
    ASSERT_TRUE(write_file_atomic(folder / "in", std::span(whole).first(size)));
    const auto report = recover(folder / "in", folder / "out.gfxg");
    if (size < kHeadBytes) {
      EXPECT_EQ(report.error().status, Status::kTruncated);
      continue;
    }
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->intact);
    EXPECT_EQ(report->kept_bytes + report->lost_bytes, size);
    EXPECT_GE(report->kept_records, last_records);
    last_records = report->kept_records;
    const auto trace = Trace::open(folder / "out.gfxg");
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_TRUE((*trace)->sealed());
    EXPECT_FALSE((*trace)->complete());
    EXPECT_EQ((*trace)->findings().back().call, "gfxgraph recover");
    EXPECT_THAT((*trace)->findings().back().detail, HasSubstr("are lost"));
    EXPECT_EQ((*trace)->events().size(), report->statistics.events);
  }
}

TEST(Recover, CopiesAnIntactTrace) {
  TemporaryFolder folder;
  for (const GoldenCase& golden : golden_cases()) {
    if (golden.torn) continue;
    ASSERT_TRUE(write_file_atomic(folder / "in", golden.bytes));
    const auto report = recover(folder / "in", folder / "out");
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->intact);
    EXPECT_EQ(report->lost_bytes, 0u);
    EXPECT_EQ(read_file(folder / "out").value(), golden.bytes) << golden.name;
  }
}

TEST(Recover, RefusesALivingRecordingAndItself) {
  TemporaryFolder folder;
  const std::unique_ptr<Writer> writer = Writer::create(folder / "t.gfxg").value();
  const auto living = recover(folder / "t.gfxg.partial", folder / "out");
  ASSERT_FALSE(living);
  EXPECT_THAT(living.error().message, HasSubstr("still writing"));
  ASSERT_TRUE(writer->seal());
  EXPECT_THAT(recover(folder / "t.gfxg", folder / "t.gfxg").error().message,
              HasSubstr("same file"));
  EXPECT_EQ(recover(folder / "none", folder / "out").error().status, Status::kNotFound);
  ASSERT_TRUE(write_file_atomic(folder / "text", to_bytes("this is no trace")));
  EXPECT_EQ(recover(folder / "text", folder / "out").error().status, Status::kCorrupt);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

// kill -9 at points that fall anywhere: whatever stands there must be readable and recoverable.
TEST(Recover, KeepsWhatAKilledWriterLeft) {
  for (int round = 0; round < 8; ++round) {
    TemporaryFolder folder;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      WriterOptions options;
      options.events_per_chunk = 8;
      Result<std::unique_ptr<Writer>> writer = Writer::create(folder / "t.gfxg", options);
      if (!writer) ::_exit(1);
      for (uint64_t i = 0;; ++i) {
        std::vector<std::byte> blob = random_bytes(3000);
        std::memcpy(blob.data(), &i, sizeof i);
        if (!(*writer)->add_blob(blob) || !(*writer)->add(event_of(Marker{"m"}))) ::_exit(1);
      }
    }
    const std::filesystem::path partial = folder / "t.gfxg.partial";
    std::error_code ignored;
    // Far enough to have records, then anywhere.
    while (!std::filesystem::exists(partial) ||
           std::filesystem::file_size(partial, ignored) < 40000u + 7777u * round) {
      std::this_thread::yield();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto trace = Trace::open(partial, {.allow_torn = true});
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_GE((*trace)->events().size(), 8u);
    const auto report = recover(partial, folder / "t.gfxg");
    ASSERT_TRUE(report) << report.error().message;
    const auto whole = Trace::open(folder / "t.gfxg");
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ((*whole)->events().size(), (*trace)->events().size());
    EXPECT_EQ((*whole)->statistics().blobs, (*trace)->statistics().blobs);
  }
}

TEST(Verify, FindsNothingInGoodTracesAndCountsTheirBlobs) {
  for (const GoldenCase& golden : golden_cases()) {
    if (golden.torn) continue;
    const auto report = verify_bytes(golden.bytes);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->problems.empty()) << report->problems.front().message;
    EXPECT_TRUE(report->sealed);
    EXPECT_EQ(report->blobs, Trace::from_bytes(golden.bytes).value()->statistics().blobs);
  }
}

TEST(Verify, ListsEveryDamagedRecord) {
  std::vector<std::byte> bytes = golden_cases()[1].bytes;
  const std::vector<RawRecord> records = split_records(bytes);
  // One byte in each of two payloads.
  const size_t first = kHeadBytes + kRecordHeaderBytes;
  const size_t second =
      kHeadBytes + record_bytes(records[0].kind, records[0].payload).size() + kRecordHeaderBytes;
  bytes[first] ^= std::byte{1};
  bytes[second] ^= std::byte{1};
  const auto report = verify_bytes(bytes);
  ASSERT_TRUE(report);
  ASSERT_GE(report->problems.size(), 2u);
  EXPECT_THAT(report->problems[0].message, HasSubstr("record 0 (environment)"));
  EXPECT_THAT(report->problems[1].message, HasSubstr("record 1 (blob)"));
  EXPECT_EQ(report->problems[1].offset, second - kRecordHeaderBytes);
  TemporaryFolder folder;
  EXPECT_EQ(verify(folder / "none").error().status, Status::kNotFound);
}

}  // namespace
}  // namespace gfxgraph::format
