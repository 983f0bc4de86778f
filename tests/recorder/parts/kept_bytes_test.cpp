// Bytes that are kept for later: in memory while they are few, else in a file.
#include "recorder/bytes/kept_bytes.h"

#include <unistd.h>

#include <filesystem>

#include "base/sanitized.h"
#include "tests/recorder/fake_device/recorder_fixture.h"
#include "tests/recorder/peak.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::byte> some(size_t size, uint8_t first) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(first + i / 3);
  return bytes;
}

// The descriptor of the file without a name; -1: there is none.
int unnamed_file() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string leads_to = std::filesystem::read_symlink(entry.path(), gone).string();
    if (leads_to.ends_with(" (deleted)") && leads_to.find("gfxgraph") != std::string::npos)
      return std::stoi(entry.path().filename().string());
  }
  return -1;
}

uint64_t file_bytes() {
  return std::filesystem::file_size("/proc/self/fd/" + std::to_string(unnamed_file()));
}

class KeptBytesTest : public ::testing::Test {
 protected:
  KeptBytesTest() : store_(1000) { store_.place_in(folder_.path()); }
  TemporaryFolder folder_;
  ByteStore store_;
};

TEST_F(KeptBytesTest, FewStandInMemoryAndMoreInAFile) {
  const KeptBytes few = store_.keep(some(900, 1));
  EXPECT_EQ(unnamed_file(), -1);
  const KeptBytes more = store_.keep(some(5000, 7));
  EXPECT_NE(unnamed_file(), -1);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "no name leads to it";
  EXPECT_EQ(few.all(), some(900, 1));
  EXPECT_EQ(more.all(), some(5000, 7));
  const std::vector<std::byte> whole = more.all();
  EXPECT_EQ(more.part(100, 50).all(), std::vector(whole.begin() + 100, whole.begin() + 150));
  EXPECT_FALSE(store_.failed());
}

TEST_F(KeptBytesTest, WhatIsWrittenIntoOneIsNotSeenInItsCopies) {
  for (const size_t size : {size_t{200}, size_t{5000}}) {
    KeptBytes one = store_.keep(some(size, 1));
    const KeptBytes copy = one;
    const KeptBytes part = one.part(40, 20);
    ASSERT_TRUE(one.write(50, some(10, 99)));
    std::vector<std::byte> expected = some(size, 1);
    EXPECT_EQ(copy.all(), expected);
    EXPECT_EQ(part.all(), std::vector(expected.begin() + 40, expected.begin() + 60));
    std::ranges::copy(some(10, 99), expected.begin() + 50);
    EXPECT_EQ(one.all(), expected);
    ASSERT_TRUE(one.write(0, some(1, 5))) << "alone";
    expected[0] = std::byte{5};
    EXPECT_EQ(one.all(), expected);
  }
}

TEST_F(KeptBytesTest, PlacesInTheFileAreUsedAgain) {
  KeptBytes first = store_.keep(some(64 * 100, 1));
  KeptBytes second = store_.keep(some(64 * 100, 2));
  const KeptBytes last = store_.keep(some(64 * 100, 3));
  EXPECT_EQ(file_bytes(), 3u * 6400);
  first = {};
  second = {};
  const KeptBytes large = store_.keep(some(64 * 200, 4));
  EXPECT_EQ(file_bytes(), 3u * 6400) << "side by side they are one place";
  EXPECT_EQ(large.all(), some(64 * 200, 4));
  EXPECT_EQ(last.all(), some(64 * 100, 3));
}

TEST_F(KeptBytesTest, PlacesBeforeTheEndAreGivenUpWithIt) {
  const KeptBytes first = store_.keep(some(64 * 100, 1));
  KeptBytes second = store_.keep(some(64 * 100, 2));
  KeptBytes last = store_.keep(some(64 * 100, 3));
  second = {};
  last = {};
  EXPECT_EQ(file_bytes(), 6400u);
  const KeptBytes one = store_.keep(some(64 * 50, 4)), other = store_.keep(some(64 * 200, 5));
  EXPECT_EQ(file_bytes(), 6400u + 3200 + 12800);
  EXPECT_EQ(first.all(), some(64 * 100, 1));
  EXPECT_EQ(one.all(), some(64 * 50, 4));
  EXPECT_EQ(other.all(), some(64 * 200, 5));
}

TEST_F(KeptBytesTest, AFileThatIsEmptyTakesNoRoom) {
  KeptBytes one = store_.keep(some(5000, 1));
  one = {};
  EXPECT_EQ(file_bytes(), 0u);
}

TEST_F(KeptBytesTest, WhatCannotBeReadIsNotKept) {
  EXPECT_FALSE(store_.keep(5000, [](uint64_t, std::span<std::byte>) { return false; }));
  EXPECT_FALSE(store_.failed()) << "the file has nothing to do with it";
}

TEST_F(KeptBytesTest, WithoutAFileMoreIsNotKeptAndItSaysWhy) {
  store_.place_in(folder_.path() / "none");
  EXPECT_TRUE(store_.keep(some(900, 1)));
  EXPECT_FALSE(store_.keep(some(5000, 1)));
  ASSERT_TRUE(store_.failed());
  EXPECT_THAT(store_.take_error().value_or(""), HasSubstr("No such file or directory"));
  EXPECT_FALSE(store_.failed());
}

TEST_F(KeptBytesTest, AFileThatTheProgramClosedIsAnError) {
  KeptBytes kept = store_.keep(some(5000, 1));
  ::close(unnamed_file());
  EXPECT_TRUE(kept.all().empty());
  EXPECT_FALSE(kept.write(0, some(1, 1)));
  EXPECT_THAT(store_.take_error().value_or(""), HasSubstr("closed its file descriptor"));
}

// ---- what the recorder keeps of a program's memory ----------------------------------------------

class RecorderKeptTest : public RecorderHostMemoryTest {
 protected:
  static constexpr uint64_t kBytes = 320 * kMiB;
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer keeps what was freed";
    memory_ = host_memory(kBytes);
    RecorderHostMemoryTest::SetUp();
  }
  void fill(uint64_t first) {
    auto* const words = reinterpret_cast<uint64_t*>(memory_);
    for (uint64_t i = 0; i < kBytes / 8; ++i) words[i] = (first + i) * 6364136223846793005u | 1;
  }
  void expect_small(const std::function<void()>& record) {
    recorder_.reset();  // its thread may hold a lock while the process forks
    expect_small_peak(
        [&] {
          Options options;
          options.compression_level = 0;
          begin_anew(options);
          record();
          recorder_->finish();
          const Report report = recorder_->report();
          for (const std::string& line : report.incomplete)
            std::fprintf(stderr, "%s\n", line.c_str());
          return report.sealed && report.incomplete.empty();
        },
        [&] { fill(1); }, 160);
  }
  // Into device memory that nobody reads.
  void async_copy(const void* source, uint64_t bytes) {
    Work work;
    RawCopy raw;
    raw.destination.address = reinterpret_cast<uint64_t>(other_);
    raw.source.address = reinterpret_cast<uint64_t>(source);
    raw.width_bytes = bytes;
    work.raw = raw;
    work.stream = handle(10);
    work.call = "hipMemcpyAsync";
    work.knows = Knows::NOTHING;
    recorder_->work().prepare(work);
    recorder_->commit(work);
  }

  char* memory_ = nullptr;
};

TEST_F(RecorderKeptTest, WhatKernelsInFlightMayWriteDoesNotStandInMemory) {
  expect_small([&] {
    recorder_->buffers().host_registered(memory_, kBytes, 0);
    launch(memory_);
    launch(memory_);
    wait();
  });
}

TEST_F(RecorderKeptTest, WhatHostFunctionsMayWriteDoesNotStandInMemory) {
  expect_small([&] {
    recorder_->buffers().host_registered(memory_, kBytes, 0);
    launch(memory_);
    wait();
    host_function([&] { fill(7); });
    launch(memory_);
    during_call_();
    wait();
  });
  const auto trace = Trace::open(path());
  ASSERT_TRUE(trace) << trace.error().message;
  uint64_t bytes = 0;
  const auto copies = actions<format::Copy>(**trace);
  for (const format::Copy& copy : copies) bytes += copy.width_bytes;
  EXPECT_EQ(bytes, kBytes);
  EXPECT_LE(copies.size(), kBytes / ByteStore::kPieceBytes) << "side by side they are one";
}

TEST_F(RecorderKeptTest, SourcesThatHostFunctionsFillDoNotStandInMemory) {
  constexpr uint64_t kEach = 64 * kMiB;
  expect_small([&] {
    recorder_->buffers().host_registered(memory_, kBytes, 0);
    recorder_->buffers().allocated(
        {format::AllocationKind::kDevice, 0x100000000000, 0, kEach, 0, nullptr});
    host_function([&] { fill(7); });
    for (uint64_t at = 0; at < kBytes; at += kEach) {
      Work work;
      RawCopy raw;
      raw.destination.address = 0x100000000000;
      raw.source.address = reinterpret_cast<uint64_t>(memory_ + at);
      raw.width_bytes = kEach;
      work.raw = raw;
      work.stream = handle(10);
      work.call = "hipMemcpyAsync";
      recorder_->work().prepare(work);
      recorder_->commit(work);
    }
    during_call_();
    wait();
    state_.readable = false;  // there is no such device memory
  });
}

TEST_F(RecorderKeptTest, MemoryThatBeginsBesideHostFunctionsDoesNotStandInMemory) {
  expect_small([&] {
    host_function([] {});
    recorder_->buffers().host_registered(memory_, kBytes, 0);
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    during_call_();
    wait();
  });
}

TEST_F(RecorderKeptTest, MemoryOfCopyNodesDoesNotStandInMemory) {
  expect_small([&] {
    recorder_->buffers().allocated(
        {format::AllocationKind::kDevice, 0x100000000000, 0, kBytes, 0, nullptr});
    recorder_->graphs().graph_created(handle(30));
    RawCopy raw;
    raw.destination.address = reinterpret_cast<uint64_t>(memory_);
    raw.destination_side = MemorySide::kHost;
    raw.source.address = 0x100000000000;
    raw.source_side = MemorySide::kDevice;
    raw.width_bytes = kBytes;
    recorder_->graphs().node_added(handle(30), handle(31), nullptr, 0, raw, "add");
    recorder_->executables().instantiated(handle(40), handle(30));
    Work work;
    recorder_->work().prepare_graph_launch(handle(40), handle(10), work);
    recorder_->commit(work);
    fill(3);
    wait();
    memory_[5] = 1;
    Work again;
    recorder_->work().prepare_graph_launch(handle(40), handle(10), again);
    recorder_->commit(again);
    wait();
    state_.readable = false;
  });
}

TEST_F(RecorderKeptTest, WithoutItsFileTheTraceIsIncompleteAndTheProgramGoesOn) {
  recorder_->buffers().host_registered(memory_, kBytes, 0);
  launch(memory_);
  const int file = unnamed_file();
  ASSERT_NE(file, -1);
  ::close(file);
  memory_[5] = 1;
  launch(memory_);
  wait();
  memory_[6] = 1;
  launch(memory_);
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  const auto& found = trace->findings();
  EXPECT_TRUE(std::ranges::any_of(found, [](const format::Finding& one) {
    return one.call == "temporary file" && one.detail.find("closed its file") != std::string::npos;
  }));
  EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(3));
}

}  // namespace
}  // namespace gfxgraph::recorder
