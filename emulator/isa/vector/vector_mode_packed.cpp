// VOP3P in any MODE: runs each half through the 16-bit instruction of the same name, and the mixed
// fma through v_fma_f32. Source: RDNA2 ISA guide, "Packed math" and V_FMA_MIX*.
#include "emulator/isa/vector/vector_mode.h"
#include "emulator/isa/vector/vector_mode_half.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T F = T::kF32, H = T::kF16;

void whole(const Wave& w, const Inst* i, int n, uint32_t* out) {
  if (operand::is_vgpr(i->src[n])) {
    const uint32_t* in = w.v(i->src[n]).lane;
    for (unsigned l = 0; l < kLanes; ++l) out[l] = in[l];
    return;
  }
  const uint32_t v = w.read32(i, n);
  for (unsigned l = 0; l < kLanes; ++l) out[l] = v;
}

// The half of source n that feeds the low or the high result, in the low bits.
void half_of(const Wave& w, const Inst* i, unsigned n, bool high, uint32_t* out) {
  whole(w, i, static_cast<int>(n), out);
  const uint32_t select = high ? i->op_sel_hi() : i->op_sel();
  const uint32_t negate = high ? i->abs() : i->neg();
  const unsigned shift = (select >> n & 1) * 16;
  const uint32_t flip = (negate >> n & 1) << 15;
  for (unsigned l = 0; l < kLanes; ++l) out[l] = (out[l] >> shift & 0xffffu) ^ flip;
}

// For values with at most binary32's precision; exact.
float clamp01(FloatMode mode, float v) {
  if (v != v) return mode.nan_clamps_to_zero() ? 0.0f : v;
  return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
}

void blend(Wave& w, uint16_t dst, const uint32_t* value, uint32_t field) {
  uint32_t* d = w.v(dst).lane;
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint32_t m = w.exec_mask.lane[l] & field;
    d[l] = (value[l] & m) | (d[l] & ~m);
  }
}

template <Op kHalf, unsigned kSources>
const Inst* packed(Wave& w, const Inst* i) {
  const FloatMode mode{w.mode};
  const VectorOp& op = vector_table().op[static_cast<unsigned>(kHalf)];
  Row all, joined = {};
  Wave::expand_mask(~0u, all);
  for (const bool high : {false, true}) {
    Row in[3] = {}, r = {};
    for (unsigned n = 0; n < kSources; ++n) {
      half_of(w, i, n, high, in[n].lane);
      if (mode.flushes_inputs(H)) flush_denormals(H, in[n].lane);
    }
    run_in_mode(mode, kHalf, op.kernel, r.lane, all.lane, in[0].lane, in[1].lane, in[2].lane, 0);
    for (unsigned l = 0; l < kLanes; ++l) {
      uint32_t v = r.lane[l] & 0xffffu;
      if (i->clamp()) v = float_to_half(clamp01(mode, half_to_float(v)));
      joined.lane[l] |= v << (high ? 16 : 0);
    }
  }
  blend(w, i->dst, joined.lane, ~0u);
  return i->next();
}

// Source n of a mixed fma as binary32.
void mixed(const Wave& w, const Inst* i, unsigned n, FloatMode mode, uint32_t* out) {
  whole(w, i, static_cast<int>(n), out);
  const uint32_t keep = (i->abs() >> n & 1) != 0 ? 0x7fffffffu : ~0u;
  const uint32_t flip = (i->neg() >> n & 1) << 31;
  if ((i->op_sel_hi() >> n & 1) != 0) {
    const unsigned shift = (i->op_sel() >> n & 1) * 16;
    for (unsigned l = 0; l < kLanes; ++l) out[l] = out[l] >> shift & 0xffffu;
    if (mode.flushes_inputs(H)) flush_denormals(H, out);
    for (unsigned l = 0; l < kLanes; ++l) out[l] = bits_of(half_to_float(out[l]));
  } else if (mode.flushes_inputs(F)) {
    flush_denormals(F, out);
  }
  for (unsigned l = 0; l < kLanes; ++l) out[l] = (out[l] & keep) ^ flip;
}

// The halves of v_fma_mixlo and mixhi: rounds to binary32 in its mode, then to binary16 in its own.
const Inst* fma_mix(Wave& w, const Inst* i) {
  const FloatMode mode{w.mode};
  Row all, in[3], r = {};
  Wave::expand_mask(~0u, all);
  for (unsigned n = 0; n < 3; ++n) mixed(w, i, n, mode, in[n].lane);
  const VectorOp& fma = vector_table().op[static_cast<unsigned>(Op::v_fma_f32)];
  run_in_mode(mode, Op::v_fma_f32, fma.kernel, r.lane, all.lane, in[0].lane, in[1].lane, in[2].lane,
              0);
  const bool high = i->op == Op::v_fma_mixhi_f16;
  const bool half = high || i->op == Op::v_fma_mixlo_f16;
  for (unsigned l = 0; l < kLanes; ++l) {
    const float v = i->clamp() ? clamp01(mode, as<float>(r.lane[l])) : as<float>(r.lane[l]);
    r.lane[l] =
        half ? round_to_half(v, mode.rounding(H), mode.flushes_results(H)) * 0x10001u : bits_of(v);
  }
  blend(w, i->dst, r.lane, !half ? ~0u : high ? 0xffff0000u : 0xffffu);
  return i->next();
}

const Inst* dot2(Wave& w, const Inst* i) {
  const FloatMode mode{w.mode};
  Row all, in[3], r = {};
  Wave::expand_mask(~0u, all);
  for (unsigned n = 0; n < 2; ++n) {
    Row upper;
    half_of(w, i, n, false, in[n].lane);
    half_of(w, i, n, true, upper.lane);
    for (unsigned l = 0; l < kLanes; ++l) in[n].lane[l] |= upper.lane[l] << 16;
    if (mode.flushes_inputs(H)) flush_denormals(T::kP16, in[n].lane);
  }
  whole(w, i, 2, in[2].lane);
  const uint32_t keep = (i->abs() >> 2 & 1) != 0 ? 0x7fffffffu : ~0u;
  const uint32_t flip = (i->neg() >> 2 & 1) << 31;
  for (unsigned l = 0; l < kLanes; ++l) in[2].lane[l] = (in[2].lane[l] & keep) ^ flip;
  if (mode.flushes_inputs(F)) flush_denormals(F, in[2].lane);
  const VectorOp& op = vector_table().op[static_cast<unsigned>(i->op)];
  run_in_mode(mode, i->op, op.kernel, r.lane, all.lane, in[0].lane, in[1].lane, in[2].lane, 0);
  if (i->clamp())
    for (unsigned l = 0; l < kLanes; ++l) r.lane[l] = bits_of(clamp01(mode, as<float>(r.lane[l])));
  blend(w, i->dst, r.lane, ~0u);
  return i->next();
}

}  // namespace

Handler packed_in_mode(Op op) {
  switch (op) {
    case Op::v_pk_add_f16: return packed<Op::v_add_f16, 2>;
    case Op::v_pk_mul_f16: return packed<Op::v_mul_f16, 2>;
    case Op::v_pk_min_f16: return packed<Op::v_min_f16, 2>;
    case Op::v_pk_max_f16: return packed<Op::v_max_f16, 2>;
    case Op::v_pk_fma_f16: return packed<Op::v_fma_f16, 3>;
    case Op::v_fma_mix_f32:
    case Op::v_fma_mixlo_f16:
    case Op::v_fma_mixhi_f16: return fma_mix;
    case Op::v_dot2_f32_f16: return dot2;
    default: return nullptr;
  }
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
