// The message for a command line that CLI11 rejected, with a suggestion. CLI11 itself is not part
// of this folder: App and ParseError are CLI::App and CLI::ParseError.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/suggestion.h"

namespace gfxgraph {

// "unknown option --kernls; did you mean --kernels?". `starts_programs`: a word that is not an
// option is a program without the required -- before it. Unknown words take precedence over all
// other problems.
template <typename App, typename ParseError>
std::string option_error(const App& app, const ParseError& error, bool starts_programs = false) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) {
    // "Value abc not in range 1 to 9" of a word that is not a number.
    std::string text = error.what();
    constexpr std::string_view kBegin = "Value ";
    constexpr std::string_view kRange = " not in range ";
    const size_t value = text.find(kBegin);
    const size_t range = text.find(kRange);
    if (value == std::string::npos || range == std::string::npos || range < value) return text;
    const size_t begin = value + kBegin.size();
    const std::string given = text.substr(begin, range - begin);
    char* end = nullptr;
    (void)std::strtod(given.c_str(), &end);
    if (!given.empty() && *end == '\0') return text;
    return text.substr(0, value) + "'" + given + "' is not a number from " +
           text.substr(range + kRange.size());
  }
  const std::string& word = left.front();
  if (word.starts_with('-') && word.size() > 1) {
    std::vector<std::string> known;
    for (const auto* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    return "unknown option " + word + did_you_mean(word.substr(0, word.find('=')), known);
  }
  if (starts_programs) return "put -- before the program: -- " + word;
  return "unexpected argument " + word;
}

}  // namespace gfxgraph
