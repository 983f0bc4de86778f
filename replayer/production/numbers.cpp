#include "replayer/production/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "gfxgraph/production.h"

namespace gfxgraph::replayer {
namespace {

double half(uint16_t bits) noexcept {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double value = NAN;
  if (exponent != 31) {
    value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  } else if (fraction == 0) {
    value = INFINITY;
  }
  return (bits >> 15) != 0 ? -value : value;
}

template <typename Bits>
Bits bits_at(const std::byte* at) noexcept {
  Bits bits;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

double number_at(uint32_t type, const std::byte* at) noexcept {
  switch (type) {
    case GFXGRAPH_TYPE_F16: return half(bits_at<uint16_t>(at));
    case GFXGRAPH_TYPE_BF16:
      return std::bit_cast<float>(static_cast<uint32_t>(bits_at<uint16_t>(at)) << 16);
    case GFXGRAPH_TYPE_F32: return bits_at<float>(at);
    default: return bits_at<double>(at);
  }
}

bool near(double a, double b, double tolerance) noexcept {
  if (a == b) return true;  // infinities, too
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b)) && !std::isinf(b);
}

}  // namespace

uint32_t number_bytes(uint32_t type) noexcept {
  switch (type) {
    case GFXGRAPH_TYPE_BYTES: return 1;
    case GFXGRAPH_TYPE_F16:
    case GFXGRAPH_TYPE_BF16: return 2;
    case GFXGRAPH_TYPE_F32: return 4;
    case GFXGRAPH_TYPE_F64: return 8;
    default: return 0;
  }
}

bool are_equal(uint32_t type, double tolerance, std::span<const std::byte> a,
               std::span<const std::byte> b) noexcept {
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return true;
  if (type == GFXGRAPH_TYPE_BYTES) return false;
  const size_t step = number_bytes(type);
  for (size_t i = 0; i < a.size(); i += step) {
    if (!near(number_at(type, &a[i]), number_at(type, &b[i]), tolerance)) return false;
  }
  return true;
}

}  // namespace gfxgraph::replayer
