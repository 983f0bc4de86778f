#include "base/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/cli/console.h"
#include "base/cli/print.h"

namespace gfxgraph {
namespace {

constexpr std::chrono::milliseconds kBetween(100);
// To the beginning of the line, and erases it.
constexpr std::string_view kErase = "\r\x1b[K";

}  // namespace

std::string progress_text(std::string_view text, uint64_t done, uint64_t total,
                          std::chrono::duration<double> elapsed) {
  std::string line = fmt::format("{} {} of {}", text, done, total);
  if (done == 0 || elapsed.count() <= 0) return line;
  const double rate = static_cast<double>(done) / elapsed.count();
  line += fmt::format(", {:.1f} per second", rate);
  if (total > done)
    line += fmt::format(", {:.0f} s left", static_cast<double>(total - done) / rate);
  return line;
}

bool ProgressLine::on_terminal() noexcept { return ::isatty(STDERR_FILENO) != 0; }

bool ProgressLine::listens() const { return shown_ || console::options().verbose; }

// --verbose: once for each piece of work.
void ProgressLine::tell(std::string_view text) {
  if (!console::options().verbose || text == told_) return;
  told_ = text;
  clear();
  console::detail(text);
}

bool ProgressLine::due(std::string_view text) {
  if (!shown_) return false;
  // A number in the text is how far the work has come.
  const std::string_view work = text.substr(0, text.find_first_of("0123456789"));
  const auto now = std::chrono::steady_clock::now();
  const bool begins = !line_ || work != work_;
  if (!begins && now - last_ < kBetween) return false;
  if (work != work_) {
    work_ = work;
    begin_ = now;
  }
  last_ = now;
  return true;
}

void ProgressLine::draw(std::string_view text) {
  clear();
  print(stderr, "{}: {} ...", console::options().program, text);
  std::fflush(stderr);
  line_ = true;
}

void ProgressLine::at(std::string_view text) {
  tell(text);
  if (due(text)) draw(text);
}

void ProgressLine::at(std::string_view text, uint64_t done, uint64_t total) {
  tell(text);
  if (due(text)) draw(progress_text(text, done, total, last_ - begin_));
}

void ProgressLine::found(std::string_view text) {
  if (!listens()) return;
  clear();
  console::message(text);
}

void ProgressLine::clear() {
  if (line_) write_text(stderr, kErase);
  line_ = false;
}

}  // namespace gfxgraph
