#include "emulator/host/host_packets.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

namespace gfxgraph::emulator {
namespace {

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
constexpr uint64_t kPage = 4096;
constexpr uint64_t whole_pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

std::optional<HostPackets> HostPackets::open(const std::byte* bytes, uint64_t size_bytes,
                                             uint64_t device_address) {
  if (size_bytes < sizeof(Buffer)) return std::nullopt;
  const auto buffer = load<Buffer>(bytes);
  HostPackets result;
  result.headers_ = buffer.headers - device_address;
  result.payloads_ = buffer.payloads - device_address;
  result.index_mask_ = buffer.index_mask;
  if (result.headers_ < sizeof(Buffer) || result.headers_ % alignof(Header) != 0 ||
      result.payloads_ % sizeof(uint64_t) != 0 || result.payloads_ < result.headers_ ||
      result.payloads_ > size_bytes || !std::has_single_bit(result.index_mask_ + 1))
    return std::nullopt;
  result.packets_ = std::min((result.payloads_ - result.headers_) / sizeof(Header),
                             (size_bytes - result.payloads_) / kPayloadBytes);
  result.packets_ = std::min(result.packets_, result.index_mask_ + 1);
  if (result.packets_ == 0) return std::nullopt;
  return result;
}

uint64_t HostPackets::size_of(uint64_t packets) {
  return whole_pages(sizeof(Buffer) + packets * sizeof(Header)) + packets * kPayloadBytes;
}

HostPackets HostPackets::create(std::byte* bytes, uint64_t packets, uint64_t device_address,
                                uint64_t doorbell) {
  HostPackets result;
  result.headers_ = sizeof(Buffer);
  result.payloads_ = whole_pages(sizeof(Buffer) + packets * sizeof(Header));
  result.index_mask_ = packets - 1;
  result.packets_ = packets;
  // A pointer of 0 ends a stack, so the tag of every packet is at least 1.
  const auto pointer = [&](uint64_t number) { return number + packets; };
  for (uint64_t number = 0; number < packets; ++number) {
    Header header{};
    header.next = number + 1 < packets ? pointer(number + 1) : 0;
    std::memcpy(result.header(bytes, number), &header, sizeof header);
  }
  const Buffer buffer = {device_address + result.headers_,
                         device_address + result.payloads_,
                         doorbell,
                         pointer(0),
                         0,
                         result.index_mask_};
  std::memcpy(bytes, &buffer, sizeof buffer);
  return result;
}

bool HostPackets::take(std::byte* bytes, std::vector<Packet>& taken) const {
  const uint64_t top = shared<uint64_t>(bytes + offsetof(Buffer, ready_stack))
                           .exchange(0, std::memory_order_acq_rel);
  for (uint64_t pointer = top; pointer != 0;) {
    Packet packet;
    packet.pointer = pointer;
    packet.number = pointer & index_mask_;
    if (packet.number >= packets_ || taken.size() >= packets_) return false;
    packet.header = load<Header>(header(bytes, packet.number));
    pointer = packet.header.next;
    taken.push_back(packet);
  }
  return true;
}

void HostPackets::push(std::byte* bytes, const Packet& packet) const {
  Header own = packet.header;
  auto ready = shared<uint64_t>(bytes + offsetof(Buffer, ready_stack));
  uint64_t below = ready.load(std::memory_order_relaxed);
  do {
    own.next = below;
    std::memcpy(header(bytes, packet.number), &own, sizeof own);
  } while (!ready.compare_exchange_weak(below, packet.pointer, std::memory_order_acq_rel));
}

bool HostPackets::answered(std::byte* bytes, const Packet& packet) const {
  auto control = shared<uint32_t>(header(bytes, packet.number) + offsetof(Header, control));
  return (control.load(std::memory_order_acquire) & kReady) == 0;
}

void HostPackets::answer(std::byte* bytes, const Packet& packet) const {
  shared<uint32_t>(header(bytes, packet.number) + offsetof(Header, control))
      .store(packet.header.control & ~kReady, std::memory_order_release);
}

}  // namespace gfxgraph::emulator
