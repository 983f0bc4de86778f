// The doors to the layer that are no calls by link: look-ups at run time, and the calls of
// trampolines.S, which are passed on or refused.
#include "base/process/hip_lookup.h"
#include "capture/executables.h"
#include "capture/hooks_internal.h"
#include "capture/newer_hip.h"

using namespace gfxgraph::capture;
using namespace gfxgraph::preload;

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

// ---- look-ups at run time -----------------------------------------------------------------------

namespace {

constexpr HookTable kHookTable{.find = find_call,
                               .hook = hook_function,
                               .real = real_function,
                               .learn = learn_real_function,
                               .next = next_dlsym};

}  // namespace

extern "C" __attribute__((visibility("hidden"))) DlsymAnswer
gfxgraph_capture_dlsym(void* handle, const char* name, const char*, const void*) {
  if (name == nullptr) return {reinterpret_cast<void*>(next_dlsym()), 0};
  return resolve_hip(kHookTable, handle, name);
}

GFXGRAPH_NEWER_CAPTURE_HOOK(hipGetProcAddress, const char* name, void** function, int version,
                            uint64_t flags, void* status) {
  const hipError_t result = real(kCall_hipGetProcAddress, name, function, version, flags, status);
  if (result == hipSuccess)
    hook_pointer(kHookTable, name, function, flags == kPerThreadDefaultStream);
  return result;
}
GFXGRAPH_NEWER_CAPTURE_HOOK(hipGetDriverEntryPoint, const char* name, void** function,
                            unsigned long long flags, void* status) {
  const hipError_t result = real(kCall_hipGetDriverEntryPoint, name, function, flags, status);
  if (result == hipSuccess)
    hook_pointer(kHookTable, name, function, flags == kPerThreadDefaultStream);
  return result;
}
GFXGRAPH_NEWER_CAPTURE_HOOK(hipGetDriverEntryPoint_spt, const char* name, void** function,
                            unsigned long long flags, void* status) {
  const hipError_t result = real(kCall_hipGetDriverEntryPoint_spt, name, function, flags, status);
  if (result == hipSuccess) hook_pointer(kHookTable, name, function, true);
  return result;
}
