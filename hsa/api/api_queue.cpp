// Queues and the times of what ran on them.
#include <bit>
#include <cstring>
#include <optional>

#include "hsa/api/attributes.h"
#include "hsa/device.h"
#include "hsa/queue/counted_queues.h"
#include "hsa/queue/host_calls.h"
#include "hsa/queue/queue.h"
#include "hsa/queue/sdma_queue.h"
#include "hsa/queue/signal.h"
#include "hsa/runtime.h"

using namespace gfxgraph;       // NOLINT: entry points are C
using namespace gfxgraph::hsa;  // NOLINT

namespace {

// The ring's indexes are in the memory at the handle: launches need no lookup.
std::atomic<uint64_t>& read_index(const hsa_queue_t* queue) {
  auto* const shared = reinterpret_cast<amd_queue_t*>(const_cast<hsa_queue_t*>(queue));
  return *reinterpret_cast<std::atomic<uint64_t>*>(
      const_cast<uint64_t*>(&shared->read_dispatch_id));
}
std::atomic<uint64_t>& write_index(const hsa_queue_t* queue) {
  auto* const shared = reinterpret_cast<amd_queue_t*>(const_cast<hsa_queue_t*>(queue));
  return *reinterpret_cast<std::atomic<uint64_t>*>(
      const_cast<uint64_t*>(&shared->write_dispatch_id));
}

template <typename Body>
hsa_status_t queue_entry(const char* call, const hsa_queue_t* handle, const Body& body) {
  return entry(call, [&] {
    Queue* const queue = Queue::from(handle);
    return queue == nullptr ? HSA_STATUS_ERROR_INVALID_QUEUE : body(*queue);
  });
}

constexpr uint32_t kOfCompute = 0, kOfSdma = 1;  // hsa_amd_queue_engine_t

hsa_status_t sdma_info(SdmaQueue& queue, uint32_t number, Answer& out) {
  switch (number) {
    case attribute::HSA_AMD_QUEUE_INFO_AGENT: return out.put(gpu_agent(queue.device()));
    case attribute::HSA_AMD_QUEUE_INFO_DOORBELL_ID: return out.put(queue.doorbell_pointer());
    case attribute::HSA_QUEUE_INFO_USE_COUNT: return out.put(UINT32_MAX);  // not counted
    case attribute::HSA_QUEUE_INFO_HW_ID: return out.put(static_cast<uint32_t>(queue.handle()->id));
    case attribute::HSA_AMD_QUEUE_INFO_ENGINE_TYPE: return out.put(kOfSdma);
    case attribute::HSA_AMD_QUEUE_INFO_SDMA_ENGINE_ID: return out.put(queue.engine());
    case attribute::HSA_AMD_QUEUE_INFO_READ_POINTER: return out.put(queue.read_pointer());
    case attribute::HSA_AMD_QUEUE_INFO_WRITE_POINTER: return out.put(queue.write_pointer());
    default: return out.unknown();
  }
}

}  // namespace

GFXGRAPH_HSA_EXPORT hsa_status_t
hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                 void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, uint32_t,
                 uint32_t, hsa_queue_t** queue) {
  constexpr const char* kCall = "hsa_queue_create";
  return entry(kCall, [&] {
    if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!is_gpu(agent))
      return refuse(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, kCall, "the CPU agent has no queues");
    if (queue == nullptr || !std::has_single_bit(size) || type > HSA_QUEUE_TYPE_COOPERATIVE) {
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    if (size < kQueueMinSlots || size > kQueueMaxSlots) {
      return refuse(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, kCall,
                    "the size is outside the agent's limits");
    }
    // Allowed after a fault: HIP 7 creates queues late and dereferences a null pointer if that
    // fails. The device runs no kernels from these queues.
    const auto created = Queue::create(device_of(agent), size, type, callback, data);
    if (!created) return refuse(HSA_STATUS_ERROR_OUT_OF_RESOURCES, kCall, created.error());
    *queue = (*created)->handle();
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_queue_destroy(hsa_queue_t* queue) {
  constexpr const char* kCall = "hsa_queue_destroy";
  if (SdmaQueue* const sdma = SdmaQueue::from(queue)) {
    return entry(kCall, [&] {
      SdmaQueue::destroy(sdma);
      return HSA_STATUS_SUCCESS;
    });
  }
  return queue_entry(kCall, queue, [&](Queue& known) {
    if (counted_users(queue))
      return refuse(
          HSA_STATUS_ERROR_INVALID_QUEUE, kCall,
          "a counted queue, which others may use; hsa_amd_counted_queue_release gives it back");
    Queue::destroy(&known);
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_queue_inactivate(hsa_queue_t* queue) {
  if (SdmaQueue* const sdma = SdmaQueue::from(queue)) {
    sdma->inactivate();
    return HSA_STATUS_SUCCESS;
  }
  return queue_entry("hsa_queue_inactivate", queue, [](Queue& known) {
    known.inactivate();
    return HSA_STATUS_SUCCESS;
  });
}

// Priorities and compute unit masks do not affect the emulator's results.
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t* queue,
                                                            hsa_amd_queue_priority_t) {
  return queue_entry("hsa_amd_queue_set_priority", queue,
                     [](Queue&) { return HSA_STATUS_SUCCESS; });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t* queue, uint32_t,
                                                           const uint32_t*) {
  return queue_entry("hsa_amd_queue_cu_set_mask", queue, [](Queue&) { return HSA_STATUS_SUCCESS; });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_queue_cu_get_mask(const hsa_queue_t* queue, uint32_t bits,
                                                           uint32_t* mask) {
  return queue_entry("hsa_amd_queue_cu_get_mask", queue, [&](Queue&) {
    if (mask == nullptr || bits == 0 || bits % 32 != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    std::memset(mask, 0xff, bits / 8);
    return HSA_STATUS_SUCCESS;
  });
}

// Only in newer headers.
GFXGRAPH_HSA_NEWER_CALL(hsa_amd_queue_get_info, hsa_queue_t* queue, uint32_t attribute,
                        void* value) {
  constexpr const char* kCall = "hsa_amd_queue_get_info";
  if (SdmaQueue* const sdma = SdmaQueue::from(queue)) {
    return entry(kCall, [&] {
      return answer(kCall, AttributeOf::kQueue, attribute, value,
                    [&](uint32_t number, Answer& out) { return sdma_info(*sdma, number, out); });
    });
  }
  return queue_entry(kCall, queue, [&](Queue& known) {
    return answer(kCall, AttributeOf::kQueue, attribute, value, [&](uint32_t number, Answer& out) {
      switch (number) {
        case attribute::HSA_AMD_QUEUE_INFO_AGENT: return out.put(gpu_agent(known.device()));
        case attribute::HSA_AMD_QUEUE_INFO_DOORBELL_ID: return out.put(known.handle()->id);
        case attribute::HSA_QUEUE_INFO_USE_COUNT: {
          const std::optional<uint32_t> users = counted_users(queue);
          if (users == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;  // released
          return out.put(users.value_or(UINT32_MAX));
        }
        case attribute::HSA_QUEUE_INFO_HW_ID:
          return out.put(static_cast<uint32_t>(known.handle()->id));
        case attribute::HSA_AMD_QUEUE_INFO_ENGINE_TYPE: return out.put(kOfCompute);
        default: return out.unknown();
      }
    });
  });
}

#define GFXGRAPH_QUEUE_LOAD(index, order)                                                   \
  GFXGRAPH_HSA_EXPORT uint64_t hsa_queue_load_##index##_##order(const hsa_queue_t* queue) { \
    return index(queue).load(std::memory_order_acquire);                                    \
  }
GFXGRAPH_QUEUE_LOAD(read_index, scacquire)
GFXGRAPH_QUEUE_LOAD(read_index, acquire)
GFXGRAPH_QUEUE_LOAD(read_index, relaxed)
GFXGRAPH_QUEUE_LOAD(write_index, scacquire)
GFXGRAPH_QUEUE_LOAD(write_index, acquire)
GFXGRAPH_QUEUE_LOAD(write_index, relaxed)

#define GFXGRAPH_QUEUE_STORE(index, order)                                             \
  GFXGRAPH_HSA_EXPORT void hsa_queue_store_##index##_##order(const hsa_queue_t* queue, \
                                                             uint64_t value) {         \
    settle_new_buffers();                                                              \
    index(queue).store(value, std::memory_order_release);                              \
  }
GFXGRAPH_QUEUE_STORE(read_index, screlease)
GFXGRAPH_QUEUE_STORE(read_index, release)
GFXGRAPH_QUEUE_STORE(read_index, relaxed)
GFXGRAPH_QUEUE_STORE(write_index, screlease)
GFXGRAPH_QUEUE_STORE(write_index, release)
GFXGRAPH_QUEUE_STORE(write_index, relaxed)

#define GFXGRAPH_QUEUE_ADD(order)                                                          \
  GFXGRAPH_HSA_EXPORT uint64_t hsa_queue_add_write_index_##order(const hsa_queue_t* queue, \
                                                                 uint64_t n) {             \
    settle_new_buffers();                                                                  \
    return write_index(queue).fetch_add(n, std::memory_order_acq_rel);                     \
  }
#define GFXGRAPH_QUEUE_CAS(order)                                    \
  GFXGRAPH_HSA_EXPORT uint64_t hsa_queue_cas_write_index_##order(    \
      const hsa_queue_t* queue, uint64_t expected, uint64_t value) { \
    settle_new_buffers();                                            \
    write_index(queue).compare_exchange_strong(expected, value);     \
    return expected;                                                 \
  }
#define GFXGRAPH_FOR_EACH_ORDER(row) \
  row(scacq_screl) row(acq_rel) row(scacquire) row(acquire) row(relaxed) row(screlease) row(release)
GFXGRAPH_FOR_EACH_ORDER(GFXGRAPH_QUEUE_ADD)
GFXGRAPH_FOR_EACH_ORDER(GFXGRAPH_QUEUE_CAS)

// Timestamps are always recorded.
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t* queue, int) {
  return queue_entry("hsa_amd_profiling_set_profiler_enabled", queue,
                     [](Queue&) { return HSA_STATUS_SUCCESS; });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_profiling_async_copy_enable(bool) {
  return entry("hsa_amd_profiling_async_copy_enable", [] { return HSA_STATUS_SUCCESS; });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_profiling_get_dispatch_time(
    hsa_agent_t agent, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t* time) {
  return entry("hsa_amd_profiling_get_dispatch_time", [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    Signal* const known = Signal::from(signal);
    if (known == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    if (time == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *time = {known->raw().start_ts, known->raw().end_ts};
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_profiling_get_async_copy_time(
    hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t* time) {
  return entry("hsa_amd_profiling_get_async_copy_time", [&] {
    Signal* const known = Signal::from(signal);
    if (known == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    if (time == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *time = {known->raw().start_ts, known->raw().end_ts};
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_profiling_convert_tick_to_system_domain(
    hsa_agent_t agent, uint64_t tick, uint64_t* system_tick) {
  return entry("hsa_amd_profiling_convert_tick_to_system_domain", [&] {
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (system_tick == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *system_tick = tick;
    return HSA_STATUS_SUCCESS;
  });
}
