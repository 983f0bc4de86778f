// The packets of the copy engine of gfx10.3 (SDMA 5.2), as words of 32 bits in the order of the
// ring: the linear copy, write and fill, fence, poll, 64-bit addition, time stamp, and those that
// do nothing in coherent memory (no-operation, trap, cache request).
#pragma once

#include <cstdint>
#include <span>

namespace gfxgraph::hsa {

enum class SdmaResult : uint8_t {
  kDone,
  kUnfinished,   // a poll whose condition does not hold yet: to be tried again
  kUnsupported,  // an operation, or bits of it, that the agent does not carry out
  kBadRange,     // an address outside of the device's memory, or loaded code
};

constexpr uint32_t kSdmaLongestHeaderWords = 5;  // of those whose size stands in the packet

// The number of words of the packet that begins with these, of which there is at least one; 0 if
// the operation is unknown, UINT32_MAX if more of them are needed to know it.
uint32_t sdma_packet_words(std::span<const uint32_t> words) noexcept;

// Carries out one whole packet. Any thread.
SdmaResult run_sdma_packet(std::span<const uint32_t> packet) noexcept;

}  // namespace gfxgraph::hsa
