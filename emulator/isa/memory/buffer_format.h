// Buffer data formats of gfx10: the layout of elements and the meaning of their components. Plain
// functions on bytes. Source: RDNA2 ISA guide, "Buffer Image Format Table".
#pragma once

#include <cstdint>

namespace gfxgraph::emulator {

enum class NumberFormat : uint8_t { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kFloat };
constexpr bool is_integer(NumberFormat n) {
  return n == NumberFormat::kUint || n == NumberFormat::kSint;
}

struct BufferFormat {
  uint8_t components = 0;  // 0: no such format
  uint8_t bytes = 0;       // of an element
  uint8_t bits[4] = {};    // of x, y, z, w, from the lowest bit on
  NumberFormat number = NumberFormat::kUint;
};
BufferFormat buffer_format(uint32_t id);
// The number of the format with `components` of `bits` each; 0: there is none.
uint32_t buffer_format_id(uint32_t components, uint32_t bits, NumberFormat number);

// The components of an element: floats as binary32 bits (16-bit: as binary16), integers as
// themselves. Components that the format lacks are 0, 0, 0, 1.
void unpack_format(const BufferFormat& format, const uint8_t* element, bool to_16_bits,
                   uint32_t (&component)[4]);

// The other way. Null, or why the values cannot be stored (static text).
const char* pack_format(const BufferFormat& format, const uint32_t (&component)[4],
                        bool from_16_bits, uint8_t* element);

}  // namespace gfxgraph::emulator
