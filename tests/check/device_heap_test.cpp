#include "check/memory/device_heap.h"

#include <gmock/gmock.h>

#include <cstring>

namespace gfxgraph::check {
namespace {

using Access = DeviceHeap::Access;
using Freed = DeviceHeap::Freed;

constexpr uint64_t kLimit = uint64_t{64} << 20;

class DeviceHeapTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(heap.create(memory)); }
  Freed release(uint64_t address) {
    uint64_t before = 0;
    return heap.release(address, 2, before);
  }

  Budget budget{{.memory_bytes = kLimit}};
  DeviceMemory memory{{}, budget};
  DeviceHeap heap{budget};
};

TEST_F(DeviceHeapTest, JudgesAccessesByBlock) {
  const uint64_t block = heap.allocate(10, 1);
  ASSERT_NE(block, 0U);
  EXPECT_EQ(block % 16, 0U);
  EXPECT_EQ(heap.judge(block, 8), Access::kInside);
  EXPECT_EQ(heap.judge(block + 9, 1), Access::kInside);
  EXPECT_EQ(heap.judge(block + 8, 4), Access::kPast);
  EXPECT_EQ(heap.judge(block + 10, 1), Access::kPast);
  EXPECT_EQ(heap.judge(block - 1, 1), Access::kPast);
  const uint64_t next = heap.allocate(10, 1);
  EXPECT_GE(next, block + 10 + 64);
  EXPECT_EQ(release(block), Freed::kDone);
  EXPECT_EQ(heap.judge(block + 9, 1), Access::kFreed);
  EXPECT_EQ(heap.judge(next, 4), Access::kInside);
}

TEST_F(DeviceHeapTest, KnowsWhereABlockWasFreedFirst) {
  const uint64_t block = heap.allocate(100, 1);
  EXPECT_EQ(release(block + 16), Freed::kNoBlock);
  EXPECT_EQ(release(block), Freed::kDone);
  uint64_t before = 0;
  EXPECT_EQ(heap.release(block, 7, before), Freed::kTwice);
  EXPECT_EQ(before, 2U);
  EXPECT_EQ(release(0x1000), Freed::kNoBlock);
}

TEST_F(DeviceHeapTest, NamesTheNearestBlock) {
  EXPECT_FALSE(heap.nearest(heap.allocate(0, 1)));
  const uint64_t first = heap.allocate(100, 1);
  const uint64_t second = heap.allocate(100, 1);
  EXPECT_EQ(heap.nearest(first + 103)->address, first);
  EXPECT_EQ(describe(*heap.nearest(first + 103), first + 103).distance_bytes, 3);
  EXPECT_EQ(heap.nearest(second - 4)->address, second);
  EXPECT_EQ(describe(*heap.nearest(second - 4), second - 4).distance_bytes, -4);
}

TEST_F(DeviceHeapTest, RefusesWhatIsLargerThanHalfOfTheBudget) {
  EXPECT_EQ(heap.allocate(kLimit / 2 + 1, 1), 0U);
  EXPECT_EQ(heap.allocate(UINT64_MAX, 1), 0U);
  EXPECT_FALSE(budget.exhausted());
}

TEST_F(DeviceHeapTest, BlocksThatLiveCountAgainstTheBudget) {
  for (int n = 0; n < 64; ++n) (void)heap.allocate(1 << 20, 1);
  EXPECT_TRUE(budget.exhausted());
}

// No address is used twice, so freed memory only counts no more if it was given back.
TEST_F(DeviceHeapTest, FreedPagesAreGivenBack) {
  for (int n = 0; n < 1000; ++n) {
    const uint64_t block = heap.allocate(1 << 20, 1);
    ASSERT_NE(block, 0U) << n;
    const emulator::Region* const region = memory.map().snapshot()->find(block);
    ASSERT_NE(region, nullptr);
    std::memset(region->host + (block - region->address), 1, 1 << 20);
    ASSERT_EQ(release(block), Freed::kDone);
  }
  EXPECT_FALSE(budget.exhausted());
}
TEST_F(DeviceHeapTest, FreedBlocksWithinAPageStayCounted) {
  for (int n = 0; n < 1 << 20 && !budget.exhausted(); ++n) release(heap.allocate(16, 1));
  EXPECT_TRUE(budget.exhausted());
}

}  // namespace
}  // namespace gfxgraph::check
