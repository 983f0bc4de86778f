#include "hsa/runtime.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "base/environment.h"
#include "base/log.h"
#include "base/process/device.h"
#include "hsa/device.h"
#include "hsa/loader.h"
#include "hsa/memory.h"
#include "hsa/queue/handlers.h"
#include "hsa/queue/wait.h"
#include "hsa/target.h"

namespace gfxgraph::hsa {
namespace {

struct RuntimeState {
  std::atomic<uint32_t> references{0};
  std::atomic<bool> forked{false};
  OnFault on_fault = OnFault::kError;
  std::mutex event_mutex;
  hsa_amd_system_event_callback_t event_callback = nullptr;
  void* event_data = nullptr;
};

void before_fork();
void after_fork_in_child();

RuntimeState& runtime_state() {
  static RuntimeState* const instance = [] {
    auto* const made = new RuntimeState();
    if (environment_word("GFXGRAPH_ON_FAULT", {"error", "abort"}, 0, 0) == 1)
      made->on_fault = OnFault::kAbort;
    pthread_atfork(before_fork, nullptr, after_fork_in_child);
    return made;
  }();
  return *instance;
}

void before_fork() {
  constexpr uint64_t kLimitNs = 100'000'000;  // a handler may call fork()
  if (Runtime::ready() && !Runtime::forked()) drain_handlers(kLimitNs);
}

void after_fork_in_child() {
  RuntimeState& s = runtime_state();
  if (s.references.load() == 0) return;
  s.forked.store(true);
  reset_watch_list_after_fork();
  reset_memory_locks_after_fork();
  reset_loader_after_fork();
}

}  // namespace

uint32_t gpu_count() noexcept {
  static const auto count =
      static_cast<uint32_t>(environment_number(kDevicesVariable, 1, kMaxDevices, 1));
  return count;
}

hsa_status_t Runtime::init() {
  RuntimeState& s = runtime_state();
  if (s.forked.load()) return HSA_STATUS_ERROR_INVALID_RUNTIME_STATE;
  if (!target_error())
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_init", target_error().error());
  uint32_t count = s.references.load();
  do {
    if (count == INT32_MAX) return HSA_STATUS_ERROR_REFCOUNT_OVERFLOW;  // as hsa.h has it
  } while (!s.references.compare_exchange_weak(count, count + 1));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t Runtime::shut_down() {
  RuntimeState& s = runtime_state();
  uint32_t count = s.references.load();
  do {
    if (count == 0) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  } while (!s.references.compare_exchange_weak(count, count - 1));
  if (count == 1 && !s.forked.load()) end_handlers();
  return HSA_STATUS_SUCCESS;
}

bool Runtime::ready() noexcept {
  return runtime_state().references.load(std::memory_order_acquire) != 0;
}
bool Runtime::forked() noexcept { return runtime_state().forked.load(std::memory_order_acquire); }
OnFault Runtime::on_fault() noexcept { return runtime_state().on_fault; }

void Runtime::set_event_handler(hsa_amd_system_event_callback_t callback, void* data) {
  RuntimeState& s = runtime_state();
  const std::lock_guard lock(s.event_mutex);
  s.event_callback = callback;
  s.event_data = data;
}

void Runtime::report_memory_fault(uint32_t device, uint64_t address) {
  RuntimeState& s = runtime_state();
  if (s.on_fault != OnFault::kAbort) return;
  hsa_amd_system_event_callback_t callback = nullptr;
  void* data = nullptr;
  {
    const std::lock_guard lock(s.event_mutex);
    callback = s.event_callback;
    data = s.event_data;
  }
  if (callback == nullptr) return;
  hsa_amd_event_t event{};
  event.event_type = HSA_AMD_GPU_MEMORY_FAULT_EVENT;
  event.memory_fault.agent = gpu_agent(device);
  event.memory_fault.virtual_address = address;
  event.memory_fault.fault_reason_mask = HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT;
  callback(&event, data);
}

hsa_status_t refuse(hsa_status_t status, const char* call, const char* why) noexcept {
  try {
    log(LogLevel::kWarning, "{}: {}", call, why);
  } catch (const std::bad_alloc&) {  // then no message
  }
  return status;
}

hsa_status_t refuse(hsa_status_t status, const char* call, const Error& error) {
  return refuse(status, call, error.message.c_str());
}

hsa_status_t refuse_after_fault(const char* call) {
  static std::atomic<uint32_t> told{0};
  constexpr uint32_t kMostMessages = 8;
  if (told.fetch_add(1) < kMostMessages) {
    log(LogLevel::kError, "{}: rejected because a kernel faulted (see above)", call);
  }
  return HSA_STATUS_ERROR_EXCEPTION;
}

hsa_status_t status_of(const Error& error) noexcept {
  switch (error.status) {
    case Status::kOk: return HSA_STATUS_SUCCESS;
    case Status::kInvalidArgument: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    case Status::kOutOfMemory: return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    case Status::kCorrupt:
    case Status::kTruncated:
    case Status::kVersion: return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    case Status::kUnsupported: return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    case Status::kNotFound: return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
    default: return HSA_STATUS_ERROR;
  }
}

hsa_status_t refuse_for_memory(const char* call) noexcept {
  try {
    log(LogLevel::kError, "{}: out of host memory", call);
  } catch (const std::bad_alloc&) {  // then no message
  }
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

}  // namespace gfxgraph::hsa

using gfxgraph::hsa::Runtime;

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_init() {
  try {
    return Runtime::init();
  } catch (const std::bad_alloc&) {
    return gfxgraph::hsa::refuse_for_memory("hsa_init");
  }
}
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_shut_down() { return Runtime::shut_down(); }
