#include "base/cli/suggestion.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gfxgraph {
namespace {

constexpr size_t kLongestWord = 64;  // longer ones are no typos; the work grows quadratically

// Edit distance that counts missing, extra, exchanged and transposed letters (optimal string
// alignment distance).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      size_t least =
          std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least = std::min(least, table[i - 2][j - 2] + 1);
      table[i][j] = least;
    }
  }
  return table[a.size()][b.size()];
}

}  // namespace

std::string closest_word(std::string_view given, std::span<const std::string> known) {
  std::string best;
  if (given.size() < 2 || given.size() > kLongestWord) return best;
  size_t least = std::max<size_t>(given.size() / 3, 1) + 1;  // more are not a typo
  for (const std::string& word : known) {
    if (word.size() > kLongestWord) continue;
    const bool begins = given.size() >= 4 && (word.starts_with(given) || given.starts_with(word));
    const size_t differences = begins ? 1 : distance(given, word);
    if (differences >= least || word.size() <= differences) continue;
    least = differences;
    best = word;
  }
  return best;
}

std::string did_you_mean(std::string_view given, std::span<const std::string> known) {
  const std::string word = closest_word(given, known);
  return word.empty() ? "" : "; did you mean " + word + "?";
}

std::string shown_names(std::span<const std::string> names, size_t total) {
  std::string text;
  const size_t shown = std::min(names.size(), kMostShown);
  for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (total > shown) text += " and " + std::to_string(total - shown) + " more";
  return text.empty() ? "none" : text;
}

}  // namespace gfxgraph
