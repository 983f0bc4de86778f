// 32-bit and 64-bit integer arithmetic.
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T U = T::kU32, I = T::kI32, L = T::kU64;

GFXGRAPH_INLINE int32_t i24(uint32_t v) { return static_cast<int32_t>(v << 8) >> 8; }
GFXGRAPH_INLINE uint32_t u24(uint32_t v) { return v & 0xffffffu; }
GFXGRAPH_INLINE uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
GFXGRAPH_INLINE uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
GFXGRAPH_INLINE int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
GFXGRAPH_INLINE int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
template <class V>
GFXGRAPH_INLINE V middle(V a, V b, V c) {
  return larger(smaller(a, b), smaller(larger(a, b), c));
}

GFXGRAPH_INLINE int32_t saturate32(int64_t v) {
  return v > 0x7fffffff      ? 0x7fffffff
         : v < -0x80000000LL ? static_cast<int32_t>(-0x80000000LL)
                             : static_cast<int32_t>(v);
}
GFXGRAPH_INLINE uint32_t saturate_u32(uint64_t v) {
  return v > 0xffffffffu ? 0xffffffffu : static_cast<uint32_t>(v);
}

GFXGRAPH_INLINE uint32_t wrap_add(uint32_t a, uint32_t b) { return a + b; }
GFXGRAPH_INLINE uint32_t absolute_difference(uint32_t a, uint32_t b) {
  return a > b ? a - b : b - a;
}

GFXGRAPH_INLINE uint32_t byte_of(uint32_t v, unsigned n) { return v >> (8 * n) & 0xff; }
GFXGRAPH_INLINE uint32_t sad_u8(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (unsigned n = 0; n < 4; ++n) sum += absolute_difference(byte_of(a, n), byte_of(b, n));
  return sum;
}
// Ignores bytes whose reference (b) is zero.
GFXGRAPH_INLINE uint32_t msad_u8(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (unsigned n = 0; n < 4; ++n)
    sum += byte_of(b, n) == 0 ? 0 : absolute_difference(byte_of(a, n), byte_of(b, n));
  return sum;
}
GFXGRAPH_INLINE uint32_t sad_u16(uint32_t a, uint32_t b) {
  return absolute_difference(a & 0xffff, b & 0xffff) + absolute_difference(a >> 16, b >> 16);
}
GFXGRAPH_INLINE uint32_t lerp_u8(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t r = 0;
  for (unsigned n = 0; n < 4; ++n)
    r |= ((byte_of(a, n) + byte_of(b, n) + (byte_of(c, n) & 1)) >> 1) << (8 * n);
  return r;
}

// Four sums over a window that slides by a byte, each added to 16 bits of the accumulator.
template <bool kMasked>
GFXGRAPH_INLINE uint64_t qsad(uint64_t a, uint32_t b, uint64_t c, bool saturate) {
  uint64_t r = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const uint32_t window = static_cast<uint32_t>(a >> (8 * n));
    uint32_t sum = (kMasked ? msad_u8(window, b) : sad_u8(window, b)) +
                   static_cast<uint32_t>(c >> (16 * n) & 0xffff);
    if (saturate) sum = smaller(sum, 0xffffu);
    r |= static_cast<uint64_t>(sum & 0xffff) << (16 * n);
  }
  return r;
}

template <bool kSaturate>
uint32_t mqsad_u32_kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                          const uint32_t* c, uint32_t) {
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint64_t s0 = static_cast<uint64_t>(a[kLanes + l]) << 32 | a[l];
    const uint32_t reference = b[l];
    uint32_t r[4];
    for (unsigned n = 0; n < 4; ++n) {
      const uint64_t sum =
          uint64_t{msad_u8(static_cast<uint32_t>(s0 >> (8 * n)), reference)} + c[n * kLanes + l];
      r[n] = kSaturate ? saturate_u32(sum) : static_cast<uint32_t>(sum);
    }
    if (mask[l] == 0) continue;
    for (unsigned n = 0; n < 4; ++n) d[n * kLanes + l] = r[n];
  }
  return 0;
}

constexpr VectorOp mqsad_u32() {
  VectorOp op;
  op.kernel = mqsad_u32_kernel<false>;
  op.clamp_kernel = mqsad_u32_kernel<true>;
  op.dst = T::kQ;
  op.src[0] = L;
  op.src[1] = U;
  op.src[2] = T::kQ;
  return op;
}

// An op with its saturating form.
template <auto F, auto Saturated, T D, T A, T B, T C = T::kNone>
constexpr VectorOp clamped() {
  return with_clamp(hot<F, D, A, B, C>(), LaneOp<Saturated, D, A, B, C>::kernel);
}

void add_sums(VectorTable& t) {
  constexpr auto add = [](uint32_t a, uint32_t b) { return a + b; };
  constexpr auto sub = [](uint32_t a, uint32_t b) { return a - b; };
  constexpr auto add_sat = [](uint32_t a, uint32_t b) { return a + b < a ? ~0u : a + b; };
  constexpr auto sub_sat = [](uint32_t a, uint32_t b) { return a < b ? 0u : a - b; };
  constexpr auto add_i = [](int32_t a, int32_t b) {
    return as<int32_t>(wrap_add(static_cast<uint32_t>(a), static_cast<uint32_t>(b)));
  };
  constexpr auto sub_i = [](int32_t a, int32_t b) {
    return as<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
  };
  t[Op::v_add_nc_u32] = clamped<add, add_sat, U, U, U>();
  t[Op::v_sub_nc_u32] = clamped<sub, sub_sat, U, U, U>();
  t[Op::v_subrev_nc_u32] =
      clamped<[](uint32_t a, uint32_t b) { return b - a; },
              [](uint32_t a, uint32_t b) { return b < a ? 0u : b - a; }, U, U, U>();
  t[Op::v_add_nc_i32] =
      clamped<add_i, [](int32_t a, int32_t b) { return saturate32(int64_t{a} + b); }, I, I, I>();
  t[Op::v_sub_nc_i32] =
      clamped<sub_i, [](int32_t a, int32_t b) { return saturate32(int64_t{a} - b); }, I, I, I>();
  t[Op::v_add3_u32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }, U, U, U, U>();
  t[Op::v_add_lshl_u32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c & 31); }, U, U, U, U>();
  t[Op::v_lshl_add_u32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) + c; }, U, U, U, U>();
  t[Op::v_xad_u32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }, U, U, U, U>();
}

void add_products(VectorTable& t) {
  t[Op::v_mul_lo_u32] = hot<[](uint32_t a, uint32_t b) { return a * b; }, U, U, U>();
  t[Op::v_mul_hi_u32] =
      hot<[](uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }, U, U,
          U>();
  t[Op::v_mul_hi_i32] =
      hot<[](int32_t a, int32_t b) { return static_cast<int32_t>(int64_t{a} * b >> 32); }, I, I,
          I>();
  t[Op::v_mul_i32_i24] = hot<[](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(i24(a)) * static_cast<uint32_t>(i24(b));
  },
                             U, U, U>();
  t[Op::v_mul_u32_u24] = hot<[](uint32_t a, uint32_t b) { return u24(a) * u24(b); }, U, U, U>();
  t[Op::v_mul_hi_i32_i24] = lane<[](uint32_t a, uint32_t b) {
    return static_cast<int32_t>(int64_t{i24(a)} * i24(b) >> 32);
  },
                                 I, U, U>();
  t[Op::v_mul_hi_u32_u24] = lane<[](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(uint64_t{u24(a)} * u24(b) >> 32);
  },
                                 U, U, U>();
  t[Op::v_mad_i32_i24] = clamped<[](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>(i24(a)) * static_cast<uint32_t>(i24(b)) + c;
  },
                                 [](uint32_t a, uint32_t b, uint32_t c) {
                                   return static_cast<uint32_t>(saturate32(
                                       int64_t{i24(a)} * i24(b) + static_cast<int32_t>(c)));
                                 },
                                 U, U, U, U>();
  t[Op::v_mad_u32_u24] =
      clamped<[](uint32_t a, uint32_t b, uint32_t c) { return u24(a) * u24(b) + c; },
              [](uint32_t a, uint32_t b, uint32_t c) {
                return saturate_u32(uint64_t{u24(a)} * u24(b) + c);
              },
              U, U, U, U>();
  t[Op::v_mad_u32_u16] =
      clamped<[](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; },
              [](uint32_t a, uint32_t b, uint32_t c) { return saturate_u32(uint64_t{a} * b + c); },
              U, T::kU16, T::kU16, U>();
  t[Op::v_mad_i32_i16] =
      clamped<[](int32_t a, int32_t b, int32_t c) {
        return as<int32_t>(static_cast<uint32_t>(a * b) + static_cast<uint32_t>(c));
      },
              [](int32_t a, int32_t b, int32_t c) { return saturate32(int64_t{a} * b + c); }, I,
              T::kI16, T::kI16, I>();
}

void add_orders(VectorTable& t) {
  t[Op::v_min_u32] = hot<[](uint32_t a, uint32_t b) { return smaller(a, b); }, U, U, U>();
  t[Op::v_max_u32] = hot<[](uint32_t a, uint32_t b) { return larger(a, b); }, U, U, U>();
  t[Op::v_min_i32] = hot<[](int32_t a, int32_t b) { return smaller(a, b); }, I, I, I>();
  t[Op::v_max_i32] = hot<[](int32_t a, int32_t b) { return larger(a, b); }, I, I, I>();
  t[Op::v_min3_u32] =
      lane<[](uint32_t a, uint32_t b, uint32_t c) { return smaller(smaller(a, b), c); }, U, U, U,
           U>();
  t[Op::v_max3_u32] =
      lane<[](uint32_t a, uint32_t b, uint32_t c) { return larger(larger(a, b), c); }, U, U, U,
           U>();
  t[Op::v_med3_u32] =
      lane<[](uint32_t a, uint32_t b, uint32_t c) { return middle(a, b, c); }, U, U, U, U>();
  t[Op::v_min3_i32] =
      lane<[](int32_t a, int32_t b, int32_t c) { return smaller(smaller(a, b), c); }, I, I, I, I>();
  t[Op::v_max3_i32] =
      lane<[](int32_t a, int32_t b, int32_t c) { return larger(larger(a, b), c); }, I, I, I, I>();
  t[Op::v_med3_i32] =
      lane<[](int32_t a, int32_t b, int32_t c) { return middle(a, b, c); }, I, I, I, I>();
}

void add_differences(VectorTable& t) {
  t[Op::v_sad_u8] = clamped<[](uint32_t a, uint32_t b, uint32_t c) { return sad_u8(a, b) + c; },
                            [](uint32_t a, uint32_t b, uint32_t c) {
                              return saturate_u32(uint64_t{sad_u8(a, b)} + c);
                            },
                            U, U, U, U>();
  t[Op::v_sad_hi_u8] =
      clamped<[](uint32_t a, uint32_t b, uint32_t c) { return (sad_u8(a, b) << 16) + c; },
              [](uint32_t a, uint32_t b, uint32_t c) {
                return saturate_u32((uint64_t{sad_u8(a, b)} << 16) + c);
              },
              U, U, U, U>();
  t[Op::v_sad_u16] = clamped<[](uint32_t a, uint32_t b, uint32_t c) { return sad_u16(a, b) + c; },
                             [](uint32_t a, uint32_t b, uint32_t c) {
                               return saturate_u32(uint64_t{sad_u16(a, b)} + c);
                             },
                             U, U, U, U>();
  t[Op::v_sad_u32] =
      clamped<[](uint32_t a, uint32_t b, uint32_t c) { return absolute_difference(a, b) + c; },
              [](uint32_t a, uint32_t b, uint32_t c) {
                return saturate_u32(uint64_t{absolute_difference(a, b)} + c);
              },
              U, U, U, U>();
  t[Op::v_msad_u8] = clamped<[](uint32_t a, uint32_t b, uint32_t c) { return msad_u8(a, b) + c; },
                             [](uint32_t a, uint32_t b, uint32_t c) {
                               return saturate_u32(uint64_t{msad_u8(a, b)} + c);
                             },
                             U, U, U, U>();
  t[Op::v_qsad_pk_u16_u8] =
      clamped<[](uint64_t a, uint32_t b, uint64_t c) { return qsad<false>(a, b, c, false); },
              [](uint64_t a, uint32_t b, uint64_t c) { return qsad<false>(a, b, c, true); }, L, L,
              U, L>();
  t[Op::v_mqsad_pk_u16_u8] =
      clamped<[](uint64_t a, uint32_t b, uint64_t c) { return qsad<true>(a, b, c, false); },
              [](uint64_t a, uint32_t b, uint64_t c) { return qsad<true>(a, b, c, true); }, L, L, U,
              L>();
  t[Op::v_mqsad_u32_u8] = mqsad_u32();
  t[Op::v_lerp_u8] =
      lane<[](uint32_t a, uint32_t b, uint32_t c) { return lerp_u8(a, b, c); }, U, U, U, U>();
}

}  // namespace

void add_integer(VectorTable& t) {
  add_sums(t);
  add_products(t);
  add_orders(t);
  add_differences(t);
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
