#include "capture/calls.h"

#include <dlfcn.h>

#include <cstring>

#define GFXGRAPH_CAPTURE_CALL(rule, name, ...) \
  extern "C" __attribute__((visibility("default"))) void gfxgraph_capture_##name() __asm__(#name);
#include "capture/calls.inc"
#undef GFXGRAPH_CAPTURE_CALL

namespace gfxgraph::capture {
namespace {

consteval CallRow row(const char* name, CallRule rule, int stream_argument = -1) {
  return (rule == CallRule::STREAM) == (stream_argument >= 0)
             ? CallRow{name, rule, static_cast<int8_t>(stream_argument)}
             : throw "calls.inc: rows with the rule STREAM, and only those, name the stream's argument";
}

}  // namespace

constinit const CallRow kCallRows[kCallCount] = {
#define GFXGRAPH_CAPTURE_CALL(rule, name, ...) \
  row(#name, CallRule::rule __VA_OPT__(, ) __VA_ARGS__),
#include "capture/calls.inc"
#undef GFXGRAPH_CAPTURE_CALL
};

namespace {

void* const kHooks[kCallCount] = {
#define GFXGRAPH_CAPTURE_CALL(rule, name, ...) reinterpret_cast<void*>(&gfxgraph_capture_##name),
#include "capture/calls.inc"
#undef GFXGRAPH_CAPTURE_CALL
};

}  // namespace

constinit std::atomic<void*> real_functions[kCallCount];

void* hook_function(int index) noexcept { return kHooks[index]; }

int find_call(std::string_view name) noexcept {
  for (int i = 0; i < kCallCount; ++i) {
    if (name == kCallRows[i].name) return i;
  }
  return -1;
}

const char* display_name(int index) noexcept {
  const char* const name = kCallRows[index].name;
  if (std::strncmp(name, "_Z", 2) != 0) return name;
  return std::strstr(name, "Hcc") != nullptr ? "hipHccModuleLaunchKernel"
                                             : "hipExtModuleLaunchKernel";
}

void* runtime_function(const char* name) noexcept {
  void* const found = preload::find_hip_function(preload::next_dlsym(), name);
  // Libraries behind this one have hooks for what some runtimes lack: only their own look-up tells.
  if (find_call(name) >= 0 &&
      preload::call_dlsym(preload::next_dlsym(), RTLD_DEFAULT, name) == nullptr)
    return nullptr;
  return found;
}

void* find_real_function(int index) noexcept {
  void* const function = runtime_function(kCallRows[index].name);
  if (function != nullptr) real_functions[index].store(function, std::memory_order_release);
  return function;
}

void learn_real_function(int index, void* function) noexcept {
  if (function == hook_function(index)) return;
  preload::keep_loaded(function);
  void* expected = nullptr;
  real_functions[index].compare_exchange_strong(expected, function);
}

}  // namespace gfxgraph::capture
