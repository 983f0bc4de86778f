#include "recorder/program_memory.h"
#include "base/sanitized.h"
#include "recorder/objects/shared_mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>

namespace gfxgraph::recorder {
namespace {

constexpr size_t kPage = 4096;

// Two pages, of which the second cannot be read.
class ProgramMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    pages_ = static_cast<char*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages_, MAP_FAILED);
    std::memset(pages_, 7, 2 * kPage);
    ASSERT_EQ(mprotect(pages_ + kPage, kPage, PROT_NONE), 0);
  }
  void TearDown() override { (void)munmap(pages_, 2 * kPage); }
  uint64_t address(size_t offset) const { return reinterpret_cast<uint64_t>(pages_ + offset); }

  char* pages_ = nullptr;
};

TEST_F(ProgramMemory, ReadsWhatCanBeRead) {
  std::array<std::byte, 64> bytes{};
  EXPECT_TRUE(read_program(address(kPage - 64), bytes));
  EXPECT_EQ(bytes[63], std::byte{7});
  EXPECT_FALSE(read_program(address(kPage - 32), bytes));
  EXPECT_FALSE(read_program(address(kPage), bytes));
  EXPECT_FALSE(read_program(16, bytes));
  EXPECT_FALSE(read_program(~uint64_t{0} - 8, bytes));
  EXPECT_TRUE(read_program(16, {}));
}

std::string two_addresses(const char* maps, uint64_t address, uint64_t size_bytes) {
  std::istringstream text(maps);
  return mapped_at_two_addresses(text, address, size_bytes);
}

TEST(SharedMapping, OfTheSameBytesOfOneFile) {
  constexpr const char* kMaps =
      "1000-3000 rw-s 00000000 00:15 77   /dev/shm/of two\n"
      "5000-6000 rw-s 00001000 00:15 77   /dev/shm/of two\n"
      "7000-9000 r--p 00000000 00:15 78   /lib/x.so\n"
      "9000-a000 r--p 00000000 00:15 78   /lib/x.so\n"
      "b000-c000 rw-s 00000000 00:15 79   /dev/shm/one\n"
      "c000-d000 rw-s 00001000 00:15 79   /dev/shm/one\n"
      "e000-f000 rw-p 00000000 00:00 0    [heap]\n";
  EXPECT_EQ(two_addresses(kMaps, 0x1000, 0x2000), "/dev/shm/of two");
  EXPECT_EQ(two_addresses(kMaps, 0x2800, 0x10), "/dev/shm/of two");
  EXPECT_EQ(two_addresses(kMaps, 0x5000, 0x10), "/dev/shm/of two");
  EXPECT_EQ(two_addresses(kMaps, 0x1000, 0x1000), "") << "the other one is of the second page";
  EXPECT_EQ(two_addresses(kMaps, 0x7000, 0x2000), "") << "private";
  EXPECT_EQ(two_addresses(kMaps, 0xb000, 0x2000), "") << "two pages, each once";
  EXPECT_EQ(two_addresses(kMaps, 0xe000, 0x1000), "");
  EXPECT_EQ(two_addresses("not a mapping\n", 0, 0x1000), "");
}

TEST(SharedMapping, OfThisProcess) {
  const int file = memfd_create("two", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kPage), 0);
  const auto map = [&] {
    return mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  };
  void* const first = map();
  const auto address = reinterpret_cast<uint64_t>(first);
  EXPECT_EQ(mapped_at_two_addresses(address, kPage), "");
  void* const second = map();
  EXPECT_NE(mapped_at_two_addresses(address, kPage), "");
  (void)munmap(first, kPage);
  (void)munmap(second, kPage);
  (void)close(file);
}

TEST_F(ProgramMemory, ValuesBehindPointers) {
  const uint64_t own = 42;
  EXPECT_EQ(read_given(&own), 42u);
  EXPECT_EQ(read_given(reinterpret_cast<const char*>(pages_)), 7);
  EXPECT_FALSE(read_given(reinterpret_cast<const uint64_t*>(pages_ + kPage)));
  EXPECT_FALSE(read_given(static_cast<const uint64_t*>(nullptr)));
  EXPECT_FALSE(read_list(reinterpret_cast<const uint64_t*>(pages_ + kPage - 8), 2));
  EXPECT_FALSE(read_list(reinterpret_cast<const uint64_t*>(pages_), SIZE_MAX / 8));
}

TEST_F(ProgramMemory, TextsUpToTheEndOfTheirPage) {
  std::memcpy(pages_ + kPage - 4, "abc", 4);
  EXPECT_EQ(read_text(pages_ + kPage - 4, 100), "abc");
  std::memcpy(pages_ + kPage - 4, "abcd", 4);
  EXPECT_EQ(read_text(pages_ + kPage - 4, 4), "abcd");
  EXPECT_FALSE(read_text(pages_ + kPage - 4, 100));
  EXPECT_FALSE(read_text(nullptr, 100));
  EXPECT_EQ(read_text(std::string(1000, 'x').c_str(), 5000)->size(), 1000u);
}

TEST_F(ProgramMemory, TheStackInUseIsTheCallersOnly) {
  if (kSanitized) GTEST_SKIP() << "the address sanitizer keeps locals elsewhere";
  int here = 0;
  EXPECT_TRUE(own_stack().holds(&here, sizeof here));
  EXPECT_FALSE(own_stack().holds(pages_, 1));
  std::thread([&] { EXPECT_FALSE(own_stack().holds(&here, sizeof here)); }).join();
}

}  // namespace
}  // namespace gfxgraph::recorder
