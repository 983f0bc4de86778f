// Numbers and words in environment variables. A value that is not understood is reported as a
// warning, and the default holds; unset and empty are the default. Each call reads the variable
// anew: callers keep the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace gfxgraph {

// All of the text as an unsigned decimal number, or hexadecimal after 0x.
std::optional<uint64_t> whole_number(std::string_view text) noexcept;

uint64_t environment_number(const char* variable, uint64_t least, uint64_t most,
                            uint64_t otherwise) noexcept;

// Finite and from 0 to `most`, with decimals.
double environment_seconds(const char* variable, double most, double otherwise) noexcept;

// The place of the variable's value in `words`. `misspelt`: the place that holds then.
size_t environment_word(const char* variable, std::initializer_list<const char*> words,
                        size_t otherwise, size_t misspelt) noexcept;

}  // namespace gfxgraph
