// The packets by which device code calls the host (printf, assert, malloc): the layout that HIP's
// device library and its host listener share. For those that stand in for the listener.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gfxgraph::emulator {

// A buffer of packets in this process's memory, which the device may change meanwhile.
class HostPackets {
 public:
  // Stacks hold packet numbers with a tag in the upper bits.
  struct Buffer {
    uint64_t headers;  // device addresses
    uint64_t payloads;
    uint64_t doorbell;  // handle of a signal
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
  static constexpr uint32_t kReady = 1;  // bit of Header::control
  static constexpr uint64_t kLanesOfPacket = 64;
  static constexpr uint64_t kLaneBytes = 64;
  static constexpr uint64_t kPayloadBytes = kLanesOfPacket * kLaneBytes;

  static constexpr uint32_t kFunctionCall = 1;
  static constexpr uint32_t kPrintf = 2;
  static constexpr uint32_t kDeviceMemory = 3;

  struct Packet {
    uint64_t pointer = 0;  // with its tag
    uint64_t number = 0;
    Header header{};
  };

  HostPackets() = default;
  // Of a buffer that somebody has set up at a device address. Nothing if its layout is unknown.
  static std::optional<HostPackets> open(const std::byte* bytes, uint64_t size_bytes,
                                         uint64_t device_address);
  // How many bytes a buffer of `packets` takes.
  static uint64_t size_of(uint64_t packets);
  // Sets one up, all packets free. `packets`: a power of two; `bytes`: zeros.
  static HostPackets create(std::byte* bytes, uint64_t packets, uint64_t device_address,
                            uint64_t doorbell);

  uint64_t packets() const { return packets_; }
  std::byte* header(std::byte* bytes, uint64_t number) const {
    return bytes + headers_ + number * sizeof(Header);
  }
  std::byte* payload(std::byte* bytes, uint64_t number) const {
    return bytes + payloads_ + number * kPayloadBytes;
  }
  // Takes all packets that the device has marked ready, the newest first. False: one of them is not
  // in the buffer.
  bool take(std::byte* bytes, std::vector<Packet>& taken) const;
  // Adds a packet to those that are ready.
  void push(std::byte* bytes, const Packet& packet) const;
  bool answered(std::byte* bytes, const Packet& packet) const;
  // The payload holds the results: the waves that wait go on.
  void answer(std::byte* bytes, const Packet& packet) const;

 private:
  uint64_t headers_ = 0;  // offsets
  uint64_t payloads_ = 0;
  uint64_t index_mask_ = 0;
  uint64_t packets_ = 0;
};

}  // namespace gfxgraph::emulator
