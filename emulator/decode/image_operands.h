// Operands of MIMG instructions: which registers hold coordinates and data. The layout depends on
// the instruction, its dimension and DMASK. Source: RDNA2 ISA guide, "Image Instructions": "Image
// Addressing".
//
// Of Inst: dst (loads) or src[1] (stores) is vdata, sdst the image resource (8 SGPRs, read), src[2]
// the sampler (4 SGPRs) or kNone, src[0] the first address register; imm and k[0..1] as below. All
// of that only for ops that the emulator runs; of the others the decoder fills in the op alone.
#pragma once

#include <bit>
#include <cstdint>

#include "emulator/decode/inst.h"

namespace gfxgraph::emulator {

enum class ImageDim : uint8_t { k1D, k2D, k3D, kCube, k1DArray, k2DArray, k2DMsaa, k2DMsaaArray };

// Inst::imm of a MIMG instruction; its address registers are bytes of k[0] and k[1].
struct ImageFields {
  ImageDim dim;
  uint32_t dmask;
  bool d16;
  bool unnormalized;
  bool refused;  // A16, R128, TFE or LWE
};
inline constexpr uint32_t kMostImageAddresses = 13;

[[gnu::always_inline]] inline int32_t keep_image_fields(const ImageFields& f) {
  return static_cast<int32_t>(static_cast<uint32_t>(f.dim) | f.dmask << 3 | (f.d16 ? 128u : 0) |
                              (f.unnormalized ? 256u : 0) | (f.refused ? 512u : 0));
}
[[gnu::always_inline]] inline ImageFields image_fields(const Inst& inst) {
  const auto bits = static_cast<uint32_t>(inst.imm);
  return {static_cast<ImageDim>(bits & 7), bits >> 3 & 15, (bits & 128) != 0, (bits & 256) != 0,
          (bits & 512) != 0};
}
[[gnu::always_inline]] inline uint16_t image_address(const Inst& inst, unsigned n) {
  return static_cast<uint16_t>(operand::kVgpr0 + (inst.k[n / 8] >> (n % 8 * 8) & 255));
}

// The registers that the result depends on.
struct ImageShape {
  uint8_t first;  // number of the first address register: derivatives, which only choose a mip
                  // level, come before it
  uint8_t axes;   // coordinates, with the slice or layer
  uint8_t level;  // 1 if a mip level follows them
  uint8_t data_dwords;
};
[[gnu::always_inline]] inline ImageShape image_shape(const Inst& inst) {
  constexpr uint8_t kAxes[8] = {1, 2, 3, 3, 2, 3, 3, 4};
  constexpr uint8_t kDerivatives[8] = {2, 4, 6, 4, 2, 4, 4, 4};
  // Two halves in a register; those along each axis of the screen begin in one of their own.
  constexpr uint8_t kPackedDerivatives[8] = {2, 2, 4, 2, 2, 2, 2, 2};
  const ImageFields f = image_fields(inst);
  const auto dim = static_cast<unsigned>(f.dim);
  ImageShape shape = {0, kAxes[dim], 0, static_cast<uint8_t>(std::popcount(f.dmask))};
  switch (inst.op) {
    case Op::image_load_mip:
    case Op::image_store_mip: shape.level = 1; break;
    case Op::image_get_resinfo:
      shape.axes = 0;
      shape.level = 1;
      break;
    case Op::image_sample_d: shape.first = kDerivatives[dim]; break;
    case Op::image_sample_d_g16: shape.first = kPackedDerivatives[dim]; break;
    case Op::image_gather4:
    case Op::image_gather4_l:
    case Op::image_gather4_lz: shape.data_dwords = 4; break;
    default: break;
  }
  if (f.d16) shape.data_dwords = static_cast<uint8_t>((shape.data_dwords + 1) / 2);
  return shape;
}

}  // namespace gfxgraph::emulator
