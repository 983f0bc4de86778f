// The message for a command line that CLI11 rejected, with a suggestion. CLI11 itself is not part
// of this folder: App and ParseError are CLI::App and CLI::ParseError.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/suggestion.h"

namespace gfxgraph {

// "unknown option --kernls; did you mean --kernels?". `starts_programs`: a word that is not an
// option is a program without the required -- before it. Unknown words take precedence over all
// other problems.
template <typename App, typename ParseError>
std::string option_error(const App& app, const ParseError& error, bool starts_programs = false) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) {
    // CLI11's words for numbers are not sentences: "Value abc not in range 1 to 9",
    // "Could not convert: --threads = abc", "--max-memory: abc unit not recognized. Allowed ...".
    std::string text = error.what();
    constexpr std::string_view kConvert = "Could not convert: ", kIs = " = ";
    constexpr std::string_view kUnit = " unit not recognized.", kColon = ": ";
    constexpr std::string_view kBegin = "Value ", kRange = " not in range ", kTo = " to ";
    if (const size_t is = text.find(kIs); text.starts_with(kConvert) && is != std::string::npos) {
      return text.substr(kConvert.size(), is - kConvert.size()) + ": '" +
             text.substr(is + kIs.size()) + "' is not a number";
    }
    const size_t colon = text.find(kColon), unit = text.find(kUnit);
    if (colon < unit && unit != std::string::npos) {
      const size_t begin = colon + kColon.size();
      return text.substr(0, begin) + "'" + text.substr(begin, unit - begin) +
             "' is no unit: give bytes, or a number with KiB, MiB or GiB";
    }
    const size_t value = text.find(kBegin);
    const size_t range = text.find(kRange);
    if (value == std::string::npos || range == std::string::npos || range < value) return text;
    const size_t begin = value + kBegin.size();
    const std::string given = text.substr(begin, range - begin);
    char* end = nullptr;
    (void)std::strtod(given.c_str(), &end);
    std::string limits = text.substr(range + kRange.size());
    // The largest number that a double holds is no limit that anybody would name.
    constexpr size_t kLongNumber = 30;
    const size_t to = limits.find(kTo);
    const bool endless = to != std::string::npos && limits.size() - to > kLongNumber;
    if (endless) limits = limits.substr(0, limits.find('.')) + " on";
    if (!given.empty() && *end == '\0' && !endless) return text;
    return text.substr(0, value) + "'" + given + "' is not a number from " + limits;
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
