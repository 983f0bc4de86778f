#include "order/needed_edges.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace gfxgraph::order {
namespace {

NeededEdges some() {
  NeededEdges edges;
  edges.trace = {7, 9};
  edges.add({}, false);
  edges.add(std::vector<uint32_t>{0}, true);
  edges.add({}, false);
  edges.add(std::vector<uint32_t>{0, 2}, false);
  edges.open = {{0, 8, 4}, {3, 16, 8}, {3, 32, 4}};
  return edges;
}

TEST(NeededEdges, AreReadAsWritten) {
  const NeededEdges edges = some();
  const auto read = read_needed_edges(to_bytes(edges));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->trace, edges.trace);
  EXPECT_EQ(read->ends, edges.ends);
  EXPECT_EQ(read->needs, edges.needs);
  EXPECT_EQ(read->anything, edges.anything);
  EXPECT_EQ(read->open, edges.open);
  ASSERT_EQ(read->of(3).size(), 2u);
  EXPECT_EQ(read->of(3)[1], 2u);
  EXPECT_TRUE(read->of(2).empty());
}

TEST(NeededEdges, EveryBitAndEveryLengthIsChecked) {
  const std::vector<std::byte> bytes = to_bytes(some());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<std::byte> wrong = bytes;
    wrong[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(read_needed_edges(wrong)) << bit;
  }
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read_needed_edges(std::span(bytes).first(size))) << size;
}

// With a right hash.
TEST(NeededEdges, WorkThatNeedsLaterWorkIsRefused) {
  for (const std::vector<uint32_t>& needs :
       {std::vector<uint32_t>{4}, {7}, {2, 0}, {1, 1}, {UINT32_MAX}}) {
    NeededEdges edges = some();
    edges.add(needs, false);
    const auto read = read_needed_edges(to_bytes(edges));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().status, Status::kCorrupt);
  }
}

TEST(NeededEdges, ArgumentsOfOtherWorkAreRefused) {
  for (const std::vector<NeededEdges::Open>& open :
       {std::vector<NeededEdges::Open>{{4, 0, 4}}, {{3, 0, 4}, {2, 0, 4}}}) {
    NeededEdges edges = some();
    edges.open = open;
    EXPECT_FALSE(read_needed_edges(to_bytes(edges)));
  }
}

TEST(NeededEdges, OtherVersionsAndOtherFilesAreNamed) {
  std::vector<std::byte> bytes = to_bytes(some());
  bytes[8] = std::byte{2};
  EXPECT_EQ(read_needed_edges(bytes).error().status, Status::kVersion);
  bytes[0] = std::byte{'x'};
  EXPECT_NE(read_needed_edges(bytes).error().message.find("no file of needed order"),
            std::string::npos);
}

}  // namespace
}  // namespace gfxgraph::order
