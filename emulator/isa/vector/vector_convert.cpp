// Conversions. To integers: toward zero, saturating, NaN gives 0. Source: RDNA2 ISA guide, V_CVT_*.
#include "emulator/isa/vector/vector_float.h"
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T F = T::kF32, D = T::kF64, H = T::kF16, U = T::kU32, I = T::kI32, W = T::kU16,
            S = T::kI16, P = T::kP16;

// The host's conversion is undefined for values out of range: bring them into range first.
GFXGRAPH_INLINE int32_t to_i32(float v) {
  const float low = v > -2147483648.0f ? v : -2147483648.0f;  // NaN becomes the bound; fixed below
  const int32_t in_range = static_cast<int32_t>(low < 2147483520.0f ? low : 2147483520.0f);
  const int32_t r = v >= 2147483648.0f ? 0x7fffffff : in_range;
  return v != v ? 0 : r;
}
GFXGRAPH_INLINE uint32_t to_u32(float v) {
  const float low = v > 0.0f ? v : 0.0f;
  const bool upper = low >= 2147483648.0f;
  const float reduced = upper ? low - 2147483648.0f : low;
  const int32_t part = static_cast<int32_t>(reduced < 2147483520.0f ? reduced : 2147483520.0f);
  const uint32_t r = static_cast<uint32_t>(part) + (upper ? 0x80000000u : 0u);
  return low >= 4294967296.0f ? 0xffffffffu : r;
}
GFXGRAPH_INLINE int32_t to_i32(double v) {
  const double low = v > -2147483648.0 ? v : -2147483648.0;
  const int32_t r = static_cast<int32_t>(low < 2147483647.0 ? low : 2147483647.0);
  return v != v ? 0 : r;
}
GFXGRAPH_INLINE uint32_t to_u32(double v) {
  const double low = v > 0.0 ? v : 0.0;
  const double high = low < 4294967295.0 ? low : 4294967295.0;
  const double biased = __builtin_trunc(high) - 2147483648.0;
  return static_cast<uint32_t>(static_cast<int32_t>(biased)) + 0x80000000u;
}
GFXGRAPH_INLINE float from_u32(uint32_t v) {
  // Through binary64, which is exact: only one rounding.
  return static_cast<float>(static_cast<double>(static_cast<int32_t>(v - 0x80000000u)) +
                            2147483648.0);
}
GFXGRAPH_INLINE double double_from_u32(uint32_t v) {
  return static_cast<double>(static_cast<int32_t>(v - 0x80000000u)) + 2147483648.0;
}

GFXGRAPH_INLINE int32_t clamp_to(int32_t v, int32_t low, int32_t high) {
  return v < low ? low : v > high ? high : v;
}

GFXGRAPH_INLINE uint32_t at_most(uint32_t v, uint32_t high) { return v < high ? v : high; }

// [-1, 1] or [0, 1] to the integer range, to nearest even; NaN gives 0.
GFXGRAPH_INLINE uint32_t snorm16(float v) {
  const float in = v > -1.0f ? (v < 1.0f ? v : 1.0f) : -1.0f;
  const int32_t r = static_cast<int32_t>(__builtin_nearbyintf(in * 32767.0f));
  return static_cast<uint32_t>(v != v ? 0 : r) & 0xffffu;
}
GFXGRAPH_INLINE uint32_t unorm16(float v) {
  const float in = v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
  return static_cast<uint32_t>(static_cast<int32_t>(__builtin_nearbyintf(in * 65535.0f)));
}

GFXGRAPH_INLINE uint32_t pack(uint32_t low, uint32_t high) { return (low & 0xffffu) | high << 16; }

GFXGRAPH_INLINE uint32_t pk_u8(float v, uint32_t byte, uint32_t rest) {
  const uint32_t shift = 8 * (byte & 3);
  const uint32_t whole = to_u32(v);
  const uint32_t r = whole > 255 ? 255 : whole;
  return (rest & ~(0xffu << shift)) | r << shift;
}

template <unsigned kByte>
GFXGRAPH_INLINE float byte_to_float(uint32_t v) {
  return static_cast<float>(static_cast<int32_t>(v >> (8 * kByte) & 0xff));
}

GFXGRAPH_INLINE uint32_t saturated_bytes(uint32_t v) {
  const int32_t low = clamp_to(static_cast<int32_t>(v << 16) >> 16, 0, 255);
  const int32_t high = clamp_to(static_cast<int32_t>(v) >> 16, 0, 255);
  return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 8;
}

void add_words(VectorTable& t) {
  t[Op::v_cvt_f32_i32] = hot<[](int32_t a) { return static_cast<float>(a); }, F, I>();
  t[Op::v_cvt_f32_u32] = hot<[](uint32_t a) { return from_u32(a); }, F, U>();
  t[Op::v_cvt_u32_f32] = hot<[](float a) { return to_u32(a); }, U, F>();
  t[Op::v_cvt_i32_f32] = hot<[](float a) { return to_i32(a); }, I, F>();
  t[Op::v_cvt_rpi_i32_f32] =
      lane<[](float a) { return to_i32(__builtin_floorf(a + 0.5f)); }, I, F>();
  t[Op::v_cvt_flr_i32_f32] = lane<[](float a) { return to_i32(__builtin_floorf(a)); }, I, F>();
  t[Op::v_cvt_off_f32_i4] = lane<[](uint32_t a) {
    return static_cast<float>((static_cast<int32_t>(a << 28) >> 28)) * 0.0625f;
  },
                                 F, U>();
  t[Op::v_cvt_f32_ubyte0] = lane<[](uint32_t a) { return byte_to_float<0>(a); }, F, U>();
  t[Op::v_cvt_f32_ubyte1] = lane<[](uint32_t a) { return byte_to_float<1>(a); }, F, U>();
  t[Op::v_cvt_f32_ubyte2] = lane<[](uint32_t a) { return byte_to_float<2>(a); }, F, U>();
  t[Op::v_cvt_f32_ubyte3] = lane<[](uint32_t a) { return byte_to_float<3>(a); }, F, U>();
  t[Op::v_cvt_i32_f64] = lane<[](double a) { return to_i32(a); }, I, D>();
  t[Op::v_cvt_u32_f64] = lane<[](double a) { return to_u32(a); }, U, D>();
  t[Op::v_cvt_f64_i32] = lane<[](int32_t a) { return static_cast<double>(a); }, D, I>();
  t[Op::v_cvt_f64_u32] = lane<[](uint32_t a) { return double_from_u32(a); }, D, U>();
  t[Op::v_cvt_f32_f64] = lane<[](double a) { return static_cast<float>(a); }, F, D>();
  t[Op::v_cvt_f64_f32] = lane<[](float a) { return static_cast<double>(a); }, D, F>();
}

void add_halves(VectorTable& t) {
  t[Op::v_cvt_f16_f32] = hot<[](float a) { return a; }, H, F>();
  t[Op::v_cvt_f32_f16] = hot<[](float a) { return quiet(a); }, F, H>();
  t[Op::v_cvt_f16_u16] =
      lane<[](uint32_t a) { return static_cast<float>(static_cast<int32_t>(a)); }, H, W>();
  t[Op::v_cvt_f16_i16] = lane<[](int32_t a) { return static_cast<float>(a); }, H, S>();
  t[Op::v_cvt_u16_f16] = lane<[](float a) { return at_most(to_u32(a), 65535u); }, W, H>();
  t[Op::v_cvt_i16_f16] = lane<[](float a) { return clamp_to(to_i32(a), -32768, 32767); }, S, H>();
  t[Op::v_cvt_norm_i16_f16] = lane<[](float a) { return snorm16(a); }, W, H>();
  t[Op::v_cvt_norm_u16_f16] = lane<[](float a) { return unorm16(a); }, W, H>();
  t[Op::v_sat_pk_u8_i16] = lane<[](uint32_t a) { return saturated_bytes(a); }, W, P>();
}

void add_packs(VectorTable& t) {
  t[Op::v_cvt_pkrtz_f16_f32] =
      lane<[](float a, float b) { return float_to_half_rtz(a) | float_to_half_rtz(b) << 16; }, U, F,
           F>();
  t[Op::v_cvt_pknorm_i16_f32] =
      lane<[](float a, float b) { return pack(snorm16(a), snorm16(b)); }, U, F, F>();
  t[Op::v_cvt_pknorm_u16_f32] =
      lane<[](float a, float b) { return pack(unorm16(a), unorm16(b)); }, U, F, F>();
  t[Op::v_cvt_pknorm_i16_f16] =
      lane<[](float a, float b) { return pack(snorm16(a), snorm16(b)); }, U, H, H>();
  t[Op::v_cvt_pknorm_u16_f16] =
      lane<[](float a, float b) { return pack(unorm16(a), unorm16(b)); }, U, H, H>();
  t[Op::v_cvt_pk_u16_u32] =
      lane<[](uint32_t a, uint32_t b) { return pack(at_most(a, 0xffff), at_most(b, 0xffff)); }, U,
           U, U>();
  t[Op::v_cvt_pk_i16_i32] = lane<[](int32_t a, int32_t b) {
    return pack(static_cast<uint32_t>(clamp_to(a, -32768, 32767)),
                static_cast<uint32_t>(clamp_to(b, -32768, 32767)));
  },
                                 U, I, I>();
  t[Op::v_cvt_pk_u8_f32] =
      lane<[](float a, uint32_t b, uint32_t c) { return pk_u8(a, b, c); }, U, F, U, U>();
  // Moves two halves: signalling NaNs pass unchanged, modifiers apply.
  t[Op::v_pack_b32_f16] =
      hot<[](float a, float b) { return raw_half(a) | raw_half(b) << 16; }, U, H, H>();
}

}  // namespace

void add_convert(VectorTable& t) {
  add_words(t);
  add_halves(t);
  add_packs(t);
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
