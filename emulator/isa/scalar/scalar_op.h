// Shared by the scalar ALU's files. For files in emulator/isa/ only.
#pragma once

#include "emulator/engine/context.h"
#include "emulator/isa/isa.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// By format; null: not a scalar ALU instruction that is there.
Handler bind_sop1(Op op);
Handler bind_sopc_sopk(Op op);

// Most results set SCC when they are not zero.
template <typename T>
GFXGRAPH_INLINE T nonzero(Wave& w, T r) {
  w.scc = r != 0;
  return r;
}
GFXGRAPH_INLINE uint32_t add_i32(Wave& w, uint32_t a, uint32_t b) {
  const uint32_t r = a + b;
  w.scc = (~(a ^ b) & (a ^ r)) >> 31;
  return r;
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
