// A small reader of DWARF 2-5: line tables, and the names and ranges of (inlined) functions.
//
// gfxgraph does not use a library for this: LLVM 19.1 aborts the process on a wrong byte in a line
// table's header, and Debian's static libdw 0.188 cannot be linked into a shared library.
// docs/code-objects.md, "Source lines", has the commands and the figures. Source: DWARF 5, sections
// 2.17, 6.2, 7.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gfxgraph::codeobj::internal {

using ByteSpan = std::span<const std::byte>;

// The sections the reader uses; empty if absent. Does not own the bytes.
struct DwarfSections {
  ByteSpan info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists;
};

// Reads forward. The first read past the end sets the failed state; all later reads return zeros.
class DwarfCursor {
 public:
  explicit DwarfCursor(ByteSpan bytes, uint64_t offset = 0)
      : bytes_(bytes), offset_(offset), failed_(offset > bytes.size()) {}

  bool failed() const { return failed_; }
  bool at_end() const { return failed_ || offset_ == bytes_.size(); }
  uint64_t offset() const { return offset_; }

  uint64_t number(unsigned size) {
    uint64_t value = 0;
    if (!take(size)) return 0;
    std::memcpy(&value, bytes_.data() + offset_ - size, size);
    return value;
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint64_t uleb();
  int64_t sleb();
  std::string_view text();
  void skip(uint64_t size) { take(size); }
  // A section offset or length: 4 or 8 bytes.
  uint64_t sized(bool wide) { return number(wide ? 8 : 4); }
  // Reads the initial length of a unit; returns a cursor over its contents that ends with the unit.
  DwarfCursor unit(bool& wide);

 private:
  bool take(uint64_t size) {
    if (failed_ || size > bytes_.size() - offset_) {
      failed_ = true;
      return false;
    }
    offset_ += size;
    return true;
  }

  ByteSpan bytes_;
  uint64_t offset_;
  bool failed_;
};

// The zero-terminated text at `offset` of a string section; "" outside it.
std::string_view dwarf_text(ByteSpan section, uint64_t offset);

// ---- functions (dwarf_functions.cpp) ----

struct DwarfRange {
  uint64_t low = 0;
  uint64_t high = 0;
  uint32_t depth = 0;  // depth of the entry in the tree: the deepest is the innermost
  uint64_t entry = 0;  // offset in .debug_info
};

// Where an inlined subroutine was called; numbers of 0 are unknown.
struct DwarfCall {
  uint64_t line_table = 0;  // of the unit, whose files `file` numbers
  uint64_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
};

struct DwarfFunctions {
  std::vector<DwarfRange> ranges;
  // Linkage name, else plain name, of an entry; references to other entries are resolved.
  std::map<uint64_t, std::string_view> names;
  // Compile directory by offset of the unit's line table.
  std::map<uint64_t, std::string_view> directories;
  // Of the entries of inlined subroutines.
  std::map<uint64_t, DwarfCall> calls;

  // The name of a range's entry; "": unknown.
  std::string_view name_of(const DwarfRange& range) const;
  // The function that contains the address first as it was inlined, then the one into which it was,
  // and so on; the last one is a subprogram unless there are more than `most`.
  std::vector<const DwarfRange*> frames_at(uint64_t address, size_t most) const;
};

// Skips damaged units from the damage on.
DwarfFunctions read_dwarf_functions(const DwarfSections& sections);

// ---- lines (dwarf_lines.cpp) ----

struct DwarfRow {
  uint64_t address = 0;
  uint32_t file = 0;  // index into DwarfLines::files
  uint32_t line = 0;
  uint32_t column = 0;
};

struct DwarfSequence {
  uint64_t low = 0;
  uint64_t high = 0;
  std::vector<DwarfRow> rows;  // by address
};

struct DwarfLines {
  std::vector<std::string> files;
  std::vector<DwarfSequence> sequences;  // by low address
  // Of each line table, by its offset: indices into `files` by the numbers that its unit uses.
  std::map<uint64_t, std::vector<uint32_t>> numbered;

  const DwarfRow* find(uint64_t address) const;
  // Null: the table has no such file.
  const std::string* file_of(uint64_t line_table, uint64_t number) const;
};

DwarfLines read_dwarf_lines(const DwarfSections& sections,
                            const std::map<uint64_t, std::string_view>& directories);

}  // namespace gfxgraph::codeobj::internal
