// Shared code of all hooks. The only header of the recorder that exposes HIP's types.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
// HIP 6 makes a macro of it; newer standard libraries write [[__gnu__::__noinline__]].
#undef __noinline__

#include <atomic>
#include <type_traits>
#include <utility>

#include "recorder/hooks/calls/hip_calls.h"
#include "recorder/hooks/process/cancel_type.h"
#include "recorder/hooks/runtime/bound_around.h"
#include "recorder/objects/devices.h"
#include "recorder/recorder.h"

#define GFXGRAPH_HOOK extern "C" __attribute__((visibility("default")))
// For a call that Debian 12's HIP header lacks, and newer ones declare with types that it lacks,
// too (newer_hip.h): a name of its own for the compiler, HIP's name for the linker.
#define GFXGRAPH_NEWER_HOOK(name, ...)                               \
  GFXGRAPH_HOOK hipError_t newer_##name(__VA_ARGS__) __asm__(#name); \
  hipError_t newer_##name(__VA_ARGS__)

namespace gfxgraph::recorder {

// The process's recorder; lives until the process ends, because hooks do.
extern constinit std::atomic<Recorder*> made_recorder;
Recorder& make_recorder() noexcept;
inline Recorder& recorder() noexcept {
  Recorder* const made = made_recorder.load(std::memory_order_acquire);
  return made != nullptr ? *made : make_recorder();
}

// HIP functions call each other through the dynamic linker, and the recorder's own thread calls
// HIP: only the outermost call of a program's thread is recorded.
extern thread_local int hook_depth;
// Of host functions of the program in which the thread is.
extern thread_local int host_function_depth;

// After the first call that the program made: whatever the runtime set up for it is destroyed after
// the exit handler that this registers, and the module destructors of clang's host code as well.
void arrange_exit() noexcept;

// In a process that does not record: reports the call if it submits device work.
void note_unrecorded(int index) noexcept;

// The thread ended inside the runtime's function, by pthread_cancel().
void note_cancelled(int index) noexcept;

// ---- calls within calls. The runtime calls itself through the dynamic linker, which is no call of
// the program. A signal handler's is one, and so is the next call after a longjmp() out of the
// runtime. It may have interrupted the recorder itself, so it is not recorded, but named.

void note_nested(int index) noexcept;
// Tells the trace of them. Not within a hook that may hold a lock.
void tell_nested() noexcept;
// A row, or behind them an unknown call; -1: none that is not told yet.
extern constinit std::atomic<int> nested_call;
// Of the thread's last hook within another one: whether the program called it.
extern thread_local bool nested_by_program;

// What the outermost hook's real call told the host, until its Scope ends.
struct Learned {
  bool open = false;  // inside a Scope that records
  int index = -1;     // the row; -1: nothing
  Knows knows = Knows::NOTHING;
  hipStream_t stream = nullptr;
  hipEvent_t events[2] = {nullptr, nullptr};

  template <typename T>
  void take(const T& argument) noexcept {
    if constexpr (std::is_same_v<T, hipStream_t>) stream = argument;
    if constexpr (std::is_same_v<T, hipEvent_t>) {
      (events[0] == nullptr ? events[0] : events[1]) = argument;
    }
  }
};
extern thread_local Learned learned;

// The call within the outermost Scope that failed last; the Scope's end writes it into the trace.
struct FailedCall {
  int index = -1;  // the row; -1: none
  hipError_t error = hipSuccess;
};
extern thread_local FailedCall failed_call;
// HIP's name of it; static.
std::string_view error_name(hipError_t error) noexcept;
// hooks_process.cpp: writes it, with what it was to do (null: no copy or memset).
void tell_failed(const RawAction* raw = nullptr) noexcept;

// hooks_device.cpp: a recorded call succeeded while another device than 0 was current. Marks the
// trace incomplete with the call's name, unless it is recorded on all devices.
void note_other_device(int index) noexcept;

enum class CallKind {
  kOther,
  kRegistration,  // clang's module constructors, which arrange their own destructors afterwards
  kMayJoin,  // it may begin a stretch that is recorded: one that is over need not be left first
};

// Must come first in a hook. When it ends, the trace gets the host's knowledge, according to the
// row of the call that real() made: no hook can forget it.
class Scope {
 public:
  // `site`: in the body of a hook, where the program called it.
  explicit Scope(CallKind kind = CallKind::kOther, const void* site = __builtin_return_address(0))
      : record(hook_depth++ == 0 && recorder().active()),
        registration_(kind == CallKind::kRegistration) {
    if (hook_depth > 1) [[unlikely]]
      nested_by_program = called_by_program(site);
    if (!record) return;
    if (program_call == nullptr) program_call = site;
    learned.open = true;
    learned.index = -1;
    if (CallGate* const gate = recorder().gate()) [[unlikely]]
      gate->enter();
    recorder().streams().call_begins(kind != CallKind::kOther);
  }
  ~Scope() noexcept(false);  // a pending asynchronous cancellation takes place at its end
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const DeferredCancellation deferred_;  // begins first, ends last

 public:
  const bool record;

 private:
  const bool registration_;
};

// Around a launch of several kernels or of a graph, and what is recorded of it.
struct Turn {
  const LaunchCall call;
  const LaunchTurn turn = recorder().turns().begins(call);
  hipError_t ended(hipError_t result) const noexcept {
    recorder().turns().ended(call, turn, result == hipSuccess);
    return result;
  }
};

// Around the runtime's function: pthread_cancel() may end the thread in it, as without the
// recorder. The hooks' frames unwind, so neither they nor real() are noexcept.
class InRuntime {
 public:
  explicit InRuntime(int index, CallGate* gate) : index_(index), gate_(gate) {
    if (gate_ != nullptr) gate_->leave();
    if (asynchronous_seen()) [[unlikely]]
      cancellation_in_runtime();
  }
  ~InRuntime() {
    if (asynchronous_seen()) [[unlikely]]
      cancellation_in_hook();
    if (gate_ != nullptr) gate_->enter();
    if (!returned_) [[unlikely]]
      note_cancelled(index_);
  }
  InRuntime(const InRuntime&) = delete;
  InRuntime& operator=(const InRuntime&) = delete;
  void returned() noexcept { returned_ = true; }

 private:
  const int index_;
  CallGate* const gate_;
  bool returned_ = false;
};

// The runtime's function of row `index`, called with exactly these argument types.
template <typename... Args>
hipError_t real(int index, Args... args) {
  if (Recorder::elsewhere()) [[unlikely]]
    note_unrecorded(index);
  if (hook_depth > 1 && nested_by_program) [[unlikely]]
    note_nested(index);
  void* function = real_function(index);
  if (function == nullptr) return hipErrorNotSupported;
  const Knows knows = kCallRows[index].knows;
  const bool tells = knows != Knows::NOTHING && hook_depth == 1 && learned.open;
  if (tells) recorder().streams().host_may_learn();
  // The work that it waits for was issued before it: a file that begins meanwhile begins with that
  // work done.
  CallGate* const gate = tells && only_waits(index) ? recorder().gate() : nullptr;
  const hipError_t result = [&] {
    InRuntime call(index, gate);
    const hipError_t returned = reinterpret_cast<hipError_t (*)(Args...)>(function)(args...);
    call.returned();
    return returned;
  }();
  if (current_device != 0 && result == hipSuccess && hook_depth == 1 && learned.open) [[unlikely]]
    note_other_device(index);
  if (result != hipSuccess && result != hipErrorNotReady && hook_depth == 1 && learned.open &&
      kCallRows[index].policy != CallPolicy::PASS) [[unlikely]]
    failed_call = {index, result};
  if (tells && result == hipSuccess) {
    learned = Learned{.open = true, .index = index, .knows = knows};
    (learned.take(args), ...);
  }
  return result;
}

// hipStreamLegacy is the null stream; hipStreamPerThread the calling thread's own.
inline Handle stream_key(hipStream_t stream) noexcept {
  const auto value = reinterpret_cast<uintptr_t>(stream);
  if (value < 2) return null_stream(current_device);
  return value == 2 ? per_thread_stream() : stream;
}
// Of functions without a stream argument.
inline Handle no_stream() noexcept { return null_stream(current_device); }

// The same for the entry points whose null stream is the calling thread's.
inline Handle per_thread_key(hipStream_t stream) noexcept {
  return stream == nullptr ? per_thread_stream() : stream_key(stream);
}

inline uint64_t address_of(const void* pointer) noexcept {
  return reinterpret_cast<uint64_t>(pointer);
}

// Device work: prepared, done by the runtime, recorded if it succeeded.
template <typename Call>
hipError_t device_work(int index, RawAction raw, Handle stream, Call&& call,
                       bool never_captured = false) {
  Work work;
  work.never_captured = never_captured;
  work.raw = std::move(raw);
  work.stream = stream;
  work.knows = kCallRows[index].knows;
  work.host_waits = work.knows != Knows::NOTHING && work.knows != Knows::BY_ARGUMENT;
  work.call = display_name(index).data();
  recorder().work().prepare(work);
  const hipError_t result = call();
  if (result != hipSuccess) [[unlikely]] {
    tell_failed(&work.raw);
    return result;
  }
  if (work.leaves_memory) [[unlikely]]
    recorder().faults().happened(work.call, {}, &work.raw);
  recorder().commit(work);
  // The event says it, or nothing does: then a synchronisation is appended.
  if (work.told || work.captured || !work.host_waits) learned.index = -1;
  return result;
}

// The body of most hooks: makes the call, and records it if it succeeded. `recorded` is evaluated
// only then, when the runtime has accepted the arguments and filled what they point to.
#define GFXGRAPH_CALL_THEN(name, recorded, ...) \
  const Scope scope;                            \
  GFXGRAPH_CALL_IN_SCOPE(name, recorded __VA_OPT__(, ) __VA_ARGS__)
#define GFXGRAPH_CALL_IN_SCOPE(name, recorded, ...)                        \
  const hipError_t result = real(kCall_##name __VA_OPT__(, ) __VA_ARGS__); \
  if (scope.record && result == hipSuccess) recorded;                      \
  return result

// hooks_process.cpp: records what the host learned from the last real call. The Scope does so at
// its end; a hook that makes several real calls does so after each.
void tell_learned() noexcept;

// hooks_stream.cpp: the function that the runtime gets in place of the program's, with the HostCall
// as its data, on a thread of the runtime.
void run_host_function(void* wrapped);

// hooks_copy.cpp: 5 for HIP 5.2.3; 0 where the runtime does not tell.
int runtime_major() noexcept;

// hooks_arrays.cpp: the end of a copy whose extent `raw` has, at `at.x` bytes, rows and slices in
// an array. False: the array is unknown, or the copy does not lie inside of it.
struct ArrayPosition {
  uint64_t x_bytes = 0, y = 0, z = 0;
};
bool raw_array_end(const void* array, ArrayPosition at, const RawCopy& raw, RawCopyEnd& end,
                   MemorySide& side) noexcept;
// 0: unknown.
uint64_t texel_bytes(const void* array) noexcept;

// hooks_copy.cpp: the sides that a call states.
MemorySide destination_side(hipMemcpyKind kind) noexcept;
MemorySide source_side(hipMemcpyKind kind) noexcept;

// hooks_copy.cpp: the pieces of HIP's copy descriptions. False: arrays that are not recorded.
bool raw_copy_3d(const hipMemcpy3DParms& params, RawCopy& raw) noexcept;
bool raw_copy_driver_3d(const HIP_MEMCPY3D& params, RawCopy& raw) noexcept;
RawCopy raw_copy_1d(const void* destination, const void* source, size_t bytes,
                    hipMemcpyKind kind) noexcept;

}  // namespace gfxgraph::recorder
