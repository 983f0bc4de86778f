// The order that AQL packets request: barrier bits and fence scopes.
//
// The agent's memory is coherent and it runs one packet after another, so missing barrier bits and
// fences would go unnoticed. With $GFXGRAPH_PACKET_ORDER=reversed, unordered packets run last to
// first, and a missing or too small fence scope is a fault.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gfxgraph::hsa {

// Whether $GFXGRAPH_PACKET_ORDER is "reversed"; read once.
bool reverses_packets();

// Whether the packet in this slot may run out of order with its neighbours: a dispatch, or a
// barrier packet whose dependencies hold already. Does not consider the barrier bit.
bool lets_others_pass(const std::byte* slot) noexcept;
bool has_barrier_bit(uint16_t header) noexcept;

// Checks the fence scopes of a queue's packets, in ring order. Not thread-safe.
class PacketScopes {
 public:
  // Takes the next packet's header. Returns null, or why data that the packet reads, or that the
  // host reads after its completion, may be stale. `completes`: it has a completion signal.
  const char* next(uint16_t header, bool completes) noexcept;

 private:
  bool stale_ = false;        // dispatches have written since the last acquire
  bool unreleased_ = false;   // dispatches have written since the last release
  bool unpublished_ = false;  // dispatches have written since the last release to the system
};

}  // namespace gfxgraph::hsa
