#include "check/memory/device_memory.h"

#include <gmock/gmock.h>

#include <fstream>

namespace gfxgraph::check {
namespace {

format::AllocationBegin allocation(uint32_t id, uint64_t address, uint64_t size,
                                   uint64_t mapped = 0) {
  format::AllocationBegin begin;
  begin.id = id;
  begin.recorded_address = address;
  begin.size_bytes = size;
  begin.mapped_bytes = mapped;
  return begin;
}

class DeviceMemoryTest : public testing::Test {
 protected:
  Budget budget{{}};
  DeviceMemory memory{{}, budget};
};

TEST_F(DeviceMemoryTest, NamesTheNearestBuffer) {
  ASSERT_TRUE(memory.begin(allocation(1, 0x10000, 100)));
  ASSERT_TRUE(memory.begin(allocation(2, 0x20000, 100)));
  EXPECT_EQ(memory.nearest(0x10000 + 164)->allocation, 1U);
  EXPECT_EQ(memory.nearest(0x10000 + 164)->distance_bytes, 64);
  EXPECT_EQ(memory.nearest(0x1fff0)->allocation, 2U);
  EXPECT_EQ(memory.nearest(0x1fff0)->distance_bytes, -16);
  EXPECT_EQ(memory.owner(0x10000 + 164), "buffer #1");  // slack
  EXPECT_EQ(memory.owner(0x12000), "");
}

TEST_F(DeviceMemoryTest, SlackReachesToThePageEndOrTheNextBuffer) {
  ASSERT_TRUE(memory.begin(allocation(1, 0x10000, 100)));
  EXPECT_EQ(memory.map().snapshot()->find(0x10fff)->tag, 1U);
  EXPECT_EQ(memory.map().snapshot()->find(0x11000), nullptr);
  ASSERT_TRUE(memory.begin(allocation(2, 0x10100, 100)));
  EXPECT_EQ(memory.map().snapshot()->find(0x100ff)->tag, 1U);
  EXPECT_EQ(memory.map().snapshot()->find(0x10100)->tag, 2U);
  memory.end(2);
  EXPECT_EQ(memory.map().snapshot()->find(0x10100), nullptr);
  EXPECT_EQ(memory.bytes(2, 0, 1).error().status, Status::kCorrupt);
}

TEST_F(DeviceMemoryTest, KeepsBytesWhenSlackShrinks) {
  ASSERT_TRUE(memory.begin(allocation(1, 0x10000, 100)));
  (*memory.bytes(1, 0, 100))[99] = std::byte{42};
  ASSERT_TRUE(memory.begin(allocation(2, 0x10080, 100)));
  EXPECT_EQ((*memory.bytes(1, 99, 1))[0], std::byte{42});
  EXPECT_EQ(memory.map().snapshot()->find(0x10000)->host[99], std::byte{42});
}

TEST_F(DeviceMemoryTest, RejectsOverlapsAndWrongRanges) {
  ASSERT_TRUE(memory.begin(allocation(1, 0x10000, 0x2000)));
  EXPECT_FALSE(memory.begin(allocation(2, 0x11000, 0x100)));
  EXPECT_FALSE(memory.begin(allocation(3, ~uint64_t{0} - 10, 100)));
  EXPECT_FALSE(memory.bytes(1, 0x1fff, 2));
  EXPECT_FALSE(memory.bytes_from(1, 0x2001));
  EXPECT_TRUE(memory.bytes(1, 0x2000, 0));
}

TEST(DeviceMemory, ItsOwnRangesAvoidRecordedOnes) {
  std::vector<format::Event> events(1);
  events[0].action = allocation(1, 0x100000001000, 0x1000);
  Budget budget({});
  DeviceMemory memory(events, budget);
  const auto own = memory.add_own(4096, emulator::RegionKind::kKernarg, "arguments");
  ASSERT_TRUE(own);
  EXPECT_GT(*own, 0x100000002000U);
  ASSERT_TRUE(memory.begin(std::get<format::AllocationBegin>(events[0].action)));
  // Own ranges are never "the nearest buffer".
  EXPECT_EQ(memory.nearest(*own + 5000)->allocation, 1U);
}

format::AllocationBegin global(uint32_t id, uint64_t address, uint64_t size) {
  format::AllocationBegin begin = allocation(id, address, size);
  begin.kind = format::AllocationKind::kModuleGlobal;
  begin.code_object = 1;
  begin.symbol = "g";
  return begin;
}

// A hostile trace: begin A, begin a global "inside" of it, end A, write to the global.
TEST_F(DeviceMemoryTest, AGlobalNeverLiesInARecordedBuffer) {
  ASSERT_TRUE(memory.begin(allocation(1, 0x10000, 0x1000)));
  EXPECT_FALSE(memory.begin_global(global(2, 0x10000, 0x100)));
  EXPECT_FALSE(memory.begin_global(global(3, 0x10800, 0x100)));
  memory.end(1);
  EXPECT_FALSE(memory.bytes(2, 0, 0x100));
  EXPECT_FALSE(memory.bytes(3, 0, 0x100));
}

TEST_F(DeviceMemoryTest, AGlobalOfALoadedObjectSharesItsBytes) {
  const auto code = memory.add_own(4096, emulator::RegionKind::kCode, "code object 1");
  ASSERT_TRUE(code);
  ASSERT_TRUE(memory.begin_global(global(1, *code + 64, 16)));
  ASSERT_TRUE(memory.fill(1, 0, 16, 7));
  EXPECT_EQ(memory.own_bytes(*code)[64], std::byte{7});
  EXPECT_EQ(memory.own_bytes(*code)[63], std::byte{0});
  EXPECT_EQ(memory.own_bytes(*code)[80], std::byte{0});
  EXPECT_FALSE(memory.fill(1, 8, 9, 1));
  memory.end(1);
  EXPECT_FALSE(memory.bytes(1, 0, 1));
  EXPECT_EQ(memory.own_bytes(*code)[64], std::byte{7});
}

TEST(DeviceMemoryBudget, CountsWhatLivesAtATime) {
  Budget budget({.memory_bytes = 1 << 20});
  DeviceMemory memory({}, budget);
  for (uint32_t id = 1; id < 9; id += 2) {
    ASSERT_TRUE(memory.begin(allocation(id, 0x10000, 1 << 19)));
    ASSERT_TRUE(memory.begin(allocation(id + 1, 0x1000000, 1 << 19)));
    EXPECT_FALSE(budget.exhausted());
    memory.end(id);
    memory.end(id + 1);
  }
  ASSERT_TRUE(memory.begin(allocation(10, 0x10000, 1 << 19)));
  EXPECT_EQ(memory.begin(allocation(11, 0x1000000, (1 << 19) + 1)).error().status,
            Status::kOutOfMemory);
  EXPECT_THAT(budget.reason(), testing::HasSubstr("--max-memory"));
}

uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages >> pages;
  return pages * 4096;
}

// A hostile trace: 3 GiB of one value, in a file of 448 bytes.
TEST(DeviceMemoryBudget, AFillCostsNoMemory) {
  constexpr uint64_t kBytes = uint64_t{3} << 30;
  Budget budget({.memory_bytes = kBytes * 2});
  DeviceMemory memory({}, budget);
  const uint64_t before = resident_bytes();
  ASSERT_TRUE(memory.begin(allocation(1, 0x10000, kBytes)));
  ASSERT_TRUE(memory.fill(1, 0, kBytes, 0xab));
  ASSERT_TRUE(memory.fill(1, 5, kBytes - 100, 0xcd));
  EXPECT_LT(resident_bytes() - before, uint64_t{64} << 20);
  const auto bytes = memory.bytes(1, 0, kBytes);
  ASSERT_TRUE(bytes);
  for (const uint64_t at : {uint64_t{5}, uint64_t{4096}, kBytes / 2, kBytes - 96}) {
    EXPECT_EQ((*bytes)[at], std::byte{0xcd}) << at;
  }
  for (const uint64_t at : {uint64_t{4}, kBytes - 95, kBytes - 1}) {
    EXPECT_EQ((*bytes)[at], std::byte{0xab}) << at;
  }
  (*bytes)[1 << 20] = std::byte{1};
  EXPECT_EQ((*bytes)[(1 << 20) + (4 << 20)], std::byte{0xcd});  // writes stay where they are
  ASSERT_TRUE(memory.fill(1, 0, kBytes, 0));
  EXPECT_EQ((*bytes)[1 << 20], std::byte{0});
}

TEST(FreedRanges, TheLastOneThatWasFreedCounts) {
  FreedRanges ranges;
  const auto free = [&](uint64_t address, uint64_t size, uint32_t id) {
    NearestBuffer buffer;
    buffer.address = address;
    buffer.size_bytes = size;
    buffer.allocation = id;
    ranges.add(buffer);
  };
  const auto at = [&](uint64_t address) {
    const NearestBuffer* const found = ranges.find(address);
    return found == nullptr ? 0U : found->allocation;
  };
  free(0x1000, 0x1000, 1);
  free(0x1800, 0x100, 2);
  free(0x1f00, 0x200, 3);
  EXPECT_EQ(at(0xfff), 0U);
  EXPECT_EQ(at(0x1000), 1U);
  EXPECT_EQ(at(0x17ff), 1U);
  EXPECT_EQ(at(0x1800), 2U);
  EXPECT_EQ(at(0x1900), 1U);
  EXPECT_EQ(at(0x1f00), 3U);
  EXPECT_EQ(at(0x20ff), 3U);
  EXPECT_EQ(at(0x2100), 0U);
  free(0x800, 0x2000, 4);
  EXPECT_EQ(at(0x1850), 4U);
  free(0x800, 0, 5);
  EXPECT_EQ(at(0x800), 4U);
}

}  // namespace
}  // namespace gfxgraph::check
