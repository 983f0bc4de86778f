// 16-bit integers: op_sel selects one half of the register; the destination keeps its other half.
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T U = T::kU16, I = T::kI16;

GFXGRAPH_INLINE uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
GFXGRAPH_INLINE uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
GFXGRAPH_INLINE int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
GFXGRAPH_INLINE int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
template <class V>
GFXGRAPH_INLINE V middle(V a, V b, V c) {
  return larger(smaller(a, b), smaller(larger(a, b), c));
}
GFXGRAPH_INLINE int32_t saturate(int64_t v) {
  return static_cast<int32_t>(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
}
GFXGRAPH_INLINE uint32_t saturate_u(uint64_t v) {
  return static_cast<uint32_t>(v > 0xffff ? 0xffff : v);
}
GFXGRAPH_INLINE int32_t wrap(uint32_t v) { return as<int32_t>(v); }

template <auto F, auto Saturated, T D, T A, T B, T C = T::kNone>
constexpr VectorOp clamped() {
  return with_clamp(lane<F, D, A, B, C>(), LaneOp<Saturated, D, A, B, C>::kernel);
}

}  // namespace

void add_integer16(VectorTable& t) {
  t[Op::v_add_nc_u16] =
      clamped<[](uint32_t a, uint32_t b) { return a + b; },
              [](uint32_t a, uint32_t b) { return saturate_u(a + b); }, U, U, U>();
  t[Op::v_sub_nc_u16] =
      clamped<[](uint32_t a, uint32_t b) { return a - b; },
              [](uint32_t a, uint32_t b) { return a < b ? 0u : a - b; }, U, U, U>();
  t[Op::v_add_nc_i16] = clamped<[](int32_t a, int32_t b) { return a + b; },
                                [](int32_t a, int32_t b) { return saturate(a + b); }, I, I, I>();
  t[Op::v_sub_nc_i16] = clamped<[](int32_t a, int32_t b) { return a - b; },
                                [](int32_t a, int32_t b) { return saturate(a - b); }, I, I, I>();
  t[Op::v_mul_lo_u16] = lane<[](uint32_t a, uint32_t b) { return a * b; }, U, U, U>();
  t[Op::v_mad_u16] =
      clamped<[](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; },
              [](uint32_t a, uint32_t b, uint32_t c) { return saturate_u(uint64_t{a} * b + c); }, U,
              U, U, U>();
  t[Op::v_mad_i16] =
      clamped<[](int32_t a, int32_t b, int32_t c) {
        return wrap(static_cast<uint32_t>(a * b) + static_cast<uint32_t>(c));
      },
              [](int32_t a, int32_t b, int32_t c) { return saturate(int64_t{a} * b + c); }, I, I, I,
              I>();
  t[Op::v_lshlrev_b16] = lane<[](uint32_t a, uint32_t b) { return b << (a & 15); }, U, U, U>();
  t[Op::v_lshrrev_b16] = lane<[](uint32_t a, uint32_t b) { return (b >> (a & 15)); }, U, U, U>();
  t[Op::v_ashrrev_i16] = lane<[](uint32_t a, int32_t b) { return (b >> (a & 15)); }, I, U, I>();
  t[Op::v_min_u16] = lane<[](uint32_t a, uint32_t b) { return smaller(a, b); }, U, U, U>();
  t[Op::v_max_u16] = lane<[](uint32_t a, uint32_t b) { return larger(a, b); }, U, U, U>();
  t[Op::v_min_i16] = lane<[](int32_t a, int32_t b) { return smaller(a, b); }, I, I, I>();
  t[Op::v_max_i16] = lane<[](int32_t a, int32_t b) { return larger(a, b); }, I, I, I>();
  t[Op::v_min3_u16] =
      lane<[](uint32_t a, uint32_t b, uint32_t c) { return smaller(smaller(a, b), c); }, U, U, U,
           U>();
  t[Op::v_max3_u16] =
      lane<[](uint32_t a, uint32_t b, uint32_t c) { return larger(larger(a, b), c); }, U, U, U,
           U>();
  t[Op::v_med3_u16] =
      lane<[](uint32_t a, uint32_t b, uint32_t c) { return middle(a, b, c); }, U, U, U, U>();
  t[Op::v_min3_i16] =
      lane<[](int32_t a, int32_t b, int32_t c) { return smaller(smaller(a, b), c); }, I, I, I, I>();
  t[Op::v_max3_i16] =
      lane<[](int32_t a, int32_t b, int32_t c) { return larger(larger(a, b), c); }, I, I, I, I>();
  t[Op::v_med3_i16] =
      lane<[](int32_t a, int32_t b, int32_t c) { return middle(a, b, c); }, I, I, I, I>();
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
