#include "hsa/host_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/checked.h"
#include "base/log.h"
#include "hsa/device.h"
#include "hsa/memory.h"
#include "hsa/signal.h"

namespace gfxgraph::hsa {
namespace {

// The buffer layout that HIP's device library and its host listener share. Stacks hold packet
// numbers with a tag in the upper bits.
struct Buffer {
  uint64_t headers;
  uint64_t payloads;
  uint64_t doorbell;
  uint64_t free_stack;
  uint64_t ready_stack;
  uint64_t index_mask;
};
struct Header {
  uint64_t next;
  uint64_t active_lanes;
  uint32_t service;
  uint32_t control;
};
constexpr uint32_t kReady = 1;  // bit of Header::control
constexpr uint64_t kLanesOfPacket = 64;
constexpr uint64_t kLaneBytes = 64;
constexpr uint64_t kPayloadBytes = kLanesOfPacket * kLaneBytes;

constexpr uint32_t kFunctionCall = 1;
constexpr uint32_t kPrintf = 2;
constexpr uint32_t kDeviceMemory = 3;

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
template <typename T>
std::atomic_ref<T> shared(std::byte* at) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(at));
}

// A HIP buffer and the device's copy of it.
struct Guard {
  uint64_t address = 0;  // of HIP's buffer, and as the device sees it
  uint64_t bytes = 0;
  uint64_t headers = 0;  // offset
  uint64_t payloads = 0;
  uint64_t index_mask = 0;
  uint64_t packets = 0;
  Signal* doorbell = nullptr;
  std::unique_ptr<std::byte[]> storage;
  std::byte* copy = nullptr;

  std::byte* real() const { return reinterpret_cast<std::byte*>(address); }
  // False once HIP has freed the buffer.
  bool installed() const {
    const auto table = Device::memory_map().snapshot();
    const emulator::Region* const region = table->find(address);
    return region != nullptr && region->host == copy;
  }
};

struct Guards {
  std::mutex mutex;  // also serializes the deliveries
  std::vector<std::unique_ptr<Guard>> list;
};
Guards& guards() {
  static auto* const instance = new Guards();
  return *instance;
}

tl::unexpected<Error> unknown_layout(uint64_t address) {
  return fail(Status::kUnsupported,
              fmt::format("the buffer for host calls at {:#x} has an unknown layout; "
                          "GFXGRAPH_HOST_CALLS=allow runs it unchecked",
                          address));
}

Result<std::unique_ptr<Guard>> describe(uint64_t address) {
  const auto allocation = find_allocation(reinterpret_cast<const void*>(address));
  if (!allocation || allocation->locked || allocation->address != address ||
      allocation->mapped_bytes < sizeof(Buffer))
    return unknown_layout(address);
  auto guard = std::make_unique<Guard>();
  guard->address = address;
  guard->bytes = allocation->mapped_bytes;
  const auto buffer = load<Buffer>(guard->real());
  guard->headers = buffer.headers - address;
  guard->payloads = buffer.payloads - address;
  guard->index_mask = buffer.index_mask;
  guard->doorbell = Signal::from(buffer.doorbell);
  if (guard->doorbell == nullptr || guard->headers < sizeof(Buffer) ||
      guard->headers % alignof(Header) != 0 || guard->payloads % sizeof(uint64_t) != 0 ||
      guard->payloads < guard->headers || guard->payloads > guard->bytes ||
      !std::has_single_bit(guard->index_mask + 1))
    return unknown_layout(address);
  guard->packets = std::min((guard->payloads - guard->headers) / sizeof(Header),
                            (guard->bytes - guard->payloads) / kPayloadBytes);
  guard->packets = std::min(guard->packets, guard->index_mask + 1);
  if (guard->packets == 0) return unknown_layout(address);
  return guard;
}

// Redirects the device's region of the buffer to the copy.
Result<void> install(Guard& guard) {
  constexpr uint64_t kAlignment = 4096;
  guard.storage = std::make_unique<std::byte[]>(guard.bytes + kAlignment);
  const auto begin = reinterpret_cast<uint64_t>(guard.storage.get());
  guard.copy = guard.storage.get() + (kAlignment - begin % kAlignment) % kAlignment;
  std::memcpy(guard.copy, guard.real(), guard.bytes);
  const auto table = Device::memory_map().snapshot();
  const emulator::Region* const found = table->find(guard.address);
  if (found == nullptr || found->address != guard.address || found->mapped_bytes != guard.bytes)
    return unknown_layout(guard.address);
  emulator::Region region = *found;
  region.host = guard.copy;
  GFXGRAPH_TRY(Device::memory_map().remove(guard.address));
  return Device::memory_map().add(region);
}

struct Packet {
  uint64_t pointer = 0;  // with its tag
  uint64_t number = 0;
  Header header{};
};

const char* service_name(uint32_t service) {
  return service == kFunctionCall ? "call of a host function" : "unknown";
}

// Takes all packets that the device has marked ready. Returns a text if one of them is unsupported.
std::optional<std::string> take_packets(Guard& guard, std::vector<Packet>& packets) {
  const uint64_t top = shared<uint64_t>(guard.copy + offsetof(Buffer, ready_stack))
                           .exchange(0, std::memory_order_acq_rel);
  for (uint64_t pointer = top; pointer != 0;) {
    Packet packet;
    packet.pointer = pointer;
    packet.number = pointer & guard.index_mask;
    if (packet.number >= guard.packets || packets.size() >= guard.packets)
      return "a host call whose packet is not in its buffer";
    packet.header = load<Header>(guard.copy + guard.headers + packet.number * sizeof(Header));
    const uint32_t service = packet.header.service;
    if (service != kPrintf && service != kDeviceMemory) {
      return fmt::format(
          "host call of service {} ({}), which GFXGRAPH_HOST_CALLS=deny refuses: only printf, "
          "assert, malloc and free of device code may call the host",
          service, service_name(service));
    }
    pointer = packet.header.next;
    packets.push_back(packet);
  }
  return std::nullopt;
}

void push_real(Guard& guard, const Packet& packet) {
  std::memcpy(guard.real() + guard.payloads + packet.number * kPayloadBytes,
              guard.copy + guard.payloads + packet.number * kPayloadBytes, kPayloadBytes);
  std::byte* const header = guard.real() + guard.headers + packet.number * sizeof(Header);
  Header own = packet.header;
  auto ready = shared<uint64_t>(guard.real() + offsetof(Buffer, ready_stack));
  uint64_t below = ready.load(std::memory_order_relaxed);
  do {
    own.next = below;
    std::memcpy(header, &own, sizeof(own));
  } while (!ready.compare_exchange_weak(below, packet.pointer, std::memory_order_acq_rel));
}

bool wait_for_answer(Guard& guard, const Packet& packet) {
  auto control = shared<uint32_t>(guard.real() + guard.headers + packet.number * sizeof(Header) +
                                  offsetof(Header, control));
  while ((control.load(std::memory_order_acquire) & kReady) != 0) {
    if (Device::stopping()) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

void hand_back(Guard& guard, const Packet& packet) {
  std::memcpy(guard.copy + guard.payloads + packet.number * kPayloadBytes,
              guard.real() + guard.payloads + packet.number * kPayloadBytes, kPayloadBytes);
  shared<uint32_t>(guard.copy + guard.headers + packet.number * sizeof(Header) +
                   offsetof(Header, control))
      .store(packet.header.control & ~kReady, std::memory_order_release);
}

}  // namespace

bool host_calls_denied() noexcept {
  static const bool denied = [] {
    const char* const value = std::getenv("GFXGRAPH_HOST_CALLS");
    if (value == nullptr || *value == '\0' || std::string_view(value) == "allow") return false;
    if (std::string_view(value) != "deny") {
      log(LogLevel::kWarning, "GFXGRAPH_HOST_CALLS={}: not \"allow\" or \"deny\"; taken as deny",
          value);
    }
    return true;
  }();
  return denied;
}

Result<void> guard_host_calls(const codeobj::Kernel& kernel, uint64_t kernarg_address) {
  const codeobj::Argument* const argument = kernel.find_hidden("hidden_hostcall_buffer");
  if (argument == nullptr || kernarg_address == 0) return {};
  const auto* const kernarg = reinterpret_cast<const std::byte*>(kernarg_address);
  const auto place = find_allocation(kernarg);
  if (!place || !range_fits(kernarg_address - place->address + argument->offset_bytes,
                            sizeof(uint64_t), place->mapped_bytes))
    return {};  // the emulator rejects such arguments
  const auto address = load<uint64_t>(kernarg + argument->offset_bytes);
  if (address == 0) return {};
  Guards& all = guards();
  const std::lock_guard lock(all.mutex);
  for (const auto& guard : all.list)
    if (guard->address == address && guard->installed()) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<Guard> guard, describe(address));
  GFXGRAPH_TRY(install(*guard));
  std::erase_if(all.list,
                [&](const std::unique_ptr<Guard>& old) { return old->address == address; });
  all.list.push_back(std::move(guard));
  return {};
}

std::optional<std::string> deliver_host_calls() {
  Guards& all = guards();
  const std::lock_guard lock(all.mutex);
  for (const auto& guard : all.list) {
    if (!guard->installed()) continue;
    std::vector<Packet> packets;
    if (auto refused = take_packets(*guard, packets)) return refused;
    if (packets.empty()) continue;
    // In order of creation.
    for (auto packet = packets.rbegin(); packet != packets.rend(); ++packet)
      push_real(*guard, *packet);
    guard->doorbell->value().fetch_add(1, std::memory_order_seq_cst);
    guard->doorbell->notify();
    for (const Packet& packet : packets) {
      if (!wait_for_answer(*guard, packet)) return std::nullopt;
      hand_back(*guard, packet);
    }
  }
  return std::nullopt;
}

}  // namespace gfxgraph::hsa
