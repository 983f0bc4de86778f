// The life of the recorded process: how the recorder starts, ends, and how programs that look HIP's
// functions up at run time are seen.
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "recorder/hooks_internal.h"

namespace gfxgraph::recorder {

thread_local int hook_depth = 0;

namespace {

pid_t recorded_process = 0;

void finish_at_exit() { recorder().finish(); }

// After the first call that the program made: whatever the runtime set up for it is destroyed after
// this handler ran, and the module destructors of clang's host code as well.
void arrange_exit() noexcept {
  static std::atomic<bool> arranged{false};
  if (arranged.load(std::memory_order_relaxed)) [[likely]]
    return;
  if (!arranged.exchange(true)) (void)std::atexit(finish_at_exit);
}

// In a child of vfork() or posix_spawn() the memory is still the parent's.
bool own_process() noexcept { return recorded_process != 0 && getpid() == recorded_process; }

void finish_if_own() noexcept {
  if (own_process()) recorder().finish();
}

void forked_child() { recorder().abandon(); }

template <typename Function>
Function next(const char* name) noexcept {
  return reinterpret_cast<Function>(preload::call_dlsym(preload::system_dlsym(), RTLD_NEXT, name));
}

}  // namespace

Recorder& recorder() noexcept {
  static Recorder* const instance = [] {
    set_log_level(LogLevel::kOff);  // the process's stderr is not ours
    auto* made = new Recorder(options_from_environment(), make_hip_device());
    recorded_process = getpid();
    (void)pthread_atfork(nullptr, nullptr, forked_child);
    return made;
  }();
  return *instance;
}

Scope::~Scope() {
  --hook_depth;
  if (record && !registration_) arrange_exit();
}

}  // namespace gfxgraph::recorder

using namespace gfxgraph::recorder;

// Called by trampolines.S; gives the function to jump to.
extern "C" __attribute__((visibility("hidden"))) void* gfxgraph_note_unsupported(int index) {
  static hipError_t (*const missing)() = [] { return hipErrorNotSupported; };
  if (hook_depth == 0 && recorder().active()) {
    recorder().note_incomplete(display_name(index));
  }
  void* function = real_function(index);
  return function != nullptr ? function : reinterpret_cast<void*>(missing);
}

// ---- look-ups at run time -----------------------------------------------------------------------

extern "C" __attribute__((visibility("hidden"))) gfxgraph::preload::DlsymAnswer
gfxgraph_resolve_dlsym(void* handle, const char* name) {
  using gfxgraph::preload::DlsymAnswer;
  if (name == nullptr || !gfxgraph::preload::may_be_hip(name)) {
    return {reinterpret_cast<void*>(gfxgraph::preload::system_dlsym()), 0};
  }
  const DlsymAnswer ask_the_next_one{reinterpret_cast<void*>(hip_dlsym()), 0};
  const int index = find_call(name);
  if (handle == RTLD_NEXT || index < 0 || hook_function(index) == nullptr) return ask_the_next_one;
  // The hook exists whether or not the runtime has the function: only the runtime's answer counts.
  if (handle == RTLD_DEFAULT) {
    return {real_function(index) == nullptr ? nullptr : hook_function(index), 1};
  }
  void* found = gfxgraph::preload::call_dlsym(hip_dlsym(), handle, name);
  if (found == nullptr) return {nullptr, 1};
  learn_real_function(index, found);
  return {hook_function(index), 1};
}

namespace {

// A function pointer that the runtime hands out itself.
void hook_pointer(const char* name, void** function, bool per_thread) {
  if (name == nullptr || function == nullptr || *function == nullptr) return;
  int index = find_call(name);
  char variant_name[128];
  const int length = std::snprintf(variant_name, sizeof(variant_name), "%s_spt", name);
  if (per_thread && length > 0 && static_cast<size_t>(length) < sizeof(variant_name)) {
    const int variant = find_call(variant_name);
    if (variant >= 0) index = variant;
  }
  if (index < 0 || hook_function(index) == nullptr) return;
  learn_real_function(index, *function);
  *function = hook_function(index);
}

constexpr uint64_t kPerThreadDefaultStream = 2;  // HIP_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

}  // namespace

GFXGRAPH_HOOK hipError_t hipGetProcAddress(const char* name, void** function, int version,
                                           uint64_t flags, void* status) {
  const Scope scope;
  const hipError_t result = real(kCall_hipGetProcAddress, name, function, version, flags, status);
  if (result == hipSuccess) hook_pointer(name, function, flags == kPerThreadDefaultStream);
  return result;
}
GFXGRAPH_HOOK hipError_t hipGetDriverEntryPoint(const char* name, void** function,
                                                unsigned long long flags, void* status) {
  const Scope scope;
  const hipError_t result = real(kCall_hipGetDriverEntryPoint, name, function, flags, status);
  if (result == hipSuccess) hook_pointer(name, function, flags == kPerThreadDefaultStream);
  return result;
}
GFXGRAPH_HOOK hipError_t hipGetDriverEntryPoint_spt(const char* name, void** function,
                                                    unsigned long long flags, void* status) {
  const Scope scope;
  const hipError_t result = real(kCall_hipGetDriverEntryPoint_spt, name, function, flags, status);
  if (result == hipSuccess) hook_pointer(name, function, true);
  return result;
}

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
// The runtime aborts on a device fault: no device call is possible, but what was seen is kept.
GFXGRAPH_HOOK void abort() noexcept {
  if (own_process()) recorder().flush();
  next<void (*)()>("abort")();
  __builtin_unreachable();
}

GFXGRAPH_HOOK int execve(const char* path, char* const argv[], char* const environment[]) noexcept {
  finish_if_own();
  return next<int (*)(const char*, char* const*, char* const*)>("execve")(path, argv, environment);
}
GFXGRAPH_HOOK int execv(const char* path, char* const argv[]) noexcept {
  finish_if_own();
  return next<int (*)(const char*, char* const*)>("execv")(path, argv);
}
GFXGRAPH_HOOK int execvp(const char* file, char* const argv[]) noexcept {
  finish_if_own();
  return next<int (*)(const char*, char* const*)>("execvp")(file, argv);
}
GFXGRAPH_HOOK int execvpe(const char* file, char* const argv[],
                          char* const environment[]) noexcept {
  finish_if_own();
  return next<int (*)(const char*, char* const*, char* const*)>("execvpe")(file, argv, environment);
}
GFXGRAPH_HOOK int fexecve(int file, char* const argv[], char* const environment[]) noexcept {
  finish_if_own();
  return next<int (*)(int, char* const*, char* const*)>("fexecve")(file, argv, environment);
}

namespace {

// The rest of an execl's arguments, null included.
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
