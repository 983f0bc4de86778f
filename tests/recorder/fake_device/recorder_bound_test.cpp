// Large contents: in chunks, with the same words, and without more memory than the bound.
#include "base/sanitized.h"
#include "format/write/writer.h"
#include "tests/recorder/fake_device/recorder_fixture.h"
#include "tests/recorder/peak.h"

namespace gfxgraph::recorder {
namespace {

using format::AllocationEnd;

constexpr uint64_t kAddress = UINT64_C(0x100000000000);

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
  static void copy(Recorder& recording, const RawCopy& raw) {
    Work work;
    work.raw = raw;
    work.call = "hipMemcpy3D";
    work.knows = Knows::STREAM;
    recording.work().prepare(work);
    recording.commit(work);
  }
  TemporaryFolder folder_;
  EndlessDevice* device_ = nullptr;
};

class RecorderPeakTest : public RecorderBoundTest {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer keeps what was freed";
  }
};

TEST_F(RecorderPeakTest, ContentsDoNotStandInMemory) {
  constexpr uint64_t kBytes = 512 * kMiB;
  expect_small_peak([&] {
    const auto recording = recorder();
    recording->buffers().allocated(
        {format::AllocationKind::kDevice, kAddress, 0, kBytes, 0, nullptr});
    auto freeing = recording->buffers().freeing(kAddress);
    recording->buffers().freed(std::move(freeing), true);
    recording->finish();
    return recording->report().sealed && device_->largest_read <= kMiB;
  });
  const auto trace = Trace::open(path());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ((*trace)->statistics().blobs, kBytes / kMiB + 1);
}

// Nor does what the program copies from its own memory and into it: as a whole, or rows with space
// between them.
TEST_F(RecorderPeakTest, CopiesDoNotStandInMemory) {
  constexpr uint64_t kBytes = 512 * kMiB;
  for (const uint64_t space : {UINT64_C(0), UINT64_C(4096)}) {
    expect_small_peak([&] {
      const auto recording = recorder();
      device_->unreadable = 0;
      recording->buffers().allocated(
          {format::AllocationKind::kDevice, kAddress, 0, kBytes, 0, nullptr});
      RawCopy raw;
      raw.width_bytes = kMiB / 2 - space;
      raw.height = 64;
      raw.depth = kBytes / kMiB * 2 / raw.height;
      RawCopyEnd device{kAddress, kMiB / 2, 0};
      RawCopyEnd host{reinterpret_cast<uint64_t>(host_memory(kBytes)), kMiB / 2, 0};
      raw.source = host;
      raw.destination = device;
      copy(*recording, raw);
      std::swap(raw.source, raw.destination);
      copy(*recording, raw);
      recording->finish();
      return recording->report().sealed && recording->report().copies == 2;
    });
    const auto trace = Trace::open(path());
    ASSERT_TRUE(trace) << trace.error().message;
    uint64_t copies = 0;
    for (const format::Event& event : (*trace)->events()) {
      const auto* made = std::get_if<format::Copy>(&event.action);
      if (made == nullptr) continue;
      ++copies;
      const format::Content& content =
          made->source.allocation == 0 ? made->host_source : made->host_result;
      EXPECT_EQ(content.size_bytes, made->width_bytes * made->height * made->depth);
      EXPECT_EQ(content.fill, 0);
    }
    EXPECT_EQ(copies, 2u);
    std::filesystem::remove(path());
  }
}

// Nor does what it writes into memory that the device sees.
TEST_F(RecorderPeakTest, HostWritesDoNotStandInMemory) {
  constexpr uint64_t kBytes = 256 * kMiB;
  char* const host = host_memory(kBytes);
  expect_small_peak(
      [&] {
        const auto recording = recorder();
        recording->buffers().host_registered(host, kBytes, 0);
        std::memset(host, 2, kBytes);
        auto freeing = recording->buffers().freeing(reinterpret_cast<uint64_t>(host));
        recording->buffers().freed(std::move(freeing), true);
        recording->finish();
        return recording->report().sealed;
      },
      [&] { std::memset(host, 1, kBytes); });
  const auto trace = Trace::open(path());
  ASSERT_TRUE(trace) << trace.error().message;
  uint64_t written = 0;
  for (const format::Event& event : (*trace)->events()) {
    if (const auto* write = std::get_if<format::HostWrite>(&event.action)) {
      written += write->content.size_bytes;
      EXPECT_EQ(write->content.fill, 2);
    }
  }
  EXPECT_EQ(written, kBytes);
}

// Rows of a box, of which some lie in two chunks.
TEST_F(RecorderBoundTest, RowsOfALargeBoxArePacked) {
  constexpr uint64_t kWidth = 40'000;
  constexpr uint64_t kHeight = 30;
  constexpr uint64_t kDepth = 3;
  constexpr uint64_t kPitch = kWidth + 24;
  constexpr uint64_t kSlice = kPitch * (kHeight + 1);
  std::vector<uint8_t> host(kSlice * kDepth);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<uint8_t>(i * 31 + i / 251);
  std::vector<uint8_t> packed;
  for (uint64_t z = 0; z < kDepth; ++z) {
    for (uint64_t y = 0; y < kHeight; ++y) {
      const auto row = host.begin() + static_cast<ptrdiff_t>(z * kSlice + y * kPitch);
      packed.insert(packed.end(), row, row + kWidth);
    }
  }
  const auto recording = recorder();
  recording->buffers().allocated(
      {format::AllocationKind::kDevice, kAddress, 0, 8 * kMiB, 0, nullptr});
  RawCopy raw;
  raw.destination.address = kAddress;
  raw.source = {reinterpret_cast<uint64_t>(host.data()), kPitch, kSlice};
  raw.width_bytes = kWidth;
  raw.height = kHeight;
  raw.depth = kDepth;
  copy(*recording, raw);
  recording->finish();
  const auto trace = Trace::open(path());
  ASSERT_TRUE(trace) << trace.error().message;
  for (const format::Event& event : (*trace)->events()) {
    const auto* made = std::get_if<format::Copy>(&event.action);
    if (made == nullptr) continue;
    const auto bytes = (*trace)->content(made->host_source);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_TRUE(std::ranges::equal(*bytes, std::as_bytes(std::span(packed))));
    return;
  }
  ADD_FAILURE() << "no copy";
}

TEST_F(RecorderBoundTest, ALargeContentHasItsBytesAndHash) {
  constexpr uint64_t kBytes = 3 * kMiB + 24;
  for (const PostState post : {PostState::kFull, PostState::kHash}) {
    Options options;
    options.post = post;
    const auto recording = recorder(options);
    recording->buffers().allocated(
        {format::AllocationKind::kDevice, kAddress, 0, kBytes, 0, nullptr});
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
  recording->buffers().allocated(
      {format::AllocationKind::kDevice, kAddress, 0, 4 * kMiB, 0, nullptr});
  recording->finish();
  const auto trace = Trace::open(path());
  ASSERT_TRUE(trace) << trace.error().message;
  const auto& end = std::get<AllocationEnd>((*trace)->events().back().action);
  EXPECT_FALSE(end.post.stored);
  EXPECT_FALSE(end.post.hash);
  ASSERT_FALSE((*trace)->findings().empty());
  EXPECT_EQ((*trace)->findings()[0].call, "exit");
}

}  // namespace
}  // namespace gfxgraph::recorder
