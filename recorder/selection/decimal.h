// Numbers in the options that select ranges and launches.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace gfxgraph::recorder {

// False: `text` is more or less than a decimal number.
inline bool parse_decimal(std::string_view text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace gfxgraph::recorder
