#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "emulator/memory/memory_map.h"

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

TEST_F(MemoryMapTest, ReplacesInOneStepOrNotAtAll) {
  ASSERT_TRUE(map_.add(region(0x1000, 0x100)));
  ASSERT_TRUE(map_.add(region(0x1100, 0x100)));
  ASSERT_TRUE(map_.add(region(0x3000, 0x100)));
  const uint64_t before = map_.generation();
  const uint64_t both[] = {0x1000, 0x1100};
  ASSERT_TRUE(map_.replace(both, {region(0x1000, 0x200)}));
  EXPECT_EQ(map_.generation(), before + 1);
  EXPECT_EQ(map_.snapshot()->find(0x11ff)->address, 0x1000u);
  EXPECT_EQ(map_.replace(both, {}).error().status, Status::kNotFound) << "one of them is not there";
  const uint64_t one[] = {0x1000};
  EXPECT_FALSE(map_.replace(one, {region(0x1000, 0x100), region(0x2f01, 0x100)}));
  EXPECT_EQ(map_.snapshot()->find(0x11ff)->address, 0x1000u) << "nothing was removed";
  EXPECT_EQ(map_.generation(), before + 1);
}

// Thousands of regions in a scrambled order, then every other one removed: against a std::map.
TEST_F(MemoryMapTest, ManyRegions) {
  constexpr uint64_t kCount = 3001;  // prime: k * 7 passes through all numbers
  constexpr uint64_t kStep = 0x1000;
  std::map<uint64_t, uint64_t> model;
  const auto compare = [&] {
    const auto table = map_.snapshot();
    for (uint64_t n = 0; n <= kCount + 1; ++n) {
      const uint64_t begin = n * kStep;
      const bool there = model.count(begin) != 0;
      ASSERT_EQ(table->find(begin) != nullptr, there) << begin;
      ASSERT_EQ(table->find(begin + 0xff) != nullptr, there);
      ASSERT_EQ(table->find(begin + 0x100), nullptr);
      const auto next = model.upper_bound(begin);
      const Region* const after = table->after(begin);
      ASSERT_EQ(after != nullptr, next != model.end()) << begin;
      if (after != nullptr) {
        ASSERT_EQ(after->address, next->first);
      }
    }
  };
  for (uint64_t k = 0; k < kCount; ++k) {
    const uint64_t address = (k * 7 % kCount + 1) * kStep;
    ASSERT_TRUE(map_.add(region(address, 0x100)));
    model[address] = 0x100;
    ASSERT_FALSE(map_.add(region(address + 0x80, 0x100)));
    ASSERT_FALSE(map_.add(region(address - 0x80, 0x100)));
  }
  compare();
  for (uint64_t n = 1; n <= kCount; ++n) {
    if (n % 2 == 0 && n < kCount - 200) continue;  // whole parts vanish at the end
    ASSERT_TRUE(map_.remove(n * kStep));
    model.erase(n * kStep);
  }
  compare();
  ASSERT_TRUE(map_.add(region(0x10, 0x100)));
  EXPECT_EQ(map_.snapshot()->find(0x20)->address, 0x10u);
}

}  // namespace
}  // namespace gfxgraph::emulator
