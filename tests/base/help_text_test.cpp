#include "base/cli/help_text.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace gfxgraph {
namespace {

TEST(HelpText, LongLinesBreakBetweenWords) {
  EXPECT_EQ(wrap_lines("one two three\nfour\n\nfive six", 8), "one two\nthree\nfour\n\nfive six");
  EXPECT_EQ(wrap_lines("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrap_lines("exactly8", 8), "exactly8");
  EXPECT_EQ(wrap_lines("a_word_that_is_too_long for it", 8), "a_word_that_is_too_long\nfor it");
  EXPECT_EQ(wrap_lines("", 8), "");
  EXPECT_EQ(wrap_lines("trailing   ", 9), "trailing");
}

TEST(HelpText, RowsHaveTwoColumns) {
  EXPECT_EQ(help_row("  --a", "what it\nis for you", 8, 18),
            "  --a   what it is\n        for you\n");
  EXPECT_EQ(help_row("  --long-name", "what", 8, 18), "  --long-name\n        what\n");
  EXPECT_EQ(help_row("  --a", "", 8, 18), "  --a\n");
}

TEST(HelpText, TheTerminalMayBeNarrower) {
  ASSERT_EQ(::setenv("COLUMNS", "80", 1), 0);
  EXPECT_EQ(help_columns(), 80u);
  ASSERT_EQ(::setenv("COLUMNS", "250", 1), 0);
  EXPECT_EQ(help_columns(), 100u);
  ASSERT_EQ(::setenv("COLUMNS", "wide", 1), 0);
  EXPECT_EQ(help_columns(), 100u);
  ASSERT_EQ(::unsetenv("COLUMNS"), 0);
  EXPECT_EQ(help_columns(), 100u);
}

}  // namespace
}  // namespace gfxgraph
