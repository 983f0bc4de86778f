// The life of the recorded process: how the recorder starts and ends.
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "base/log.h"
#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/process/exec_trial.h"
#include "recorder/hooks/runtime/unknown_calls.h"
#include "recorder/queue/end_signals.h"

namespace gfxgraph::recorder {

thread_local int hook_depth = 0;
thread_local int host_function_depth = 0;
thread_local Learned learned;
thread_local FailedCall failed_call;

namespace {

pid_t recorded_process = 0;

void finish(Recorder::Ends ends = Recorder::Ends::kForGood) noexcept {
  tell_nested();
  recorder().finish(ends);
}

void finish_at_exit() { finish(); }

// In a child of vfork() or posix_spawn() the memory still belongs to the parent.
bool own_process() noexcept { return recorded_process != 0 && getpid() == recorded_process; }

void finish_if_own() noexcept {
  if (own_process()) finish();
}

// A child of a process that has not used the device yet may be the one that does.
void forked_child() {
  forget_signals();
  if (recorder().abandon()) return;
  recorded_process = getpid();
}

template <typename Function>
Function next(const char* name) noexcept {
  return reinterpret_cast<Function>(preload::call_dlsym(preload::system_dlsym(), RTLD_NEXT, name));
}

}  // namespace

constinit std::atomic<Recorder*> made_recorder{nullptr};

Recorder& make_recorder() noexcept {
  const NoCancel own;
  static Recorder* const instance = [] {
    set_log_level(LogLevel::kOff);  // the process's stderr is not ours
    // A program without memory for it ends here.
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
    auto* made = new Recorder(options_from_environment(), make_hip_device());
    recorded_process = getpid();
    (void)pthread_atfork(nullptr, nullptr, forked_child);
    made_recorder.store(made, std::memory_order_release);
    return made;
  }();
  return *instance;
}

void arrange_exit() noexcept {
  static std::atomic<bool> arranged{false};
  if (arranged.load(std::memory_order_relaxed)) [[likely]]
    return;
  if (!arranged.exchange(true)) (void)std::atexit(finish_at_exit);
}

void tell_learned() noexcept {
  if (learned.index < 0) return;
  const Learned now = learned;
  learned.index = -1;
  const std::string_view call = display_name(now.index);
  const auto tell = [&](format::SynchronizeKind kind, Handle object) {
    recorder().streams().synchronized(kind, object, call);
  };
  switch (now.knows) {
    case Knows::NOTHING:
    case Knows::STREAMS: return;  // the hook tells it
    case Knows::DEVICE: return tell(format::SynchronizeKind::kDevice, nullptr);
    case Knows::STREAM:
    case Knows::BY_ARGUMENT:
      return tell(format::SynchronizeKind::kStream,
                  call.ends_with("_spt") ? per_thread_key(now.stream) : stream_key(now.stream));
    case Knows::EVENT:
      for (hipEvent_t event : now.events) {
        if (event != nullptr) tell(format::SynchronizeKind::kEvent, event);
      }
  }
}

void note_unrecorded(int index) noexcept {
  if (hook_depth == 1 && gives_work(index)) recorder().unrecorded_work(display_name(index));
}

void note_cancelled(int index) noexcept {
  if (hook_depth != 1 || !learned.open) return;
  learned.index = -1;
  recorder().note_incomplete(
      display_name(index),
      "its thread was cancelled during the call: whether it was done is not known");
}

constinit std::atomic<int> nested_call{-1};
thread_local bool nested_by_program = false;

void note_nested(int index) noexcept {
  if (!recorder().active()) return;
  int none = -1;
  nested_call.compare_exchange_strong(none, index, std::memory_order_relaxed);
}

void tell_nested() noexcept {
  const int index = nested_call.exchange(-1, std::memory_order_relaxed);
  if (index < 0) return;
  const std::string_view name =
      index < kCallCount ? display_name(index) : unknown_call_name(index - kCallCount);
  recorder().note_incomplete(name,
                             "called within another HIP call, as by a signal handler, or after a "
                             "jump out of one: what it did is not in the trace");
}

std::string_view error_name(hipError_t error) noexcept {
  void* const function = real_function(kCall_hipGetErrorName);
  const char* const name = function == nullptr
                               ? nullptr
                               : reinterpret_cast<const char* (*)(hipError_t)>(function)(error);
  return name == nullptr ? "an unknown error" : name;
}

void tell_failed(const RawAction* raw) noexcept {
  const FailedCall now = std::exchange(failed_call, {});
  if (now.index >= 0)
    recorder().faults().happened(display_name(now.index), error_name(now.error), raw);
}

[[gnu::hot]] Scope::~Scope() noexcept(false) {
  if (record) {
    if (failed_call.index >= 0) [[unlikely]]
      tell_failed();
    tell_learned();
    learned.open = false;
    program_call = nullptr;
    if (CallGate* const gate = recorder().gate()) gate->leave();
    if (nested_call.load(std::memory_order_relaxed) >= 0) [[unlikely]]
      tell_nested();
  }
  if (record && !registration_) {
    arrange_exit();
    call_ends();
  }
  // Last: what a signal handler calls until here is a call within this one, which takes no lock.
  --hook_depth;
}

}  // namespace gfxgraph::recorder

using namespace gfxgraph::recorder;

// ---- the end of the process ---------------------------------------------------------------------

GFXGRAPH_HOOK void _exit(int status) {
  finish_if_own();
  next<void (*)(int)>("_exit")(status);
  __builtin_unreachable();
}
GFXGRAPH_HOOK void _Exit(int status) noexcept {
  finish_if_own();
  next<void (*)(int)>("_Exit")(status);
  __builtin_unreachable();
}
GFXGRAPH_HOOK void quick_exit(int status) noexcept {
  finish_if_own();
  next<void (*)(int)>("quick_exit")(status);
  __builtin_unreachable();
}
// The runtime aborts on a device fault: device calls are impossible, but recorded data is kept.
GFXGRAPH_HOOK void abort() noexcept {
  if (own_process()) recorder().flush();
  next<void (*)()>("abort")();
  __builtin_unreachable();
}

namespace {

// The recording ends before a call that replaces the program, if it will.
template <typename... Args>
int execute(const char* name, Args... args) noexcept {
  const auto function = next<int (*)(Args...)>(name);
  auto call = [&] { return function(args...); };
  using Call = decltype(call);
  if (own_process() && recorder().active() && recorder().began()) {
    const NoCancel own;
    const auto attempt = [](void* data) { (void)(*static_cast<Call*>(data))(); };
    if (try_exec(attempt, &call) != Trial::kWouldFail) {
      finish(Recorder::Ends::kWithExec);
    }
  }
  return call();
}

}  // namespace

GFXGRAPH_HOOK int execve(const char* path, char* const argv[], char* const environment[]) noexcept {
  return execute("execve", path, argv, environment);
}
GFXGRAPH_HOOK int execv(const char* path, char* const argv[]) noexcept {
  return execute("execv", path, argv);
}
GFXGRAPH_HOOK int execvp(const char* file, char* const argv[]) noexcept {
  return execute("execvp", file, argv);
}
GFXGRAPH_HOOK int execvpe(const char* file, char* const argv[],
                          char* const environment[]) noexcept {
  return execute("execvpe", file, argv, environment);
}
GFXGRAPH_HOOK int fexecve(int file, char* const argv[], char* const environment[]) noexcept {
  return execute("fexecve", file, argv, environment);
}
GFXGRAPH_HOOK int execveat(int folder, const char* path, char* const argv[],
                           char* const environment[], int flags) noexcept {
  return execute("execveat", folder, path, argv, environment, flags);
}

namespace {

// The remaining arguments of execl, including null.
std::vector<char*> collect(const char* first, va_list arguments) {
  std::vector<char*> argv{const_cast<char*>(first)};
  while (argv.back() != nullptr) argv.push_back(va_arg(arguments, char*));
  return argv;
}

}  // namespace

GFXGRAPH_HOOK int execl(const char* path, const char* first, ...) noexcept {
  va_list arguments;
  va_start(arguments, first);
  const std::vector<char*> argv = collect(first, arguments);
  va_end(arguments);
  return execv(path, argv.data());
}
GFXGRAPH_HOOK int execlp(const char* file, const char* first, ...) noexcept {
  va_list arguments;
  va_start(arguments, first);
  const std::vector<char*> argv = collect(first, arguments);
  va_end(arguments);
  return execvp(file, argv.data());
}
GFXGRAPH_HOOK int execle(const char* path, const char* first, ...) noexcept {
  va_list arguments;
  va_start(arguments, first);
  const std::vector<char*> argv = collect(first, arguments);
  char* const* environment = va_arg(arguments, char* const*);
  va_end(arguments);
  return execve(path, argv.data(), environment);
}
