#include "base/cli/help_text.h"

#include <algorithm>
#include <cstdlib>

#include "base/environment.h"

namespace gfxgraph {
namespace {

constexpr size_t kLeastColumns = 60;

std::string wrap_line(std::string_view line, size_t columns, size_t indent) {
  std::string text;
  std::string margin;  // of the present line
  while (margin.size() + line.size() > columns) {
    const size_t room = columns - margin.size();
    const size_t begin = line.find_first_not_of(' ');
    size_t space = line.rfind(' ', room);
    // A word that is too long keeps its line.
    if (space == std::string_view::npos || space <= begin) space = line.find(' ', room);
    if (space == std::string_view::npos) break;
    const size_t end = line.find_last_not_of(' ', space);
    text += margin + std::string(line.substr(0, end + 1)) + "\n";
    line.remove_prefix(space);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    margin.assign(indent, ' ');
    if (line.empty()) return text.substr(0, text.size() - 1);
  }
  return text + margin + std::string(line);
}

}  // namespace

size_t help_columns() {
  const char* const variable = std::getenv("COLUMNS");
  const std::optional<uint64_t> columns = whole_number(variable == nullptr ? "" : variable);
  return std::clamp<size_t>(columns.value_or(kHelpColumns), kLeastColumns, kHelpColumns);
}

std::string wrap_lines(std::string_view text, size_t columns, size_t indent) {
  std::string result;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    result += wrap_line(text.substr(0, end), columns, indent);
    if (end == std::string_view::npos) break;
    result += "\n";
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string help_row(std::string_view name, std::string_view text, size_t indent, size_t columns) {
  std::string flowing(text);
  std::ranges::replace(flowing, '\n', ' ');
  std::string row = wrap_line(name, columns, indent);
  if (flowing.empty()) return row + "\n";
  const bool fits = row.size() < indent;
  if (!fits) row += "\n";
  row.append(fits ? indent - row.size() : indent, ' ');
  const std::string body = wrap_line(flowing, columns - indent, 0);
  for (const char c : body) {
    row += c;
    if (c == '\n') row.append(indent, ' ');
  }
  return row + "\n";
}

}  // namespace gfxgraph
