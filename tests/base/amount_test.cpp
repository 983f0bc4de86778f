#include "base/amount.h"

#include <gtest/gtest.h>

namespace gfxgraph {
namespace {

TEST(Amount, BytesHaveBinaryUnits) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1), "1 byte");
  EXPECT_EQ(format_bytes(1023), "1023 bytes");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(format_bytes(uint64_t{5000} << 40), "5000.0 TiB");
}

// Rounded, they would be 1024 of the smaller unit.
TEST(Amount, JustBelowAUnitIsThatUnit) {
  EXPECT_EQ(format_bytes((uint64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes((uint64_t{1} << 30) - 1), "1.0 GiB");
  EXPECT_EQ(format_bytes((uint64_t{1} << 20) - 100), "1023.9 KiB");
}

TEST(Amount, NounsAreSingularOrPlural) {
  EXPECT_EQ(counted(1, "launch"), "1 launch");
  EXPECT_EQ(counted(0, "launch"), "0 launches");
  EXPECT_EQ(counted(2, "copy"), "2 copies");
  EXPECT_EQ(counted(2, "entry"), "2 entries");
  EXPECT_EQ(counted(2, "pass"), "2 passes");
  EXPECT_EQ(counted(2, "prefix"), "2 prefixes");
  EXPECT_EQ(counted(2, "kernel"), "2 kernels");
  EXPECT_EQ(counted(2, "delay"), "2 delays");
}

}  // namespace
}  // namespace gfxgraph
