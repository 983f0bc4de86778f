// Scalar ALU with one source (SOP1). Source: RDNA2 ISA guide, chapter "Scalar ALU Operations".
#include <bit>

#include "emulator/isa/scalar/scalar_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

// ---- SOP1 ----

template <auto F>
const Inst* sop1(Wave& w, const Inst* i) {
  w.write32(i->dst, F(w, w.read32(i, 0)));
  return i->next();
}
template <auto F>
const Inst* sop1_64(Wave& w, const Inst* i) {
  w.write64(i->dst, F(w, w.read64(i, 0)));
  return i->next();
}
template <auto F>  // 64-bit source, 32-bit result
const Inst* sop1_32_64(Wave& w, const Inst* i) {
  w.write32(i->dst, F(w, w.read64(i, 0)));
  return i->next();
}
template <typename T>
T mov(Wave&, T a) {
  return a;
}
template <typename T>
T not_(Wave& w, T a) {
  return nonzero<T>(w, ~a);
}
template <typename T>
T wqm(Wave& w, T a) {
  T r = a | a >> 1;
  r |= r >> 2;
  r &= static_cast<T>(0x1111111111111111u);
  return nonzero<T>(w, static_cast<T>(r * 15));
}
template <typename T>
T quadmask(Wave& w, T a) {
  T r = 0;
  for (unsigned q = 0; q < sizeof(T) * 2; ++q) r |= static_cast<T>((a >> (q * 4) & 15) != 0) << q;
  return nonzero<T>(w, r);
}
template <typename T>
T reverse(T a) {
  T r = 0;
  for (unsigned b = 0; b < sizeof(T) * 8; ++b)
    r |= static_cast<T>(a >> b & 1) << (sizeof(T) * 8 - 1 - b);
  return r;
}
template <typename T>
T brev(Wave&, T a) {
  return reverse(a);
}
template <typename T>
uint32_t bcnt0(Wave& w, T a) {
  return nonzero(w, static_cast<uint32_t>(std::popcount(static_cast<T>(~a))));
}
template <typename T>
uint32_t bcnt1(Wave& w, T a) {
  return nonzero(w, static_cast<uint32_t>(std::popcount(a)));
}
template <typename T>
uint32_t ff1(Wave&, T a) {
  return a == 0 ? ~0u : static_cast<uint32_t>(std::countr_zero(a));
}
template <typename T>
uint32_t ff0(Wave& w, T a) {
  return ff1<T>(w, static_cast<T>(~a));
}
template <typename T>
uint32_t flbit(Wave&, T a) {
  return a == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(a));
}
// Number of leading bits equal to the sign bit; -1 if all are.
template <typename T>
uint32_t flbit_i(Wave& w, T a) {
  const T sign = a >> (sizeof(T) * 8 - 1) ? static_cast<T>(~a) : a;
  return flbit<T>(w, sign);
}
uint32_t sext_i8(Wave&, uint32_t a) { return static_cast<uint32_t>(static_cast<int8_t>(a)); }
uint32_t sext_i16(Wave&, uint32_t a) { return static_cast<uint32_t>(static_cast<int16_t>(a)); }
uint32_t abs_i32(Wave& w, uint32_t a) {
  return nonzero(w, static_cast<int32_t>(a) < 0 ? 0u - a : a);
}

template <int kBit>
const Inst* bitset32(Wave& w, const Inst* i) {
  const uint32_t bit = 1u << (w.read32(i, 0) & 31);
  w.write32(i->dst, kBit ? w.sgpr[i->dst] | bit : w.sgpr[i->dst] & ~bit);
  return i->next();
}
template <int kBit>
const Inst* bitset64(Wave& w, const Inst* i) {
  const uint64_t bit = uint64_t{1} << (w.read32(i, 0) & 63);
  w.write64(i->dst, kBit ? w.pair(i->dst) | bit : w.pair(i->dst) & ~bit);
  return i->next();
}
const Inst* bitreplicate(Wave& w, const Inst* i) {
  const uint32_t a = w.read32(i, 0);
  uint64_t r = 0;
  for (unsigned b = 0; b < 32; ++b) r |= static_cast<uint64_t>(a >> b & 1) * 3 << (2 * b);
  w.write64(i->dst, r);
  return i->next();
}
const Inst* cmov_b32(Wave& w, const Inst* i) {
  if (w.scc) w.write32(i->dst, w.read32(i, 0));
  return i->next();
}
const Inst* cmov_b64(Wave& w, const Inst* i) {
  if (w.scc) w.write64(i->dst, w.read64(i, 0));
  return i->next();
}

// EXEC and the old EXEC: S0 op EXEC. kKeepNew: the destination gets the new EXEC (wrexec).
template <auto F, bool kKeepNew = false>
const Inst* saveexec32(Wave& w, const Inst* i) {
  const uint32_t old = w.exec();
  const uint32_t value = F(w.read32(i, 0), old);
  w.write32(i->dst, kKeepNew ? value : old);
  w.set_exec(value);
  w.scc = value != 0;
  return i->next();
}
template <auto F, bool kKeepNew = false>
const Inst* saveexec64(Wave& w, const Inst* i) {
  const uint64_t old = w.pair(operand::kExecLo);
  const uint64_t value = F(w.read64(i, 0), old);
  w.write64(i->dst, kKeepNew ? value : old);
  w.write64(operand::kExecLo, value);
  w.scc = value != 0;
  return i->next();
}
template <typename T>
T se_and(T s, T e) {
  return s & e;
}
template <typename T>
T se_or(T s, T e) {
  return s | e;
}
template <typename T>
T se_xor(T s, T e) {
  return s ^ e;
}
template <typename T>
T se_andn2(T s, T e) {
  return s & ~e;
}
template <typename T>
T se_orn2(T s, T e) {
  return s | ~e;
}
template <typename T>
T se_nand(T s, T e) {
  return ~(s & e);
}
template <typename T>
T se_nor(T s, T e) {
  return ~(s | e);
}
template <typename T>
T se_xnor(T s, T e) {
  return ~(s ^ e);
}
template <typename T>
T se_andn1(T s, T e) {
  return ~s & e;
}
template <typename T>
T se_orn1(T s, T e) {
  return ~s | e;
}

const Inst* movrels(Wave& w, const Inst* i) {
  const uint32_t from = i->src[0] + w.sgpr[operand::kM0];
  if (i->src[0] > 105 || from > 105) return w.unsupported(i, "relative SGPR number past s105");
  w.write32(i->dst, w.sgpr[from]);
  return i->next();
}
const Inst* movrels64(Wave& w, const Inst* i) {
  const uint32_t from = i->src[0] + w.sgpr[operand::kM0];
  if (i->src[0] > 105 || from > 104) return w.unsupported(i, "relative SGPR number past s105");
  w.write64(i->dst, w.pair(static_cast<uint16_t>(from)));
  return i->next();
}
const Inst* movreld(Wave& w, const Inst* i) {
  const uint32_t to = i->dst + w.sgpr[operand::kM0];
  if (i->dst > 105 || to > 105) return w.unsupported(i, "relative SGPR number past s105");
  w.sgpr[to] = w.read32(i, 0);
  return i->next();
}
const Inst* movreld64(Wave& w, const Inst* i) {
  const uint32_t to = i->dst + w.sgpr[operand::kM0];
  if (i->dst > 105 || to > 104) return w.unsupported(i, "relative SGPR number past s105");
  w.write64(static_cast<uint16_t>(to), w.read64(i, 0));
  return i->next();
}
// M0 bits 9:0 are added to the source's number, bits 25:16 to the destination's.
const Inst* movrelsd2(Wave& w, const Inst* i) {
  const uint32_t from = i->src[0] + (w.sgpr[operand::kM0] & 1023);
  const uint32_t to = i->dst + (w.sgpr[operand::kM0] >> 16 & 1023);
  if (from > 105 || to > 105) return w.unsupported(i, "relative SGPR number past s105");
  w.sgpr[to] = w.sgpr[from];
  return i->next();
}

}  // namespace

Handler bind_sop1(Op op) {
  switch (op) {
    case Op::s_mov_b32: return sop1<mov<uint32_t>>;
    case Op::s_mov_b64: return sop1_64<mov<uint64_t>>;
    case Op::s_cmov_b32: return cmov_b32;
    case Op::s_cmov_b64: return cmov_b64;
    case Op::s_not_b32: return sop1<not_<uint32_t>>;
    case Op::s_not_b64: return sop1_64<not_<uint64_t>>;
    case Op::s_wqm_b32: return sop1<wqm<uint32_t>>;
    case Op::s_wqm_b64: return sop1_64<wqm<uint64_t>>;
    case Op::s_brev_b32: return sop1<brev<uint32_t>>;
    case Op::s_brev_b64: return sop1_64<brev<uint64_t>>;
    case Op::s_bcnt0_i32_b32: return sop1<bcnt0<uint32_t>>;
    case Op::s_bcnt0_i32_b64: return sop1_32_64<bcnt0<uint64_t>>;
    case Op::s_bcnt1_i32_b32: return sop1<bcnt1<uint32_t>>;
    case Op::s_bcnt1_i32_b64: return sop1_32_64<bcnt1<uint64_t>>;
    case Op::s_ff0_i32_b32: return sop1<ff0<uint32_t>>;
    case Op::s_ff0_i32_b64: return sop1_32_64<ff0<uint64_t>>;
    case Op::s_ff1_i32_b32: return sop1<ff1<uint32_t>>;
    case Op::s_ff1_i32_b64: return sop1_32_64<ff1<uint64_t>>;
    case Op::s_flbit_i32_b32: return sop1<flbit<uint32_t>>;
    case Op::s_flbit_i32_b64: return sop1_32_64<flbit<uint64_t>>;
    case Op::s_flbit_i32: return sop1<flbit_i<uint32_t>>;
    case Op::s_flbit_i32_i64: return sop1_32_64<flbit_i<uint64_t>>;
    case Op::s_sext_i32_i8: return sop1<sext_i8>;
    case Op::s_sext_i32_i16: return sop1<sext_i16>;
    case Op::s_bitset0_b32: return bitset32<0>;
    case Op::s_bitset0_b64: return bitset64<0>;
    case Op::s_bitset1_b32: return bitset32<1>;
    case Op::s_bitset1_b64: return bitset64<1>;
    case Op::s_and_saveexec_b32: return saveexec32<se_and<uint32_t>>;
    case Op::s_and_saveexec_b64: return saveexec64<se_and<uint64_t>>;
    case Op::s_or_saveexec_b32: return saveexec32<se_or<uint32_t>>;
    case Op::s_or_saveexec_b64: return saveexec64<se_or<uint64_t>>;
    case Op::s_xor_saveexec_b32: return saveexec32<se_xor<uint32_t>>;
    case Op::s_xor_saveexec_b64: return saveexec64<se_xor<uint64_t>>;
    case Op::s_andn2_saveexec_b32: return saveexec32<se_andn2<uint32_t>>;
    case Op::s_andn2_saveexec_b64: return saveexec64<se_andn2<uint64_t>>;
    case Op::s_orn2_saveexec_b32: return saveexec32<se_orn2<uint32_t>>;
    case Op::s_orn2_saveexec_b64: return saveexec64<se_orn2<uint64_t>>;
    case Op::s_nand_saveexec_b32: return saveexec32<se_nand<uint32_t>>;
    case Op::s_nand_saveexec_b64: return saveexec64<se_nand<uint64_t>>;
    case Op::s_nor_saveexec_b32: return saveexec32<se_nor<uint32_t>>;
    case Op::s_nor_saveexec_b64: return saveexec64<se_nor<uint64_t>>;
    case Op::s_xnor_saveexec_b32: return saveexec32<se_xnor<uint32_t>>;
    case Op::s_xnor_saveexec_b64: return saveexec64<se_xnor<uint64_t>>;
    case Op::s_andn1_saveexec_b32: return saveexec32<se_andn1<uint32_t>>;
    case Op::s_andn1_saveexec_b64: return saveexec64<se_andn1<uint64_t>>;
    case Op::s_orn1_saveexec_b32: return saveexec32<se_orn1<uint32_t>>;
    case Op::s_orn1_saveexec_b64: return saveexec64<se_orn1<uint64_t>>;
    case Op::s_andn1_wrexec_b32: return saveexec32<se_andn1<uint32_t>, true>;
    case Op::s_andn1_wrexec_b64: return saveexec64<se_andn1<uint64_t>, true>;
    case Op::s_andn2_wrexec_b32: return saveexec32<se_andn2<uint32_t>, true>;
    case Op::s_andn2_wrexec_b64: return saveexec64<se_andn2<uint64_t>, true>;
    case Op::s_quadmask_b32: return sop1<quadmask<uint32_t>>;
    case Op::s_quadmask_b64: return sop1_64<quadmask<uint64_t>>;
    case Op::s_abs_i32: return sop1<abs_i32>;
    case Op::s_bitreplicate_b64_b32: return bitreplicate;
    case Op::s_movrels_b32: return movrels;
    case Op::s_movrels_b64: return movrels64;
    case Op::s_movreld_b32: return movreld;
    case Op::s_movreld_b64: return movreld64;
    case Op::s_movrelsd_2_b32: return movrelsd2;
    default: return nullptr;
  }
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
