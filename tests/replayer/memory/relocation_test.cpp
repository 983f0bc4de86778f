#include "replayer/memory/relocation.h"

#include <gtest/gtest.h>

#include <array>

namespace gfxgraph::replayer {
namespace {

AddressMap map_of_two() {
  return AddressMap({Placement{256, 0x1000, 0, 0x9000, 0},
                     Placement{256, 0x80002000, 0x2000, 0x8000b000, 0xb000}});
}

std::array<std::byte, 24> words(uint64_t a, uint64_t b, uint64_t c) {
  std::array<std::byte, 24> bytes{};
  store_word(bytes, 0, a);
  store_word(bytes, 8, b);
  store_word(bytes, 16, c);
  return bytes;
}

TEST(Relocation, MovesOnlyTheNamedWords) {
  auto bytes = words(0x1010, 0x1020, 1);
  ASSERT_TRUE(map_of_two().apply(bytes, {{0, 1, 0x10}}, "test"));
  EXPECT_EQ(load_word(bytes, 0), 0x9010u);
  EXPECT_EQ(load_word(bytes, 8), 0x1020u);  // a scalar that looks like an address
  EXPECT_EQ(load_word(bytes, 16), 1u);      // a sentinel
}

TEST(Relocation, ReachesOnePastTheEnd) {
  auto bytes = words(0x1100, 0, 0);
  ASSERT_TRUE(map_of_two().apply(bytes, {{0, 1, 256}}, "test"));
  EXPECT_EQ(load_word(bytes, 0), 0x9100u);
}

TEST(Relocation, WorksAtUnalignedOffsets) {
  std::array<std::byte, 16> bytes{};
  store_word(bytes, 3, 0x1004);
  ASSERT_TRUE(map_of_two().apply(bytes, {{3, 1, 4}}, "test"));
  EXPECT_EQ(load_word(bytes, 3), 0x9004u);
}

TEST(Relocation, FollowsTheAddressThatTheWordHeld) {
  auto bytes = words(0x80002008, 0x2008, 0);
  ASSERT_TRUE(map_of_two().apply(bytes, {{0, 2, 8}, {8, 2, 8}}, "test"));
  EXPECT_EQ(load_word(bytes, 0), 0x8000b008u);  // device stays device
  EXPECT_EQ(load_word(bytes, 8), 0xb008u);      // host stays host
}

TEST(Relocation, UnapplyIsTheReverse) {
  auto bytes = words(0x1010, 0x80002008, 0x2008);
  const auto original = bytes;
  const std::vector<format::Relocation> relocations = {{0, 1, 0x10}, {8, 2, 8}, {16, 2, 8}};
  ASSERT_TRUE(map_of_two().apply(bytes, relocations, "test"));
  EXPECT_NE(bytes, original);
  ASSERT_TRUE(map_of_two().unapply(bytes, relocations, "test"));
  EXPECT_EQ(bytes, original);
}

TEST(Relocation, UnapplyLeavesAnotherValueAlone) {
  auto bytes = words(0x1234, 0, 0);
  ASSERT_TRUE(map_of_two().unapply(bytes, {{0, 1, 0x10}}, "test"));
  EXPECT_EQ(load_word(bytes, 0), 0x1234u);
}

TEST(Relocation, KeepsSignedAddendsAndTags) {
  auto bytes = words(0x1000 - 2048, 0x1000 + 4096, 0x1000 | uint64_t{0x5a} << 56);
  const auto original = bytes;
  const std::vector<format::Relocation> relocations = {
      {0, 1, -2048, format::RelocationSource::kTyped, false, true},
      {8, 1, 4096, format::RelocationSource::kTyped, false, true},
      {16, 1, int64_t{0x5a} << 56, format::RelocationSource::kMatched, true, true}};
  ASSERT_TRUE(map_of_two().apply(bytes, relocations, "test"));
  EXPECT_EQ(load_word(bytes, 0), 0x9000u - 2048);
  EXPECT_EQ(load_word(bytes, 8), 0x9000u + 4096);
  EXPECT_EQ(load_word(bytes, 16), 0x9000u | uint64_t{0x5a} << 56);
  ASSERT_TRUE(map_of_two().unapply(bytes, relocations, "test"));
  EXPECT_EQ(bytes, original);
}

// Allocation 1 was freed, and 2 got its addresses.
TEST(Relocation, ARecycledAddressIsKnownByEither) {
  const AddressMap map(
      {Placement{256, 0x1000, 0, 0x9000, 0}, Placement{256, 0x1000, 0, 0xb000, 0}});
  EXPECT_TRUE(map.denotes(0x9010, 0x1010));
  EXPECT_TRUE(map.denotes(0xb010, 0x1010));
  EXPECT_TRUE(map.denotes(0xb100, 0x1100)) << "one past the end";
  EXPECT_FALSE(map.denotes(0xb011, 0x1010));
  EXPECT_FALSE(map.denotes(0x1010, 0x1010)) << "not moved";
  EXPECT_FALSE(map.denotes(0, 0x1010));
  auto bytes = words(0x9010, 0, 0);
  ASSERT_TRUE(map.unapply(bytes, {{0, 2, 0x10}}, "test"));
  EXPECT_EQ(load_word(bytes, 0), 0x1010u);
}

TEST(Relocation, WordsBesideAnAllocationMoveWithIt) {
  const AddressMap map(
      {Placement{256, 0x10000, 0, 0x90000, 0}, Placement{256, 0x12000, 0, 0xb0000, 0}});
  EXPECT_TRUE(map.denotes_outside(0x90000 - 64, 0x10000 - 64));
  EXPECT_TRUE(map.denotes_outside(0x90000 + 4096, 0x10000 + 4096));
  EXPECT_FALSE(map.denotes(0x90000 + 4096, 0x10000 + 4096));
  EXPECT_FALSE(map.denotes_outside(0x90000 + 4096, 0x10000 + 4097));
  const uint64_t far = uint64_t{4} << 30;
  EXPECT_FALSE(map.denotes_outside(0xb0000 + far, 0x12000 + far));
}

// Verification skips memory without this byte when it looks for addresses.
TEST(Relocation, KnowsTheTopByteOfItsAddresses) {
  EXPECT_EQ(map_of_two().top_byte(), std::byte{0});
  EXPECT_FALSE(map_of_two().denotes(0xcbcbcbcbcbcbcbcb, 0x10000));
  const uint64_t high = uint64_t{0x12} << 56;
  const AddressMap beside({{4096, 0x10000, 0, high - 4096, 0}});
  EXPECT_EQ(beside.top_byte(), std::nullopt);
  EXPECT_TRUE(beside.denotes(high - 1, 0x10000 + 4095));
  EXPECT_TRUE(beside.denotes_outside(high + 64, 0x10000 + 4096 + 64));
  EXPECT_EQ(AddressMap().top_byte(), std::byte{0});
}

TEST(Relocation, RejectsOffsetBehindTheBytes) {
  auto bytes = words(0, 0, 0);
  for (const uint64_t offset : {uint64_t{17}, uint64_t{24}, UINT64_MAX, UINT64_MAX - 7}) {
    const Result<void> result = map_of_two().apply(bytes, {{offset, 1, 0}}, "test");
    ASSERT_FALSE(result) << offset;
    EXPECT_EQ(result.error().status, Status::kCorrupt);
  }
}

TEST(Relocation, RejectsUnknownAllocation) {
  auto bytes = words(0, 0, 0);
  EXPECT_FALSE(map_of_two().apply(bytes, {{0, 0, 0}}, "test"));
  EXPECT_FALSE(map_of_two().apply(bytes, {{0, 3, 0}}, "test"));
}

}  // namespace
}  // namespace gfxgraph::replayer
