// Boxes against the bytes of their rows, one by one.
#include "format/box.h"

#include <gtest/gtest.h>

#include <set>

namespace gfxgraph::format {
namespace {

TEST(Box, OfEachSmallShapeIsItsRows) {
  unsigned linear = 0, gaps = 0;
  for (uint64_t n = 0; n < 4 * 4 * 4 * 8 * 20; ++n) {
    const Box box{n % 4, n / 4 % 4, n / 16 % 4, n / 64 % 8, n / 512};
    if (!box.rows_are_apart()) continue;
    std::set<uint64_t> bytes;
    for (uint64_t plane = 0; plane < box.depth; ++plane)
      for (uint64_t row = 0; row < box.height; ++row)
        for (uint64_t at = 0; at < box.width_bytes; ++at)
          bytes.insert(box.row_offset(row, plane) + at);
    SCOPED_TRACE(testing::Message()
                 << box.width_bytes << " x " << box.height << " x " << box.depth << ", pitch "
                 << box.pitch_bytes << ", slice " << box.slice_bytes);
    ASSERT_EQ(bytes.size(), box.packed_bytes()) << "each byte once";
    ASSERT_EQ(box.extent(), bytes.empty() ? 0 : *bytes.rbegin() + 1);
    ASSERT_EQ(box.empty(), bytes.empty());
    if (bytes.empty()) continue;
    ASSERT_EQ(box.linear(), *bytes.rbegin() + 1 == bytes.size());
    ++(box.linear() ? linear : gaps);
  }
  EXPECT_GT(linear, 100U);
  EXPECT_GT(gaps, 1000U);
}

TEST(Box, RowsThatShareBytesAreNotApart) {
  EXPECT_FALSE((Box{8, 2, 1, 4, 0}.rows_are_apart()));
  EXPECT_TRUE((Box{8, 1, 1, 4, 0}.rows_are_apart())) << "one row";
  EXPECT_FALSE((Box{8, 2, 2, 16, 31}.rows_are_apart()));
  EXPECT_TRUE((Box{8, 2, 1, 16, 31}.rows_are_apart())) << "one plane";
}

TEST(Box, AnExtentThatDoesNotFitIsNone) {
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  for (const Box& box : {Box{1, 3, 1, kHalf, 0}, Box{1, 1, 3, 1, kHalf}, Box{kHalf, 1, 2, 0, kHalf},
                         Box{kHalf, 2, 2, 0, 0}, Box{2, 2, 1, UINT64_MAX, 0}})
    EXPECT_EQ(box.extent(), std::nullopt);
  EXPECT_EQ((Box{kHalf, 1, 1, 0, 0}.extent()), kHalf);
  Memset memset;
  memset.width_elements = kHalf;
  memset.element_bytes = 2;
  EXPECT_EQ(box_of(memset), std::nullopt);
}

}  // namespace
}  // namespace gfxgraph::format
