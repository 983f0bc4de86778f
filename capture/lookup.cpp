// The doors to the layer that are no calls by link: look-ups at run time, and the calls of
// trampolines.S, which are passed on or refused.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "capture/executables.h"
#include "capture/hooks_internal.h"
#include "capture/newer_hip.h"

using namespace gfxgraph::capture;

namespace {

// What a refused call goes on with: a function that returns the error.
template <hipError_t kError>
hipError_t fails() {
  return kError;
}
void* function_that_fails(Answer answer) noexcept {
  switch (static_cast<hipError_t>(answer)) {
    case hipErrorStreamCaptureImplicit:
      return reinterpret_cast<void*>(&fails<hipErrorStreamCaptureImplicit>);
    case hipErrorStreamCaptureInvalidated:
      return reinterpret_cast<void*>(&fails<hipErrorStreamCaptureInvalidated>);
    default: return reinterpret_cast<void*>(&fails<hipErrorStreamCaptureUnsupported>);
  }
}

// `registers`: the six integer arguments; `stack`: what follows them.
Answer answer_of(int index, const uint64_t* registers, const uint64_t* stack) {
  switch (kCallRows[index].rule) {
    case CallRule::HOOK:
    case CallRule::GRAPH:
    case CallRule::EXEC: break;
    case CallRule::UNSAFE: return captures().unsafe(this_thread());
    case CallRule::LEGACY: return captures().unsafe(this_thread(), Answer::kImplicit);
    case CallRule::DEVICE: return captures().waits_for_device();
    case CallRule::STREAM: {
      const auto at =
          static_cast<uint8_t>(kCallRows[index].stream_argument);  // a row of STREAM has one
      const uint64_t stream = at < 6 ? registers[at] : stack[at - 6];
      Captures::Work work = captures().work_on(key_of(reinterpret_cast<hipStream_t>(stream)));
      if (!work.captured()) return work.refused();
      work.failed();
      return Answer::kUnsupported;
    }
  }
  return Answer::kSuccess;
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) void* gfxgraph_capture_enter(
    int index, const uint64_t* registers, const uint64_t* stack) {
  const CallRule rule = kCallRows[index].rule;
  if (rule == CallRule::GRAPH && inside == 0) executables().before_change();
  if (rule == CallRule::EXEC && inside == 0)
    executables().changed(reinterpret_cast<hipGraphExec_t>(registers[0]));
  if (capturing()) {
    const Answer answer = answer_of(index, registers, stack);
    if (answer != Answer::kSuccess) {
      (void)answered(index, answer,
                     rule == CallRule::STREAM && answer == Answer::kUnsupported
                         ? "no node of a graph expresses it"
                         : nullptr);
      return function_that_fails(answer);
    }
  }
  void* const function = real_function(index);
  return function != nullptr ? function : reinterpret_cast<void*>(&fails<hipErrorNotSupported>);
}

extern "C" __attribute__((visibility("hidden"))) gfxgraph::preload::DlsymAnswer
gfxgraph_capture_dlsym(void* handle, const char* name, const char*, const void*) {
  using gfxgraph::preload::DlsymAnswer;
  const DlsymAnswer ask_the_next_one{reinterpret_cast<void*>(gfxgraph::preload::next_dlsym()), 0};
  if (name == nullptr || handle == RTLD_NEXT || !gfxgraph::preload::may_be_hip(name))
    return ask_the_next_one;
  const int index = find_call(name);
  if (index < 0) return ask_the_next_one;
  // The hook exists whether or not the runtime has the function: only the runtime's result counts.
  if (handle == RTLD_DEFAULT)
    return {real_function(index) == nullptr ? nullptr : hook_function(index), 1};
  void* const found = gfxgraph::preload::call_dlsym(gfxgraph::preload::next_dlsym(), handle, name);
  if (found == nullptr) return {nullptr, 1};
  learn_real_function(index, found);
  return {hook_function(index), 1};
}

// ---- pointers that the runtime itself returns ---------------------------------------------------

namespace {

constexpr uint64_t kPerThreadDefaultStream = 2;  // HIP_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

void hook_pointer(const char* name, void** function, bool per_thread) {
  if (name == nullptr || function == nullptr || *function == nullptr) return;
  int index = find_call(name);
  char variant[128];
  const int length = std::snprintf(variant, sizeof(variant), "%s_spt", name);
  if (per_thread && length > 0 && static_cast<size_t>(length) < sizeof(variant)) {
    const int found = find_call(variant);
    if (found >= 0) index = found;
  }
  if (index < 0) return;
  learn_real_function(index, *function);
  *function = hook_function(index);
}

}  // namespace

GFXGRAPH_NEWER_CAPTURE_HOOK(hipGetProcAddress, const char* name, void** function, int version,
                            uint64_t flags, void* status) {
  const hipError_t result = real(kCall_hipGetProcAddress, name, function, version, flags, status);
  if (result == hipSuccess) hook_pointer(name, function, flags == kPerThreadDefaultStream);
  return result;
}
GFXGRAPH_NEWER_CAPTURE_HOOK(hipGetDriverEntryPoint, const char* name, void** function,
                            unsigned long long flags, void* status) {
  const hipError_t result = real(kCall_hipGetDriverEntryPoint, name, function, flags, status);
  if (result == hipSuccess) hook_pointer(name, function, flags == kPerThreadDefaultStream);
  return result;
}
GFXGRAPH_NEWER_CAPTURE_HOOK(hipGetDriverEntryPoint_spt, const char* name, void** function,
                            unsigned long long flags, void* status) {
  const hipError_t result = real(kCall_hipGetDriverEntryPoint_spt, name, function, flags, status);
  if (result == hipSuccess) hook_pointer(name, function, true);
  return result;
}
