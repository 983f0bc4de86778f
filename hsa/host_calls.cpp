#include "hsa/host_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
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
#include "emulator/host/host_packets.h"
#include "hsa/device.h"
#include "hsa/memory.h"
#include "hsa/signal.h"

namespace gfxgraph::hsa {
namespace {

using emulator::HostPackets;

// A HIP buffer and the device's copy of it.
struct Guard {
  uint64_t address = 0;  // of HIP's buffer, and as the device sees it
  uint64_t bytes = 0;
  HostPackets packets;
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
      allocation->mapped_bytes < sizeof(HostPackets::Buffer))
    return unknown_layout(address);
  auto guard = std::make_unique<Guard>();
  guard->address = address;
  guard->bytes = allocation->mapped_bytes;
  HostPackets::Buffer buffer{};
  std::memcpy(&buffer, guard->real(), sizeof buffer);
  guard->doorbell = Signal::from(buffer.doorbell);
  const auto packets = HostPackets::open(guard->real(), guard->bytes, address);
  if (guard->doorbell == nullptr || !packets) return unknown_layout(address);
  guard->packets = *packets;
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

const char* service_name(uint32_t service) {
  return service == HostPackets::kFunctionCall ? "call of a host function" : "unknown";
}

// Takes all packets that the device has marked ready. Returns a text if one of them is unsupported.
std::optional<std::string> take_packets(Guard& guard, std::vector<HostPackets::Packet>& packets) {
  if (!guard.packets.take(guard.copy, packets))
    return "a host call whose packet is not in its buffer";
  for (const HostPackets::Packet& packet : packets) {
    const uint32_t service = packet.header.service;
    if (service == HostPackets::kPrintf || service == HostPackets::kDeviceMemory) continue;
    return fmt::format(
        "host call of service {} ({}), rejected by GFXGRAPH_HOST_CALLS=deny: only printf, assert, "
        "malloc and free of device code may call the host",
        service, service_name(service));
  }
  return std::nullopt;
}

void push_real(Guard& guard, const HostPackets::Packet& packet) {
  std::memcpy(guard.packets.payload(guard.real(), packet.number),
              guard.packets.payload(guard.copy, packet.number), HostPackets::kPayloadBytes);
  guard.packets.push(guard.real(), packet);
}

bool wait_for_answer(Guard& guard, const HostPackets::Packet& packet) {
  while (!guard.packets.answered(guard.real(), packet)) {
    if (Device::stopping()) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

void hand_back(Guard& guard, const HostPackets::Packet& packet) {
  std::memcpy(guard.packets.payload(guard.copy, packet.number),
              guard.packets.payload(guard.real(), packet.number), HostPackets::kPayloadBytes);
  guard.packets.answer(guard.copy, packet);
}

}  // namespace

bool host_calls_denied() noexcept {
  static const bool denied = [] {
    const char* const value = std::getenv("GFXGRAPH_HOST_CALLS");
    if (value == nullptr || *value == '\0' || std::string_view(value) == "allow") return false;
    if (std::string_view(value) != "deny") {
      log(LogLevel::kWarning, "GFXGRAPH_HOST_CALLS={}: expected allow or deny; using deny", value);
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
  uint64_t address = 0;
  std::memcpy(&address, kernarg + argument->offset_bytes, sizeof address);
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
    std::vector<HostPackets::Packet> packets;
    if (auto refused = take_packets(*guard, packets)) return refused;
    if (packets.empty()) continue;
    // In order of creation.
    for (auto packet = packets.rbegin(); packet != packets.rend(); ++packet)
      push_real(*guard, *packet);
    guard->doorbell->value().fetch_add(1, std::memory_order_seq_cst);
    guard->doorbell->notify();
    for (const HostPackets::Packet& packet : packets) {
      if (!wait_for_answer(*guard, packet)) return std::nullopt;
      hand_back(*guard, packet);
    }
  }
  return std::nullopt;
}

}  // namespace gfxgraph::hsa
