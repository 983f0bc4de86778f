#include "recorder/objects/mapped_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kPlace = 0x10000;
constexpr uint64_t kSize = 0x1000;

void map(MappedMemory& mapped, uint64_t piece, MappedMemory::Memory memory) {
  mapped.created(memory);
  mapped.mapped(kPlace + piece * kSize, kSize, memory);
}

TEST(MappedMemory, IsABufferFromItsFirstAccess) {
  MappedMemory mapped;
  map(mapped, 0, 1);
  EXPECT_THAT(mapped.buffers_within(kPlace, kSize), IsEmpty());
  const auto made = mapped.made_accessible(kPlace, kSize);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].address, kPlace);
  EXPECT_EQ(made[0].size_bytes, kSize);
  EXPECT_FALSE(made[0].written);
  EXPECT_THAT(made[0].joined, IsEmpty());
  EXPECT_TRUE(made[0].unsupported.empty());
  EXPECT_TRUE(mapped.made_accessible(kPlace, kSize).empty()) << "it is one already";
  EXPECT_THAT(mapped.buffers_within(kPlace, kSize), ElementsAre(kPlace));
  EXPECT_TRUE(mapped.unmapped(kPlace, kSize).empty());
  EXPECT_THAT(mapped.buffers_within(kPlace, kSize), IsEmpty());
}

TEST(MappedMemory, KeepsItsBytesElsewhere) {
  MappedMemory mapped;
  map(mapped, 0, 1);
  (void)mapped.made_accessible(kPlace, kSize);
  (void)mapped.unmapped(kPlace, kSize);
  mapped.mapped(kPlace + 4 * kSize, kSize, 1);
  EXPECT_TRUE(mapped.made_accessible(kPlace + 4 * kSize, kSize).at(0).written);
  (void)mapped.unmapped(kPlace + 4 * kSize, kSize);
  map(mapped, 0, 1);  // the handle of other memory
  EXPECT_FALSE(mapped.made_accessible(kPlace, kSize).at(0).written);
}

TEST(MappedMemory, SideBySideIsOneBuffer) {
  MappedMemory mapped;
  for (const uint64_t piece : {0, 1, 3}) map(mapped, piece, piece + 1);
  const auto made = mapped.made_accessible(kPlace, 4 * kSize);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].address, kPlace);
  EXPECT_EQ(made[0].size_bytes, 2 * kSize);
  EXPECT_FALSE(made[0].written);
  EXPECT_EQ(made[1].address, kPlace + 3 * kSize);
  EXPECT_EQ(made[1].size_bytes, kSize);
  EXPECT_THAT(mapped.buffers_within(kPlace + kSize, 3 * kSize),
              ElementsAre(kPlace, kPlace + 3 * kSize));
}

TEST(MappedMemory, WhatBecomesAccessibleBesideABufferIsJoinedWithIt) {
  MappedMemory mapped;
  for (const uint64_t piece : {0, 1, 2}) {
    map(mapped, piece, piece + 1);
    if (piece != 1) (void)mapped.made_accessible(kPlace + piece * kSize, kSize);
  }
  const auto made = mapped.made_accessible(kPlace, 3 * kSize);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].size_bytes, 3 * kSize);
  EXPECT_TRUE(made[0].written);
  EXPECT_THAT(made[0].joined, ElementsAre(kPlace, kPlace + 2 * kSize));
  EXPECT_THAT(mapped.buffers_within(kPlace, 3 * kSize), ElementsAre(kPlace));
}

TEST(MappedMemory, TheRestOfABufferBeginsAnew) {
  MappedMemory mapped;
  for (const uint64_t piece : {0, 1, 2, 3}) map(mapped, piece, piece + 1);
  (void)mapped.made_accessible(kPlace, 4 * kSize);
  const auto rest = mapped.unmapped(kPlace + kSize, kSize);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].address, kPlace);
  EXPECT_EQ(rest[0].size_bytes, kSize);
  EXPECT_TRUE(rest[0].written);
  EXPECT_THAT(rest[0].joined, IsEmpty());
  EXPECT_EQ(rest[1].address, kPlace + 2 * kSize);
  EXPECT_EQ(rest[1].size_bytes, 2 * kSize);
  EXPECT_TRUE(mapped.unmapped(kPlace, kSize).empty()) << "a buffer of its own";
}

TEST(MappedMemory, TheSameMemoryTwiceIsUnsupported) {
  MappedMemory mapped;
  map(mapped, 0, 1);
  mapped.mapped(kPlace + 2 * kSize, kSize, 1);
  const auto made = mapped.made_accessible(kPlace, 3 * kSize);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_TRUE(made[0].unsupported.empty());
  EXPECT_FALSE(made[1].unsupported.empty());
}

}  // namespace
}  // namespace gfxgraph::recorder
