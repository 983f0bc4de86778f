#include "base/cli/text_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/environment.h"

namespace gfxgraph {
namespace {

constexpr size_t kLeastName = 12;
constexpr std::string_view kDots = "...";

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, begins_character));
}

// The place of the n-th character.
size_t place_of(std::string_view text, size_t n) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && n-- == 0) break;
  return at;
}

// Without anonymous namespaces, or without argument lists, as `step` says.
std::string simplified(std::string_view text, int step) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string result;
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(kAnonymous)) {
      at += kAnonymous.size();
      continue;
    }
    result += text[at++];
    const bool list = step > 0 && text[at - 1] == '(' && at > 1 && text[at - 2] != ' ';
    if (!list) continue;
    size_t depth = 1, end = at;
    for (; end < text.size() && depth != 0; ++end) {
      if (text[end] == '(') ++depth;
      if (text[end] == ')') --depth;
    }
    if (depth != 0 || end - at <= kDots.size() + 1) continue;
    result += kDots;
    at = end - 1;
  }
  return result.starts_with("void ") ? result.substr(5) : result;
}

// "launches_in_graphs" as "launches_", "in_", "graphs".
std::vector<std::string> pieces(const std::string& name) {
  std::vector<std::string> all(1);
  for (const char c : name) {
    all.back() += c;
    if (c == '_') all.emplace_back();
  }
  return all;
}

}  // namespace

size_t terminal_columns(std::FILE* file) noexcept {
  if (isatty(fileno(file)) == 0) return 0;
  const char* const variable = std::getenv("COLUMNS");
  const size_t columns = whole_number(variable == nullptr ? "" : variable).value_or(0);
  if (columns != 0) return columns;
  winsize size{};
  return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string shortened_name(std::string_view name, size_t most) {
  if (characters(name) <= most) return std::string(name);
  std::string simple;
  for (const int step : {0, 1}) {
    simple = simplified(name, step);
    if (characters(simple) <= most) return simple;
  }
  return shortened(simple, most);
}

std::string shortened(std::string_view text, size_t most) {
  const size_t count = characters(text);
  if (count <= most || most <= kDots.size()) return std::string(text);
  const size_t kept = most - kDots.size(), front = kept - kept / 2;
  std::string result(text.substr(0, place_of(text, front)));
  result += kDots;
  result += text.substr(place_of(text, count - kept / 2));
  return result;
}

TextTable::TextTable(std::vector<TextColumn> columns, const std::function<void(const Visit&)>& rows,
                     size_t limit, size_t indent, size_t gap)
    : columns_(std::move(columns)), indent_(indent), gap_(gap) {
  std::vector<size_t> of_cells(columns_.size());
  rows([&](const TextRow& row) {
    const size_t cells = row.size() < columns_.size() ? row.size() - 1 : row.size();
    for (size_t i = 0; i < cells; ++i) of_cells[i] = std::max(of_cells[i], characters(row[i]));
  });
  for (size_t i = 0; i < columns_.size(); ++i)
    widths_.push_back(std::max({of_cells[i], columns_[i].name.size(), columns_[i].least}));
  if (limit == 0 || total() <= limit) return;
  for (size_t i = 0; i < columns_.size(); ++i)
    widths_[i] = std::max(of_cells[i], columns_[i].name.size());
  if (total() > limit) {
    broken_ = true;
    gap_ = 1;
    for (size_t i = 0; i < columns_.size(); ++i) {
      widths_[i] = of_cells[i];
      for (const std::string& piece : pieces(columns_[i].name))
        widths_[i] = std::max(widths_[i], piece.size());
    }
  }
  while (total() > limit) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].shorten || widths_[i] <= kLeastName) continue;
      if (widest == columns_.size() || widths_[i] > widths_[widest]) widest = i;
    }
    if (widest == columns_.size()) return;
    --widths_[widest];
  }
}

size_t TextTable::total() const {
  size_t sum = indent_;
  for (const size_t width : widths_) sum += width + gap_;
  return widths_.empty() ? 0 : sum - gap_;
}

std::string TextTable::joined(const TextRow& row) const {
  std::string whole(indent_, ' ');
  for (size_t i = 0; i < row.size(); ++i) {
    if (i != 0) whole.append(gap_, ' ');
    const std::string cell = columns_[i].shorten ? shortened_name(row[i], widths_[i]) : row[i];
    const size_t length = characters(cell);
    const std::string space(length < widths_[i] ? widths_[i] - length : 0, ' ');
    whole += columns_[i].right ? space + cell : cell + space;
  }
  whole.erase(whole.find_last_not_of(' ') + 1);
  return whole;
}

std::string TextTable::heading() const {
  std::vector<std::vector<std::string>> names;
  size_t lines = 1;
  for (const TextColumn& column : columns_) {
    names.push_back(broken_ ? pieces(column.name) : std::vector{column.name});
    lines = std::max(lines, names.back().size());
  }
  std::string text;
  for (size_t line = 0; line < lines; ++line) {
    TextRow row;
    for (const std::vector<std::string>& name : names)  // the last pieces stand in the last line
      row.push_back(line + name.size() < lines ? "" : name[line + name.size() - lines]);
    text += (line == 0 ? "" : "\n") + joined(row);
  }
  return text;
}

std::string TextTable::line(const TextRow& row) const { return joined(row); }

}  // namespace gfxgraph
