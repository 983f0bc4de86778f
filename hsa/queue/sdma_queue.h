// A queue of the device's copy engine: a ring of SDMA packets, whose indexes count bytes, and one
// thread that carries them out in order. Which packets: sdma_packets.h.
//
// The handle is an amd_queue_t, so that hsa_queue_load_write_index... reach its indexes as those of
// compute queues. Packets up to the value that was stored to the doorbell are carried out; a packet
// of which only a part was published waits for the rest, as on the engine.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "hsa/queue/queue.h"
#include "hsa/queue/wait.h"

namespace gfxgraph::hsa {

// What hsa_amd_queue_create accepts: the least is the kernel driver's.
constexpr uint32_t kSdmaLeastBytes = 1024;
constexpr uint32_t kSdmaMostBytes = 1u << 28;
constexpr uint32_t kSdmaEngines = 2;  // HSA_AMD_AGENT_INFO_NUM_SDMA_ENG
constexpr uint32_t kAnySdmaEngine = UINT32_MAX;

class SdmaQueue {
 public:
  // `bytes`: a power of two in [kSdmaLeastBytes, kSdmaMostBytes]. `engine`: below kSdmaEngines, or
  // kAnySdmaEngine: the next in turn. The queue lives until destroy().
  static Result<SdmaQueue*> create(uint32_t device, uint32_t bytes, uint32_t engine,
                                   QueueErrorCallback callback, void* data);
  // The queue behind a handle that create() returned, or null. Any thread.
  static SdmaQueue* from(const hsa_queue_t* handle) noexcept;
  // Waits for the current packet, then frees the queue. No other call with it may be running.
  static void destroy(SdmaQueue* queue);

  hsa_queue_t* handle() noexcept { return &shared_->hsa_queue; }
  uint32_t device() const noexcept { return device_; }
  uint32_t engine() const noexcept { return engine_; }
  // Addresses of the words that count bytes, and of the doorbell's word.
  uint64_t read_pointer() const noexcept;
  uint64_t write_pointer() const noexcept;
  uint64_t doorbell_pointer() const noexcept;
  // No further packet is carried out.
  void inactivate() noexcept { inactive_.store(true, std::memory_order_release); }

 private:
  SdmaQueue() = default;
  void loop();
  // Carries out what is complete up to the doorbell. False if nothing was.
  bool advance();
  void fail(const char* why, uint32_t header);

  amd_queue_t* shared_ = nullptr;  // device-visible memory; the handle points to it
  std::byte* ring_ = nullptr;
  Signal* doorbell_ = nullptr;
  uint32_t bytes_ = 0;
  uint32_t device_ = 0;
  uint32_t engine_ = 0;
  QueueErrorCallback callback_ = nullptr;
  void* callback_data_ = nullptr;
  std::vector<uint32_t> packet_;  // the current one; of the queue's thread
  bool polls_ = false;            // it waits for a value in memory; of the queue's thread
  WaitPoint bell_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> done_{false};
  std::atomic<bool> inactive_{false};
};

}  // namespace gfxgraph::hsa
