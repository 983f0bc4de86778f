#include "base/cli/print.h"

#include <gtest/gtest.h>

#include <string>

#include "base/log.h"

namespace gfxgraph {
namespace {

using namespace std::string_literals;

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text :
       {"", "saxpy(float*, int)", "C:\\a", "größer", "日本", "\U0001f600", "~"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b[2Jx"), "\\x1b[2Jx");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb\\tc\\x0d");
  EXPECT_EQ(printable("a\0b"s), "a\\x00b");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\u009b31m"), "\\u{9b}31m");            // CSI in one character
  EXPECT_EQ(printable("\u202etxt.exe"), "\\u{202e}txt.exe");  // right to left
  EXPECT_EQ(printable("\u2028\u2066\ufeff"), "\\u{2028}\\u{2066}\\u{feff}");
  EXPECT_EQ(printable("a\u200bb\u206e\ufffb\U000e0041"),
            "a\\u{200b}b\\u{206e}\\u{fffb}\\u{e0041}");  // invisible
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc3(\xe2\x82"), "\\xc3(\\xe2\\x82");
  EXPECT_EQ(printable("\xc0\x9b\xe0\x80\x9b"), "\\xc0\\x9b\\xe0\\x80\\x9b");  // too long
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");                    // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, TwiceIsOnce) {
  const std::string once = printable("\x1b\n\xff\\");
  EXPECT_EQ(printable(once), once);
}

TEST(Print, EscapesArgumentsAndNothingElse) {
  const std::string name = "k\x1b[0m\n";
  EXPECT_EQ(format_printable("{}\n{:>4} {}\n", name, 7, name.c_str()),
            "k\\x1b[0m\\n\n   7 k\\x1b[0m\\n\n");
  EXPECT_EQ(format_printable("{}", std::string_view("a\nb")), "a\\nb");
  EXPECT_EQ(format_printable("{}", Lines{"a\nb\x1b"}), "a\nb\\x1b");
  EXPECT_EQ(format_printable("{:<3}|", "a"), "a  |");
}

// A name in a message of the log cannot begin a line of its own.
TEST(Print, LogMessagesAreOneLine) {
  std::string seen;
  set_log_sink(
      [](LogLevel, std::string_view text, void* to) { *static_cast<std::string*>(to) = text; },
      &seen);
  log(LogLevel::kError, "kernel {} of {}", std::string("k\ngfxgraph: forged"), Lines{"a\nb"});
  set_log_sink(nullptr, nullptr);
  EXPECT_EQ(seen, "kernel k\\ngfxgraph: forged of a\nb");
}

}  // namespace
}  // namespace gfxgraph
