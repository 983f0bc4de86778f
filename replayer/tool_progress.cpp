#include "replayer/tool_progress.h"

#include "base/print.h"

namespace gfxgraph::replayer {
namespace {

constexpr std::chrono::milliseconds kBetween(100);
// To the beginning of the line, and erases it.
constexpr std::string_view kErase = "\r\x1b[K";

}  // namespace

void ToolProgress::at(std::string_view text) {
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || now - last_ < kBetween) return;
  last_ = now;
  clear();
  print(stderr, "gfxgraph-replay: {} ...", text);
  std::fflush(stderr);
  line_ = true;
}

void ToolProgress::found(std::string_view text) {
  if (!shown_) return;
  clear();
  print(stderr, "gfxgraph-replay: {}\n", text);
}

void ToolProgress::clear() {
  if (line_) write_text(stderr, kErase);
  line_ = false;
}

Progress ToolProgress::listener() {
  if (!shown_) return {};
  return {[this](const std::string& text) { at(text); },
          [this](const std::string& text) { found(text); }};
}

}  // namespace gfxgraph::replayer
