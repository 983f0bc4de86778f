// The agent's state in a process: hsa_init and hsa_shut_down counts, fork, and the wrapper of every
// entry point.
//
// HIP calls hsa_* from static destructors, so everything that outlives a call is created once and
// never destroyed, and worker threads are detached. A forked child has no worker threads: every
// call there returns an error, and every wait returns immediately.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <exception>
#include <new>

#include "base/result.h"

namespace gfxgraph::hsa {

constexpr hsa_agent_t kCpuAgent{1};
constexpr uint64_t kFirstGpu = 2;  // handle of device 0; the others follow

// The number of identical GPUs, from $GFXGRAPH_DEVICES, read at first use. Devices are numbered
// from 0, in HIP's order.
uint32_t gpu_count() noexcept;
inline hsa_agent_t gpu_agent(uint32_t device) { return {kFirstGpu + device}; }
inline bool is_gpu(hsa_agent_t a) {
  return a.handle >= kFirstGpu && a.handle - kFirstGpu < gpu_count();
}
inline bool is_agent(hsa_agent_t a) { return a.handle == kCpuAgent.handle || is_gpu(a); }
// The device number of a GPU agent.
inline uint32_t device_of(hsa_agent_t a) { return static_cast<uint32_t>(a.handle - kFirstGpu); }

// What a fault causes, from $GFXGRAPH_ON_FAULT.
enum class OnFault {
  kError,  // "error" (default): later calls return an error, the process continues
  kAbort,  // "abort": calls the queue's error callback, as a real agent does; HIP then aborts
};

class Runtime {
 public:
  static hsa_status_t init();
  static hsa_status_t shut_down();
  static bool ready() noexcept;   // init() was called more often than shut_down()
  static bool forked() noexcept;  // this process is a forked child of the one that called init()
  static OnFault on_fault() noexcept;
  static void set_event_handler(hsa_amd_system_event_callback_t callback, void* data);
  // Calls the event handler (hsa_amd_register_system_event_handler) if on_fault() is kAbort.
  static void report_memory_fault(uint32_t device, uint64_t address);
};

// Returns HSA_STATUS_ERROR_EXCEPTION, for calls that would use the device after a kernel fault.
hsa_status_t refuse_after_fault(const char* call);

// Logs the call's name and the reason, and returns `status`.
hsa_status_t refuse(hsa_status_t status, const char* call, const char* why) noexcept;
hsa_status_t refuse(hsa_status_t status, const char* call, const Error& error);
hsa_status_t status_of(const Error& error) noexcept;
// For a failed allocation: logs it if there is memory to do so, and returns
// HSA_STATUS_ERROR_OUT_OF_RESOURCES.
hsa_status_t refuse_for_memory(const char* call) noexcept;

// Runs the body of an entry point: rejects calls before hsa_init and in a forked child, and lets no
// exception escape.
template <typename Body>
hsa_status_t entry(const char* call, const Body& body) noexcept {
  if (!Runtime::ready()) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (Runtime::forked()) return HSA_STATUS_ERROR_INVALID_RUNTIME_STATE;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return refuse_for_memory(call);
  } catch (const std::exception& error) {
    return refuse(HSA_STATUS_ERROR, call, error.what());
  }
}

}  // namespace gfxgraph::hsa

#define GFXGRAPH_HSA_EXPORT extern "C" __attribute__((visibility("default")))
// For a call that Debian 12's headers lack, and newer ones declare with types that these lack, too:
// a name of its own for the compiler, HSA's name for the linker.
#define GFXGRAPH_HSA_NEWER_CALL(name, ...)                                   \
  GFXGRAPH_HSA_EXPORT hsa_status_t newer_##name(__VA_ARGS__) __asm__(#name); \
  hsa_status_t newer_##name(__VA_ARGS__)
