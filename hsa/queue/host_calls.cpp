#include "hsa/queue/host_calls.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "base/checked.h"
#include "base/environment.h"
#include "emulator/host/host_packets.h"
#include "emulator/host/host_printer.h"
#include "hsa/device.h"
#include "hsa/memory.h"
#include "hsa/queue/signal.h"

namespace gfxgraph::hsa {
namespace {

using emulator::HostPackets;

// HIP makes one packet for each wave that the device can hold: a multiple of its workgroup
// processors.
constexpr uint64_t kPacketsAreMultiplesOf = 36;
constexpr uint64_t kMostHeadBytes = 512;

// A HIP buffer and the device's copy of it. Lives forever: waves may still use the copy when HIP
// frees the buffer.
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

// An allocation of a thread that HIP may still make a buffer of.
struct NewBuffer {
  uint64_t address = 0;
  const void* thread = nullptr;
};

struct Guards {
  std::mutex mutex;
  std::vector<std::unique_ptr<Guard>> list;
  std::vector<NewBuffer> new_buffers;
  // Held while HIP serves a packet. Not to be waited for in HIP's calls: they may hold locks that
  // HIP's listener needs.
  std::mutex deliveries;
  emulator::HostPrinter printer;
  std::set<uint64_t> device_blocks;  // what HIP gave to malloc of device code
};
Guards& guards() {
  static auto* const instance = new Guards();
  return *instance;
}
constinit std::atomic<uint32_t> new_buffer_count{0};  // of all threads

// Exists once in each thread that calls allocate_buffer(); its address identifies the thread.
struct ThreadOfBuffers {
  ~ThreadOfBuffers() { settle_new_buffers(); }
};
const void* this_thread_of_buffers() {
  static thread_local ThreadOfBuffers self;
  return &self;
}

tl::unexpected<Error> unknown_layout(uint64_t address) {
  return fail(Status::kUnsupported,
              fmt::format("the buffer for host calls at {:#x} has an unknown layout; "
                          "GFXGRAPH_HOST_CALLS=allow runs it unchecked",
                          address));
}

// Requires that kernels never accessed the memory: it holds what HIP wrote.
Result<std::unique_ptr<Guard>> describe(uint64_t address) {
  const auto allocation = find_allocation(reinterpret_cast<const void*>(address));
  if (!allocation || !allocation->unseen || allocation->address != address ||
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

// Shows the device a copy of the buffer, which rings a signal that nobody waits for.
Result<void> install(Guard& guard) {
  constexpr uint64_t kAlignment = 4096;
  guard.storage = std::make_unique<std::byte[]>(guard.bytes + kAlignment);
  const auto begin = reinterpret_cast<uint64_t>(guard.storage.get());
  guard.copy = guard.storage.get() + (kAlignment - begin % kAlignment) % kAlignment;
  std::memcpy(guard.copy, guard.real(), guard.bytes);
  const uint64_t doorbell = stand_in_signal();
  std::memcpy(guard.copy + offsetof(HostPackets::Buffer, doorbell), &doorbell, sizeof doorbell);
  return show_allocation(guard.address, guard.copy);
}

// Requires the lock. An error if the memory is no buffer of HIP.
Result<void> guard_buffer(Guards& all, uint64_t address) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<Guard> guard, describe(address));
  all.list.reserve(all.list.size() + 1);
  GFXGRAPH_TRY(install(*guard));
  all.list.push_back(std::move(guard));
  return {};
}

// Requires the lock.
void settle(Guards& all, uint64_t address) {
  if (guard_buffer(all, address)) return;
  // False: it is in use as a buffer already.
  (void)show_allocation(address, reinterpret_cast<std::byte*>(address));
}

using Payload = std::array<std::byte, HostPackets::kPayloadBytes>;
using LaneWords = std::array<uint64_t, HostPackets::kLaneBytes / sizeof(uint64_t)>;

// A packet as it was once: kernels may change the copy meanwhile.
struct TakenPacket {
  HostPackets::Packet packet;
  Payload payload;

  LaneWords lane(uint64_t number) const {
    LaneWords words;
    std::memcpy(words.data(), payload.data() + number * HostPackets::kLaneBytes, sizeof words);
    return words;
  }
  void answer_lane(uint64_t number, uint64_t word) {
    std::memcpy(payload.data() + number * HostPackets::kLaneBytes, &word, sizeof word);
  }
  template <typename Visit>
  void each_lane(const Visit& visit) {
    for (uint64_t rest = packet.header.active_lanes; rest != 0; rest &= rest - 1)
      visit(static_cast<uint64_t>(std::countr_zero(rest)));
  }
};

std::string refusal(const std::string& what) {
  return fmt::format("{}, rejected by GFXGRAPH_HOST_CALLS=deny", what);
}

std::optional<std::string> print(Guards& all, TakenPacket& taken) {
  std::optional<std::string> refused;
  taken.each_lane([&](uint64_t lane) {
    if (refused) return;
    const Result<uint64_t> reply = all.printer.take(taken.lane(lane));
    if (reply) {
      taken.answer_lane(lane, *reply);
    } else {
      refused = refusal(reply.error().message);
    }
  });
  return refused;
}

// HIP frees whatever address it is given, also one of the program's own buffers.
std::optional<std::string> check_memory_request(Guards& all, TakenPacket& taken) {
  std::optional<std::string> refused;
  taken.each_lane([&](uint64_t lane) {
    const uint64_t address = taken.lane(lane)[0];
    if (refused || address == 0 || all.device_blocks.erase(address) != 0) return;
    refused = refusal(fmt::format(
        "device code frees {:#x}, which it did not get from the host as memory", address));
  });
  return refused;
}

bool wait_for_answer(const Guard& guard, const HostPackets::Packet& packet) {
  while (!guard.packets.answered(guard.real(), packet)) {
    if (Device::stopping()) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

// Has HIP serve the packet. False if the device stops meanwhile.
bool forward(Guards& all, const Guard& guard, TakenPacket& taken) {
  const HostPackets::Packet& packet = taken.packet;
  std::vector<uint64_t> asking;
  taken.each_lane([&](uint64_t lane) {
    if (taken.lane(lane)[0] == 0) asking.push_back(lane);
  });
  std::byte* const real = guard.packets.payload(guard.real(), packet.number);
  std::memcpy(real, taken.payload.data(), taken.payload.size());
  guard.packets.push(guard.real(), packet);
  guard.doorbell->value().fetch_add(1, std::memory_order_seq_cst);
  guard.doorbell->notify();
  if (!wait_for_answer(guard, packet)) return false;
  std::memcpy(taken.payload.data(), real, taken.payload.size());
  for (const uint64_t lane : asking)
    if (const uint64_t block = taken.lane(lane)[0]; block != 0) all.device_blocks.insert(block);
  return true;
}

const char* service_name(uint32_t service) {
  return service == HostPackets::kFunctionCall ? "call of a host function" : "unknown";
}

// Serves one packet. A text if it is refused.
std::optional<std::string> serve(Guards& all, const Guard& guard,
                                 const HostPackets::Packet& packet) {
  TakenPacket taken;
  taken.packet = packet;
  std::byte* const shared = guard.packets.payload(guard.copy, packet.number);
  std::memcpy(taken.payload.data(), shared, taken.payload.size());
  switch (packet.header.service) {
    case HostPackets::kPrintf:
      if (auto refused = print(all, taken)) return refused;
      break;
    case HostPackets::kDeviceMemory:
      if (auto refused = check_memory_request(all, taken)) return refused;
      if (!forward(all, guard, taken)) return std::nullopt;
      break;
    default:
      return fmt::format(
          "host call of service {} ({}), rejected by GFXGRAPH_HOST_CALLS=deny: only printf, "
          "assert, malloc and free of device code may call the host",
          packet.header.service, service_name(packet.header.service));
  }
  std::memcpy(shared, taken.payload.data(), taken.payload.size());
  guard.packets.answer(guard.copy, packet);
  return std::nullopt;
}

}  // namespace

bool host_calls_denied() noexcept {
  static const bool denied = environment_word("GFXGRAPH_HOST_CALLS", {"allow", "deny"}, 0, 1) == 1;
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
  return guard_buffer(all, address);
}

bool may_become_buffer(uint64_t bytes) noexcept {
  if (!host_calls_denied()) return false;
  constexpr uint64_t kBytesOfPacket = HostPackets::kPayloadBytes + sizeof(HostPackets::Header);
  const uint64_t packets = bytes / kBytesOfPacket;
  const bool whole_pages = bytes % kPageBytes == 0;  // rounded up
  return packets != 0 && packets % kPacketsAreMultiplesOf == 0 &&
         (whole_pages || bytes % kBytesOfPacket <= kMostHeadBytes);
}

Result<std::byte*> allocate_buffer(Pool pool, uint64_t bytes) {
  Guards& all = guards();
  const std::lock_guard lock(all.mutex);
  all.new_buffers.reserve(all.new_buffers.size() + 1);
  GFXGRAPH_ASSIGN_OR_RETURN(std::byte* const memory, allocate_unseen(pool, bytes));
  all.new_buffers.push_back({reinterpret_cast<uint64_t>(memory), this_thread_of_buffers()});
  new_buffer_count.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void settle_new_buffers() noexcept {
  if (new_buffer_count.load(std::memory_order_relaxed) == 0) return;
  const void* const thread = this_thread_of_buffers();
  Guards& all = guards();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.new_buffers, [&](const NewBuffer& made) {
    if (made.thread != thread) return false;
    try {
      settle(all, made.address);
    } catch (const std::bad_alloc&) {
      return false;  // kernels cannot access it
    }
    new_buffer_count.fetch_sub(1, std::memory_order_relaxed);
    return true;
  });
}

void forget_buffer(const void* memory) noexcept {
  if (new_buffer_count.load(std::memory_order_relaxed) == 0) return;
  Guards& all = guards();
  const std::lock_guard lock(all.mutex);
  const size_t erased = std::erase_if(all.new_buffers, [&](const NewBuffer& made) {
    return made.address == reinterpret_cast<uint64_t>(memory);
  });
  new_buffer_count.fetch_sub(static_cast<uint32_t>(erased), std::memory_order_relaxed);
}

std::optional<std::string> deliver_host_calls() {
  Guards& all = guards();
  const std::lock_guard delivery(all.deliveries);
  std::vector<const Guard*> list;
  {
    const std::lock_guard lock(all.mutex);
    for (const auto& guard : all.list) list.push_back(guard.get());
  }
  for (const Guard* const guard : list) {
    if (!guard->installed()) continue;
    std::vector<HostPackets::Packet> packets;
    if (!guard->packets.take(guard->copy, packets))
      return "a host call whose packet is not in its buffer";
    // In order of creation.
    for (auto packet = packets.rbegin(); packet != packets.rend(); ++packet)
      if (auto refused = serve(all, *guard, *packet)) return refused;
  }
  return std::nullopt;
}

}  // namespace gfxgraph::hsa
