// Tables of text: columns as wide as their widest cell, and on a terminal no wider than its lines.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gfxgraph {

// Columns of the terminal that `file` is: the environment variable COLUMNS, else what the terminal
// reports. 0: not a terminal, or not known; lines may have any length.
size_t terminal_columns(std::FILE* file) noexcept;

// The text with its middle replaced by "..." if it has more than `most` characters (of UTF-8).
std::string shortened(std::string_view text, size_t most);

// The same for a demangled name, which loses anonymous namespaces and argument lists first.
std::string shortened_name(std::string_view name, size_t most);

struct TextColumn {
  std::string name;
  bool right = false;    // numbers
  bool shorten = false;  // names, which may lose their middle
  size_t least = 0;      // width where the table fits
};
using TextRow = std::vector<std::string>;  // fewer cells than columns: the last one has no width

// Where a table is wider than `limit` (0: none), "least" is ignored, then headings break after "_"
// and columns stand closer, then the widest columns of names become narrower, to 12 characters
// each. Other cells remain whole.
class TextTable {
 public:
  using Visit = std::function<void(const TextRow&)>;
  // `rows` calls its argument for each row.
  TextTable(std::vector<TextColumn> columns, const std::function<void(const Visit&)>& rows,
            size_t limit, size_t indent = 0, size_t gap = 2);

  std::string heading() const;  // one line, or several; without the last line break
  std::string line(const TextRow& row) const;

 private:
  size_t total() const;
  std::string joined(const TextRow& row) const;

  std::vector<TextColumn> columns_;
  std::vector<size_t> widths_;
  size_t indent_, gap_;
  bool broken_ = false;  // headings
};

}  // namespace gfxgraph
