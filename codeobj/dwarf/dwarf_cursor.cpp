#include "codeobj/dwarf/dwarf_internal.h"

namespace gfxgraph::codeobj::internal {

uint64_t DwarfCursor::uleb() {
  uint64_t value = 0;
  for (unsigned shift = 0; !failed_; shift += 7) {
    const uint64_t byte = u8();
    if (shift < 64) value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return 0;
}

int64_t DwarfCursor::sleb() {
  uint64_t value = 0;
  for (unsigned shift = 0; !failed_;) {
    const uint64_t byte = u8();
    if (shift < 64) value |= (byte & 0x7f) << shift;
    shift += 7;
    if ((byte & 0x80) != 0) continue;
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  return 0;
}

std::string_view DwarfCursor::text() {
  if (failed_) return {};
  const std::string_view found = dwarf_text(bytes_, offset_);
  if (offset_ + found.size() >= bytes_.size()) {  // no terminating zero
    failed_ = true;
    return {};
  }
  offset_ += found.size() + 1;
  return found;
}

DwarfCursor DwarfCursor::unit(bool& wide) {
  uint64_t length = number(4);
  wide = length == 0xffffffff;
  if (wide) length = number(8);
  const uint64_t start = offset_;
  skip(length);
  // Offsets remain relative to the section; reading ends at the unit's end.
  return failed_ ? DwarfCursor({}, 1) : DwarfCursor(bytes_.first(start + length), start);
}

std::string_view dwarf_text(ByteSpan section, uint64_t offset) {
  if (offset >= section.size()) return {};
  const char* const first = reinterpret_cast<const char*>(section.data()) + offset;
  return {first, strnlen(first, section.size() - offset)};
}

}  // namespace gfxgraph::codeobj::internal
