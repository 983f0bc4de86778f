// What the packets of a queue say about their order: barrier bits and the scopes of their fences.
//
// The agent's memory is coherent and it runs one packet after another, so packets that say too
// little would give the right bytes all the same. With $GFXGRAPH_PACKET_ORDER=reversed they do not:
// packets that nothing keeps in order run last to first, and scopes that are too small are faults.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gfxgraph::hsa {

// $GFXGRAPH_PACKET_ORDER is "reversed"; read once.
bool reverses_packets();

// Whether the packet in this slot may begin before those in front of it have ended, and lets those
// behind it begin: a dispatch, or a barrier whose dependencies hold already.
bool lets_others_pass(const std::byte* slot) noexcept;
bool has_barrier_bit(uint16_t header) noexcept;

// The fences of a queue's packets, in the order of the ring. Not thread-safe.
class PacketScopes {
 public:
  // nullptr, or what is wrong with the next packet: what it reads, or what a host waits for behind
  // it, may be stale. `completes`: it has a completion signal.
  const char* next(uint16_t header, bool completes) noexcept;

 private:
  bool stale_ = false;        // dispatches have written since the last acquire
  bool unreleased_ = false;   // what dispatches wrote was released to nobody
  bool unpublished_ = false;  // or to the agent alone
};

}  // namespace gfxgraph::hsa
