// A user-mode AQL queue: a ring of 64-byte packets in memory, and one thread that processes them in
// order (HSA System Architecture 2.9). In-order execution satisfies every barrier bit;
// packet_order.h has a mode that exposes missing ones.
//
// The thread polls the ring for a few microseconds after the last packet, then sleeps until the
// doorbell rings, so an idle queue uses no CPU time.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "hsa/queue/packet_order.h"
#include "hsa/queue/wait.h"

namespace gfxgraph::hsa {

class Signal;

using QueueErrorCallback = void (*)(hsa_status_t status, hsa_queue_t* source, void* data);

// The sizes that hsa_queue_create accepts.
constexpr uint32_t kQueueMinSlots = 64;
constexpr uint32_t kQueueMaxSlots = 131072;

class Queue {
 public:
  // `slots` must be a power of two in [kQueueMinSlots, kQueueMaxSlots]. The queue lives until
  // destroy().
  static Result<Queue*> create(uint32_t device, uint32_t slots, hsa_queue_type32_t type,
                               QueueErrorCallback callback, void* data);
  // The queue behind a handle that create() returned, or null.
  static Queue* from(const hsa_queue_t* handle) noexcept;
  // Waits for the current packet, then frees the queue.
  static void destroy(Queue* queue);

  uint32_t device() const noexcept { return device_; }
  hsa_queue_t* handle() noexcept { return &shared_->hsa_queue; }
  // The queue processes no further packets.
  void inactivate() noexcept;

  std::atomic<uint64_t>& read_index() noexcept {
    return *reinterpret_cast<std::atomic<uint64_t>*>(
        const_cast<uint64_t*>(&shared_->read_dispatch_id));
  }
  std::atomic<uint64_t>& write_index() noexcept {
    return *reinterpret_cast<std::atomic<uint64_t>*>(
        const_cast<uint64_t*>(&shared_->write_dispatch_id));
  }

  // Wakes the thread after the doorbell was written.
  void ring() noexcept {
    // Wakes once per sleep: the thread may take long to run again.
    if (sleeping_.load(std::memory_order_seq_cst) && sleeping_.exchange(false)) bell_.wake();
  }

 private:
  Queue() = default;
  void loop();
  void sleep_until_bell(std::atomic<uint16_t>& header);
  bool stopping() const noexcept { return stop_.load(std::memory_order_acquire); }
  std::byte* slot_at(uint64_t index) const noexcept;
  std::atomic<uint16_t>& header_at(uint64_t index) const noexcept;
  // Counts the packets from `index` on that may run in any order: at least one.
  uint64_t unordered_from(uint64_t index) const noexcept;
  void process_reversed(uint64_t first, uint64_t count);
  bool check_scopes(uint64_t index);
  // Each returns false if the packet could not be processed, which puts the queue into the error
  // state. `next`: the read index afterwards.
  bool process(uint64_t index, uint64_t next);
  // `start`: set to the packet's start time (ns) for its completion signal; 0: not requested.
  bool execute(const std::byte* slot, uint64_t index, uint64_t& start);
  bool run_dispatch(const hsa_kernel_dispatch_packet_t& packet, uint64_t index);
  bool run_barrier(const hsa_barrier_and_packet_t& packet, bool all);
  bool run_barrier_value(const hsa_amd_barrier_value_packet_t& packet);
  bool wait_for_all(const hsa_signal_t* dependencies);
  bool wait_for_any(const hsa_signal_t* dependencies);
  void fail_queue(hsa_status_t status);
  // Of a packet that no device could run: the queue fails, and, unless its callback was told, the
  // device (see docs/software-agent.md, Faults).
  void reject_packet(hsa_status_t status, const std::string& text);
  // The queue has a callback, and $GFXGRAPH_ON_FAULT makes faults call it.
  bool tells_callback() const noexcept;

  amd_queue_t* shared_ = nullptr;  // device-visible memory; the handle points to it
  std::byte* ring_ = nullptr;
  uint32_t slots_ = 0;
  uint32_t device_ = 0;  // GPU number
  Signal* doorbell_ = nullptr;
  QueueErrorCallback callback_ = nullptr;
  void* callback_data_ = nullptr;
  WaitPoint bell_;
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> done_{false};
  std::atomic<bool> inactive_{false};
  bool failed_ = false;  // its callback was told; of the queue's thread
  const bool reversed_ = reverses_packets();
  PacketScopes scopes_;
};

}  // namespace gfxgraph::hsa
