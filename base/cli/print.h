// How gfxgraph's programs print. Names come from untrusted files and may contain escape sequences
// for the terminal, line breaks that forge a message, or text that runs backwards: every string
// argument of print() and format_printable() goes through printable(), so no caller can forget it.
// tests/lint/check_files.py keeps other ways of printing out of the programs.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace gfxgraph {

// Without control characters: "\n", "\x1b" and "\u{202e}" represent a line break, an escape and a
// change of direction. Invalid UTF-8 becomes "\xff". Other text stays unchanged.
std::string printable(std::string_view text);

// Text of several lines that gfxgraph made itself: its line breaks stay, the rest is as above.
struct Lines {
  std::string_view text;
};
std::string printable(const Lines& lines);

namespace print_detail {
template <typename T>
decltype(auto) safe(const T& value) {
  if constexpr (std::is_same_v<T, Lines> || std::is_convertible_v<const T&, std::string_view>) {
    return printable(value);
  } else {
    return (value);
  }
}
// What fmt checks the format string against.
template <typename T>
using Checked = std::remove_cvref_t<decltype(safe(std::declval<const std::remove_cvref_t<T>&>()))>;
}  // namespace print_detail

template <typename... Args>
std::string format_printable(fmt::format_string<print_detail::Checked<Args>...> format,
                             const Args&... args) {
  const std::tuple<decltype(print_detail::safe(args))...> values(print_detail::safe(args)...);
  return std::apply(
      [&](const auto&... value) {
        return fmt::vformat(static_cast<fmt::string_view>(format), fmt::make_format_args(value...));
      },
      values);
}

// As it is: JSON, or text that format_printable() made.
inline void write_text(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
}

template <typename... Args>
void print(std::FILE* file, fmt::format_string<print_detail::Checked<Args>...> format,
           const Args&... args) {
  write_text(file, format_printable<Args...>(format, args...));
}
template <typename... Args>
void print(fmt::format_string<print_detail::Checked<Args>...> format, const Args&... args) {
  write_text(stdout, format_printable<Args...>(format, args...));
}

}  // namespace gfxgraph
