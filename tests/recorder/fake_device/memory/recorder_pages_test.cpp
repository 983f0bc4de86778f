// Host memory whose pages are watched: what nobody wrote is not compared, and the trace is the same
// as without that.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>
#include <tuple>

#include "recorder/bytes/page_watch.h"
#include "recorder/memory/host_blocks.h"
#include "recorder/memory/host_writes.h"
#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;

constexpr uint64_t kBlocks = 64;
constexpr size_t kBytes = kBlocks * kHostBlockBytes;

class RecorderPagesTest : public RecorderHostMemoryTest {
 protected:
  void SetUp() override {
    memory_ = static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    state_.in_process = true;
    RecorderHostMemoryTest::SetUp();
    if (!PageWatch::open()) GTEST_SKIP() << "this kernel does not watch pages";
    watch();
  }
  void TearDown() override {
    recorder_.reset();
    munmap(memory_, kBytes);
  }
  void watch() {
    recorder_->host_writes().watch_pages_with(
        PageWatch::open({.others_may_write = [this] { return others_; },
                         .now_ns = [this] { return now_; },
                         .round_ns = 100}));
  }
  void pass_rounds() {
    for (int i = 0; i < 3; ++i) {
      now_ += 100;
      launch(memory_);
    }
  }
  // Marks each page as unwritten (PAGEMAP_SCAN).
  void protect_again() {
    uint64_t argument[12] = {sizeof(argument), 1, reinterpret_cast<uint64_t>(memory_),
                             reinterpret_cast<uint64_t>(memory_) + kBytes};
    argument[9] = 2;  // PAGE_IS_WRITTEN
    const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(ioctl(pagemap, _IOWR('f', 16, uint64_t[12]), argument), 0);
    close(pagemap);
  }
  template <typename Call>
  static uint64_t blocks_of(Call&& call) {
    const uint64_t before = compared_blocks();
    call();
    return compared_blocks() - before;
  }

  char* memory_ = nullptr;
  bool others_ = false;
  uint64_t now_ = 1000;
};

TEST_F(RecorderPagesTest, BlocksThatNobodyWroteAreNotCompared) {
  recorder_->buffers().host_registered(memory_, kBytes, 0);
  EXPECT_GE(blocks_of([&] { launch(memory_); }), kBlocks);
  pass_rounds();
  EXPECT_EQ(blocks_of([&] { launch(memory_); }), 0u);
  EXPECT_EQ(blocks_of([&] { launch(memory_, handle(11)); }), 0u);
  // A wait, and work after it.
  EXPECT_EQ(blocks_of([&] {
              wait();
              wait(handle(11));
            }),
            0u);
  EXPECT_EQ(blocks_of([&] { launch(memory_); }), 0u);
  // The program writes one byte.
  wait();
  memory_[5 * kHostBlockBytes + 17] = 3;
  const uint64_t few = blocks_of([&] { launch(memory_); });
  EXPECT_GT(few, 0u);
  EXPECT_LE(few, 4u);
  pass_rounds();
  EXPECT_EQ(blocks_of([&] { launch(memory_); }), 0u);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1));
  EXPECT_EQ(writes[0].offset_bytes, 5 * kHostBlockBytes);
  EXPECT_EQ((*trace->content(writes[0].content))[17], std::byte{3});
}

TEST_F(RecorderPagesTest, KernelsThatAreGivenOtherMemory) {
  recorder_->buffers().host_registered(memory_, kBytes, 0);
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);
  launch(memory_);
  pass_rounds();
  EXPECT_LE(blocks_of([&] { launch(other_); }), 4u) << "those of the other memory";
  wait();
  EXPECT_LE(blocks_of([&] { launch(other_); }), 4u);
  memory_[7 * kHostBlockBytes] = 2;  // the kernel may find it
  EXPECT_LE(blocks_of([&] { launch(other_); }), 8u);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(1));
}

TEST_F(RecorderPagesTest, WritesOfKernelsStayTheirs) {
  recorder_->buffers().host_registered(memory_, kBytes, 0);
  launch(memory_);
  pass_rounds();
  for (int step = 1; step < 5; ++step) {
    launch(memory_);
    during_wait_ = [&] { memory_[static_cast<size_t>(step) * kHostBlockBytes] = 7; };
    EXPECT_LE(blocks_of([&] { wait(); }), 8u);
  }
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0));
}

// Pages are compared as before while the process has descriptors for direct I/O and the like.
TEST_F(RecorderPagesTest, EverythingIsComparedWhereOthersMayWrite) {
  others_ = true;
  recorder_->buffers().host_registered(memory_, kBytes, 0);
  launch(memory_);
  pass_rounds();
  EXPECT_GE(blocks_of([&] { launch(memory_); }), kBlocks);
}

TEST_F(RecorderPagesTest, DeviceOutsideOfTheProcess) {
  state_.in_process = false;
  begin_anew({});
  watch();
  recorder_->buffers().host_registered(memory_, kBytes, 0);
  launch(memory_);
  pass_rounds();
  EXPECT_GE(blocks_of([&] { launch(memory_); }), kBlocks);
}

TEST_F(RecorderPagesTest, MemoryThatIsMappedAnewIsCompared) {
  recorder_->buffers().host_registered(memory_, kBytes, 0);
  launch(memory_);
  pass_rounds();
  wait();
  ASSERT_NE(mmap(memory_ + 2 * kHostBlockBytes, kHostBlockBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
  memory_[2 * kHostBlockBytes] = 4;
  EXPECT_GE(blocks_of([&] { launch(memory_); }), kBlocks);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(1));
}

TEST_F(RecorderPagesTest, MemoryLeavesAndComesBack) {
  for (int i = 0; i < 3; ++i) {
    recorder_->buffers().host_registered(memory_, kBytes, 0);
    launch(memory_);
    pass_rounds();
    EXPECT_EQ(blocks_of([&] { launch(memory_); }), 0u);
    wait();
    recorder_->buffers().host_unregistered(reinterpret_cast<uint64_t>(memory_), true);
    memory_[i] = 9;
  }
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0));
}

// As what a device writes: the page is not marked.
TEST_F(RecorderPagesTest, WritesThatPageTablesDoNotShowMakeTheTraceIncomplete) {
  recorder_->buffers().host_registered(memory_, kBytes, 0);
  launch(memory_);
  pass_rounds();
  wait();
  memory_[3 * kHostBlockBytes] = 9;
  protect_again();
  EXPECT_EQ(blocks_of([&] { launch(memory_); }), 0u);
  wait();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_THAT(trace->findings()[0].detail, ::testing::HasSubstr("past the page tables"));
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(1)) << "the final contents are known";
}

// ---- the same trace, whether pages are watched or not -------------------------------------------

using Write = std::tuple<uint64_t, std::vector<std::byte>, bool>;
struct Outcome {
  std::vector<Write> writes;
  std::vector<std::byte> last;
  bool complete = false;
  size_t findings = 0;
  uint64_t compared = 0;
};

class RandomPagesTest : public RecorderPagesTest {
 protected:
  Outcome run(uint32_t seed, bool watched) {
    std::memset(memory_, 0, kBytes);
    std::memset(host_, 0, sizeof(host_));
    during_wait_ = nullptr;
    during_call_ = nullptr;
    state_.in_process = watched;
    begin_anew({});
    if (watched) watch();
    recorder_->buffers().host_registered(memory_, kBytes, 0);
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    const uint64_t before = compared_blocks();
    std::mt19937 random(seed);
    const auto below = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
    const auto poke = [&](size_t first = 0, size_t behind = kBlocks) {
      const size_t block = first + below(static_cast<unsigned>(behind - first));
      memory_[block * kHostBlockBytes + below(kHostBlockBytes)] = static_cast<char>(below(4));
    };
    for (int step = 0; step < 120; ++step) {
      const Handle stream = handle(10 + below(2));
      now_ += below(2) * 70;
      switch (below(10)) {
        case 0:
        case 1:
        case 2: {  // a kernel, which may write at once or later
          Work work;
          const bool given = below(3) != 0;
          prepare_launch(work, given ? memory_ : host_, stream);
          if (given && below(4) == 0) poke();
          recorder_->commit(work);
          break;
        }
        case 3:
        case 4: poke(); break;
        case 5:
        case 6: {
          const bool writes = below(3) == 0;
          during_wait_ = writes ? std::function<void()>([&] { poke(); }) : nullptr;
          wait(stream);
          break;
        }
        case 7: {
          const size_t at = below(kBytes - 20'000);
          memset_work(memory_ + at, 1 + below(20'000), stream);
          break;
        }
        case 8: {
          if (below(4) != 0) break;
          host_function([&] { poke(); }, stream);
          during_call_();
          during_call_ = nullptr;
          break;
        }
        default:
          recorder_->streams().synchronized(format::SynchronizeKind::kDevice, nullptr, "wait");
      }
    }
    Outcome outcome;
    outcome.compared = compared_blocks() - before;
    const auto trace = finish();
    if (!trace) return outcome;
    outcome.complete = trace->complete();
    outcome.findings = trace->findings().size();
    for (const auto& write : actions<format::HostWrite>(*trace)) {
      const auto content = *trace->content(write.content);
      outcome.writes.emplace_back(write.offset_bytes,
                                  std::vector<std::byte>(content.begin(), content.end()),
                                  write.in_doubt);
    }
    for (const auto& end : actions<format::AllocationEnd>(*trace)) {
      if (end.post.size_bytes != kBytes || !end.post.stored) continue;
      const auto content = *trace->content(end.post);
      outcome.last.assign(content.begin(), content.end());
    }
    return outcome;
  }
};

TEST_F(RandomPagesTest, TheTraceIsTheSame) {
  uint64_t compared = 0;
  uint64_t compared_watched = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const Outcome without = run(seed, false);
    const Outcome with = run(seed, true);
    ASSERT_EQ(with.writes.size(), without.writes.size()) << seed;
    for (size_t i = 0; i < with.writes.size(); ++i)
      ASSERT_TRUE(with.writes[i] == without.writes[i]) << seed << ", write " << i;
    ASSERT_EQ(with.last, without.last) << seed;
    ASSERT_EQ(with.complete, without.complete) << seed;
    ASSERT_EQ(with.findings, without.findings) << seed;
    compared += without.compared;
    compared_watched += with.compared;
  }
  EXPECT_LT(compared_watched, compared / 2);
}

}  // namespace
}  // namespace gfxgraph::recorder
