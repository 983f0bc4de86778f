// Queues that several callers share (hsa_amd_counted_queue_acquire).
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <optional>

#include "hsa/queue/queue.h"

namespace gfxgraph::hsa {

// The queue of this GPU and priority with the fewest users; a new one while there are fewer than
// $GPU_MAX_HW_QUEUES (4) of them and all are in use. Null: none can be made. The callback is that
// of who made it. Such queues live until the process ends. Thread-safe, as all of these.
hsa_queue_t* acquire_counted_queue(hsa_agent_t gpu, uint32_t priority, QueueErrorCallback callback,
                                   void* data);
// False: it is no counted queue in use.
bool release_counted_queue(const hsa_queue_t* queue);
// How many use it; nothing if it is no counted queue.
std::optional<uint32_t> counted_users(const hsa_queue_t* queue);

}  // namespace gfxgraph::hsa
