// Calls that give the device work, of ROCr newer than 7.2 (HIP 7.11 to 10.2 uses them). No header
// of Debian has them: the layouts are those of ROCr's public interface.
#include <bit>
#include <cstddef>
#include <memory>

#include "hsa/memory.h"
#include "hsa/queue/counted_queues.h"
#include "hsa/queue/sdma_queue.h"
#include "hsa/queue/signal.h"
#include "hsa/runtime.h"

using namespace gfxgraph;       // NOLINT: entry points are C
using namespace gfxgraph::hsa;  // NOLINT

namespace {

struct ComputeEngine {
  const uint32_t* cu_mask;
  uint32_t type;                  // hsa_queue_type_t
  uint32_t private_segment_size;  // UINT32_MAX: as the runtime chooses
  uint32_t cu_mask_count;         // bits
  uint32_t reserved[3];
};

// The same bytes, of a queue of the copy engine.
struct SdmaEngine {
  uint32_t engine;  // UINT32_MAX: any
  uint32_t reserved[7];
};
static_assert(sizeof(SdmaEngine) == sizeof(ComputeEngine));

struct QueueDescriptor {  // hsa_amd_queue_create_desc_t
  uint16_t version;
  uint16_t flags;
  uint8_t engine_type;
  uint8_t reserved_header[3];
  uint32_t queue_size_bytes;
  uint32_t priority;
  QueueErrorCallback callback;
  void* callback_data;
  hsa_queue_t* queue;  // out
  ComputeEngine compute;
  uint32_t traffic_class;
  uint8_t reserved[20];
};
static_assert(sizeof(QueueDescriptor) == 96 && offsetof(QueueDescriptor, queue) == 32 &&
              offsetof(QueueDescriptor, traffic_class) == 72);

constexpr uint16_t kDescriptorVersion = 1;
constexpr uint16_t kRingInDeviceMemory = 1, kDescriptorInDeviceMemory = 2;
constexpr uint8_t kComputeEngine = 0, kSdmaEngine = 1, kLastEngine = 2;
constexpr uint32_t kHighestPriority = 2;
constexpr uint32_t kPacketBytes = 64;

bool all_zero(const auto& words) {
  for (const auto word : words)
    if (word != 0) return false;
  return true;
}

hsa_status_t create_sdma(const char* call, hsa_agent_t agent, QueueDescriptor& wished) {
  const auto sdma = std::bit_cast<SdmaEngine>(wished.compute);
  if (!all_zero(sdma.reserved) || (sdma.engine != kAnySdmaEngine && sdma.engine >= kSdmaEngines))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (wished.queue_size_bytes < kSdmaLeastBytes || wished.queue_size_bytes > kSdmaMostBytes)
    return refuse(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, call,
                  "the size of an SDMA queue is outside the agent's limits");
  const auto made = SdmaQueue::create(device_of(agent), wished.queue_size_bytes, sdma.engine,
                                      wished.callback, wished.callback_data);
  if (!made) return refuse(HSA_STATUS_ERROR_OUT_OF_RESOURCES, call, made.error());
  wished.queue = (*made)->handle();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t create_one(const char* call, hsa_agent_t agent, QueueDescriptor& wished) {
  wished.queue = nullptr;
  const uint32_t bytes = wished.queue_size_bytes;
  if (wished.version != kDescriptorVersion)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, call,
                  "a version of the descriptor that is not 1");
  if (!std::has_single_bit(bytes) || wished.priority > kHighestPriority ||
      wished.traffic_class != 0 || !all_zero(wished.reserved_header) ||
      !all_zero(wished.reserved) || wished.engine_type > kLastEngine ||
      (wished.flags & ~(kRingInDeviceMemory | kDescriptorInDeviceMemory)) != 0)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  // As AMD's runtime answers for a card behind PCIe.
  if ((wished.flags & kDescriptorInDeviceMemory) != 0)
    return refuse(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, call,
                  "a queue descriptor in device memory, which the host cannot update atomically");
  if (wished.engine_type == kSdmaEngine) return create_sdma(call, agent, wished);
  if (wished.engine_type != kComputeEngine)
    return refuse(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, call,
                  "a queue of the AIE engine: the agent has none");
  const ComputeEngine& compute = wished.compute;
  if (!all_zero(compute.reserved) || compute.cu_mask_count % 32 != 0 ||
      (compute.cu_mask_count != 0) != (compute.cu_mask != nullptr))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  // The device's memory is the host's, so a ring "in device memory" is where all rings are.
  return hsa_queue_create(agent, bytes / kPacketBytes, compute.type, wished.callback,
                          wished.callback_data, compute.private_segment_size, 0, &wished.queue);
}

struct CopyOperation {  // hsa_amd_memory_copy_op_t
  uint16_t version;
  uint16_t type;
  uint16_t entries;
  uint16_t traffic_class;
  hsa_signal_t completion;
  const void* from;
  hsa_agent_t from_agent;  // of a list: its address
  hsa_agent_t to_agent;
  void* to;  // of a list: its address
  size_t bytes;
  size_t unused_bytes;
};
static_assert(sizeof(CopyOperation) == 64);

constexpr uint16_t kCopyVersion = 1;
constexpr uint16_t kLinear = 0, kBroadcast = 1;
constexpr uint16_t kMostEntries = 1024;

// A completion signal falls by one per operation. The copies of a broadcast count a signal of the
// agent, whose last handler counts the caller's.
struct Broadcast {
  hsa_signal_t left;
  hsa_signal_t completion;
};

bool broadcast_done(hsa_signal_value_t, void* data) {
  auto* const broadcast = static_cast<Broadcast*>(data);
  hsa_signal_subtract_screlease(broadcast->completion, 1);
  hsa_signal_destroy(broadcast->left);
  delete broadcast;
  return false;
}

hsa_status_t copy_to_all(const CopyOperation& operation, uint32_t dependency_count,
                         const hsa_signal_t* dependencies) {
  void* const* const targets = static_cast<void* const*>(operation.to);
  const auto* const agents = reinterpret_cast<const hsa_agent_t*>(operation.to_agent.handle);
  if (targets == nullptr || agents == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (uint16_t i = 0; i < operation.entries; ++i) {
    if (!device_range_is_allowed(targets[i], operation.bytes) ||
        is_code(targets[i], operation.bytes))
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  std::unique_ptr<Broadcast> broadcast(new Broadcast{{}, operation.completion});
  hsa_status_t status = hsa_signal_create(operation.entries, 0, nullptr, &broadcast->left);
  if (status != HSA_STATUS_SUCCESS) return status;
  const hsa_signal_t left = broadcast->left;
  status = hsa_amd_signal_async_handler(left, HSA_SIGNAL_CONDITION_LT, 1, broadcast_done,
                                        broadcast.get());
  if (status != HSA_STATUS_SUCCESS) {
    hsa_signal_destroy(left);
    return status;
  }
  broadcast.release();  // NOLINT(bugprone-unused-return-value): the handler deletes it
  for (uint16_t i = 0; i < operation.entries; ++i) {
    const hsa_status_t copied =
        hsa_amd_memory_async_copy(targets[i], agents[i], operation.from, operation.from_agent,
                                  operation.bytes, dependency_count, dependencies, left);
    if (copied == HSA_STATUS_SUCCESS) continue;
    if (status == HSA_STATUS_SUCCESS) status = copied;
    hsa_signal_subtract_screlease(left, 1);
  }
  return status;
}

hsa_status_t check_operation(const char* call, const CopyOperation& operation) {
  if (operation.version != kCopyVersion || operation.traffic_class != 0 ||
      operation.unused_bytes != 0)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  switch (operation.type) {
    case kLinear:
      return operation.entries == 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
    case kBroadcast:
      return operation.entries != 0 && operation.entries <= kMostEntries
                 ? HSA_STATUS_SUCCESS
                 : HSA_STATUS_ERROR_INVALID_ARGUMENT;
    default:
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, call,
                    "an operation that is no linear copy and no broadcast (swap, indirect)");
  }
}

}  // namespace

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_queue_create, hsa_agent_t agent, QueueDescriptor* descriptors,
                        uint32_t count) {
  constexpr const char* kCall = "hsa_amd_queue_create";
  return entry(kCall, [&] {
    if (descriptors == nullptr || count == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    // Each one is tried; the first error is returned.
    hsa_status_t first = HSA_STATUS_SUCCESS;
    for (uint32_t i = 0; i < count; ++i) {
      const hsa_status_t status = create_one(kCall, agent, descriptors[i]);
      if (first == HSA_STATUS_SUCCESS) first = status;
    }
    return first;
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_counted_queue_acquire, hsa_agent_t agent, uint32_t type,
                        uint32_t priority, QueueErrorCallback callback, void* data, uint64_t,
                        hsa_queue_t** queue) {
  constexpr const char* kCall = "hsa_amd_counted_queue_acquire";
  return entry(kCall, [&] {
    if (queue == nullptr || priority > kHighestPriority) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (type != HSA_QUEUE_TYPE_MULTI)
      return refuse(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, kCall, "a type other than multi");
    if (!is_gpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    *queue = acquire_counted_queue(agent, priority, callback, data);
    return *queue == nullptr ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_counted_queue_release, hsa_queue_t* queue) {
  return entry("hsa_amd_counted_queue_release", [&] {
    if (queue == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return release_counted_queue(queue) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_memory_async_batch_copy, const CopyOperation* operations,
                        uint32_t count, uint32_t dependency_count,
                        const hsa_signal_t* dependencies) {
  constexpr const char* kCall = "hsa_amd_memory_async_batch_copy";
  return entry(kCall, [&] {
    if (operations == nullptr || count == 0 || (dependency_count != 0 && dependencies == nullptr))
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    // Nothing is copied if a descriptor is malformed. A range outside of the device's memory ends
    // the list there.
    for (uint32_t i = 0; i < count; ++i) {
      const hsa_status_t status = check_operation(kCall, operations[i]);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
    for (uint32_t i = 0; i < count; ++i) {
      const CopyOperation& one = operations[i];
      const hsa_status_t status =
          one.type == kBroadcast
              ? copy_to_all(one, dependency_count, dependencies)
              : hsa_amd_memory_async_copy(one.to, one.to_agent, one.from, one.from_agent, one.bytes,
                                          dependency_count, dependencies, one.completion);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_signal_get_event_id, hsa_signal_t signal, uint32_t* event_id) {
  return entry("hsa_amd_signal_get_event_id", [&] {
    if (event_id == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    Signal* const known = Signal::from(signal);
    if (known == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    *event_id = known->raw().event_id;
    return HSA_STATUS_SUCCESS;
  });
}
