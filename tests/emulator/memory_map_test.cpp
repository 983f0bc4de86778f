#include <gtest/gtest.h>

#include <vector>

#include "emulator/memory_map.h"

namespace gfxgraph::emulator {
namespace {

class MemoryMapTest : public ::testing::Test {
 protected:
  Region region(uint64_t address, uint64_t bytes) {
    Region r;
    r.address = address;
    r.requested_bytes = r.mapped_bytes = bytes;
    r.host = bytes_.data();
    return r;
  }
  std::vector<std::byte> bytes_ = std::vector<std::byte>(64);
  MemoryMap map_;
};

TEST_F(MemoryMapTest, FindsTheRegionOfEachByte) {
  ASSERT_TRUE(map_.add(region(0x2000, 0x100)));
  ASSERT_TRUE(map_.add(region(0x1000, 0x100)));
  ASSERT_TRUE(map_.add(region(0x2100, 0x100)));
  const auto table = map_.snapshot();
  EXPECT_EQ(table->find(0x0fff), nullptr);
  EXPECT_EQ(table->find(0x1000)->address, 0x1000u);
  EXPECT_EQ(table->find(0x10ff)->address, 0x1000u);
  EXPECT_EQ(table->find(0x1100), nullptr);
  EXPECT_EQ(table->find(0x20ff)->address, 0x2000u);
  EXPECT_EQ(table->find(0x2100)->address, 0x2100u);
  EXPECT_EQ(table->find(UINT64_MAX), nullptr);
}

TEST_F(MemoryMapTest, NearestIsByDistanceToTheEdge) {
  EXPECT_EQ(map_.snapshot()->nearest(5), nullptr);
  ASSERT_TRUE(map_.add(region(0x1000, 0x1000)));
  ASSERT_TRUE(map_.add(region(0x4000, 0x1000)));
  const auto table = map_.snapshot();
  EXPECT_EQ(table->nearest(0)->address, 0x1000u);
  EXPECT_EQ(table->nearest(0x2100)->address, 0x1000u);
  EXPECT_EQ(table->nearest(0x3f00)->address, 0x4000u);
  EXPECT_EQ(table->nearest(UINT64_MAX)->address, 0x4000u);
}

TEST_F(MemoryMapTest, RefusesBadRegions) {
  EXPECT_EQ(map_.add(region(0x1000, 0)).error().status, Status::kInvalidArgument);
  EXPECT_FALSE(map_.add(region(UINT64_MAX - 10, 0x100)));
  Region small = region(0x1000, 0x100);
  small.mapped_bytes = 0x80;
  EXPECT_FALSE(map_.add(small));
  Region hostless = region(0x1000, 0x100);
  hostless.host = nullptr;
  EXPECT_FALSE(map_.add(hostless));
  ASSERT_TRUE(map_.add(region(0x1000, 0x100)));
  EXPECT_FALSE(map_.add(region(0x10ff, 1)));
  EXPECT_FALSE(map_.add(region(0x0f01, 0x100)));
  EXPECT_FALSE(map_.add(region(0x0800, 0x1000)));
  EXPECT_TRUE(map_.add(region(0x1100, 1)));
  EXPECT_TRUE(map_.add(region(0x0f00, 0x100)));
  EXPECT_TRUE(map_.add(region(UINT64_MAX - 0xff, 0x100)));
}

TEST_F(MemoryMapTest, RemoveAndGenerations) {
  const uint64_t before = map_.generation();
  ASSERT_TRUE(map_.add(region(0x1000, 0x100)));
  const auto old = map_.snapshot();
  EXPECT_EQ(map_.remove(0x1001).error().status, Status::kNotFound);
  ASSERT_TRUE(map_.remove(0x1000));
  EXPECT_EQ(map_.snapshot()->find(0x1000), nullptr);
  EXPECT_NE(old->find(0x1000), nullptr) << "a snapshot does not change";
  EXPECT_EQ(map_.generation(), before + 2);
}

}  // namespace
}  // namespace gfxgraph::emulator
