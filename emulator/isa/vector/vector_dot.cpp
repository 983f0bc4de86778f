// Dot products of packed halves, bytes and nibbles. f16: two fused steps, low half first, each
// rounded to binary32 (a product of halves is exact in binary32). Integers: exact, then wrapped, or
// saturated with clamp.
#include "emulator/isa/vector/vector_float.h"
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T F = T::kF32, U = T::kU32, P = T::kP16;

GFXGRAPH_INLINE float dot2(uint32_t a, uint32_t b, float c) {
  const float first = half_to_float(a) * half_to_float(b) + c;
  return half_to_float(a >> 16) * half_to_float(b >> 16) + first;
}

template <unsigned kWidth, bool kSigned>
GFXGRAPH_INLINE int64_t element(uint32_t v, unsigned n) {
  const uint32_t up = v << (32 - kWidth - n * kWidth);
  if constexpr (kSigned)
    return static_cast<int32_t>(up) >> (32 - kWidth);
  else
    return up >> (32 - kWidth);
}

template <unsigned kWidth, bool kSigned>
GFXGRAPH_INLINE int64_t products(uint32_t a, uint32_t b) {
  int64_t sum = 0;
  for (unsigned n = 0; n < 32 / kWidth; ++n)
    sum += element<kWidth, kSigned>(a, n) * element<kWidth, kSigned>(b, n);
  return sum;
}

GFXGRAPH_INLINE int64_t wide(uint32_t c, bool is_signed) {
  return is_signed ? int64_t{static_cast<int32_t>(c)} : int64_t{c};
}
GFXGRAPH_INLINE uint32_t saturate(int64_t v, bool is_signed) {
  const int64_t low = is_signed ? -0x80000000LL : 0;
  const int64_t high = is_signed ? 0x7fffffffLL : 0xffffffffLL;
  return static_cast<uint32_t>(v < low ? low : v > high ? high : v);
}

// neg, op_sel and op_sel_hi do not apply to bytes and nibbles.
template <unsigned kWidth, bool kSigned>
VectorOp integer_dot() {
  return with_clamp(hot<[](uint32_t a, uint32_t b, uint32_t c) {
                      return static_cast<uint32_t>(products<kWidth, kSigned>(a, b)) + c;
                    },
                        U, U, U, U>(),
                    LaneOp<[](uint32_t a, uint32_t b, uint32_t c) {
                      return saturate(products<kWidth, kSigned>(a, b) + wide(c, kSigned), kSigned);
                    },
                           U, U, U, U>::kernel);
}

// A 32-bit source in every lane.
GFXGRAPH_INLINE Row source_row(const Wave& w, const Inst* i, int n) {
  if (operand::is_vgpr(i->src[n])) return w.v(i->src[n]);
  Row row;
  const uint32_t v = w.read32(i, n);
  for (unsigned l = 0; l < kLanes; ++l) row.lane[l] = v;
  return row;
}

// v_dot2_i32_i16 and v_dot2_u32_u16 with op_sel, op_sel_hi or clamp: for each of the first two
// sources, op_sel selects the half used as the first element, op_sel_hi the second. Compilers use
// one half of a constant twice (op_sel_hi 0).
template <bool kSigned>
const Inst* integer_dot2_modified(Wave& w, const Inst* i) {
  Row row[3] = {source_row(w, i, 0), source_row(w, i, 1), source_row(w, i, 2)};
  for (unsigned n = 0; n < 2; ++n) {
    const uint32_t first = (i->op_sel() >> n & 1) * 16;
    const uint32_t second = (i->op_sel_hi() >> n & 1) * 16;
    for (uint32_t& v : row[n].lane) v = (v >> first & 0xffffu) | (v >> second & 0xffffu) << 16;
  }
  uint32_t* d = w.v(i->dst).lane;
  const bool clamp = i->clamp();
  for (unsigned l = 0; l < kLanes; ++l) {
    const int64_t sum =
        products<16, kSigned>(row[0].lane[l], row[1].lane[l]) + wide(row[2].lane[l], kSigned);
    const uint32_t r = clamp ? saturate(sum, kSigned) : static_cast<uint32_t>(sum);
    d[l] = (r & w.exec_mask.lane[l]) | (d[l] & ~w.exec_mask.lane[l]);
  }
  return i->next();
}

struct Dot2 {
  static constexpr T kDst = F;
  static constexpr T kSrc[3] = {P, P, F};
  GFXGRAPH_INLINE static void run(uint32_t* d, const uint32_t* mask, const uint32_t* a,
                                  const uint32_t* b, const uint32_t* c) {
    alignas(64) float a_low[kLanes], a_high[kLanes], b_low[kLanes], b_high[kLanes];
    split_halves(a, a_low, a_high);
    split_halves(b, b_low, b_high);
    GFXGRAPH_LANES {
      const float first = a_low[l] * b_low[l] + as<float>(c[l]);
      const uint32_t r = bits_of(a_high[l] * b_high[l] + first);
      d[l] = (r & mask[l]) | (d[l] & ~mask[l]);
    }
  }
  static uint32_t kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                         const uint32_t* c, uint32_t) {
    run(d, mask, a, b, c);
    return 0;
  }
  static const Inst* vectors(Wave& w, const Inst* i) {
    run(w.v(i->dst).lane, w.exec_mask.lane, w.v(i->src[0]).lane, w.v(i->src[1]).lane,
        w.v(i->src[2]).lane);
    return i->next();
  }
};
VectorOp dot2_op() {
  VectorOp op = describe<Dot2>();
  op.plain[0] = Dot2::vectors;
  return op;
}

// VOP3P v_dot2: op_sel and neg on the halves of the first two sources; neg and neg_hi as neg and
// abs of the third.
const Inst* dot2_modified(Wave& w, const Inst* i) {
  Row row[3] = {source_row(w, i, 0), source_row(w, i, 1), source_row(w, i, 2)};
  const uint32_t keep2 = (i->abs() >> 2 & 1) != 0 ? 0x7fffffffu : ~0u;
  const uint32_t flip2 = (i->neg() >> 2 & 1) << 31;
  for (unsigned l = 0; l < kLanes; ++l) {
    for (unsigned n = 0; n < 2; ++n) {
      const uint32_t v = row[n].lane[l];
      const uint32_t low = (v >> ((i->op_sel() >> n & 1) * 16) & 0xffffu) ^ (i->neg() >> n & 1)
                                                                                << 15;
      const uint32_t high = (v >> ((i->op_sel_hi() >> n & 1) * 16) & 0xffffu) ^ (i->abs() >> n & 1)
                                                                                    << 15;
      row[n].lane[l] = low | high << 16;
    }
    row[2].lane[l] = (row[2].lane[l] & keep2) ^ flip2;
  }
  uint32_t* d = w.v(i->dst).lane;
  const bool clamp = i->clamp();
  GFXGRAPH_LANES {
    float r = dot2(row[0].lane[l], row[1].lane[l], as<float>(row[2].lane[l]));
    if (clamp) r = r > 0.0f ? (r < 1.0f ? r : 1.0f) : 0.0f;
    d[l] = (bits_of(r) & w.exec_mask.lane[l]) | (d[l] & ~w.exec_mask.lane[l]);
  }
  return i->next();
}

}  // namespace

void add_dot(VectorTable& t) {
  t[Op::v_dot2c_f32_f16] = dot2_op();
  t[Op::v_dot2_f32_f16] = dot2_op();
  t[Op::v_dot2_f32_f16].modified = dot2_modified;
  t[Op::v_dot4c_i32_i8] = integer_dot<8, true>();
  t[Op::v_dot2_i32_i16] = integer_dot<16, true>();
  t[Op::v_dot2_i32_i16].modified = integer_dot2_modified<true>;
  t[Op::v_dot2_u32_u16] = integer_dot<16, false>();
  t[Op::v_dot2_u32_u16].modified = integer_dot2_modified<false>;
  t[Op::v_dot4_i32_i8] = integer_dot<8, true>();
  t[Op::v_dot4_u32_u8] = integer_dot<8, false>();
  t[Op::v_dot8_i32_i4] = integer_dot<4, true>();
  t[Op::v_dot8_u32_u4] = integer_dot<4, false>();
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
