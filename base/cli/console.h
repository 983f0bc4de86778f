// What a program prints for people: how much of it, and whether in colour. The state of --quiet,
// --verbose and --color (base/cli/common_options.h) of all of gfxgraph's programs.
// Set before any thread starts; results on stdout do not depend on --quiet and --verbose.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace gfxgraph::console {

struct Options {
  const char* program = "gfxgraph";  // begins each line on stderr
  bool quiet = false;
  bool verbose = false;
  std::string color = "auto";  // auto, always or never
};
Options& options() noexcept;

// What colour is used for; other text has none.
enum class Style { kPlain, kHeading, kError, kWarning };

// auto: if the file is a terminal that is not "dumb", and NO_COLOR (no-color.org) is unset or
// empty. Both streams are decided separately.
bool colored(std::FILE* file) noexcept;

// Through printable(), line breaks stay; in colour if `file` gets any.
std::string styled(std::FILE* file, Style style, std::string_view text);
// Text of several lines that went through printable(); `style_of` chooses for each line.
void write_styled(std::FILE* file, std::string_view text, Style (*style_of)(std::string_view line));
// An empty line and a heading, on stdout.
void heading(std::string_view text);

// One line on stderr, "PROGRAM: text". error(): always, the program's name in colour.
void error(std::string_view text);
// The same for a literal where memory is used up: allocates nothing, and has no colour.
void error_without_memory(std::string_view text) noexcept;
// The same and a line "see PROGRAM --help" or the like; returns kExitUsage.
int usage_error(std::string_view text, std::string_view hint);
// Without --quiet.
void message(std::string_view text);
// With --verbose: "PROGRAM: [0.123 s] text", the time since the program's start.
void detail(std::string_view text);

// Last: with --verbose the exit code, the processor time and the largest resident size.
void finish(int code);

}  // namespace gfxgraph::console
