#include "hsa/queue/counted_queues.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/environment.h"
#include "hsa/runtime.h"

namespace gfxgraph::hsa {
namespace {

struct CountedQueue {
  hsa_queue_t* queue;
  uint64_t agent;
  uint32_t priority;
  uint32_t users;
};

struct CountedQueues {
  std::mutex mutex;
  std::vector<CountedQueue> queues;
  const uint64_t most = environment_number("GPU_MAX_HW_QUEUES", 1, 64, 4);

  CountedQueue* find(const hsa_queue_t* queue) {
    const auto found = std::ranges::find(queues, queue, &CountedQueue::queue);
    return found == queues.end() ? nullptr : &*found;
  }
};

CountedQueues& counted_queues() {
  static auto* const instance = new CountedQueues();
  return *instance;
}

constexpr uint32_t kSlots = 16384;

}  // namespace

hsa_queue_t* acquire_counted_queue(hsa_agent_t gpu, uint32_t priority, QueueErrorCallback callback,
                                   void* data) {
  CountedQueues& counted = counted_queues();
  const std::lock_guard lock(counted.mutex);
  CountedQueue* least = nullptr;
  uint64_t known = 0;
  for (CountedQueue& one : counted.queues) {
    if (one.agent != gpu.handle || one.priority != priority) continue;
    ++known;
    if (least == nullptr || one.users < least->users) least = &one;
  }
  if (least == nullptr || (least->users != 0 && known < counted.most)) {
    counted.queues.reserve(counted.queues.size() + 1);
    const auto made = Queue::create(device_of(gpu), kSlots, HSA_QUEUE_TYPE_MULTI, callback, data);
    if (!made) {
      refuse(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "hsa_amd_counted_queue_acquire", made.error());
      return nullptr;
    }
    counted.queues.push_back({(*made)->handle(), gpu.handle, priority, 0});
    least = &counted.queues.back();
  }
  ++least->users;
  return least->queue;
}

bool release_counted_queue(const hsa_queue_t* queue) {
  CountedQueues& counted = counted_queues();
  const std::lock_guard lock(counted.mutex);
  CountedQueue* const found = counted.find(queue);
  if (found == nullptr || found->users == 0) return false;
  --found->users;
  return true;
}

std::optional<uint32_t> counted_users(const hsa_queue_t* queue) {
  CountedQueues& counted = counted_queues();
  const std::lock_guard lock(counted.mutex);
  const CountedQueue* const found = counted.find(queue);
  if (found == nullptr) return std::nullopt;
  return found->users;
}

}  // namespace gfxgraph::hsa
