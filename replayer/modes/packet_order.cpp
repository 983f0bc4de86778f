#include "replayer/modes/packet_order.h"

#include <algorithm>

namespace gfxgraph::replayer {

using hsa_abi::Packet;

[[gnu::cold]] PacketOrder::PacketOrder(const Instance& instance,
                                       std::span<const uint32_t> packet_of, uint32_t packets,
                                       std::span<const PacketStretch> stretches)
    : stretches_(stretches.begin(), stretches.end()), barriers_(packets, true) {
  if (instance.session().order() == nullptr) return;
  order_.emplace(instance);
  if (!order_->proven()) return;
  std::vector<uint32_t> begins;
  for (const PacketStretch& one : stretches_) {
    if (one.count != 0) begins.push_back(one.first);
  }
  barriers_ = needed_barriers(order_->dag().dependencies, packet_of, packets, begins);
}

bool PacketOrder::keeps(uint32_t operation) noexcept {
  if (!order_ || order_->keeps(operation)) [[likely]]
    return true;
  barriers_.assign(barriers_.size(), true);  // allocates nothing
  return false;
}

// A packet without the barrier bit reads nothing that was written since the last packet with the
// bit began, and that one's acquire scope made the rest visible. Each writes something, and needs
// its release.
void PacketOrder::write_headers(std::span<Packet> packets) const noexcept {
  for (size_t i = 0; i < packets.size(); ++i) {
    const int scopes = barriers_[i] ? hsa_abi::kBarrierBit | hsa_abi::kAcquireAgent : 0;
    packets[i].header =
        static_cast<uint16_t>(hsa_abi::kPacketDispatch | hsa_abi::kReleaseAgent | scopes);
  }
  // The bits of two scopes together would encode a third one.
  const auto widen = [](Packet& packet, uint16_t from, uint16_t to) {
    packet.header = static_cast<uint16_t>((packet.header & ~from) | to);
  };
  // System scope: makes writes of the caller visible to the run, and its writes to the caller.
  for (const PacketStretch& one : stretches_) {
    if (one.count == 0) continue;
    widen(packets[one.first], hsa_abi::kAcquireAgent, hsa_abi::kAcquireSystem);
    widen(packets[one.first + one.count - 1], hsa_abi::kReleaseAgent, hsa_abi::kReleaseSystem);
  }
}

OrderUse PacketOrder::use() const {
  OrderUse use = order_ ? order_->use() : OrderUse();
  use.packets = barriers_.size();
  use.barriers = static_cast<uint64_t>(std::ranges::count(barriers_, true));
  return use;
}

}  // namespace gfxgraph::replayer
