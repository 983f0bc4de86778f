#include "hsa/queue/queue.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "base/log.h"
#include "emulator/engine/engine.h"
#include "hsa/device.h"
#include "hsa/memory.h"
#include "hsa/queue/bad_dispatch.h"
#include "hsa/queue/delays.h"
#include "hsa/queue/signal.h"
#include "hsa/queue/watchdog.h"
#include "hsa/runtime.h"
#include "hsa/target.h"

namespace gfxgraph::hsa {
namespace {

constexpr uint64_t kPacketBytes = 64;
static_assert(sizeof(hsa_kernel_dispatch_packet_t) == kPacketBytes);
static_assert(sizeof(hsa_barrier_and_packet_t) == kPacketBytes);
static_assert(sizeof(hsa_amd_barrier_value_packet_t) == kPacketBytes);

// Time for which the thread polls for the next packet before it sleeps, and interval at which it
// checks for a stop request while a dependency is open.
constexpr uint64_t kSpinNs = 20'000;
constexpr uint64_t kStopCheckNs = 50'000'000;

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<const hsa_queue_t*, Queue*> queues;
  uint64_t next_id = 0;
};

// Never destroyed, and in static storage because Queue::from() must not allocate.
Registry& registry() {
  alignas(Registry) static std::byte storage[sizeof(Registry)];
  static auto* const instance = new (storage) Registry();
  return *instance;
}

uint32_t packet_type(uint16_t header) { return header >> HSA_PACKET_HEADER_TYPE & 0xff; }

constexpr uint16_t kInvalidHeader = HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE;

}  // namespace

Result<Queue*> Queue::create(uint32_t device, uint32_t slots, hsa_queue_type32_t type,
                             QueueErrorCallback callback, void* data) {
  // amd_queue_t comes first; the ring follows on its own page. Kernels read their packet and the
  // apertures. They must not write: HIP finds the ring through amd_queue_t.
  const uint64_t ring_offset = kPageBytes;
  static_assert(sizeof(amd_queue_t) <= kPageBytes);
  std::unique_ptr<Queue> queue(new Queue());
  GFXGRAPH_ASSIGN_OR_RETURN(
      std::byte* const memory,
      allocate_system_memory(ring_offset + slots * kPacketBytes, "queue", DeviceAccess::kRead));
  queue->shared_ = reinterpret_cast<amd_queue_t*>(memory);
  queue->ring_ = memory + ring_offset;
  queue->slots_ = slots;
  queue->device_ = device;
  queue->callback_ = callback;
  queue->callback_data_ = data;
  const Result<Signal*> doorbell = create_doorbell(*queue);
  if (!doorbell) {
    release_agent_memory(memory);
    return tl::unexpected<Error>(doorbell.error());
  }
  queue->doorbell_ = *doorbell;
  for (uint32_t i = 0; i < slots; ++i) {
    std::memcpy(queue->ring_ + i * kPacketBytes, &kInvalidHeader, sizeof(kInvalidHeader));
  }

  amd_queue_t& shared = *queue->shared_;
  shared.hsa_queue.type = type;
  shared.hsa_queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
  shared.hsa_queue.base_address = queue->ring_;
  shared.hsa_queue.doorbell_signal = queue->doorbell_->handle();
  shared.hsa_queue.size = slots;
  shared.group_segment_aperture_base_hi = emulator::Dispatch::kDefaultGroupApertureHi;
  shared.private_segment_aperture_base_hi = emulator::Dispatch::kDefaultPrivateApertureHi;
  shared.max_cu_id = target().row().compute_units - 1;
  shared.max_wave_id = target().row().waves - 1;
  shared.read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
  shared.queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64;
  try {
    {
      const std::lock_guard lock(registry().mutex);
      shared.hsa_queue.id = registry().next_id++;
      registry().queues.emplace(queue->handle(), queue.get());
    }
    std::thread([made = queue.get()] { made->loop(); }).detach();
  } catch (...) {  // out of memory, or no thread
    {
      const std::lock_guard lock(registry().mutex);
      registry().queues.erase(queue->handle());
    }
    destroy_signal(queue->doorbell_);
    release_agent_memory(memory);
    throw;
  }
  return queue.release();
}

Queue* Queue::from(const hsa_queue_t* handle) noexcept {
  Registry& r = registry();
  const std::shared_lock lock(r.mutex);
  const auto found = r.queues.find(handle);
  return found == r.queues.end() ? nullptr : found->second;
}

void Queue::inactivate() noexcept { inactive_.store(true, std::memory_order_release); }

void Queue::destroy(Queue* queue) {
  {
    const std::lock_guard lock(registry().mutex);
    registry().queues.erase(queue->handle());
  }
  queue->stop_.store(true, std::memory_order_seq_cst);
  queue->bell_.wake();
  while (!queue->done_.load(std::memory_order_acquire)) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  destroy_signal(queue->doorbell_);
  release_agent_memory(reinterpret_cast<std::byte*>(queue->shared_));
  delete queue;
}

std::byte* Queue::slot_at(uint64_t index) const noexcept {
  return ring_ + (index & (slots_ - 1)) * kPacketBytes;
}

std::atomic<uint16_t>& Queue::header_at(uint64_t index) const noexcept {
  return *reinterpret_cast<std::atomic<uint16_t>*>(slot_at(index));
}

void Queue::loop() {
  uint64_t index = 0;
  uint64_t idle_since = 0;
  uint32_t turn = 0;
  while (!stopping()) {
    std::atomic<uint16_t>& first = header_at(index);
    if (packet_type(first.load(std::memory_order_acquire)) != HSA_PACKET_TYPE_INVALID &&
        !inactive_.load(std::memory_order_relaxed)) {
      const uint64_t count = reversed_ ? unordered_from(index) : 1;
      if (reversed_) {
        process_reversed(index, count);
      } else {
        process(index, index + 1);
      }
      index += count;
      idle_since = 0;
      turn = 0;
      continue;
    }
    spin_turn(turn++);
    const uint64_t now = timestamp_ns();
    if (idle_since == 0) idle_since = now;
    if (now - idle_since < kSpinNs) continue;
    sleep_until_bell(first);
    idle_since = 0;
    turn = 0;
  }
  done_.store(true, std::memory_order_release);
}

void Queue::sleep_until_bell(std::atomic<uint16_t>& header) {
  const uint32_t ticket = bell_.ticket();
  sleeping_.store(true, std::memory_order_seq_cst);
  // The producer stores the header, then the doorbell, then reads sleeping_, so at least one side
  // sees the other's store.
  const bool empty =
      packet_type(header.load(std::memory_order_seq_cst)) == HSA_PACKET_TYPE_INVALID ||
      inactive_.load(std::memory_order_relaxed);
  if (empty && !stopping()) bell_.wait(ticket, std::chrono::seconds(3600));
  sleeping_.store(false, std::memory_order_seq_cst);
}

uint64_t Queue::unordered_from(uint64_t index) const noexcept {
  uint64_t count = 1;
  if (!lets_others_pass(slot_at(index))) return count;
  for (; count < slots_; ++count) {
    const uint16_t bits = header_at(index + count).load(std::memory_order_acquire);
    if (packet_type(bits) == HSA_PACKET_TYPE_INVALID || has_barrier_bit(bits) ||
        !lets_others_pass(slot_at(index + count)))
      break;
  }
  return count;
}

void Queue::process_reversed(uint64_t first, uint64_t count) {
  bool good = true;
  for (uint64_t i = 0; i < count && good; ++i) good = check_scopes(first + i);
  // The ring frees slots only in order: all become free when the first packet, which runs last, is
  // done.
  for (uint64_t i = count; i-- != 0 && !stopping();)
    process(first + i, i == 0 ? first + count : first);
}

bool Queue::check_scopes(uint64_t index) {
  hsa_barrier_and_packet_t packet;
  std::memcpy(&packet, slot_at(index), sizeof(packet));
  const char* const wrong =
      scopes_.next(packet.header, Signal::from(packet.completion_signal) != nullptr);
  if (wrong == nullptr) return true;
  Device::record_fault(fmt::format("queue {} packet {}: header {:#06x}: {}", shared_->hsa_queue.id,
                                   index, packet.header, wrong),
                       GFXGRAPH_AGENT_FAULT_OTHER, 0);
  fail_queue(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  return false;
}

bool Queue::process(uint64_t index, uint64_t next) {
  std::byte* const slot = slot_at(index);
  std::atomic<uint16_t>& header = header_at(index);
  // Every packet type has its completion signal in the last eight bytes.
  hsa_signal_t completion{};
  std::memcpy(&completion, slot + kPacketBytes - sizeof(completion), sizeof(completion));
  Signal* const done = Signal::from(completion);
  uint64_t start = 0;
  if (done != nullptr) start = timestamp_ns();

  delay();
  note_activity();
  bool good = false;
  try {
    good = execute(slot, index, start);
  } catch (const std::bad_alloc&) {
    Device::record_out_of_memory();
  }
  if (stopping() && !good) return false;
  // As AMD's runtime leaves a queue whose callback it called: the packet never completes.
  if (failed_) return false;
  header.store(kInvalidHeader, std::memory_order_release);
  read_index().store(next, std::memory_order_release);
  if (done != nullptr) done->complete(start, timestamp_ns());
  return good;
}

bool Queue::execute(const std::byte* slot, uint64_t index, uint64_t& start) {
  const uint16_t bits =
      reinterpret_cast<const std::atomic<uint16_t>*>(slot)->load(std::memory_order_relaxed);
  switch (packet_type(bits)) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      return run_dispatch(*reinterpret_cast<const hsa_kernel_dispatch_packet_t*>(slot), index);
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR: {
      const bool good = run_barrier(*reinterpret_cast<const hsa_barrier_and_packet_t*>(slot),
                                    packet_type(bits) == HSA_PACKET_TYPE_BARRIER_AND);
      // HIP uses a marker's end time as the event's time.
      if (start != 0) start = timestamp_ns();
      return good;
    }
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      return run_barrier_value(*reinterpret_cast<const hsa_amd_barrier_value_packet_t*>(slot));
    default: break;
  }
  reject_packet(
      HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
      fmt::format("queue {} packet {}: unsupported AQL packet type (header {:#06x}); use kernel "
                  "dispatch, barrier or AMD barrier value packets",
                  shared_->hsa_queue.id, index, bits));
  return false;
}

bool Queue::run_dispatch(const hsa_kernel_dispatch_packet_t& packet, uint64_t index) {
  emulator::Dispatch dispatch;
  const uint32_t dimensions = packet.setup >> HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS & 3;
  const BadDispatch bad = find_bad_dispatch(packet, tells_callback());
  if (bad.text != nullptr) {
    reject_packet(bad.status, fmt::format("queue {} packet {}: bad dispatch: {}",
                                          shared_->hsa_queue.id, index, bad.text));
    return false;
  }
  dispatch.kernel_object = packet.kernel_object;
  dispatch.grid_size = {packet.grid_size_x, dimensions > 1 ? packet.grid_size_y : 1,
                        dimensions > 2 ? packet.grid_size_z : 1};
  dispatch.workgroup_size = {packet.workgroup_size_x,
                             dimensions > 1 ? packet.workgroup_size_y : uint16_t{1},
                             dimensions > 2 ? packet.workgroup_size_z : uint16_t{1}};
  dispatch.group_segment_bytes = packet.group_segment_size;
  dispatch.private_segment_bytes = packet.private_segment_size;
  dispatch.kernarg_address = host_address(packet.kernarg_address);
  dispatch.packet_address = reinterpret_cast<uint64_t>(&packet);
  dispatch.queue_address = reinterpret_cast<uint64_t>(shared_);
  dispatch.dispatch_id = index;
  dispatch.cooperative = shared_->hsa_queue.type == HSA_QUEUE_TYPE_COOPERATIVE;
  const bool good = Device::run(dispatch, device_);
  notify_memory_waits();
  if (good) return true;
  if (!stopping()) fail_queue(HSA_STATUS_ERROR_EXCEPTION);
  return false;
}

bool Queue::wait_for_all(const hsa_signal_t* dependencies) {
  for (int i = 0; i < 5; ++i) {
    Signal* const signal = Signal::from(dependencies[i]);
    if (signal == nullptr) continue;
    const std::array<SignalCondition, 1> zero{{{signal, HSA_SIGNAL_CONDITION_LT, 1}}};
    while (wait_any(zero, kStopCheckNs, true).index < 0) {
      if (stopping()) return false;
    }
  }
  return true;
}

bool Queue::wait_for_any(const hsa_signal_t* dependencies) {
  std::array<SignalCondition, 5> zero{};
  bool some = false;
  for (size_t i = 0; i < zero.size(); ++i) {
    zero[i] = {Signal::from(dependencies[i]), HSA_SIGNAL_CONDITION_LT, 1};
    some = some || zero[i].signal != nullptr;
  }
  while (some && wait_any(zero, kStopCheckNs, true).index < 0) {
    if (stopping()) return false;
  }
  return true;
}

bool Queue::run_barrier(const hsa_barrier_and_packet_t& packet, bool all) {
  return all ? wait_for_all(packet.dep_signal) : wait_for_any(packet.dep_signal);
}

bool Queue::run_barrier_value(const hsa_amd_barrier_value_packet_t& packet) {
  if (packet.header.AmdFormat != HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
    reject_packet(
        HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
        fmt::format("queue {}: vendor packet format {} is not supported, only barrier value",
                    shared_->hsa_queue.id, packet.header.AmdFormat));
    return false;
  }
  Signal* const signal = Signal::from(packet.signal);
  if (signal == nullptr) return true;
  WaitPoint point;
  watch(*signal, point);
  const MemoryWait memory_wait;
  bool held = false;
  while (!stopping()) {
    const uint32_t ticket = point.ticket();
    const int64_t value = signal->value().load(std::memory_order_seq_cst);
    held = condition_holds(static_cast<hsa_signal_condition_t>(packet.cond), value & packet.mask,
                           packet.value);
    if (held) break;
    // Kernels and copies notify when they end; the host may write the value without a call.
    point.wait(ticket, std::chrono::nanoseconds(kStopCheckNs));
  }
  unwatch(*signal, point);
  return held;
}

bool Queue::tells_callback() const noexcept {
  return Runtime::on_fault() == OnFault::kAbort && callback_ != nullptr;
}

void Queue::reject_packet(hsa_status_t status, const std::string& text) {
  if (tells_callback()) {
    log(LogLevel::kError, "device fault: {}", Lines{text});
  } else {
    Device::record_fault(text, GFXGRAPH_AGENT_FAULT_OTHER, 0, device_);
  }
  fail_queue(status);
}

void Queue::fail_queue(hsa_status_t status) {
  if (!tells_callback()) return;
  failed_ = true;
  inactivate();
  callback_(status, handle(), callback_data_);
}

}  // namespace gfxgraph::hsa
