// Binary16 arithmetic. Sums and products of binary16 values round once, because binary32 has more
// than twice as many bits; fma rounds to odd in between. Results keep the destination's upper half.
#include "emulator/isa/vector/vector_float.h"
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T H = T::kF16, S = T::kI16;

// The inputs are exact in binary32. Of the binary32 rules only the signalling bit matters, and
// conversion keeps its position.
GFXGRAPH_INLINE float fract(float a) {
  const float r = a - __builtin_floorf(a);
  return r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r;
}

GFXGRAPH_INLINE float frexp_mantissa(float a) {
  const uint32_t u = bits_of(a);
  const uint32_t e = u >> 23 & 0xff;
  if (e == 255) return quiet(a);
  return e == 0 ? a : as<float>((u & 0x807fffffu) | 126u << 23);
}
GFXGRAPH_INLINE int32_t frexp_exponent(float a) {
  const uint32_t e = bits_of(a) >> 23 & 0xff;
  return e == 255 || e == 0 ? 0 : static_cast<int32_t>(e) - 126;
}
// With a limited exponent, binary32 represents every product exactly before its one rounding.
GFXGRAPH_INLINE float ldexp16(float a, int32_t n) {
  const int32_t e = n < -60 ? -60 : n > 60 ? 60 : n;
  return a * as<float>(static_cast<uint32_t>(127 + e) << 23);
}

constexpr auto kFma = [](float a, float b, float c) { return fma_half(a, b, c); };

}  // namespace

void add_float16(VectorTable& t) {
  t[Op::v_add_f16] = hot<[](float a, float b) { return a + b; }, H, H, H>();
  t[Op::v_sub_f16] = hot<[](float a, float b) { return a - b; }, H, H, H>();
  t[Op::v_subrev_f16] = lane<[](float a, float b) { return b - a; }, H, H, H>();
  t[Op::v_mul_f16] = hot<[](float a, float b) { return a * b; }, H, H, H>();
  t[Op::v_min_f16] = lane<[](float a, float b) { return min_ieee(a, b); }, H, H, H>();
  t[Op::v_max_f16] = lane<[](float a, float b) { return max_ieee(a, b); }, H, H, H>();
  t[Op::v_fmac_f16] = lane<kFma, H, H, H, H>();
  t[Op::v_fma_f16] = lane<kFma, H, H, H, H>();
  t[Op::v_fmamk_f16] = lane<kFma, H, H, H, H>();
  t[Op::v_fmaak_f16] = lane<kFma, H, H, H, H>();
  t[Op::v_min3_f16] =
      lane<[](float a, float b, float c) { return min_ieee(min_ieee(a, b), c); }, H, H, H, H>();
  t[Op::v_max3_f16] =
      lane<[](float a, float b, float c) { return max_ieee(max_ieee(a, b), c); }, H, H, H, H>();
  t[Op::v_med3_f16] =
      lane<[](float a, float b, float c) { return med3_ieee(a, b, c); }, H, H, H, H>();
  t[Op::v_fract_f16] = lane<[](float a) { return fract(a); }, H, H>();
  t[Op::v_trunc_f16] = lane<[](float a) { return __builtin_truncf(a); }, H, H>();
  t[Op::v_ceil_f16] = lane<[](float a) { return __builtin_ceilf(a); }, H, H>();
  t[Op::v_floor_f16] = lane<[](float a) { return __builtin_floorf(a); }, H, H>();
  t[Op::v_rndne_f16] = lane<[](float a) { return __builtin_nearbyintf(a); }, H, H>();
  t[Op::v_frexp_mant_f16] = lane<[](float a) { return frexp_mantissa(a); }, H, H>();
  t[Op::v_frexp_exp_i16_f16] = lane<[](float a) { return frexp_exponent(a); }, S, H>();
  t[Op::v_ldexp_f16] = lane<[](float a, int32_t n) { return ldexp16(a, n); }, H, H, S>();
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
