// Arrays, textures and surfaces: their shapes, and what a read of one gives, for the device and for
// the host's model. HIP 5 has four components in each read: these are compared as bits.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace random_programs {

enum class TexelKind : uint32_t { kUnsigned, kSigned, kFloat };
enum class AddressMode : uint32_t { kWrap, kClamp, kMirror, kBorder };  // as HIP numbers them
// How a kernel reads: by tex1Dfetch, tex1D, ...
enum class Dimension : uint32_t { kFetch, k1D, k2D, k3D, k2DLayers };

constexpr uint32_t kNormalized = 1;  // coordinates from 0 to 1
constexpr uint32_t kLinear = 2;      // a linear filter, at the middle of a texel
constexpr uint32_t kFraction = 4;    // integers are read as fractions

// What a kernel is told of an image, and the part of it that a surface's kernel writes.
struct ImageShape {
  Dimension dimension = Dimension::k2D;
  uint32_t size[3] = {1, 1, 1};  // texels
  uint32_t components = 1;
  uint32_t bits = 8;
  TexelKind kind = TexelKind::kUnsigned;
  uint32_t how = 0;
  uint32_t at[3] = {0, 0, 0};
  uint32_t part[3] = {1, 1, 1};
};

// The texel of an axis that point i reads: also those before and behind the image.
RANDOM_BOTH inline int32_t texel_at(uint32_t i, uint32_t a, uint32_t axis, uint32_t size) {
  const uint32_t around = 3 * size;
  return static_cast<int32_t>(mix(a + 3 * i + axis) % around) - static_cast<int32_t>(size);
}
// Where in the texel, in quarters.
RANDOM_BOTH inline uint32_t quarter_at(uint32_t i, uint32_t a, uint32_t how) {
  return (how & kLinear) != 0 ? 2 : 1 + mix(a ^ (i << 8)) % 3;
}
RANDOM_BOTH inline float coordinate(int32_t texel, uint32_t quarter, uint32_t size, uint32_t how) {
  const float at = static_cast<float>(texel) + 0.25f * static_cast<float>(quarter);
  return (how & kNormalized) != 0 ? at / static_cast<float>(size) : at;
}
RANDOM_BOTH inline float most_of(const ImageShape& shape) {
  const uint32_t bits = shape.kind == TexelKind::kSigned ? shape.bits - 1 : shape.bits;
  return static_cast<float>((1u << bits) - 1);
}
// One NaN for all.
RANDOM_BOTH inline uint32_t plain_bits(const ImageShape& shape, uint32_t bits) {
  const bool nan = shape.kind == TexelKind::kFloat && (bits & 0x7fffffff) > 0x7f800000;
  return nan ? 0x7fc00000u : bits;
}
// A number that a component can hold, as the dword that a kernel stores; of halves: an integer.
RANDOM_BOTH inline uint32_t component_of(const ImageShape& shape, uint32_t number) {
  if (shape.bits == 32) return number;
  if (shape.kind == TexelKind::kFloat) return number % 2048;
  const uint32_t low = number & ((1u << shape.bits) - 1);
  const bool negative = shape.kind == TexelKind::kSigned && (low >> (shape.bits - 1)) != 0;
  return negative ? low | ~((1u << shape.bits) - 1) : low;
}

}  // namespace random_programs
