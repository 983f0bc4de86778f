// Shared code of the hooks. The only header here that exposes HIP's types.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
// HIP 6 makes a macro of it; newer standard libraries write [[__gnu__::__noinline__]].
#undef __noinline__

#include "accelerate/hold/code.h"
#include "accelerate/hold/holder.h"
#include "accelerate/hooks/calls.h"

#define GFXGRAPH_ACCELERATE_HOOK extern "C" __attribute__((visibility("default")))

namespace gfxgraph::accelerate {

// The process's; they live until it ends, because hooks do. nullptr: no call needed it yet, or the
// program does not want it (GFXGRAPH=0).
extern constinit std::atomic<Holder*> made_holder;
inline Holder* holder() noexcept { return made_holder.load(std::memory_order_acquire); }
// The same, made if it is not. Calls the runtime.
Holder* make_holder() noexcept;
// Nothing is held in this process any more, or ever. Also inside of the dynamic linker.
void stop_process(const char* name, const char* why) noexcept;
// Whether the program wants it: GFXGRAPH is not 0.
bool wanted() noexcept;
Code& code() noexcept;

// Calls that this thread makes inside of a submission are the runtime's own business.
extern constinit thread_local int inside;
class Inside {
 public:
  Inside() noexcept { ++inside; }
  ~Inside() { --inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// Whether the call is the program's. `caller`: the hook's return address.
inline bool is_of_program(const void* caller) noexcept {
  return inside == 0 && !is_of_runtime(caller);
}
// The holder, for a call of the program; nullptr: the call is made as it is.
inline Holder* told(const void* caller) noexcept {
  Holder* const all = holder();
  return all == nullptr || all->off() || !is_of_program(caller) ? nullptr : all;
}
// The same for launches, and for calls that count though there was no launch yet.
inline Holder* told_always(const void* caller) noexcept {
  if (!is_of_program(caller)) return nullptr;
  Holder* const all = make_holder();
  return all == nullptr || all->off() ? nullptr : all;
}

uint64_t this_thread() noexcept;

// hipStreamLegacy and hipStreamPerThread: the thread that keeps the bound cannot submit to them.
inline bool is_special(hipStream_t stream) noexcept {
  const auto value = reinterpret_cast<uintptr_t>(stream);
  return value == 1 || value == 2;
}

// Work that may be held; `pass` makes the program's call.
template <typename Pass>
hipError_t offer(Holder& holder, const Launch& launch, Pass&& pass) {
  if (!holder.on()) {
    // Only some launches come here then (trampolines.S): something may repeat by now.
    if (!is_memory_work(launch.form)) holder.look_again();
    return pass();
  }
  const uint64_t thread = this_thread();
  const Offer offer = holder.offer(launch, thread);
  if (offer.held) return hipSuccess;
  const hipError_t result = pass();
  if (offer.noted) holder.returned(launch, thread, result);
  return result;
}

// The runtime's function of the row, called with exactly these argument types.
template <typename Return = hipError_t, typename... Args>
Return real(int index, Args... args) {
  void* const function = real_function(index);
  if (function == nullptr) return Return(hipErrorNotSupported);
  return reinterpret_cast<Return (*)(Args...)>(function)(args...);
}

// hip_device.cpp
Device& hip_device() noexcept;
int runtime_version() noexcept;

// process.cpp
// Submits what is held and makes the report, before the process ends or becomes another program.
void end_process(bool report) noexcept;
// One line on stderr.
void tell(const std::string& line) noexcept;

}  // namespace gfxgraph::accelerate
