#include "base/cli/text_table.h"

#include <gtest/gtest.h>

namespace gfxgraph {
namespace {

TEST(TextTable, ShortensTheMiddle) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("a_long_kernel_name", 11), "a_lo...name");
  EXPECT_EQ(shortened("äöüäöüäöü", 7), "äö...öü");
  EXPECT_EQ(shortened("anything", 2), "anything");
}

TEST(TextTable, ShortensArgumentsOfNamesFirst) {
  constexpr std::string_view kName = "void (anonymous namespace)::scale<int>(float*, int)";
  EXPECT_EQ(shortened_name(kName, 60), kName);
  EXPECT_EQ(shortened_name(kName, 30), "scale<int>(float*, int)");
  EXPECT_EQ(shortened_name(kName, 16), "scale<int>(...)");
  EXPECT_EQ(shortened_name("load(float const*)+0x12#3  (unwritten)", 30),
            "load(...)+0x12#3  (unwritten)");
  EXPECT_EQ(shortened_name("broken(((((((((((((((((", 10), "brok...(((");
}

TextTable table(size_t limit) {
  return {{{.name = "launches_in_graphs", .right = true},
           {.name = "kernel", .shorten = true},
           {.name = "bytes", .right = true, .least = 12}},
          [](const TextTable::Visit& visit) {
            visit({"1234567", "a_kernel_with_a_name_that_ends_here", "7"});
            visit({"8", "other", "123456"});
          },
          limit};
}

TEST(TextTable, IsAsWideAsItsCells) {
  const TextTable wide = table(0);
  EXPECT_EQ(wide.heading(),
            "launches_in_graphs  kernel                                      bytes");
  EXPECT_EQ(wide.line({"8", "other", "123456"}),
            "                 8  other                                      123456");
  EXPECT_EQ(table(69).heading(), wide.heading());
}

TEST(TextTable, FitsATerminalWithWholeNumbers) {
  const TextTable narrow = table(40);
  EXPECT_EQ(narrow.heading(), "launches_\n      in_\n   graphs kernel                   bytes");
  EXPECT_EQ(narrow.line({"1234567", "a_kernel_with_a_name_that_ends_here", "7"}),
            "  1234567 a_kernel_w..._ends_here      7");
}

TEST(TextTable, KeepsNumbersWhereNothingFits) {
  const TextTable least = table(10);
  EXPECT_EQ(least.line({"1234567", "a_kernel_with_a_name_that_ends_here", "123456"}),
            "  1234567 a_ker...here 123456");
}

}  // namespace
}  // namespace gfxgraph
