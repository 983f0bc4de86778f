#include "base/cli/help_text.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <functional>
#include <string>
#include <vector>

namespace gfxgraph {
namespace {

// What the layout asks of CLI11.
struct StubOption {
  std::string name, type, shown, group = "Options", text;
  bool positional = false, required = false;
  std::vector<const StubOption*> needs = {};
  int most = 1;
  std::string get_name() const { return name; }
  std::string get_type_name() const { return type; }
  std::string get_default_str() const { return shown; }
  std::string get_group() const { return group; }
  std::vector<const StubOption*> get_needs() const { return needs; }
  std::vector<const StubOption*> get_excludes() const { return {}; }
  bool get_positional() const { return positional; }
  bool get_required() const { return required; }
  int get_type_size() const { return type.empty() ? 0 : 1; }
  int get_expected_max() const { return most; }
};
struct StubApp {
  std::vector<StubOption> all;
  std::string get_description() const { return "Does it."; }
  std::string get_footer() const { return "Exit code: 0."; }
  std::vector<const StubOption*> get_options(
      const std::function<bool(const StubOption*)>& wanted) const {
    std::vector<const StubOption*> found;
    for (const StubOption& one : all)
      if (wanted(&one)) found.push_back(&one);
    return found;
  }
};
struct StubFormatter {
  virtual ~StubFormatter() = default;
  virtual std::string make_help(const StubApp*, std::string, int) const = 0;
  virtual std::string make_option(const StubOption*, bool) const = 0;
  virtual std::string make_option_opts(const StubOption*) const = 0;
  std::string make_option_name(const StubOption* option, bool) const { return option->name; }
  std::string make_option_desc(const StubOption* option) const { return option->text; }
  std::string make_option_usage(const StubOption* option) const { return option->name; }
  std::string make_group(const std::string& title, bool positional,
                         const std::vector<const StubOption*>& options) const {
    std::string text = "\n" + title + ":\n";
    for (const StubOption* const one : options) text += make_option(one, positional);
    return text;
  }
  size_t column_width_ = 20;
};

TEST(HelpText, OneLayoutForEachVersionOfCli11) {
  const StubOption range{"--range", "TEXT", "", "Options", "a part"};
  const StubApp app{{{"TRACE", "TEXT", "", "Options", "the file", true, true},
                     range,
                     {"--runs", "UINT", "3", "Options", "how often", false, false, {&range}},
                     {"--gpu", "INT", "", "Options", "the device", false, false, {}, 1 << 29},
                     {"--json", "", "", "Options", "print JSON"},
                     {"--part", "TEXT", "", "", "hidden"}}};
  const HelpFormatter<StubFormatter, StubOption, StubApp, int> formatter;
  EXPECT_EQ(formatter.make_help(&app, "tool", 0),
            "Does it.\n"
            "Usage: tool [OPTIONS] TRACE\n"
            "\nPositionals:\n"
            "  TRACE TEXT REQUIRED\n"
            "                    the file\n"
            "\nOptions:\n"
            "  --range TEXT      a part\n"
            "  --runs UINT=3 Needs: --range\n"
            "                    how often\n"
            "  --gpu INT ...     the device\n"
            "  --json            print JSON\n"
            "\nExit code: 0.\n");
}

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
