// Ctrl-C while gfxgraph-replay measures: what was measured until then is reported.
#pragma once

#include <signal.h>

namespace gfxgraph::replayer {

// Of a replay that Ctrl-C ended before all runs were made; those that were are reported.
inline constexpr int kExitInterrupted = 130;

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
