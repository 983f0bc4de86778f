// Ctrl-C while gfxgraph-replay measures: what was measured until then is reported.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <string_view>

namespace gfxgraph::replayer {

// Of a replay that Ctrl-C ended before all runs were made; those that were are reported.
inline constexpr int kExitInterrupted = 130;

// While it lives, SIGINT ends the process with a line that says that there is no result. Until
// an InterruptWatch takes over.
class InterruptNotice {
 public:
  InterruptNotice() {
    struct sigaction action{};
    action.sa_handler = [](int) {
      static volatile sig_atomic_t said = 0;
      if (said != 0) return;
      said = 1;
      constexpr std::string_view kText =
          "gfxgraph-replay: interrupted before the first timed run; nothing was measured\n";
      if (::isatty(STDERR_FILENO) != 0) (void)!::write(STDERR_FILENO, "\r\033[K", 4);
      (void)!::write(STDERR_FILENO, kText.data(), kText.size());
      (void)::signal(SIGINT, SIG_DFL);
      (void)::raise(SIGINT);  // ends the process when this returns
    };
    action.sa_flags = SA_RESTART;
    struct sigaction before{};
    const bool ignored = ::sigaction(SIGINT, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    set_ = !ignored && ::sigaction(SIGINT, &action, &before_) == 0;
  }
  ~InterruptNotice() {
    if (set_) (void)::sigaction(SIGINT, &before_, nullptr);
  }
  InterruptNotice(const InterruptNotice&) = delete;
  InterruptNotice& operator=(const InterruptNotice&) = delete;

 private:
  bool set_ = false;
  struct sigaction before_{};
};

// While it lives, the first SIGINT only ends the loop of runs, and the second one the process. One
// at a time.
class InterruptWatch {
 public:
  InterruptWatch() {
    interrupted_ = 0;
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted_ = 1; };
    action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    struct sigaction before{};
    const bool ignored = ::sigaction(SIGINT, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    set_ = !ignored && ::sigaction(SIGINT, &action, &before_) == 0;
  }
  ~InterruptWatch() {
    if (set_) (void)::sigaction(SIGINT, &before_, nullptr);
  }
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  bool interrupted() const { return interrupted_ != 0; }

 private:
  static inline volatile sig_atomic_t interrupted_ = 0;
  bool set_ = false;
  struct sigaction before_{};
};

}  // namespace gfxgraph::replayer
