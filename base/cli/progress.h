// Progress of a long command: one line on stderr, overwritten in place, on terminals only. With
// --verbose each piece of work is also a line that stays (console::detail), on any stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace gfxgraph {

// "checking launch 120 of 5000, 34.2 per second, 143 s left". Rate and remaining time are averages
// over the work so far; both are omitted before anything is done.
std::string progress_text(std::string_view text, uint64_t done, uint64_t total,
                          std::chrono::duration<double> elapsed);

// Not thread-safe.
class ProgressLine {
 public:
  // Without `shown` there is no line.
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether stderr is a terminal.
  static bool on_terminal() noexcept;
  bool shown() const { return shown_; }
  // Whether it prints anything.
  bool listens() const;

  // Replaces the line; at most ten times a second, unless `text` begins a new piece of work:
  // differs before its first digit.
  void at(std::string_view text);
  void at(std::string_view text, uint64_t done, uint64_t total);
  // A line that stays.
  void found(std::string_view text);
  // Before anything else is printed.
  void clear();

 private:
  bool due(std::string_view text);
  void draw(std::string_view text);
  void tell(std::string_view text);

  bool shown_;
  bool line_ = false;                              // is on the terminal
  std::string work_;                               // of the line
  std::string told_;                               // the work that --verbose named last
  std::chrono::steady_clock::time_point begin_{};  // of that work
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace gfxgraph
