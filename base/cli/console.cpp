#include "base/cli/console.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include "base/amount.h"
#include "base/cli/exit_code.h"
#include "base/cli/print.h"

namespace gfxgraph::console {
namespace {

const std::chrono::steady_clock::time_point kStart = std::chrono::steady_clock::now();

// Select Graphic Rendition, ECMA-48 8.3.117.
std::string_view rendition(Style style) {
  switch (style) {
    case Style::kHeading: return "\x1b[1m";
    case Style::kError: return "\x1b[1;31m";
    case Style::kWarning: return "\x1b[33m";
    case Style::kPlain: break;
  }
  return "";
}

// `text` went through printable().
std::string wrapped(std::FILE* file, Style style, std::string_view text) {
  const std::string_view begin = rendition(style);
  if (begin.empty() || text.empty() || !colored(file)) return std::string(text);
  return fmt::format("{}{}\x1b[0m", begin, text);
}

// In one write, so that lines of several processes do not mix.
void write_line(Style style, std::string_view text) {
  write_text(stderr,
             fmt::format("{} {}\n", wrapped(stderr, style, fmt::format("{}:", options().program)),
                         printable(text)));
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

Options& options() noexcept {
  static Options state;
  return state;
}

bool colored(std::FILE* file) noexcept {
  if (options().color != "auto") return options().color == "always";
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return ::isatty(::fileno(file)) != 0 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

std::string styled(std::FILE* file, Style style, std::string_view text) {
  return wrapped(file, style, printable(Lines{text}));
}

void write_styled(std::FILE* file, std::string_view text,
                  Style (*style_of)(std::string_view line)) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    write_text(file, wrapped(file, style_of(line), line));
    if (end < text.size()) write_text(file, "\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void heading(std::string_view text) {
  write_text(stdout, fmt::format("\n{}\n", styled(stdout, Style::kHeading, text)));
}

void error(std::string_view text) { write_line(Style::kError, text); }

void error_without_memory(std::string_view text) noexcept {
  const auto part = [](std::string_view bytes) {
    return iovec{const_cast<char*>(bytes.data()), bytes.size()};
  };
  const std::array line = {part(options().program), part(": "), part(text), part("\n")};
  (void)!::writev(STDERR_FILENO, line.data(), line.size());
}

int usage_error(std::string_view text, std::string_view hint) {
  error(text);
  print(stderr, "{}\n", hint);
  return kExitUsage;
}

void message(std::string_view text) {
  if (!options().quiet) write_line(Style::kPlain, text);
}

void detail(std::string_view text) {
  if (!options().verbose) return;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - kStart;
  write_line(Style::kPlain, fmt::format("[{:.3f} s] {}", elapsed.count(), text));
}

void finish(int code) {
  if (!options().verbose) return;
  rusage use{};
  if (::getrusage(RUSAGE_SELF, &use) != 0) return;
  detail(fmt::format("exit code {}; {:.3f} s of processor time, {} resident at most", code,
                     seconds(use.ru_utime) + seconds(use.ru_stime),
                     format_bytes(static_cast<uint64_t>(use.ru_maxrss) * 1024)));
}

}  // namespace gfxgraph::console
