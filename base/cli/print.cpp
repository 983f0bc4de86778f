#include "base/cli/print.h"

#include <array>
#include <cstdint>
#include <iterator>

namespace gfxgraph {
namespace {

struct Character {
  char32_t code = 0;
  size_t bytes = 0;  // 0: not UTF-8
};

// Source: RFC 3629, section 4. Rejects overlong forms, surrogates and code points above U+10FFFF.
Character decode(std::string_view text) {
  const auto byte = [&](size_t n) { return static_cast<unsigned char>(text[n]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  char32_t code = first & (0xffu >> (bytes + 1));
  for (size_t n = 1; n < bytes; ++n) {
    if ((byte(n) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(n) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

bool is_control(char32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;
  // Characters without a glyph, which change direction, break lines or hide text (category Cf of
  // Unicode, and line and paragraph separators).
  return code == 0x61c || code == 0x180e || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
         code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe007f);
}

std::string escape(std::string_view text, bool keep_line_breaks) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = decode(text);
    const size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    if (character.bytes == 0) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (!is_control(character.code) || (keep_line_breaks && character.code == '\n')) {
      out += text.substr(0, bytes);
    } else if (character.code == '\n') {
      out += "\\n";
    } else if (character.code == '\t') {
      out += "\\t";
    } else if (character.code < 0x80) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<uint32_t>(character.code));
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{{{:x}}}", static_cast<uint32_t>(character.code));
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escape(text, false); }

std::string printable(const Lines& lines) { return escape(lines.text, true); }

}  // namespace gfxgraph
