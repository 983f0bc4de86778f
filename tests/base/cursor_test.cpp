#include "base/cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checked.h"

namespace gfxgraph {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> all;
  for (const int value : values) all.push_back(static_cast<std::byte>(value));
  return all;
}

TEST(ByteCursor, ReadsLittleEndianNumbers) {
  const auto data = bytes({1, 2, 0, 3, 0, 0, 0, 0xff, 0xff});
  ByteCursor cursor(data);
  EXPECT_EQ(cursor.read<uint8_t>().value(), 1);
  EXPECT_EQ(cursor.read<uint16_t>().value(), 2);
  EXPECT_EQ(cursor.read<uint32_t>().value(), 3u);
  EXPECT_EQ(cursor.read<int16_t>().value(), -1);
  EXPECT_TRUE(cursor.at_end());
}

TEST(ByteCursor, NamesThePositionAndMovesNothingWhenBytesAreMissing) {
  const auto data = bytes({1, 2, 3});
  ByteCursor cursor(data, 1000);
  ASSERT_TRUE(cursor.skip(1));
  const auto number = cursor.read<uint32_t>();
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().status, Status::kTruncated);
  EXPECT_EQ(number.error().message, "byte 1001: 4 bytes wanted, 2 left");
  EXPECT_EQ(cursor.position(), 1u);
  EXPECT_FALSE(cursor.read_bytes(3));
  EXPECT_FALSE(cursor.read_bytes(UINT64_MAX));
  EXPECT_FALSE(cursor.skip(3));
  EXPECT_EQ(cursor.read_bytes(2)->size(), 2u);
}

TEST(ByteCursor, SeeksAndAligns) {
  const std::vector<std::byte> data(20);
  ByteCursor cursor(data);
  ASSERT_TRUE(cursor.seek(20));
  EXPECT_TRUE(cursor.at_end());
  EXPECT_FALSE(cursor.seek(21));
  ASSERT_TRUE(cursor.seek(3));
  ASSERT_TRUE(cursor.align(8));
  EXPECT_EQ(cursor.position(), 8u);
  ASSERT_TRUE(cursor.align(8));
  EXPECT_EQ(cursor.position(), 8u);
  EXPECT_FALSE(cursor.align(64));
}

TEST(ByteCursor, ReadsTextsUpToTheirNul) {
  const auto data = bytes({'a', 'b', 0, 0, 'c'});
  ByteCursor cursor(data);
  EXPECT_EQ(cursor.read_c_string().value(), "ab");
  EXPECT_EQ(cursor.read_c_string().value(), "");
  EXPECT_THAT(cursor.read_c_string().error().message, HasSubstr("unterminated"));
  EXPECT_EQ(cursor.position(), 4u);
  EXPECT_FALSE(ByteCursor({}).read_c_string());
}

TEST(LittleEndian, StoresAndAppends) {
  std::vector<std::byte> data;
  append_le(data, uint32_t{0x04030201});
  append_le(data, uint8_t{5});
  EXPECT_EQ(data, bytes({1, 2, 3, 4, 5}));
  store_le(&data[1], uint16_t{0});
  EXPECT_EQ(load_le<uint32_t>(data.data()), 0x04000001u);
}

TEST(Checked, SaysWhenANumberDoesNotFit) {
  EXPECT_EQ(checked_add<uint64_t>(1, 2), 3u);
  EXPECT_FALSE(checked_add<uint64_t>(UINT64_MAX, 1));
  EXPECT_FALSE(checked_mul<uint32_t>(1u << 16, 1u << 16));
  EXPECT_EQ(checked_align_up(65, 64), 128u);
  EXPECT_FALSE(checked_align_up(UINT64_MAX, 64));
  EXPECT_TRUE(range_fits(4, 0, 4));
  EXPECT_FALSE(range_fits(5, 0, 4));
  EXPECT_FALSE(range_fits(1, UINT64_MAX, 4));
}

}  // namespace
}  // namespace gfxgraph
