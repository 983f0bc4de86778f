#include "recorder/queue/end_signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "base/process/preload.h"

namespace gfxgraph::recorder {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kUnusedSignalCode = 128;

using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);

constinit std::atomic<Sigaction> real_sigaction{nullptr};  // set before a handler is
constinit std::atomic<bool> watching{false};
constinit std::atomic<int> pending{0};
constinit std::atomic<time_t> pending_since{0};
constinit std::atomic<bool> keeping{false};
constinit std::atomic<bool> keep_asked{false};

time_t seconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

void on_end_signal(int signal) {
  const int error = errno;
  int none = 0;
  if (!watching.load()) die_by(signal);
  if (pending.compare_exchange_strong(none, signal)) {
    pending_since.store(seconds());
  } else if (seconds() - pending_since.load() > 1) {
    die_by(signal);  // asked for again: no more waiting
  }
  errno = error;
}

void on_keep_signal(int) { keep_asked.store(true); }

void stand_in(Sigaction set, int signal, SignalHandler handler) {
  struct sigaction now{};
  if (set(signal, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  struct sigaction ours{};
  ours.sa_handler = handler;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  (void)set(signal, &ours, nullptr);
}

void restore(Sigaction set, int signal, SignalHandler handler) {
  struct sigaction now{};
  if (set(signal, nullptr, &now) != 0 || now.sa_handler != handler) return;
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  (void)set(signal, &standard, nullptr);
}

}  // namespace

void* libc_function(const char* name) noexcept {
  return preload::call_dlsym(preload::system_dlsym(), RTLD_NEXT, name);
}

void watch_end_signals(bool keep) noexcept {
  const auto set = reinterpret_cast<Sigaction>(libc_function("sigaction"));
  if (set == nullptr) return;
  real_sigaction.store(set);
  watching.store(true);
  for (const int signal : kSignals) stand_in(set, signal, on_end_signal);
  if (!keep) return;
  keeping.store(true);
  stand_in(set, SIGUSR2, on_keep_signal);
}

void unwatch_end_signals() noexcept {
  const Sigaction set = real_sigaction.load();
  if (!watching.exchange(false) || set == nullptr) return;
  for (const int signal : kSignals) restore(set, signal, on_end_signal);
}

void forget_signals() noexcept {
  unwatch_end_signals();
  const Sigaction set = real_sigaction.load();
  keep_asked.store(false);
  if (keeping.exchange(false) && set != nullptr) restore(set, SIGUSR2, on_keep_signal);
}

bool keep_wanted() noexcept { return keep_asked.load(std::memory_order_relaxed); }
bool take_keep() noexcept { return keep_asked.exchange(false); }

int pending_end_signal() noexcept { return pending.load(std::memory_order_relaxed); }

void die_by(int signal) noexcept {
  if (const Sigaction set = real_sigaction.load(); set != nullptr) {
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    (void)set(signal, &standard, nullptr);
  }
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  (void)::kill(::getpid(), signal);
  ::sleep(1);  // not reached, unless the program set a handler just now
  ::_exit(kUnusedSignalCode + signal);
}

SignalHandler installed_handler(int signal, SignalHandler wanted) noexcept {
  if (wanted != SIG_DFL) return wanted;
  if (signal == SIGUSR2 && keeping.load()) return on_keep_signal;
  if (!watching.load()) return wanted;
  for (const int watched : kSignals) {
    if (signal == watched) return on_end_signal;
  }
  return wanted;
}

SignalHandler visible_handler(SignalHandler installed) noexcept {
  return installed == on_end_signal || installed == on_keep_signal ? SIG_DFL : installed;
}

}  // namespace gfxgraph::recorder
