// Scalar comparisons (SOPC) and instructions with an immediate (SOPK). Source: RDNA2 ISA guide,
// chapter "Scalar ALU Operations".
#include "emulator/isa/scalar/scalar_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

// ---- SOPC, SOPK ----

template <auto F>
const Inst* sopc(Wave& w, const Inst* i) {
  w.scc = F(w.read32(i, 0), w.read32(i, 1));
  return i->next();
}
template <auto F>
const Inst* sopc64(Wave& w, const Inst* i) {
  w.scc = F(w.read64(i, 0), w.read64(i, 1));
  return i->next();
}
template <auto F>  // signed: the immediate is sign-extended
const Inst* cmpk_i32(Wave& w, const Inst* i) {
  w.scc = F(w.sgpr[i->dst], static_cast<uint32_t>(i->imm));
  return i->next();
}
template <auto F>
const Inst* cmpk_u32(Wave& w, const Inst* i) {
  w.scc = F(w.sgpr[i->dst], static_cast<uint32_t>(i->imm) & 0xffff);
  return i->next();
}
bool eq(uint32_t a, uint32_t b) { return a == b; }
bool lg(uint32_t a, uint32_t b) { return a != b; }
bool gt_i(uint32_t a, uint32_t b) { return static_cast<int32_t>(a) > static_cast<int32_t>(b); }
bool ge_i(uint32_t a, uint32_t b) { return static_cast<int32_t>(a) >= static_cast<int32_t>(b); }
bool lt_i(uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b); }
bool le_i(uint32_t a, uint32_t b) { return static_cast<int32_t>(a) <= static_cast<int32_t>(b); }
bool gt_u(uint32_t a, uint32_t b) { return a > b; }
bool ge_u(uint32_t a, uint32_t b) { return a >= b; }
bool lt_u(uint32_t a, uint32_t b) { return a < b; }
bool le_u(uint32_t a, uint32_t b) { return a <= b; }
bool eq64(uint64_t a, uint64_t b) { return a == b; }
bool lg64(uint64_t a, uint64_t b) { return a != b; }
bool bitcmp0(uint32_t a, uint32_t b) { return (a >> (b & 31) & 1) == 0; }
bool bitcmp1(uint32_t a, uint32_t b) { return (a >> (b & 31) & 1) != 0; }
template <int kBit>
const Inst* bitcmp64(Wave& w, const Inst* i) {
  w.scc = (w.read64(i, 0) >> (w.read32(i, 1) & 63) & 1) == kBit;
  return i->next();
}
const Inst* movk(Wave& w, const Inst* i) {
  w.write32(i->dst, static_cast<uint32_t>(i->imm));
  return i->next();
}
const Inst* cmovk(Wave& w, const Inst* i) {
  if (w.scc) w.write32(i->dst, static_cast<uint32_t>(i->imm));
  return i->next();
}
const Inst* addk(Wave& w, const Inst* i) {
  w.write32(i->dst, add_i32(w, w.sgpr[i->dst], static_cast<uint32_t>(i->imm)));
  return i->next();
}
const Inst* mulk(Wave& w, const Inst* i) {
  w.write32(i->dst, w.sgpr[i->dst] * static_cast<uint32_t>(i->imm));
  return i->next();
}

}  // namespace

Handler bind_sopc_sopk(Op op) {
  switch (op) {
    case Op::s_cmp_eq_i32: return sopc<eq>;
    case Op::s_cmp_lg_i32: return sopc<lg>;
    case Op::s_cmp_gt_i32: return sopc<gt_i>;
    case Op::s_cmp_ge_i32: return sopc<ge_i>;
    case Op::s_cmp_lt_i32: return sopc<lt_i>;
    case Op::s_cmp_le_i32: return sopc<le_i>;
    case Op::s_cmp_eq_u32: return sopc<eq>;
    case Op::s_cmp_lg_u32: return sopc<lg>;
    case Op::s_cmp_gt_u32: return sopc<gt_u>;
    case Op::s_cmp_ge_u32: return sopc<ge_u>;
    case Op::s_cmp_lt_u32: return sopc<lt_u>;
    case Op::s_cmp_le_u32: return sopc<le_u>;
    case Op::s_bitcmp0_b32: return sopc<bitcmp0>;
    case Op::s_bitcmp1_b32: return sopc<bitcmp1>;
    case Op::s_bitcmp0_b64: return bitcmp64<0>;
    case Op::s_bitcmp1_b64: return bitcmp64<1>;
    case Op::s_cmp_eq_u64: return sopc64<eq64>;
    case Op::s_cmp_lg_u64: return sopc64<lg64>;
    case Op::s_movk_i32: return movk;
    case Op::s_cmovk_i32: return cmovk;
    case Op::s_cmpk_eq_i32: return cmpk_i32<eq>;
    case Op::s_cmpk_lg_i32: return cmpk_i32<lg>;
    case Op::s_cmpk_gt_i32: return cmpk_i32<gt_i>;
    case Op::s_cmpk_ge_i32: return cmpk_i32<ge_i>;
    case Op::s_cmpk_lt_i32: return cmpk_i32<lt_i>;
    case Op::s_cmpk_le_i32: return cmpk_i32<le_i>;
    case Op::s_cmpk_eq_u32: return cmpk_u32<eq>;
    case Op::s_cmpk_lg_u32: return cmpk_u32<lg>;
    case Op::s_cmpk_gt_u32: return cmpk_u32<gt_u>;
    case Op::s_cmpk_ge_u32: return cmpk_u32<ge_u>;
    case Op::s_cmpk_lt_u32: return cmpk_u32<lt_u>;
    case Op::s_cmpk_le_u32: return cmpk_u32<le_u>;
    case Op::s_addk_i32: return addk;
    case Op::s_mulk_i32: return mulk;
    case Op::s_getreg_b32: return run_getreg;
    case Op::s_setreg_b32:
    case Op::s_setreg_imm32_b32: return run_setreg;
    default: return nullptr;
  }
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
