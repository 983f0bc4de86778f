// What a person may have meant by a word that a command line does not know.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gfxgraph {

// The known word that `given` is most like: one of the two begins with the other, or few letters
// were left out, put in, exchanged or swapped. Of several the first one; empty: none is like it.
std::string closest_word(std::string_view given, std::span<const std::string> known);

// "; did you mean --kernels?", or nothing.
std::string did_you_mean(std::string_view given, std::span<const std::string> known);

// "a, b, c and 12 more"; "none".
inline constexpr size_t kMostShown = 8;
std::string shown_names(std::span<const std::string> names, size_t total);

}  // namespace gfxgraph
