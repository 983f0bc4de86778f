// Binary64 arithmetic; same rules as binary32.
#include "emulator/isa/vector/vector_float.h"
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T D = T::kF64, I = T::kI32, U = T::kU32;

GFXGRAPH_INLINE double fract(double a) {
  const double r = a - __builtin_floor(a);
  return r > 0x1.fffffffffffffp-1 ? 0x1.fffffffffffffp-1 : r;
}

GFXGRAPH_INLINE double frexp_mantissa(double a) {
  const uint64_t u = bits_of(a);
  const uint64_t e = u >> 52 & 0x7ff;
  const uint64_t m = u & 0xfffffffffffffu;
  if (e == 0x7ff) return quiet(a);
  if (e != 0) return as<double>((u & 0x800fffffffffffffu) | uint64_t{1022} << 52);
  if (m == 0) return a;
  const unsigned shift = static_cast<unsigned>(__builtin_clzll(m)) - 11;
  return as<double>((u & 0x8000000000000000u) | uint64_t{1022} << 52 |
                    (m << shift & 0xfffffffffffffu));
}

GFXGRAPH_INLINE int32_t frexp_exponent(double a) {
  const uint64_t u = bits_of(a) & 0x7fffffffffffffffu;
  const int32_t e = static_cast<int32_t>(u >> 52);
  if (e == 0x7ff || u == 0) return 0;
  if (e != 0) return e - 1022;
  return -1010 - static_cast<int32_t>(__builtin_clzll(u));
}

GFXGRAPH_INLINE double power_of_two(int32_t e) {
  return as<double>(static_cast<uint64_t>(1023 + e) << 52);
}

// Rounds once: exact steps come first. When scaling down, the value is first brought to at least
// 2^-969, so that only the last product can leave the normal range.
GFXGRAPH_INLINE double ldexp64(double a, int32_t n) {
  int32_t e = n < -2200 ? -2200 : n > 2200 ? 2200 : n;
  if (e > 1023) {
    a *= 0x1p1023;
    e -= 1023;
    if (e > 1023) {
      a *= 0x1p1023;
      e = e - 1023 > 1023 ? 1023 : e - 1023;
    }
  } else if (e < -1022) {
    a *= 0x1p-969;
    e += 969;
    if (e < -1022) {
      a *= 0x1p-969;
      e = e + 969 < -1022 ? -1022 : e + 969;
    }
  }
  return a * power_of_two(e);
}

// The first 1216 fraction bits of 2 / pi, most significant first.
constexpr uint32_t kTwoOverPi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

// ISA guide V_TRIG_PREOP_F64: 53 bits of 2 / pi from bit 53 * segment, further right for large
// arguments.
GFXGRAPH_INLINE double trig_preop(double a, uint32_t segment) {
  const uint32_t exponent = static_cast<uint32_t>(bits_of(a) >> 52) & 0x7ff;
  uint32_t shift = (segment & 31) * 53;
  if (exponent > 1077) shift += exponent - 1077;
  // The hardware has 1201 bits.
  if (shift >= 1201) return 0.0;
  uint64_t bits = 0;
  for (uint32_t n = 0; n < 53; ++n) {
    const uint32_t at = shift + n;
    const uint32_t bit = at < 1201 ? kTwoOverPi[at / 32] >> (31 - at % 32) & 1 : 0;
    bits = bits << 1 | bit;
  }
  int32_t scale = -53 - static_cast<int32_t>(shift);
  if (exponent >= 1968) scale += 128;
  return ldexp64(static_cast<double>(bits), scale);
}

}  // namespace

void add_float64(VectorTable& t) {
  t[Op::v_add_f64] = hot<[](double a, double b) { return a + b; }, D, D, D>();
  t[Op::v_mul_f64] = hot<[](double a, double b) { return a * b; }, D, D, D>();
  t[Op::v_fma_f64] =
      hot<[](double a, double b, double c) { return __builtin_fma(a, b, c); }, D, D, D, D>();
  t[Op::v_min_f64] = hot<[](double a, double b) { return min_ieee(a, b); }, D, D, D>();
  t[Op::v_max_f64] = hot<[](double a, double b) { return max_ieee(a, b); }, D, D, D>();
  t[Op::v_fract_f64] = lane<[](double a) { return fract(a); }, D, D>();
  t[Op::v_trunc_f64] = lane<[](double a) { return __builtin_trunc(a); }, D, D>();
  t[Op::v_ceil_f64] = lane<[](double a) { return __builtin_ceil(a); }, D, D>();
  t[Op::v_floor_f64] = lane<[](double a) { return __builtin_floor(a); }, D, D>();
  t[Op::v_rndne_f64] = lane<[](double a) { return __builtin_nearbyint(a); }, D, D>();
  t[Op::v_frexp_mant_f64] = lane<[](double a) { return frexp_mantissa(a); }, D, D>();
  t[Op::v_frexp_exp_i32_f64] = lane<[](double a) { return frexp_exponent(a); }, I, D>();
  t[Op::v_ldexp_f64] = lane<[](double a, int32_t n) { return ldexp64(a, n); }, D, D, I>();
  t[Op::v_trig_preop_f64] = lane<[](double a, uint32_t s) { return trig_preop(a, s); }, D, D, U>();
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
