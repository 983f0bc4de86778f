#include "hsa/queue/sdma_packets.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "hsa/copy.h"
#include "hsa/memory.h"
#include "hsa/queue/signal.h"
#include "hsa/queue/wait.h"
#include "hsa/queue/watchdog.h"

namespace gfxgraph::hsa {
namespace {

enum Operation : uint32_t {
  kNothing = 0,
  kCopy = 1,
  kWrite = 2,
  kFence = 5,
  kTrap = 6,
  kPoll = 8,
  kAtomic = 10,
  kFill = 11,
  kTimestamp = 13,
  kCaches = 17,
};

uint32_t operation(uint32_t header) { return header & 0xff; }
uint32_t sub_operation(uint32_t header) { return header >> 8 & 0xff; }
uint64_t long_at(std::span<const uint32_t> words, size_t at) {
  return words[at] | uint64_t{words[at + 1]} << 32;
}

// The engine reaches the memory of allocations, and of signals, whose waiters it wakes.
struct Reached {
  void* memory = nullptr;
  Signal* signal = nullptr;
};
Reached reach(uint64_t address, uint64_t bytes, bool writes) {
  const uint64_t in_signal = address % sizeof(amd_signal_t);
  Signal* const signal = Signal::from(address - in_signal);
  if (signal != nullptr && in_signal >= offsetof(amd_signal_t, value) &&
      in_signal + bytes <= sizeof(amd_signal_t))
    return {reinterpret_cast<void*>(address), signal};
  const void* const pointer = reinterpret_cast<const void*>(address);
  if (address == 0 || !device_range_is_allowed(pointer, bytes)) return {};
  if (writes && is_code(pointer, bytes)) return {};
  return {host_pointer(reinterpret_cast<void*>(address)), nullptr};
}

void wake(const Reached& there) {
  note_activity();
  if (there.signal != nullptr) there.signal->notify();
  notify_memory_waits();
}

template <typename Word>
SdmaResult store(uint64_t address, Word value) {
  if (address % sizeof(Word) != 0) return SdmaResult::kBadRange;
  const Reached there = reach(address, sizeof(Word), true);
  if (there.memory == nullptr) return SdmaResult::kBadRange;
  std::atomic_ref(*static_cast<Word*>(there.memory)).store(value, std::memory_order_seq_cst);
  wake(there);
  return SdmaResult::kDone;
}

SdmaResult copy(std::span<const uint32_t> packet) {
  constexpr uint32_t kCountBits = 30;
  if (sub_operation(packet[0]) != 0 || packet[1] >> kCountBits != 0)
    return SdmaResult::kUnsupported;
  const uint64_t bytes = uint64_t{packet[1]} + 1;
  const auto* const from = reinterpret_cast<const void*>(long_at(packet, 3));
  void* const to = reinterpret_cast<void*>(long_at(packet, 5));
  if (from == nullptr || to == nullptr || !device_range_is_allowed(from, bytes) ||
      !device_range_is_allowed(to, bytes) || is_code(to, bytes))
    return SdmaResult::kBadRange;
  CopyShape shape;
  shape.to = static_cast<std::byte*>(host_pointer(to));
  shape.from = static_cast<const std::byte*>(host_pointer(const_cast<void*>(from)));
  shape.row_bytes = bytes;
  copy_now(shape);
  return SdmaResult::kDone;
}

SdmaResult write(std::span<const uint32_t> packet) {
  const std::span<const uint32_t> data = packet.subspan(4);
  const uint64_t address = long_at(packet, 1);
  if (address % sizeof(uint32_t) != 0) return SdmaResult::kBadRange;
  const Reached there = reach(address, data.size_bytes(), true);
  if (there.memory == nullptr) return SdmaResult::kBadRange;
  std::memcpy(there.memory, data.data(), data.size_bytes());
  wake(there);
  return SdmaResult::kDone;
}

SdmaResult fill(std::span<const uint32_t> packet) {
  constexpr uint32_t kWords = 2;  // the size of what is repeated: 4 bytes
  constexpr uint32_t kCountBits = 30;
  if (packet[0] >> 30 != kWords || packet[4] >> kCountBits != 0) return SdmaResult::kUnsupported;
  const uint64_t count = uint64_t{packet[4]} / sizeof(uint32_t) + 1;
  const uint64_t address = long_at(packet, 1);
  if (address % sizeof(uint32_t) != 0) return SdmaResult::kBadRange;
  const void* const pointer = reinterpret_cast<const void*>(address);
  if (address == 0 || !device_range_is_allowed(pointer, count * sizeof(uint32_t)) ||
      is_code(pointer, count * sizeof(uint32_t)))
    return SdmaResult::kBadRange;
  std::fill_n(static_cast<uint32_t*>(host_pointer(reinterpret_cast<void*>(address))), count,
              packet[3]);
  wake({});
  return SdmaResult::kDone;
}

SdmaResult poll(std::span<const uint32_t> packet) {
  const bool memory = packet[0] >> 31 != 0;
  const bool flushes_host_path = (packet[0] >> 26 & 1) != 0;
  if (sub_operation(packet[0]) != 0) return SdmaResult::kUnsupported;
  // The host's path to the device's memory has no cache here. Other registers there are none.
  if (!memory) return flushes_host_path ? SdmaResult::kDone : SdmaResult::kUnsupported;
  const uint64_t address = long_at(packet, 1);
  if (address % sizeof(uint32_t) != 0) return SdmaResult::kBadRange;
  const Reached there = reach(address, sizeof(uint32_t), false);
  if (there.memory == nullptr) return SdmaResult::kBadRange;
  const uint32_t value =
      std::atomic_ref(*static_cast<uint32_t*>(there.memory)).load(std::memory_order_seq_cst) &
      packet[4];
  const uint32_t wanted = packet[3];
  bool holds = false;
  switch (packet[0] >> 28 & 7) {
    case 0: holds = true; break;
    case 1: holds = value < wanted; break;
    case 2: holds = value <= wanted; break;
    case 3: holds = value == wanted; break;
    case 4: holds = value != wanted; break;
    case 5: holds = value >= wanted; break;
    case 6: holds = value > wanted; break;
    default: return SdmaResult::kUnsupported;
  }
  return holds ? SdmaResult::kDone : SdmaResult::kUnfinished;
}

SdmaResult atomic(std::span<const uint32_t> packet) {
  constexpr uint32_t kAdd64 = 47;
  constexpr uint32_t kLoops = 1u << 16;
  if (sub_operation(packet[0]) != 0 || packet[0] >> 25 != kAdd64 || (packet[0] & kLoops) != 0)
    return SdmaResult::kUnsupported;
  const uint64_t address = long_at(packet, 1);
  if (address % sizeof(uint64_t) != 0) return SdmaResult::kBadRange;
  const Reached there = reach(address, sizeof(uint64_t), true);
  if (there.memory == nullptr) return SdmaResult::kBadRange;
  std::atomic_ref(*static_cast<uint64_t*>(there.memory))
      .fetch_add(long_at(packet, 3), std::memory_order_seq_cst);
  wake(there);
  return SdmaResult::kDone;
}

}  // namespace

uint32_t sdma_packet_words(std::span<const uint32_t> words) noexcept {
  switch (operation(words[0])) {
    case kNothing: return 1 + (words[0] >> 16 & 0x3fff);
    case kCopy: return 7;
    case kWrite: {
      constexpr uint32_t kCountMask = 0xfffff;
      return words.size() < 4 ? UINT32_MAX : 5 + (words[3] & kCountMask);
    }
    case kFence: return 4;
    case kTrap: return 2;
    case kPoll: return 6;
    case kAtomic: return 8;
    case kFill: return 5;
    case kTimestamp: return 3;
    case kCaches: return 5;
    default: return 0;
  }
}

SdmaResult run_sdma_packet(std::span<const uint32_t> packet) noexcept {
  switch (operation(packet[0])) {
    case kNothing:
    case kTrap:
    case kCaches: return SdmaResult::kDone;
    case kCopy: return copy(packet);
    case kWrite: return sub_operation(packet[0]) == 0 ? write(packet) : SdmaResult::kUnsupported;
    case kFence:
      return sub_operation(packet[0]) == 0 ? store(long_at(packet, 1), packet[3])
                                           : SdmaResult::kUnsupported;
    case kPoll: return poll(packet);
    case kAtomic: return atomic(packet);
    case kFill: return sub_operation(packet[0]) == 0 ? fill(packet) : SdmaResult::kUnsupported;
    case kTimestamp: {
      constexpr uint32_t kGlobal = 2;
      return sub_operation(packet[0]) == kGlobal ? store(long_at(packet, 1), timestamp_ns())
                                                 : SdmaResult::kUnsupported;
    }
    default: return SdmaResult::kUnsupported;
  }
}

}  // namespace gfxgraph::hsa
