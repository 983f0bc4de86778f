#include "hsa/queue/packet_order.h"

#include <hsa/hsa.h>

#include <algorithm>
#include <cstring>

#include "base/environment.h"
#include "hsa/queue/signal.h"

namespace gfxgraph::hsa {
namespace {

uint32_t bits_of(uint16_t header, uint32_t first, uint32_t width) noexcept {
  return header >> first & ((1u << width) - 1);
}

uint32_t type_of(uint16_t header) noexcept {
  return bits_of(header, HSA_PACKET_HEADER_TYPE, HSA_PACKET_HEADER_WIDTH_TYPE);
}

}  // namespace

bool reverses_packets() {
  static const bool reverses =
      environment_word("GFXGRAPH_PACKET_ORDER", {"submitted", "reversed"}, 0, 0) == 1;
  return reverses;
}

bool has_barrier_bit(uint16_t header) noexcept {
  return bits_of(header, HSA_PACKET_HEADER_BARRIER, HSA_PACKET_HEADER_WIDTH_BARRIER) != 0;
}

bool lets_others_pass(const std::byte* slot) noexcept {
  hsa_barrier_and_packet_t packet;
  std::memcpy(&packet, slot, sizeof(packet));
  const uint32_t type = type_of(packet.header);
  if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH) return true;
  if (type != HSA_PACKET_TYPE_BARRIER_AND && type != HSA_PACKET_TYPE_BARRIER_OR) return false;
  size_t open = 0, held = 0;
  for (const hsa_signal_t dependency : packet.dep_signal) {
    Signal* const signal = Signal::from(dependency);
    if (signal == nullptr) continue;
    ++(signal->value().load(std::memory_order_seq_cst) < 1 ? held : open);
  }
  return open == 0 || (type == HSA_PACKET_TYPE_BARRIER_OR && held != 0);
}

const char* PacketScopes::next(uint16_t header, bool completes) noexcept {
  const bool dispatches = type_of(header) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
  const uint32_t acquires = bits_of(header, HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE,
                                    HSA_PACKET_HEADER_WIDTH_SCACQUIRE_FENCE_SCOPE);
  const uint32_t releases = bits_of(header, HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE,
                                    HSA_PACKET_HEADER_WIDTH_SCRELEASE_FENCE_SCOPE);
  const char* wrong = nullptr;
  // Packets without the barrier bit are not ordered and need no acquire or release scope for it.
  const bool ordered = dispatches && has_barrier_bit(header);
  if (ordered && unreleased_) wrong = "an earlier dispatch has no release fence";
  if (acquires >= HSA_FENCE_SCOPE_AGENT) stale_ = false;
  if (ordered && stale_)
    wrong = "it has no acquire fence, and an earlier dispatch may have written";
  if (dispatches) stale_ = unreleased_ = unpublished_ = true;
  if (releases >= HSA_FENCE_SCOPE_AGENT) unreleased_ = false;
  if (releases >= HSA_FENCE_SCOPE_SYSTEM) unpublished_ = false;
  if (completes && unpublished_ && wrong == nullptr)
    wrong = "it has a completion signal, but writes of dispatches were not released to the system";
  return wrong;
}

}  // namespace gfxgraph::hsa
