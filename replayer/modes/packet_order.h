// Which packets of a run wait for those before them, and what they make visible.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "replayer/abi/hsa_abi.h"
#include "replayer/session/executor.h"

namespace gfxgraph::replayer {

// Packets that are submitted together: the host or the stream acts before them.
struct PacketStretch {
  uint32_t first = 0;
  uint32_t count = 0;
};

// In recorded order all have the barrier bit; where the session's proven order holds, those that
// needed_barriers() finds. Not thread-safe.
class PacketOrder {
 public:
  // `packet_of`: of each operation that the run has, or kNoPacket.
  PacketOrder(const Instance& instance, std::span<const uint32_t> packet_of, uint32_t packets,
              std::span<const PacketStretch> stretches);

  // As OrderInUse::keeps(): after false, the headers must be written again.
  bool keeps(uint32_t operation) noexcept;
  bool proven() const { return order_ && order_->proven(); }
  // Allocates nothing.
  void write_headers(std::span<hsa_abi::Packet> packets) const noexcept;
  OrderUse use() const;

 private:
  std::optional<OrderInUse> order_;  // none: the recorded one was asked for
  std::vector<PacketStretch> stretches_;
  std::vector<bool> barriers_;  // by packet
};

}  // namespace gfxgraph::replayer
