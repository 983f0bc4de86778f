#include "hsa/queue/sdma_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "base/log.h"
#include "hsa/device.h"
#include "hsa/memory.h"
#include "hsa/queue/delays.h"
#include "hsa/queue/sdma_packets.h"
#include "hsa/queue/signal.h"
#include "hsa/runtime.h"

namespace gfxgraph::hsa {
namespace {

// The doorbell's word may be written without a call, so the thread looks as well; less often the
// longer nothing happens.
constexpr std::chrono::nanoseconds kShortestNap = std::chrono::milliseconds(1);
constexpr std::chrono::nanoseconds kLongestNap = std::chrono::milliseconds(64);

struct SdmaQueues {
  std::shared_mutex mutex;
  std::unordered_map<const hsa_queue_t*, SdmaQueue*> queues;
  uint64_t next_id = uint64_t{1} << 32;  // apart from those of compute queues
  uint32_t next_engine = 0;
};

SdmaQueues& sdma_queues() {
  alignas(SdmaQueues) static std::byte storage[sizeof(SdmaQueues)];
  static auto* const instance = new (storage) SdmaQueues();
  return *instance;
}

std::atomic<uint64_t>& atomic_word(volatile uint64_t& word) {
  return *reinterpret_cast<std::atomic<uint64_t>*>(const_cast<uint64_t*>(&word));
}

}  // namespace

Result<SdmaQueue*> SdmaQueue::create(uint32_t device, uint32_t bytes, uint32_t engine,
                                     QueueErrorCallback callback, void* data) {
  static_assert(sizeof(amd_queue_t) <= kPageBytes);
  std::unique_ptr<SdmaQueue> queue(new SdmaQueue());
  GFXGRAPH_ASSIGN_OR_RETURN(
      std::byte* const memory,
      allocate_system_memory(kPageBytes + bytes, "SDMA queue", DeviceAccess::kRead));
  queue->shared_ = reinterpret_cast<amd_queue_t*>(memory);
  queue->ring_ = memory + kPageBytes;
  queue->bytes_ = bytes;
  queue->device_ = device;
  queue->callback_ = callback;
  queue->callback_data_ = data;
  const Result<Signal*> doorbell = create_signal(0);
  if (!doorbell) {
    release_agent_memory(memory);
    return tl::unexpected<Error>(doorbell.error());
  }
  queue->doorbell_ = *doorbell;
  queue->doorbell_->raw().kind = AMD_SIGNAL_KIND_DOORBELL;
  hsa_queue_t& shown = queue->shared_->hsa_queue;
  shown.type = HSA_QUEUE_TYPE_SINGLE;
  shown.features = 0;  // no AQL packets
  shown.base_address = queue->ring_;
  shown.doorbell_signal = queue->doorbell_->handle();
  shown.size = bytes;
  bool watched = false;
  try {
    watch(*queue->doorbell_, queue->bell_);
    watched = true;
    {
      SdmaQueues& r = sdma_queues();
      const std::lock_guard lock(r.mutex);
      queue->engine_ = engine == kAnySdmaEngine ? r.next_engine++ % kSdmaEngines : engine;
      shown.id = r.next_id++;
      r.queues.emplace(queue->handle(), queue.get());
    }
    std::thread([made = queue.get()] { made->loop(); }).detach();
  } catch (...) {  // out of memory, or no thread
    {
      const std::lock_guard lock(sdma_queues().mutex);
      sdma_queues().queues.erase(queue->handle());
    }
    if (watched) unwatch(*queue->doorbell_, queue->bell_);
    destroy_signal(queue->doorbell_);
    release_agent_memory(memory);
    throw;
  }
  return queue.release();
}

SdmaQueue* SdmaQueue::from(const hsa_queue_t* handle) noexcept {
  SdmaQueues& r = sdma_queues();
  const std::shared_lock lock(r.mutex);
  const auto found = r.queues.find(handle);
  return found == r.queues.end() ? nullptr : found->second;
}

void SdmaQueue::destroy(SdmaQueue* queue) {
  {
    const std::lock_guard lock(sdma_queues().mutex);
    sdma_queues().queues.erase(queue->handle());
  }
  queue->stop_.store(true, std::memory_order_seq_cst);
  queue->bell_.wake();
  while (!queue->done_.load(std::memory_order_acquire))
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  unwatch(*queue->doorbell_, queue->bell_);
  destroy_signal(queue->doorbell_);
  release_agent_memory(reinterpret_cast<std::byte*>(queue->shared_));
  delete queue;
}

uint64_t SdmaQueue::read_pointer() const noexcept {
  return reinterpret_cast<uint64_t>(&shared_->read_dispatch_id);
}
uint64_t SdmaQueue::write_pointer() const noexcept {
  return reinterpret_cast<uint64_t>(&shared_->write_dispatch_id);
}
uint64_t SdmaQueue::doorbell_pointer() const noexcept {
  return reinterpret_cast<uint64_t>(&doorbell_->raw().value);
}

void SdmaQueue::loop() {
  std::chrono::nanoseconds nap = kShortestNap;
  while (!stop_.load(std::memory_order_acquire)) {
    const uint32_t ticket = bell_.ticket();
    bool moved = false;
    polls_ = false;
    try {
      moved = advance();
    } catch (const std::bad_alloc&) {
      Device::record_out_of_memory();
      inactivate();
    }
    if (moved) {
      nap = kShortestNap;
      continue;
    }
    bell_.wait(ticket, nap);
    nap = polls_ ? kShortestNap : std::min(nap * 2, kLongestNap);
  }
  done_.store(true, std::memory_order_release);
}

bool SdmaQueue::advance() {
  if (inactive_.load(std::memory_order_acquire) || Device::faulted()) return false;
  std::atomic<uint64_t>& read = atomic_word(shared_->read_dispatch_id);
  const uint64_t at = read.load(std::memory_order_relaxed);
  const auto published =
      static_cast<uint64_t>(doorbell_->value().load(std::memory_order_seq_cst)) - at;
  if (published < sizeof(uint32_t) || published > bytes_) {
    if (static_cast<int64_t>(published) > static_cast<int64_t>(bytes_))
      fail("the doorbell is further ahead than the ring is long", 0);
    return false;
  }
  const auto word = [&](uint64_t number) {
    return reinterpret_cast<std::atomic<uint32_t>*>(ring_ +
                                                    (at + number * sizeof(uint32_t)) % bytes_)
        ->load(std::memory_order_relaxed);
  };
  const uint64_t there = published / sizeof(uint32_t);
  packet_.clear();
  for (uint64_t i = 0; i < std::min<uint64_t>(there, kSdmaLongestHeaderWords); ++i)
    packet_.push_back(word(i));
  const uint32_t words = sdma_packet_words(packet_);
  if (words == 0) {
    fail("an operation that the agent does not know", packet_[0]);
    return false;
  }
  if (words > bytes_ / sizeof(uint32_t) && words != UINT32_MAX) {
    fail("a packet that is larger than the ring", packet_[0]);
    return false;
  }
  if (words > there) return false;  // the rest is not published
  packet_.resize(std::min<uint64_t>(packet_.size(), words));
  for (uint64_t i = packet_.size(); i < words; ++i) packet_.push_back(word(i));
  delay();
  switch (run_sdma_packet(packet_)) {
    case SdmaResult::kDone: break;
    case SdmaResult::kUnfinished: polls_ = true; return false;
    case SdmaResult::kUnsupported:
      fail("an operation, or a form of it, that the agent does not carry out", packet_[0]);
      return false;
    case SdmaResult::kBadRange:
      fail("an address outside of the device's memory and signals, misaligned, or loaded code",
           packet_[0]);
      return false;
  }
  read.store(at + words * sizeof(uint32_t), std::memory_order_release);
  return true;
}

void SdmaQueue::fail(const char* why, uint32_t header) {
  Device::record_fault(
      fmt::format("SDMA queue {} at byte {}: {} (header {:#010x}); the agent carries out linear "
                  "copies, writes and fills, fences, polls of memory, 64-bit additions and global "
                  "time stamps",
                  shared_->hsa_queue.id,
                  atomic_word(shared_->read_dispatch_id).load(std::memory_order_relaxed), why,
                  header),
      GFXGRAPH_AGENT_FAULT_OTHER, 0, device_);
  inactivate();
  if (Runtime::on_fault() == OnFault::kAbort && callback_ != nullptr)
    callback_(HSA_STATUS_ERROR_EXCEPTION, handle(), callback_data_);
}

}  // namespace gfxgraph::hsa
