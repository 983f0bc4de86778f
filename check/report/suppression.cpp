#include "check/report/suppression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/cli/kernel_glob.h"
#include "base/cli/print.h"
#include "base/demangle.h"

namespace gfxgraph::check {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Takes the next word, or what is in quotes, off the front. Nothing: a quote is not closed.
std::optional<std::string_view> take_word(std::string_view& rest) {
  rest = trim(rest);
  const bool quoted = rest.starts_with('"');
  const size_t end = quoted ? rest.find('"', 1) : std::min(rest.find_first_of(kBlank), rest.size());
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view word = quoted ? rest.substr(1, end - 1) : rest.substr(0, end);
  rest = rest.substr(quoted ? end + 1 : end);
  return word;
}

// What is wrong; "": nothing.
std::string parse_line(std::string_view line, Suppression& out) {
  std::string_view rest = line;
  const auto class_word = take_word(rest);
  const std::optional<FindingClass> found =
      class_word ? find_class(*class_word) : std::optional<FindingClass>();
  if (!found) {
    return format_printable("'{}' is not a class of findings, like E2 or past-the-end",
                            class_word.value_or(trim(line)));
  }
  out.finding_class = *found;
  const auto kernel = take_word(rest);
  if (!kernel) return "a quote is not closed";
  if (kernel->empty() || *kernel == "--") return "the kernel is missing; '*' matches every kernel";
  out.kernel = *kernel;
  auto word = take_word(rest);
  if (!word) return "a quote is not closed";
  if (*word != "--" && !word->empty()) {
    const size_t colon = word->rfind(':');
    const std::string_view digits =
        colon == std::string_view::npos ? std::string_view() : word->substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), out.line);
    if (colon == 0 || error != std::errc() || end != digits.data() + digits.size() ||
        out.line == 0) {
      return format_printable("'{}' is not a place; expected FILE:LINE, or -- and a reason", *word);
    }
    out.file = word->substr(0, colon);
    word = take_word(rest);
  }
  out.reason = trim(rest);
  if (!word || *word != "--" || out.reason.empty())
    return "the reason is missing; expected -- and why the finding is accepted";
  return "";
}

// Whether `path` ends with `file`, in whole parts.
bool ends_with_path(std::string_view path, std::string_view file) {
  if (!path.ends_with(file)) return false;
  return path.size() == file.size() || file.starts_with('/') ||
         path[path.size() - file.size() - 1] == '/';
}

bool matches(const Suppression& suppression, const Finding& finding, const std::string& readable) {
  if (suppression.finding_class != finding.finding_class) return false;
  if (!matches_kernel(suppression.kernel, finding.kernel, readable)) return false;
  if (suppression.file.empty()) return true;
  return finding.source && finding.source->line == suppression.line &&
         ends_with_path(finding.source->file, suppression.file);
}

}  // namespace

Result<std::vector<Suppression>> parse_suppressions(std::string_view text,
                                                    const std::string& name) {
  std::vector<Suppression> result;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    Suppression suppression;
    suppression.where = fmt::format("{}:{}", name, number);
    if (const std::string wrong = parse_line(line, suppression); !wrong.empty())
      return fail(Status::kInvalidArgument, suppression.where + ": " + wrong);
    result.push_back(std::move(suppression));
  }
  return result;
}

void apply_suppressions(const std::vector<Suppression>& suppressions, Report& report) {
  std::vector<bool> used;
  suppress(suppressions, report, used);
  note_unused(suppressions, used, report);
}

void suppress(const std::vector<Suppression>& suppressions, Report& report,
              std::vector<bool>& used) {
  used.resize(suppressions.size());
  for (Finding& finding : report.findings) {
    const std::string readable = demangle(finding.kernel);
    for (size_t n = 0; n < suppressions.size(); ++n) {
      if (!matches(suppressions[n], finding, readable)) continue;
      used[n] = true;
      if (finding.suppressed_by.empty()) finding.suppressed_by = suppressions[n].reason;
    }
  }
}

void note_unused(const std::vector<Suppression>& suppressions, const std::vector<bool>& used,
                 Report& report, const char* where) {
  for (size_t n = 0; n < suppressions.size(); ++n) {
    if (used[n]) continue;
    report.notes.push_back(
        fmt::format("{}: suppresses nothing in {}", suppressions[n].where, where));
  }
}

}  // namespace gfxgraph::check
