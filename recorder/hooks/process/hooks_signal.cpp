// The functions by which a program sets and queries its signal handlers: hide the handler of
// end_signals.h from it.
#include <signal.h>

#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/queue/end_signals.h"

using namespace gfxgraph::recorder;

namespace {

SignalHandler set_by(const char* function, int signal, SignalHandler handler) noexcept {
  const auto set = reinterpret_cast<SignalHandler (*)(int, SignalHandler)>(libc_function(function));
  if (set == nullptr) return SIG_ERR;
  return visible_handler(set(signal, installed_handler(signal, handler)));
}

}  // namespace

GFXGRAPH_HOOK int sigaction(int signal, const struct sigaction* action,
                            struct sigaction* old) noexcept {
  using Function = int (*)(int, const struct sigaction*, struct sigaction*);
  // Programs call it in signal handlers and after fork().
  static constinit std::atomic<Function> cached{nullptr};
  Function set = cached.load(std::memory_order_relaxed);
  if (set == nullptr) {
    set = reinterpret_cast<Function>(libc_function("sigaction"));
    cached.store(set, std::memory_order_relaxed);
  }
  struct sigaction replaced{};
  if (action != nullptr && (action->sa_flags & SA_SIGINFO) == 0) {
    replaced = *action;
    replaced.sa_handler = installed_handler(signal, action->sa_handler);
    action = &replaced;
  }
  const int result = set(signal, action, old);
  if (result == 0 && old != nullptr) old->sa_handler = visible_handler(old->sa_handler);
  return result;
}
GFXGRAPH_HOOK SignalHandler signal(int signal, SignalHandler handler) noexcept {
  return set_by("signal", signal, handler);
}
GFXGRAPH_HOOK SignalHandler ssignal(int signal, SignalHandler handler) noexcept {
  return set_by("ssignal", signal, handler);
}
GFXGRAPH_HOOK SignalHandler bsd_signal(int signal, SignalHandler handler) noexcept {
  return set_by("signal", signal, handler);
}
GFXGRAPH_HOOK SignalHandler sysv_signal(int signal, SignalHandler handler) noexcept {
  return set_by("sysv_signal", signal, handler);
}
GFXGRAPH_HOOK SignalHandler __sysv_signal(int signal, SignalHandler handler) noexcept {
  return set_by("__sysv_signal", signal, handler);
}
