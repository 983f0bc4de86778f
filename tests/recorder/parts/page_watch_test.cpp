// What the kernel's page tables say of memory that is watched, against what was written.
#include "recorder/bytes/page_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "recorder/bytes/page_writers.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kPage = PageWatch::kPageBytes;

class Memory {
 public:
  explicit Memory(size_t pages, int flags = MAP_PRIVATE | MAP_ANONYMOUS) : bytes_(pages * kPage) {
    at_ = static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, -1, 0));
  }
  ~Memory() { munmap(at_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* page(size_t number) const { return at_ + number * kPage; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(at_); }
  size_t bytes() const { return bytes_; }
  // Another mapping of some pages at the same place.
  void map_anew(size_t first, size_t pages) {
    (void)mmap(page(first), pages * kPage, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }

 private:
  const size_t bytes_;
  std::byte* at_;
};

class PageWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    watch_ = PageWatch::open({.others_may_write = [this] { return others_; },
                              .now_ns = [this] { return now_; },
                              .round_ns = 100});
    if (!watch_) GTEST_SKIP() << "this kernel does not watch pages";
  }
  // After which unwritten pages count as such.
  void pass_rounds(WatchedPages& pages, int count = 2) {
    for (int i = 0; i < count; ++i) {
      now_ += 100;
      ASSERT_TRUE(watch_->look(pages, found_));
    }
  }
  std::vector<PageRun> look(WatchedPages& pages) {
    EXPECT_TRUE(watch_->look(pages, found_));
    return found_;
  }

  bool others_ = false;
  uint64_t now_ = 1000;
  std::shared_ptr<PageWatch> watch_;
  std::vector<PageRun> found_;
};

TEST_F(PageWatchTest, PagesCountAsUnwrittenOnceTheyWereProtectedForAWhile) {
  const Memory memory(16);
  std::memset(memory.page(0), 1, memory.bytes());
  const auto pages = watch_->watch(memory.address(), memory.bytes());
  ASSERT_TRUE(pages);
  EXPECT_THAT(look(*pages), ElementsAre(PageRun{0, 16})) << "nothing is known at first";
  EXPECT_THAT(look(*pages), ElementsAre(PageRun{0, 16})) << "protected just now";
  now_ += 100;
  EXPECT_THAT(look(*pages), ElementsAre(PageRun{0, 16})) << "read once more";
  EXPECT_THAT(look(*pages), IsEmpty());
  *memory.page(3) = std::byte{2};
  *memory.page(9) = std::byte{2};
  *memory.page(10) = std::byte{2};
  EXPECT_THAT(look(*pages), ElementsAre(PageRun{3, 4}, PageRun{9, 11}));
  pass_rounds(*pages);
  *memory.page(9) = std::byte{3};
  EXPECT_THAT(look(*pages), ElementsAre(PageRun{9, 10}));
}

// Direct I/O and the like may write pages that they were given before they were protected.
TEST_F(PageWatchTest, NothingIsProtectedWhileOthersMayWrite) {
  const Memory memory(4);
  std::memset(memory.page(0), 1, memory.bytes());
  others_ = true;
  const auto pages = watch_->watch(memory.address(), memory.bytes());
  ASSERT_TRUE(pages);
  pass_rounds(*pages, 5);
  EXPECT_THAT(look(*pages), ElementsAre(PageRun{0, 4}));
  others_ = false;
  pass_rounds(*pages);
  EXPECT_THAT(look(*pages), IsEmpty());
  *memory.page(1) = std::byte{1};
  others_ = true;
  pass_rounds(*pages, 5);
  EXPECT_THAT(look(*pages), ElementsAre(PageRun{1, 2}));
}

TEST_F(PageWatchTest, OnlyPrivateAnonymousMemoryIsWatched) {
  const Memory shared(4, MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_FALSE(watch_->watch(shared.address(), shared.bytes()));
  const int file = memfd_create("test", 0);
  ASSERT_EQ(ftruncate(file, kPage), 0);
  const Memory memory(4);
  (void)mmap(memory.page(2), kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0);
  close(file);
  EXPECT_FALSE(watch_->watch(memory.address(), memory.bytes()));
  EXPECT_TRUE(watch_->watch(memory.address(), 2 * kPage));
  EXPECT_FALSE(watch_->watch(memory.address() + 1, kPage));
  EXPECT_FALSE(watch_->watch(memory.address(), 1));
}

TEST_F(PageWatchTest, MemoryThatIsMappedAnewIsNotWatchedAnyMore) {
  Memory memory(8);
  const auto pages = watch_->watch(memory.address(), memory.bytes());
  ASSERT_TRUE(pages);
  pass_rounds(*pages);
  munmap(memory.page(2), kPage);
  EXPECT_TRUE(watch_->look(*pages, found_)) << "nobody can write it";
  memory.map_anew(2, 1);
  EXPECT_FALSE(watch_->look(*pages, found_));
}

TEST_F(PageWatchTest, MovedMemoryIsNotWatchedAnyMore) {
  Memory memory(8);
  const auto pages = watch_->watch(memory.address(), memory.bytes());
  ASSERT_TRUE(pages);
  pass_rounds(*pages);
  const Memory other(8);
  ASSERT_NE(mremap(other.page(0), kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, memory.page(5)),
            MAP_FAILED);
  EXPECT_FALSE(watch_->look(*pages, found_));
}

// Also where the page table itself is given back.
TEST_F(PageWatchTest, MemoryThatIsGivenBackCountsAsWritten) {
  for (const int advice : {MADV_NOHUGEPAGE, MADV_HUGEPAGE}) {
    const Memory memory(3 * 512);
    (void)madvise(memory.page(0), memory.bytes(), advice);
    std::memset(memory.page(0), 1, memory.bytes());
    const auto pages = watch_->watch(memory.address(), memory.bytes());
    ASSERT_TRUE(pages);
    pass_rounds(*pages);
    ASSERT_THAT(look(*pages), IsEmpty());
    ASSERT_EQ(madvise(memory.page(0), memory.bytes(), MADV_DONTNEED), 0);
    EXPECT_THAT(look(*pages), ElementsAre(PageRun{0, 3 * 512}));
    EXPECT_EQ(*memory.page(700), std::byte{0});
    EXPECT_THAT(look(*pages), ElementsAre(PageRun{0, 3 * 512}));
  }
}

TEST_F(PageWatchTest, AForkedChildChangesNothingForItsParent) {
  const Memory memory(8);
  std::memset(memory.page(0), 1, memory.bytes());
  const auto pages = watch_->watch(memory.address(), memory.bytes());
  ASSERT_TRUE(pages);
  pass_rounds(*pages);
  const pid_t child = fork();
  if (child == 0) {
    *memory.page(1) = std::byte{2};
    watch_->abandon();
    _exit(watch_->look(*pages, found_) ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(look(*pages), IsEmpty());
  *memory.page(4) = std::byte{2};
  EXPECT_THAT(look(*pages), ElementsAre(PageRun{4, 5}));
}

TEST_F(PageWatchTest, AnotherWatchOfTheSameMemoryIsRefused) {
  const Memory memory(8);
  const auto other = PageWatch::open(
      {.others_may_write = [] { return false; }, .now_ns = [] { return uint64_t{1}; }});
  ASSERT_TRUE(other);
  auto pages = watch_->watch(memory.address(), memory.bytes());
  ASSERT_TRUE(pages);
  EXPECT_FALSE(other->watch(memory.address(), memory.bytes()));
  pages.reset();
  EXPECT_TRUE(other->watch(memory.address(), memory.bytes()));
}

TEST_F(PageWatchTest, ClosedDescriptorsWatchNothing) {
  const Memory memory(8);
  auto pages = watch_->watch(memory.address(), memory.bytes());
  ASSERT_TRUE(pages);
  pass_rounds(*pages);
  // As a program that closes everything that it does not know.
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string link = std::filesystem::read_symlink(entry.path(), gone).string();
    if (link == "anon_inode:[userfaultfd]") close(std::stoi(entry.path().filename().string()));
  }
  *memory.page(1) = std::byte{1};
  EXPECT_FALSE(watch_->look(*pages, found_));
  EXPECT_FALSE(watch_->watch(memory.address(), memory.bytes()));
}

TEST(PageWatchOpen, FewDescriptorsAreLeftToTheProgram) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{8, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_FALSE(PageWatch::open());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// More runs of pages than one system call reports.
TEST_F(PageWatchTest, ManyRunsOfPages) {
  constexpr size_t kPages = 4096;
  const Memory memory(kPages);
  std::memset(memory.page(0), 1, memory.bytes());
  const auto pages = watch_->watch(memory.address(), memory.bytes());
  ASSERT_TRUE(pages);
  pass_rounds(*pages);
  for (size_t i = 0; i < kPages; i += 2) *memory.page(i) = std::byte{2};
  std::vector<bool> may(kPages);
  for (const PageRun& run : look(*pages))
    std::fill(may.begin() + static_cast<ptrdiff_t>(run.begin),
              may.begin() + static_cast<ptrdiff_t>(run.end), true);
  for (size_t i = 0; i < kPages; i += 2) ASSERT_TRUE(may[i]) << i;
}

// Random writers against a copy of what the memory held when each page was read last.
TEST_F(PageWatchTest, NoChangeIsMissed) {
  constexpr size_t kPages = 96;
  std::mt19937_64 random(7);
  const auto below = [&](uint64_t most) { return random() % most; };
  int zeros = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(zeros, 0);
  size_t skipped = 0;
  size_t lost = 0;
  for (int memories = 0; memories < 30; ++memories) {
    Memory memory(kPages);
    if (below(2) == 0) std::memset(memory.page(0), 1, memory.bytes());
    const auto pages = watch_->watch(memory.address(), memory.bytes());
    ASSERT_TRUE(pages);
    std::vector<std::byte> copy(memory.bytes());
    for (int step = 0; step < 60; ++step) {
      for (uint64_t writes = below(4); writes > 0; --writes) {
        const size_t first = below(kPages);
        const size_t offset = below(kPage);
        const size_t bytes =
            1 + below(std::min<size_t>(3 * kPage, memory.bytes() - first * kPage - offset));
        std::byte* const at = memory.page(first) + offset;
        switch (below(9)) {
          case 0: std::memset(at, static_cast<int>(below(256)), bytes); break;
          case 1: ASSERT_GT(read(zeros, at, bytes), 0); break;
          case 2: {
            std::vector<std::byte> source(bytes, static_cast<std::byte>(below(256)));
            const iovec from{source.data(), bytes};
            const iovec to{at, bytes};
            ASSERT_EQ(process_vm_writev(getpid(), &from, 1, &to, 1, 0),
                      static_cast<ssize_t>(bytes));
            break;
          }
          case 3:
            std::thread([&, value = static_cast<int>(below(256))] {
              std::memset(at, value, bytes);
            }).join();
            break;
          case 4: {  // another process
            const pid_t child = fork();
            if (child == 0) {
              std::byte value{static_cast<uint8_t>(random())};
              const iovec from{&value, 1};
              const iovec to{at, 1};
              _exit(process_vm_writev(getppid(), &from, 1, &to, 1, 0) == 1 ? 0 : 1);
            }
            int status = 0;
            ASSERT_EQ(waitpid(child, &status, 0), child);
            break;
          }
          case 5: (void)madvise(memory.page(first), kPage, MADV_DONTNEED); break;
          case 6:
            (void)mprotect(memory.page(first), kPage, PROT_READ);
            (void)mprotect(memory.page(first), kPage, PROT_READ | PROT_WRITE);
            break;
          case 7: (void)madvise(memory.page(first), kPage, MADV_PAGEOUT); break;
          default:
            if (below(40) == 0) memory.map_anew(first, 1);
        }
      }
      now_ += below(3) * 60;
      const bool known = watch_->look(*pages, found_);
      if (!known) {
        ++lost;
        break;
      }
      std::vector<bool> may(kPages);
      for (const PageRun& run : found_)
        for (uint64_t page = run.begin; page < run.end; ++page) may[page] = true;
      for (size_t page = 0; page < kPages; ++page) {
        const bool same = std::memcmp(&copy[page * kPage], memory.page(page), kPage) == 0;
        ASSERT_TRUE(same || may[page]) << "page " << page << " of step " << step;
        if (may[page]) std::memcpy(&copy[page * kPage], memory.page(page), kPage);
        skipped += may[page] ? 0 : 1;
      }
    }
  }
  close(zeros);
  EXPECT_GT(skipped, 10'000u);
  EXPECT_GT(lost, 0u);
}

// Threads write while others look: nothing that was written before a look is missed by it.
TEST_F(PageWatchTest, ThreadsWriteBesideLooks) {
  constexpr size_t kPages = 64;
  const Memory memory(kPages);
  const auto pages = watch_->watch(memory.address(), memory.bytes());
  ASSERT_TRUE(pages);
  std::vector<std::byte> copy(memory.bytes());
  for (int round = 0; round < 50; ++round) {
    std::thread writer([&] {
      std::mt19937 random(static_cast<unsigned>(round));
      for (int i = 0; i < 200; ++i) {
        auto* const at = reinterpret_cast<volatile unsigned char*>(memory.page(random() % kPages));
        at[random() % kPage] = static_cast<unsigned char>(random());
      }
    });
    const auto take = [&] {
      now_ += 60;
      for (const PageRun& run : look(*pages))
        std::memcpy(&copy[run.begin * kPage], memory.page(run.begin),
                    (run.end - run.begin) * kPage);
    };
    for (int i = 0; i < 5; ++i) take();
    writer.join();
    take();
    ASSERT_EQ(std::memcmp(copy.data(), memory.page(0), copy.size()), 0) << round;
  }
}

// ---- what else may write ------------------------------------------------------------------------

TEST(PageWriters, DescriptorsThatMayWritePages) {
  const auto may = [](int descriptor) {
    const bool result = descriptor_may_write_pages(descriptor);
    close(descriptor);
    return result;
  };
  const auto file = [](int flags) {
    const std::string path = testing::TempDir() + "/page_writers";
    return open(path.c_str(), O_CREAT | O_CLOEXEC | flags, 0600);
  };
  EXPECT_FALSE(may(open("/dev/null", O_RDWR)));
  EXPECT_FALSE(may(open("/dev/urandom", O_RDONLY)));
  EXPECT_FALSE(may(open("/proc/self/maps", O_RDONLY)));
  EXPECT_FALSE(may(memfd_create("test", 0)));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(may(ends[0]));
  EXPECT_FALSE(may(ends[1]));
  EXPECT_FALSE(may(file(O_WRONLY)));
  const int direct = file(O_RDWR | O_DIRECT);
  if (direct >= 0) {
    EXPECT_TRUE(may(direct));
  }
  const int written = file(O_WRONLY | O_DIRECT);
  if (written >= 0) {
    EXPECT_FALSE(may(written)) << "nothing is read from it";
  }
  std::byte parameters[120] = {};  // io_uring_params
  const int ring = static_cast<int>(syscall(SYS_io_uring_setup, 1, parameters));
  if (ring >= 0) {
    EXPECT_TRUE(pages_may_have_other_writers());
    EXPECT_TRUE(may(ring));
  }
}

TEST(PageWriters, AsynchronousInputAndOutputIsSeen) {
  unsigned long context = 0;
  if (syscall(SYS_io_setup, 1, &context) != 0) GTEST_SKIP() << "not offered";
  EXPECT_TRUE(pages_may_have_other_writers());
  ASSERT_EQ(syscall(SYS_io_destroy, context), 0);
}

TEST(PageWriters, PrivateMemoryWithoutGaps) {
  const Memory memory(4);
  const uint64_t end = memory.address() + memory.bytes();
  EXPECT_TRUE(is_private_anonymous(memory.address(), end));
  EXPECT_TRUE(is_private_anonymous(memory.address() + kPage, end - kPage));
  munmap(memory.page(2), kPage);
  EXPECT_FALSE(is_private_anonymous(memory.address(), end));
  EXPECT_TRUE(is_private_anonymous(memory.address(), memory.address() + 2 * kPage));
}

}  // namespace
}  // namespace gfxgraph::recorder
