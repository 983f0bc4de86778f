#include "base/environment.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <new>
#include <string>

#include "base/log.h"

namespace gfxgraph {
namespace {

std::string_view value_of(const char* variable) noexcept {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

template <typename... Args>
void warn(fmt::format_string<print_detail::Checked<Args>...> format, const Args&... args) noexcept {
  try {
    log(LogLevel::kWarning, format, args...);
  } catch (const std::bad_alloc&) {  // then no message
  }
}

}  // namespace

std::optional<uint64_t> whole_number(std::string_view text) noexcept {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, hexadecimal ? 16 : 10);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

uint64_t environment_number(const char* variable, uint64_t least, uint64_t most,
                            uint64_t otherwise) noexcept {
  const std::string_view text = value_of(variable);
  if (text.empty()) return otherwise;
  const std::optional<uint64_t> number = whole_number(text);
  if (number && *number >= least && *number <= most) return *number;
  warn("{}={}: expected a number in {}..{}; using {}", variable, text, least, most, otherwise);
  return otherwise;
}

double environment_seconds(const char* variable, double most, double otherwise) noexcept {
  const std::string_view text = value_of(variable);
  if (text.empty()) return otherwise;
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seconds);
  if (error == std::errc() && rest == end && std::isfinite(seconds) && seconds >= 0 &&
      seconds <= most)
    return seconds;
  warn("{}={}: expected seconds in 0..{}; using {}", variable, text, most, otherwise);
  return otherwise;
}

size_t environment_word(const char* variable, std::initializer_list<const char*> words,
                        size_t otherwise, size_t misspelt) noexcept {
  const std::string_view text = value_of(variable);
  if (text.empty()) return otherwise;
  for (size_t place = 0; place < words.size(); ++place)
    if (text == words.begin()[place]) return place;
  try {
    std::string known;
    for (const char* const word : words) known += (known.empty() ? "" : ", ") + std::string(word);
    warn("{}={}: expected one of {}; using {}", variable, text, known, words.begin()[misspelt]);
  } catch (const std::bad_alloc&) {
  }
  return misspelt;
}

}  // namespace gfxgraph
