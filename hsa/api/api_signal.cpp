// Signals.
#include <array>
#include <vector>

#include "hsa/queue/handlers.h"
#include "hsa/queue/signal.h"
#include "hsa/queue/watchdog.h"
#include "hsa/runtime.h"

using namespace gfxgraph;       // NOLINT: entry points are C
using namespace gfxgraph::hsa;  // NOLINT

namespace {

hsa_status_t create(const char* call, int64_t initial_value, hsa_signal_t* signal) {
  return entry(call, [&] {
    if (signal == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto created = create_signal(initial_value);
    if (!created) return refuse(HSA_STATUS_ERROR_OUT_OF_RESOURCES, call, created.error());
    *signal = (*created)->handle();
    return HSA_STATUS_SUCCESS;
  });
}

int64_t load(hsa_signal_t handle) {
  Signal* const signal = Signal::from(handle);
  return signal == nullptr ? 0 : signal->value().load(std::memory_order_acquire);
}

void store(hsa_signal_t handle, int64_t value, bool silent) {
  Signal* const signal = Signal::from(handle);
  if (signal == nullptr) return;
  signal->value().store(value, std::memory_order_seq_cst);
  note_activity();
  if (!silent) signal->notify();
}

// Sequentially consistent for every requested order: notify() reads the watch count next.
template <typename Operation>
int64_t update(hsa_signal_t handle, const Operation& operation) {
  Signal* const signal = Signal::from(handle);
  if (signal == nullptr) return 0;
  const int64_t old = operation(signal->value());
  note_activity();
  signal->notify();
  return old;
}

int64_t wait(hsa_signal_t handle, hsa_signal_condition_t condition, int64_t compare,
             uint64_t timeout, hsa_wait_state_t hint) {
  Signal* const signal = Signal::from(handle);
  if (signal == nullptr) return 0;
  const std::array<SignalCondition, 1> conditions{{{signal, condition, compare}}};
  return wait_any(conditions, timeout, hint == HSA_WAIT_STATE_ACTIVE).value;
}

// Waits for one of the signals. The call returns no status, so running out of memory for the list
// looks like a timeout.
WaitResult wait_for_any(uint32_t count, const hsa_signal_t* signals,
                        const hsa_signal_condition_t* conditions, const hsa_signal_value_t* values,
                        uint64_t timeout, bool active) noexcept {
  try {
    std::vector<SignalCondition> list(count);
    for (uint32_t i = 0; i < count; ++i)
      list[i] = {Signal::from(signals[i]), conditions[i], values[i]};
    return wait_any(list, timeout, active);
  } catch (const std::bad_alloc&) {
    refuse_for_memory("hsa_amd_signal_wait_any");
    return {-1, 0};
  }
}

}  // namespace

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_signal_create(hsa_signal_value_t initial_value, uint32_t,
                                                   const hsa_agent_t*, hsa_signal_t* signal) {
  return create("hsa_signal_create", initial_value, signal);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_signal_create(hsa_signal_value_t initial_value, uint32_t,
                                                       const hsa_agent_t*, uint64_t attributes,
                                                       hsa_signal_t* signal) {
  if ((attributes & HSA_AMD_SIGNAL_IPC) != 0) {
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_signal_create",
                  "signals shared between processes are not supported");
  }
  return create("hsa_amd_signal_create", initial_value, signal);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_signal_destroy(hsa_signal_t signal) {
  return entry("hsa_signal_destroy", [&] {
    Signal* const known = Signal::from(signal);
    if (known == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    settle_handlers();
    destroy_signal(known);
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t signal,
                                                              volatile hsa_signal_value_t** value) {
  return entry("hsa_amd_signal_value_pointer", [&] {
    Signal* const known = Signal::from(signal);
    if (known == nullptr || value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *value = &known->raw().value;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t signal,
                                                              hsa_signal_condition_t condition,
                                                              hsa_signal_value_t value,
                                                              hsa_amd_signal_handler handler,
                                                              void* arg) {
  return entry("hsa_amd_signal_async_handler", [&] {
    Signal* const known = Signal::from(signal);
    if (known == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    if (handler == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    add_handler(*known, condition, value, handler, arg);
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT uint32_t hsa_amd_signal_wait_any(uint32_t count, hsa_signal_t* signals,
                                                     hsa_signal_condition_t* conditions,
                                                     hsa_signal_value_t* values, uint64_t timeout,
                                                     hsa_wait_state_t hint,
                                                     hsa_signal_value_t* satisfying) {
  const WaitResult result =
      wait_for_any(count, signals, conditions, values, timeout, hint == HSA_WAIT_STATE_ACTIVE);
  if (result.index < 0) return UINT32_MAX;
  if (satisfying != nullptr) *satisfying = result.value;
  return static_cast<uint32_t>(result.index);
}

// Only in newer headers. Returns 0 once every condition was seen to hold, UINT32_MAX after the
// timeout.
GFXGRAPH_HSA_EXPORT uint32_t hsa_amd_signal_wait_all(uint32_t count, hsa_signal_t* signals,
                                                     hsa_signal_condition_t* conditions,
                                                     hsa_signal_value_t* values, uint64_t timeout,
                                                     hsa_wait_state_t hint,
                                                     hsa_signal_value_t* satisfying) {
  const uint64_t start = timestamp_ns();
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t elapsed = timestamp_ns() - start;
    const uint64_t left = timeout == kForever ? kForever : timeout - std::min(timeout, elapsed);
    const std::array<SignalCondition, 1> one{
        {{Signal::from(signals[i]), conditions[i], values[i]}}};
    const WaitResult result = wait_any(one, left, hint == HSA_WAIT_STATE_ACTIVE);
    if (result.index < 0) return UINT32_MAX;
    if (satisfying != nullptr) satisfying[i] = result.value;
  }
  return 0;
}

// One function per name; acquire, release and acq_rel are the old names.
#define GFXGRAPH_SIGNAL_LOAD(order)                                                     \
  GFXGRAPH_HSA_EXPORT hsa_signal_value_t hsa_signal_load_##order(hsa_signal_t signal) { \
    return load(signal);                                                                \
  }
GFXGRAPH_SIGNAL_LOAD(scacquire)
GFXGRAPH_SIGNAL_LOAD(acquire)
GFXGRAPH_SIGNAL_LOAD(relaxed)

#define GFXGRAPH_SIGNAL_STORE(name, silent)                                                   \
  GFXGRAPH_HSA_EXPORT void hsa_signal_##name(hsa_signal_t signal, hsa_signal_value_t value) { \
    store(signal, value, silent);                                                             \
  }
GFXGRAPH_SIGNAL_STORE(store_relaxed, false)
GFXGRAPH_SIGNAL_STORE(store_screlease, false)
GFXGRAPH_SIGNAL_STORE(store_release, false)
GFXGRAPH_SIGNAL_STORE(silent_store_relaxed, true)
GFXGRAPH_SIGNAL_STORE(silent_store_screlease, true)

#define GFXGRAPH_SIGNAL_WAIT(order)                                                      \
  GFXGRAPH_HSA_EXPORT hsa_signal_value_t hsa_signal_wait_##order(                        \
      hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t compare, \
      uint64_t timeout, hsa_wait_state_t hint) {                                         \
    return wait(signal, condition, compare, timeout, hint);                              \
  }
GFXGRAPH_SIGNAL_WAIT(scacquire)
GFXGRAPH_SIGNAL_WAIT(acquire)
GFXGRAPH_SIGNAL_WAIT(relaxed)

#define GFXGRAPH_FOR_EACH_ORDER(row) \
  row(scacq_screl) row(acq_rel) row(scacquire) row(acquire) row(relaxed) row(screlease) row(release)

#define GFXGRAPH_SIGNAL_UPDATE(name, operation)                                           \
  GFXGRAPH_HSA_EXPORT void hsa_signal_##name(hsa_signal_t signal, hsa_signal_value_t v) { \
    update(signal, [&](std::atomic<int64_t>& value) { return value.operation(v); });      \
  }
#define GFXGRAPH_SIGNAL_ADD(order) GFXGRAPH_SIGNAL_UPDATE(add_##order, fetch_add)
#define GFXGRAPH_SIGNAL_SUBTRACT(order) GFXGRAPH_SIGNAL_UPDATE(subtract_##order, fetch_sub)
#define GFXGRAPH_SIGNAL_AND(order) GFXGRAPH_SIGNAL_UPDATE(and_##order, fetch_and)
#define GFXGRAPH_SIGNAL_OR(order) GFXGRAPH_SIGNAL_UPDATE(or_##order, fetch_or)
#define GFXGRAPH_SIGNAL_XOR(order) GFXGRAPH_SIGNAL_UPDATE(xor_##order, fetch_xor)
GFXGRAPH_FOR_EACH_ORDER(GFXGRAPH_SIGNAL_ADD)
GFXGRAPH_FOR_EACH_ORDER(GFXGRAPH_SIGNAL_SUBTRACT)
GFXGRAPH_FOR_EACH_ORDER(GFXGRAPH_SIGNAL_AND)
GFXGRAPH_FOR_EACH_ORDER(GFXGRAPH_SIGNAL_OR)
GFXGRAPH_FOR_EACH_ORDER(GFXGRAPH_SIGNAL_XOR)

#define GFXGRAPH_SIGNAL_EXCHANGE(order)                                                      \
  GFXGRAPH_HSA_EXPORT hsa_signal_value_t hsa_signal_exchange_##order(hsa_signal_t signal,    \
                                                                     hsa_signal_value_t v) { \
    return update(signal, [&](std::atomic<int64_t>& value) { return value.exchange(v); });   \
  }
GFXGRAPH_FOR_EACH_ORDER(GFXGRAPH_SIGNAL_EXCHANGE)

#define GFXGRAPH_SIGNAL_CAS(order)                                                    \
  GFXGRAPH_HSA_EXPORT hsa_signal_value_t hsa_signal_cas_##order(                      \
      hsa_signal_t signal, hsa_signal_value_t expected, hsa_signal_value_t desired) { \
    return update(signal, [&](std::atomic<int64_t>& value) {                          \
      int64_t seen = expected;                                                        \
      value.compare_exchange_strong(seen, desired);                                   \
      return seen;                                                                    \
    });                                                                               \
  }
GFXGRAPH_FOR_EACH_ORDER(GFXGRAPH_SIGNAL_CAS)
