// Shared by the comparison families.
#pragma once

#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

template <T A, T B, auto F>
struct Comparison {
  static constexpr T kDst = T::kNone;
  static constexpr T kSrc[3] = {A, B, T::kNone};
  template <class SA, class SB>
  GFXGRAPH_INLINE static uint32_t run(SA a, SB b) {
    Row out;
    GFXGRAPH_LANES out.lane[l] = F(load<A>(a, l), load<B>(b, l)) ? ~0u : 0u;
    return lane_bits(out);
  }
  static uint32_t kernel(uint32_t*, const uint32_t*, const uint32_t* a, const uint32_t* b,
                         const uint32_t*, uint32_t) {
    return run(RowSource{a}, RowSource{b});
  }
};

template <class O, unsigned Kinds>
const Inst* compare_handler(Wave& w, const Inst* i) {
  const uint32_t bits =
      O::run(plain_source<O, 0, Kinds>(w, i), plain_source<O, 1, Kinds>(w, i)) & w.exec();
  if (i->dst == operand::kExecLo)
    w.set_exec(bits);  // v_cmpx
  else
    w.write32(i->dst, bits);
  return i->next();
}

template <T A, T B, auto F>
constexpr VectorOp comparison() {
  using O = Comparison<A, B, F>;
  VectorOp op = describe<O>();
  op.flags = VectorOp::kBitsToDst;
  op.plain[0] = compare_handler<O, 0>;
  op.plain[1] = compare_handler<O, 1>;
  op.plain[2] = compare_handler<O, 2>;
  return op;
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
