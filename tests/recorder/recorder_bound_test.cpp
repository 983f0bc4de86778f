// Large contents: in chunks, with the same words, and without more memory than the bound.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "format/writer.h"
#include "tests/recorder/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using format::AllocationEnd;

constexpr uint64_t kAddress = UINT64_C(0x100000000000);
constexpr uint64_t kMiB = 1 << 20;

// Memory that is nowhere: each word is made when it is read.
class EndlessDevice final : public Device {
 public:
  DeviceFacts facts() override { return {"gfx1030", "endless", 1, 1}; }
  bool read(void* destination, uint64_t address, size_t size_bytes) override {
    largest_read = std::max<size_t>(largest_read, size_bytes);
    auto* words = static_cast<uint64_t*>(destination);
    for (size_t i = 0; i < size_bytes / 8; ++i) words[i] = word_at(address + 8 * i);
    return address < unreadable;
  }
  static uint64_t word_at(uint64_t address) { return address * 6364136223846793005u | 1; }
  std::unique_ptr<StreamRead> read_behind(void*, uint64_t, size_t, bool) override {
    return nullptr;
  }
  bool synchronize(uint32_t) override { return true; }
  StreamState stream_state(void*) override { return StreamState::kIdle; }
  bool capturing(void*) override { return false; }
  uint64_t device_address(void*) override { return 0; }
  bool symbol(const void*, uint64_t*, uint64_t*) override { return false; }
  bool module_global(void*, const char*, uint64_t*, uint64_t*) override { return false; }
  size_t graph_nodes(void*, void**, size_t) override { return 0; }

  uint64_t unreadable = UINT64_MAX;
  size_t largest_read = 0;
};

class RecorderBoundTest : public ::testing::Test {
 protected:
  std::unique_ptr<Recorder> recorder(Options options = {}) {
    options.output = path();
    options.compression_level = 0;
    auto device = std::make_unique<EndlessDevice>();
    device_ = device.get();
    return std::make_unique<Recorder>(options, std::move(device));
  }
  std::string path() const { return (folder_.path() / "t.gfxg").string(); }
  TemporaryFolder folder_;
  EndlessDevice* device_ = nullptr;
};

uint64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

// In a process of its own, whose peak is that of the recording.
TEST_F(RecorderBoundTest, ContentsDoNotStandInMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps what was freed";
#endif
  constexpr uint64_t kBytes = 512 * kMiB;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const uint64_t before = peak_kib();
    const auto recording = recorder();
    recording->allocated({format::AllocationKind::kDevice, kAddress, 0, kBytes, 0, nullptr});
    auto freeing = recording->freeing(kAddress);
    recording->freed(std::move(freeing), true);
    recording->finish();
    const bool sealed = recording->report().sealed;
    const bool small = device_->largest_read <= kMiB;
    ::_exit(sealed && small && before != 0 && peak_kib() - before < 128 * 1024 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const auto trace = Trace::open(path());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ((*trace)->statistics().blobs, kBytes / kMiB + 1);
}

// Nor does what the program copies from its own memory, which is read where it is.
TEST_F(RecorderBoundTest, SourcesOfCopiesDoNotStandInMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps what was freed";
#endif
  constexpr uint64_t kBytes = 512 * kMiB;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const uint64_t before = peak_kib();
    // Never written: it takes no memory itself.
    void* const host =
        ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    Options options;
    options.post = PostState::kNone;
    const auto recording = recorder(options);
    device_->unreadable = 0;
    recording->allocated({format::AllocationKind::kDevice, kAddress, 0, kBytes, 0, nullptr});
    Work work;
    RawCopy raw;
    raw.destination.address = kAddress;
    raw.source.address = reinterpret_cast<uint64_t>(host);
    raw.width_bytes = kBytes;
    work.raw = raw;
    work.call = "hipMemcpy";
    work.knows = Knows::STREAM;
    recording->prepare(work);
    recording->commit(std::move(work));
    recording->finish();
    const bool good = recording->report().sealed && recording->report().copies == 1;
    ::_exit(good && before != 0 && peak_kib() - before < 128 * 1024 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(RecorderBoundTest, ALargeContentHasItsBytesAndHash) {
  constexpr uint64_t kBytes = 3 * kMiB + 24;
  for (const PostState post : {PostState::kFull, PostState::kHash}) {
    Options options;
    options.post = post;
    const auto recording = recorder(options);
    recording->allocated({format::AllocationKind::kDevice, kAddress, 0, kBytes, 0, nullptr});
    recording->finish();
    const auto trace = Trace::open(path());
    ASSERT_TRUE(trace) << trace.error().message;
    std::vector<uint64_t> words(kBytes / 8);
    for (size_t i = 0; i < words.size(); ++i) words[i] = EndlessDevice::word_at(kAddress + 8 * i);
    const auto& end = std::get<AllocationEnd>((*trace)->events().back().action);
    EXPECT_EQ(end.post.hash, format::hash_bytes(std::as_bytes(std::span(words))));
    EXPECT_EQ(end.post.stored, post == PostState::kFull);
    if (post == PostState::kFull) {
      const auto bytes = (*trace)->content(end.post);
      ASSERT_TRUE(bytes) << bytes.error().message;
      EXPECT_TRUE(std::ranges::equal(*bytes, std::as_bytes(std::span(words))));
    }
    std::filesystem::remove(path());
  }
}

TEST_F(RecorderBoundTest, AContentThatCannotBeReadToItsEndIsUnknown) {
  const auto recording = recorder();
  device_->unreadable = kAddress + 2 * kMiB;
  recording->allocated({format::AllocationKind::kDevice, kAddress, 0, 4 * kMiB, 0, nullptr});
  recording->finish();
  const auto trace = Trace::open(path());
  ASSERT_TRUE(trace) << trace.error().message;
  const auto& end = std::get<AllocationEnd>((*trace)->events().back().action);
  EXPECT_FALSE(end.post.stored);
  EXPECT_FALSE(end.post.hash);
  ASSERT_FALSE((*trace)->findings().empty());
  EXPECT_EQ((*trace)->findings()[0].call, "hipMemcpy");
}

}  // namespace
}  // namespace gfxgraph::recorder
