// The message for a command line that CLI11 rejected, with a suggestion. CLI11 itself is not part
// of this folder: App and ParseError are CLI::App and CLI::ParseError.
#pragma once

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
  if (left.empty()) return error.what();
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
