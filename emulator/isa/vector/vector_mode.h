// Vector floating point in any MODE: rounding, denormals, IEEE and DX10_CLAMP. Waves whose mode is
// not the default one run code that is bound by bind_any_mode(); the handlers bound otherwise are
// for the default mode only.
//
// What MODE's fields rule (RDNA2 ISA guide, "Mode register"): the single fields binary32 operands,
// the double fields binary16 and binary64. An operand is flushed by the field of its own type, a
// result is flushed and rounded by the field of the result's type. A result is tiny if it is below
// the smallest normal number after rounding to the format's precision without a bound on the
// exponent: the guide does not say, and this is the host's own rule.
//
// The host's MXCSR does the rounding of binary32 and binary64; it is the default one outside of
// single calls of kernels.
#pragma once

#include "emulator/isa/host_control.h"
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

struct FloatMode {
  uint32_t bits;  // hwreg MODE
  static constexpr bool is_single(T type) { return type == T::kF32 || type == T::kB32; }
  // 0 to nearest even, 1 up, 2 down, 3 toward zero.
  constexpr unsigned rounding(T type) const { return bits >> (is_single(type) ? 0 : 2) & 3; }
  constexpr bool flushes_inputs(T type) const {
    return (bits >> (is_single(type) ? 4 : 6) & 1) == 0;
  }
  constexpr bool flushes_results(T type) const {
    return (bits >> (is_single(type) ? 5 : 7) & 1) == 0;
  }
  constexpr bool nan_clamps_to_zero() const { return (bits >> 8 & 1) != 0; }
  constexpr bool ieee() const { return (bits >> 9 & 1) != 0; }
};

// MXCSR for arithmetic in `type`. The host's rounding codes have up and down exchanged.
constexpr uint32_t host_rounding(unsigned rounding) {
  return kHostDefaultControl | (rounding >> 1 | (rounding << 1 & 2)) << 13;
}
constexpr uint32_t host_control(FloatMode mode, T type) {
  return host_rounding(mode.rounding(type)) | (mode.flushes_results(type) ? kHostFlushResults : 0);
}
constexpr uint32_t host_control_with_inputs(FloatMode mode, T type) {
  return host_control(mode, type) | (mode.flushes_inputs(type) ? kHostFlushInputs : 0);
}

// Replaces denormals by zeros of their sign; of types other than floats and packed halves: nothing.
void flush_denormals(T type, uint32_t* rows);
// Whether the flush of inputs is to be done for this operand.
bool flushes_source(Op op, FloatMode mode, T type);

// Runs `kernel`, which is `op`'s, or the one that the mode asks for, on flushed sources, with the
// result rounded and flushed as `mode` says. As Kernel.
uint32_t run_in_mode(FloatMode mode, Op op, Kernel kernel, uint32_t* d, const uint32_t* mask,
                     const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t bits);

// The handler for any mode of an instruction whose handler in the default mode is `usual`, which
// takes operands of these `kinds` (VectorOp::plain). May be `usual` itself.
Handler bind_any_mode(Inst& inst, const VectorOp& op, Handler usual, unsigned kinds);

// The generic handler for any mode (vector_generic.cpp).
const Inst* generic_in_mode(Wave& w, const Inst* i);
// VOP3P: halves and mixed precision (vector_mode_packed.cpp). Null: not affected by the mode.
Handler packed_in_mode(Op op);

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
