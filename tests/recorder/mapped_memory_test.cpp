#include "recorder/model/mapped_memory.h"

#include <gtest/gtest.h>

namespace gfxgraph::recorder {
namespace {

constexpr uint64_t kPlace = 0x10000;
constexpr uint64_t kSize = 0x1000;

TEST(MappedMemory, IsAnAllocationFromItsFirstAccess) {
  MappedMemory mapped;
  mapped.created(1);
  mapped.mapped(kPlace, kSize, 1);
  ASSERT_EQ(mapped.within(kPlace, kSize).size(), 1u);
  EXPECT_FALSE(mapped.within(kPlace, kSize)[0].accessible);
  const auto made = mapped.made_accessible(kPlace, kSize);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].mapping.address, kPlace);
  EXPECT_EQ(made[0].mapping.size_bytes, kSize);
  EXPECT_FALSE(made[0].written);
  EXPECT_TRUE(made[0].unsupported.empty());
  EXPECT_TRUE(mapped.made_accessible(kPlace, kSize).empty()) << "it is one already";
  mapped.unmapped(kPlace);
  EXPECT_TRUE(mapped.within(kPlace, kSize).empty());
}

TEST(MappedMemory, KeepsItsBytesElsewhere) {
  MappedMemory mapped;
  mapped.created(1);
  mapped.mapped(kPlace, kSize, 1);
  (void)mapped.made_accessible(kPlace, kSize);
  mapped.unmapped(kPlace);
  mapped.mapped(kPlace + 4 * kSize, kSize, 1);
  EXPECT_TRUE(mapped.made_accessible(kPlace + 4 * kSize, kSize).at(0).written);
  mapped.unmapped(kPlace + 4 * kSize);
  mapped.created(1);  // the handle of other memory
  mapped.mapped(kPlace, kSize, 1);
  EXPECT_FALSE(mapped.made_accessible(kPlace, kSize).at(0).written);
}

TEST(MappedMemory, SideBySideAndTwiceAreUnsupported) {
  MappedMemory mapped;
  for (const MappedMemory::Memory memory : {1, 2, 3}) mapped.created(memory);
  mapped.mapped(kPlace, kSize, 1);
  mapped.mapped(kPlace + kSize, kSize, 2);
  mapped.mapped(kPlace + 3 * kSize, kSize, 3);
  mapped.mapped(kPlace + 5 * kSize, kSize, 3);
  const auto made = mapped.made_accessible(kPlace, 6 * kSize);
  ASSERT_EQ(made.size(), 4u);
  EXPECT_TRUE(made[0].unsupported.empty()) << "the first of two";
  EXPECT_FALSE(made[1].unsupported.empty()) << "right behind it";
  EXPECT_TRUE(made[2].unsupported.empty()) << "apart";
  EXPECT_FALSE(made[3].unsupported.empty()) << "the same memory";
}

}  // namespace
}  // namespace gfxgraph::recorder
