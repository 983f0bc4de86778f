// The writer seen from its callers: what goes in comes out, names and locks, errors, threads, fork.
#include "format/write/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "base/log.h"
#include "format/container/container.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Writer> create(const std::filesystem::path& path, WriterOptions options = {}) {
  Result<std::unique_ptr<Writer>> writer = Writer::create(path, options);
  if (!writer) ADD_FAILURE() << writer.error().message;
  return writer ? std::move(*writer) : nullptr;
}

std::shared_ptr<const Trace> open(const std::filesystem::path& path, bool allow_torn = false) {
  Result<std::shared_ptr<const Trace>> trace = Trace::open(path, {.allow_torn = allow_torn});
  if (!trace) ADD_FAILURE() << trace.error().message;
  return trace ? *trace : nullptr;
}

#define ASSERT_OK(expression)                                          \
  do {                                                                 \
    const auto assert_ok_result = (expression);                        \
    ASSERT_TRUE(assert_ok_result) << assert_ok_result.error().message; \
  } while (false)

TEST(Writer, KeepsEverythingThatWasAdded) {
  TemporaryFolder folder;
  const auto writer = create(folder / "t.gfxg");
  ASSERT_OK(write_everything(*writer, true));
  ASSERT_OK(writer->seal());
  const auto trace = open(folder / "t.gfxg");
  ASSERT_NE(trace, nullptr);
  EXPECT_TRUE(trace->sealed());
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(trace->environment().command_line, sample_environment().command_line);
  ASSERT_EQ(trace->kernels().size(), 1u);
  EXPECT_EQ(trace->kernels()[0].arguments[4].value_kind, "hidden_block_count_x");
  ASSERT_EQ(trace->graphs().size(), 1u);
  ASSERT_EQ(trace->events().size(), 25u);
  const Launch& launch = std::get<Launch>(trace->events()[8].action);
  EXPECT_EQ(launch.kernarg, sample_launch(1, 1).kernarg);
  EXPECT_EQ(launch.grid, sample_launch(1, 1).grid);
  EXPECT_EQ(launch.grid_remainder[0], 7u);
  ASSERT_EQ(launch.relocations.size(), 2u);
  EXPECT_EQ(launch.relocations[1].addend, 4096);
  EXPECT_TRUE(launch.relocations[1].ambiguous);
  EXPECT_EQ(trace->statistics().launches, 1u);
  EXPECT_EQ(trace->statistics().blobs, 3u);
  for (size_t i = 0; i < trace->events().size(); ++i) EXPECT_EQ(trace->events()[i].sequence, i);
}

// Code for other targets than the one that was loaded, which nothing launches.
TEST(Writer, KeepsImagesOfCodeAndRefusesTheirUse) {
  TemporaryFolder folder;
  const auto writer = create(folder / "t.gfxg");
  ASSERT_OK(writer->add(sample_environment()));
  const auto elf = writer->add_blob(to_bytes("one"));
  const auto other = writer->add_blob(to_bytes("the other"));
  ASSERT_OK(elf);
  ASSERT_OK(other);
  ASSERT_OK(writer->add(CodeObject{1, *elf, "amdgcn-amd-amdhsa--gfx1030"}));
  ASSERT_OK(writer->add(CodeObject{2, *other, "amdgcn-amd-amdhsa--gfx900", 0, 1}));
  EXPECT_FALSE(writer->add(CodeObject{3, *other, "amdgcn-amd-amdhsa--gfx906", 0, 2}));
  ASSERT_OK(writer->seal());
  const auto trace = open(folder / "t.gfxg");
  ASSERT_NE(trace, nullptr);
  ASSERT_EQ(trace->code_objects().size(), 2u);
  EXPECT_EQ(trace->code_objects()[0].image_of, 0u);
  EXPECT_EQ(trace->code_objects()[1].image_of, 1u);
  // A kernel and a variable of it.
  for (const bool variable : {false, true}) {
    const auto wrong = create(folder / (variable ? "v.gfxg" : "k.gfxg"));
    ASSERT_OK(wrong->add(sample_environment()));
    const auto blob = wrong->add_blob(to_bytes("one"));
    ASSERT_OK(blob);
    ASSERT_OK(wrong->add(CodeObject{1, *blob, "amdgcn-amd-amdhsa--gfx1030"}));
    ASSERT_OK(wrong->add(CodeObject{2, *blob, "amdgcn-amd-amdhsa--gfx900", 0, 1}));
    if (variable) {
      AllocationBegin begin = sample_allocation(1, 64);
      begin.kind = AllocationKind::kModuleGlobal;
      begin.code_object = 2;
      begin.symbol = "counter";
      EXPECT_FALSE(wrong->add(event_of(begin)));
    } else {
      Kernel kernel;
      kernel.id = 1;
      kernel.code_object = 2;
      kernel.name = "kernel";
      EXPECT_FALSE(wrong->add(kernel));
    }
  }
}

TEST(Writer, GivesTheSameTraceForAnyChunkSize) {
  std::string expected;
  for (const uint32_t events_per_chunk : {1u, 2u, 7u, 1000u}) {
    TemporaryFolder folder;
    WriterOptions options;
    options.events_per_chunk = events_per_chunk;
    options.compress_events_min_bytes = 0;
    options.compress_min_bytes = SIZE_MAX;
    const auto writer = create(folder / "t.gfxg", options);
    ASSERT_OK(write_everything(*writer, true));
    ASSERT_OK(writer->seal());
    const std::string got = dump_json(*open(folder / "t.gfxg"));
    if (expected.empty()) expected = got;
    EXPECT_EQ(got, expected) << events_per_chunk;
  }
}

TEST(Writer, CompressesEventsUnlessTheyAreFewOrCompressionIsOff) {
  struct Case {
    int level;
    int launches;
    RecordKind expected;
  };
  std::string dump;
  for (const Case& one : {Case{1, 100, RecordKind::kCompressedEvents},
                          Case{0, 100, RecordKind::kEvents}, Case{1, 1, RecordKind::kEvents}}) {
    TemporaryFolder folder;
    WriterOptions options;
    options.compression_level = one.level;
    const auto writer = create(folder / "t.gfxg", options);
    ASSERT_OK(add_preamble(*writer));
    ASSERT_OK(writer->add(event_of(sample_allocation(1))));
    ASSERT_OK(writer->flush());
    for (int n = 0; n < one.launches; ++n) {
      Event event = event_of(sample_launch(1, 1));
      event.time_ns = 1000 * static_cast<uint64_t>(n);
      ASSERT_OK(writer->add(std::move(event)));
    }
    // What has been flushed survives the death of the process, compressed or not.
    ASSERT_OK(writer->flush());
    const auto bytes = read_file(folder / "t.gfxg.partial");
    ASSERT_OK(bytes);
    const auto torn = Trace::from_bytes(*bytes, {.allow_torn = true});
    ASSERT_OK(torn);
    EXPECT_EQ((*torn)->events().size(), 1U + one.launches);
    ASSERT_OK(writer->seal());
    const auto sealed = read_file(folder / "t.gfxg");
    ASSERT_OK(sealed);
    const std::vector<RawRecord> records = split_records(*sealed);
    ASSERT_GE(records.size(), 2U);
    EXPECT_EQ(records[records.size() - 2].kind, one.expected) << one.level << " " << one.launches;
    if (one.launches == 1) continue;
    const std::string got = dump_json(*open(folder / "t.gfxg"));
    if (dump.empty()) dump = got;
    EXPECT_EQ(got, dump);
  }
}

TEST(Writer, StoresEqualBytesOnce) {
  TemporaryFolder folder;
  const auto writer = create(folder / "t.gfxg");
  const auto bytes = to_bytes(std::string(100, 'x'));
  const Result<BlobId> first = writer->add_blob(bytes);
  const Result<BlobId> again = writer->add_blob(bytes);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(*first, *again);
  EXPECT_EQ(*first, hash_bytes(bytes));
  EXPECT_EQ(writer->statistics().blobs, 1u);
  ASSERT_OK(writer->add_blob({}));  // no bytes are bytes, too
  ASSERT_OK(writer->seal());
  const auto trace = open(folder / "t.gfxg");
  EXPECT_EQ(trace->statistics().blobs, 2u);
  EXPECT_EQ(trace->blob(*first)->size(), 100u);
  EXPECT_EQ(trace->blob(hash_bytes({}))->size(), 0u);
  EXPECT_EQ(trace->blob({9, 9}).error().status, Status::kNotFound);
}

TEST(Writer, AlignsAndCompressesBlobs) {
  TemporaryFolder folder;
  const auto writer = create(folder / "t.gfxg");
  std::vector<std::byte> zeros(3 << 20);  // large enough for the sample that compress() takes first
  const std::vector<std::byte> noise = random_bytes(2 << 20);
  const BlobId zero_id = writer->add_blob(zeros).value();
  const BlobId noise_id = writer->add_blob(noise).value();
  const BlobId small_id = writer->add_blob(std::span(zeros).first(64)).value();
  ASSERT_OK(writer->seal());
  const Statistics statistics = writer->statistics();
  EXPECT_LT(statistics.stored_blob_bytes, noise.size() + 4096);
  EXPECT_GE(statistics.stored_blob_bytes, noise.size() + 64);
  const auto trace = open(folder / "t.gfxg");
  for (const auto& [id, expected] : {std::pair{zero_id, zeros}, std::pair{noise_id, noise},
                                     std::pair{small_id, std::vector<std::byte>(64)}}) {
    const auto bytes = trace->blob(id);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes->data()) % kRecordAlignment, 0u);
    EXPECT_TRUE(std::ranges::equal(*bytes, expected));
    EXPECT_EQ(trace->blob(id)->data(), bytes->data());
  }
}

TEST(Writer, GivesContentOfBlobFillAndHash) {
  TemporaryFolder folder;
  const auto writer = create(folder / "t.gfxg");
  const BlobId id = writer->add_blob(to_bytes("abc")).value();
  ASSERT_OK(writer->seal());
  const auto trace = open(folder / "t.gfxg");
  EXPECT_EQ(trace->content(blob_content(id, 3)).value(), to_bytes("abc"));
  Content fill;
  fill.size_bytes = 4;
  fill.fill = 0x61;
  EXPECT_EQ(trace->content(fill).value(), to_bytes("aaaa"));
  fill.size_bytes = UINT64_MAX;
  EXPECT_EQ(trace->content(fill).error().status, Status::kOutOfMemory);
  fill.stored = false;
  EXPECT_EQ(trace->content(fill).error().status, Status::kNotFound);
}

TEST(Writer, IsPartialUntilSealed) {
  TemporaryFolder folder;
  const std::filesystem::path path = folder / "t.gfxg";
  auto writer = create(path);
  EXPECT_TRUE(std::filesystem::exists(path.string() + ".partial"));
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto missing = Trace::open(path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().status, Status::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("gfxgraph recover"));
  const auto second = Writer::create(path);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another recording is writing it"));
  ASSERT_OK(writer->seal());
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".partial"));
  EXPECT_FALSE(writer->seal());
  EXPECT_FALSE(writer->add(event_of(Marker{"late"})));
  EXPECT_FALSE(writer->add_blob(to_bytes("late")));
  EXPECT_FALSE(writer->add(sample_environment()));
  writer.reset();
  // A finished trace is replaced only by a finished one.
  writer = create(path);
  EXPECT_NE(open(path), nullptr);
  ASSERT_OK(writer->add(event_of(Marker{"second"})));
  ASSERT_OK(writer->seal());
  EXPECT_EQ(open(path)->events().size(), 1u);
}

TEST(Writer, KeepsTheRemainsOfADeadRecording) {
  TemporaryFolder folder;
  const std::filesystem::path path = folder / "t.gfxg";
  {
    const auto writer = create(path);
    ASSERT_OK(writer->add(event_of(Marker{"first"})));
  }
  set_log_level(LogLevel::kOff);
  const auto writer = create(path);
  set_log_level(LogLevel::kWarning);
  ASSERT_OK(writer->seal());
  const auto old = open(path.string() + ".partial.old", true);
  ASSERT_EQ(old->events().size(), 1u);
  EXPECT_FALSE(old->sealed());
  EXPECT_THAT(old->torn_reason(), HasSubstr("without a footer"));
  EXPECT_FALSE(Trace::open(path.string() + ".partial.old"));
}

TEST(Writer, ReportsWhereItCannotWrite) {
  TemporaryFolder folder;
  EXPECT_EQ(Writer::create(folder / "no" / "t.gfxg").error().status, Status::kNotFound);
  std::filesystem::create_directory(folder / "d");
  EXPECT_THAT(Writer::create(folder / "d").error().message, HasSubstr("Is a directory"));
}

TEST(Writer, RefusesWhatCouldNotBeReadAndSaysSo) {
  TemporaryFolder folder;
  const auto writer = create(folder / "t.gfxg");
  ASSERT_OK(add_preamble(*writer));
  ASSERT_OK(writer->add(event_of(sample_allocation(1))));
  Launch unknown = sample_launch(1, 1);
  unknown.kernel = 7;
  for (int i = 0; i < 2; ++i) {
    const Result<uint64_t> refused = writer->add(event_of(unknown));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kInvalidArgument);
    EXPECT_EQ(refused.error().message, "launch: kernel 7 does not exist");
  }
  EXPECT_EQ(writer->add(event_of(sample_launch(1, 1))).value(), 1u);
  ASSERT_OK(writer->seal());
  const auto trace = open(folder / "t.gfxg");
  EXPECT_EQ(trace->events().size(), 2u);
  EXPECT_FALSE(trace->complete());
  ASSERT_EQ(trace->findings().size(), 1u);
  EXPECT_EQ(trace->findings()[0].call, "launch");
  EXPECT_EQ(trace->findings()[0].count, 2u);
  EXPECT_THAT(trace->findings()[0].detail, HasSubstr("kernel 7 does not exist"));
}

// FlatBuffers ends the process on a payload of 2 GiB, so that size is refused before it is packed.
TEST(Writer, RefusesRecordsThatFlatBuffersCannotHold) {
  TemporaryFolder folder;
  const auto writer = create(folder / "t.gfxg");
  const auto expect_refused = [](const auto& result, std::string_view what) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().status, Status::kInvalidArgument);
    EXPECT_THAT(result.error().message, HasSubstr(fmt::format("{}: ", what)));
    EXPECT_THAT(result.error().message, HasSubstr("bytes are more than a record may hold"));
  };
  Environment environment = sample_environment();
  environment.device_name.assign(kMaxStructuredBytes, 'n');
  expect_refused(writer->add(environment), "environment");
  Kernel kernel;
  kernel.name = std::move(environment.device_name);
  expect_refused(writer->add(kernel), "kernel");
  kernel.name.clear();
  kernel.name.shrink_to_fit();
  ASSERT_OK(add_preamble(*writer));
  Launch launch = sample_launch(1, 1);
  launch.kernarg.resize(kMaxStructuredBytes);
  expect_refused(writer->add(event_of(std::move(launch))), "launch");
  ASSERT_OK(writer->seal());
  EXPECT_FALSE(open(folder / "t.gfxg")->complete());
}

// Readers have tables by id.
TEST(Writer, RefusesIdsThatNoEventsCanHaveMade) {
  TemporaryFolder folder;
  const auto writer = create(folder / "t.gfxg");
  ASSERT_OK(add_preamble(*writer));
  for (const Action& action : std::vector<Action>{
           sample_allocation(2u << 20), StreamCreate{2u << 20, 0, 0}, EventCreate{2u << 20, 0}}) {
    EXPECT_THAT(writer->add(event_of(action)).error().message, HasSubstr("out of range"));
  }
  ASSERT_OK(writer->add(event_of(sample_allocation(1u << 20))));
}

TEST(Writer, OrdersRelocationsAndCutsMemsetValues) {
  TemporaryFolder folder;
  const auto writer = create(folder / "t.gfxg");
  ASSERT_OK(add_preamble(*writer));
  ASSERT_OK(writer->add(event_of(sample_allocation(1))));
  Launch launch = sample_launch(1, 1);
  std::swap(launch.relocations[0], launch.relocations[1]);
  ASSERT_OK(writer->add(event_of(launch)));
  Memset memset;
  memset.allocation = 1;
  memset.value = 0xffffffff;  // hipMemset(p, -1, n)
  memset.width_elements = 16;
  ASSERT_OK(writer->add(event_of(memset)));
  ASSERT_OK(writer->seal());
  const auto trace = open(folder / "t.gfxg");
  EXPECT_EQ(std::get<Launch>(trace->events()[1].action).relocations[0].offset_bytes, 8u);
  EXPECT_EQ(std::get<Memset>(trace->events()[2].action).value, 0xffu);
}

TEST(Writer, TakesEventsAndBlobsFromManyThreads) {
  TemporaryFolder folder;
  WriterOptions options;
  options.events_per_chunk = 16;
  options.compress_min_bytes = 256;
  const auto writer = create(folder / "t.gfxg", options);
  ASSERT_OK(add_preamble(*writer));
  constexpr int kThreads = 4;
  constexpr int kRounds = 100;
  const auto work = [&](uint32_t thread) {
    for (uint32_t round = 0; round < kRounds; ++round) {
      // Threads store the same bytes at the same time and refer to them at once.
      const auto bytes = to_bytes(std::string(512, static_cast<char>('a' + round % 26)));
      const Result<BlobId> blob = writer->add_blob(bytes);
      ASSERT_OK(blob);
      AllocationBegin begin = sample_allocation(1 + thread * kRounds + round, 512);
      begin.initial = blob_content(*blob, 512);
      Event event = event_of(begin);
      event.thread = thread;
      ASSERT_OK(writer->add(event));
      if (round % 10 == 0) ASSERT_OK(writer->flush());
      if (round % 25 == 0) ASSERT_OK(writer->add(Finding{FindingKind::kNote, "x", 1, ""}));
      EXPECT_GT(writer->statistics().events, 0u);
    }
  };
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  threads.clear();
  ASSERT_OK(writer->seal());
  const auto trace = open(folder / "t.gfxg");
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(trace->events().size(), kThreads * kRounds);
  EXPECT_EQ(trace->statistics().blobs, 27u);
}

TEST(Writer, SealStopsThreadsThatStillAdd) {
  TemporaryFolder folder;
  const auto writer = create(folder / "t.gfxg");
  std::atomic<uint64_t> accepted = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (writer->add(event_of(Marker{"m"}))) ++accepted;
    });
  }
  while (accepted < 100) std::this_thread::yield();
  ASSERT_OK(writer->seal());
  threads.clear();
  EXPECT_EQ(open(folder / "t.gfxg")->events().size(), accepted.load());
}

TEST(Writer, IsForgottenInAForkedChild) {
  TemporaryFolder folder;
  const std::filesystem::path path = folder / "t.gfxg";
  auto writer = create(path);
  ASSERT_OK(writer->add(event_of(Marker{"parent"})));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    writer->abandon();
    const bool refused = !writer->add(event_of(Marker{"child"})) && !writer->flush() &&
                         !writer->seal() && !writer->add_blob({}) &&
                         writer->statistics().events == 0;
    writer.reset();
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_FALSE(Writer::create(path)) << "the child's end must not unlock the parent's file";
  ASSERT_OK(writer->add(event_of(Marker{"parent again"})));
  ASSERT_OK(writer->seal());
  EXPECT_EQ(open(path)->events().size(), 2u);
}

TEST(Writer, LeavesAReadablePrefixWhenKilled) {
  TemporaryFolder folder;
  const std::filesystem::path path = folder / "t.gfxg";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Result<std::unique_ptr<Writer>> writer = Writer::create(path);
    bool fine = writer.has_value();
    for (int i = 0; fine && i < 10; ++i) fine = (*writer)->add(event_of(Marker{"m"})).has_value();
    fine = fine && (*writer)->flush();
    for (int i = 0; fine && i < 3; ++i) fine = (*writer)->add(event_of(Marker{"lost"})).has_value();
    const char answer = fine ? 'y' : 'n';
    (void)!::write(ready[1], &answer, 1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  const auto trace = open(path.string() + ".partial", true);
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(trace->events().size(), 10u);
  EXPECT_FALSE(trace->sealed());
}

TEST(Writer, SurvivesAFileSizeLimit) {
  TemporaryFolder folder;
  const std::filesystem::path path = folder / "t.gfxg";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // In a child, as limits cannot be raised again; SIGXFSZ would kill it.
    struct rlimit limit = {8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Result<std::unique_ptr<Writer>> writer = Writer::create(path);
    if (!writer || !(*writer)->add(event_of(Marker{"kept"})) || !(*writer)->flush()) ::_exit(1);
    const auto failed = (*writer)->add_blob(random_bytes(10000));
    if (failed || failed.error().status != Status::kIo) ::_exit(2);
    const auto latched = (*writer)->add(event_of(Marker{"late"}));
    if (latched || latched.error().message != failed.error().message) ::_exit(3);
    if ((*writer)->seal()) ::_exit(4);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const auto trace = open(path.string() + ".partial", true);
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(trace->events().size(), 1u);
}

}  // namespace
}  // namespace gfxgraph::format
