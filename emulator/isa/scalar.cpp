// Scalar ALU. Source: RDNA2 ISA guide, chapter "Scalar ALU Operations". One line per instruction in
// bind_*(); what changes the pc or the wave's state stands in scalar_control.cpp.
#include <bit>

#include "emulator/context.h"
#include "emulator/isa/isa.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

// ---- SOP2 ----

template <auto F>
const Inst* sop2(Wave& w, const Inst* i) {
  w.write32(i->dst, F(w, w.read32(i, 0), w.read32(i, 1)));
  return i->next();
}
template <auto F>
const Inst* sop2_64(Wave& w, const Inst* i) {
  w.write64(i->dst, F(w, w.read64(i, 0), w.read64(i, 1)));
  return i->next();
}
// 64-bit first source, 32-bit second.
template <auto F>
const Inst* sop2_64_32(Wave& w, const Inst* i) {
  w.write64(i->dst, F(w, w.read64(i, 0), w.read32(i, 1)));
  return i->next();
}

uint32_t add_u32(Wave& w, uint32_t a, uint32_t b) {
  const uint32_t r = a + b;
  w.scc = r < a;
  return r;
}
uint32_t sub_u32(Wave& w, uint32_t a, uint32_t b) {
  w.scc = b > a;
  return a - b;
}
uint32_t add_i32(Wave& w, uint32_t a, uint32_t b) {
  const uint32_t r = a + b;
  w.scc = (~(a ^ b) & (a ^ r)) >> 31;
  return r;
}
uint32_t sub_i32(Wave& w, uint32_t a, uint32_t b) {
  const uint32_t r = a - b;
  w.scc = ((a ^ b) & (a ^ r)) >> 31;
  return r;
}
uint32_t addc_u32(Wave& w, uint32_t a, uint32_t b) {
  const uint64_t r = uint64_t{a} + b + w.scc;
  w.scc = static_cast<uint32_t>(r >> 32);
  return static_cast<uint32_t>(r);
}
uint32_t subb_u32(Wave& w, uint32_t a, uint32_t b) {
  const uint64_t r = uint64_t{a} - b - w.scc;
  w.scc = (r >> 32) != 0;
  return static_cast<uint32_t>(r);
}
uint32_t min_i32(Wave& w, uint32_t a, uint32_t b) {
  w.scc = static_cast<int32_t>(a) < static_cast<int32_t>(b);
  return w.scc ? a : b;
}
uint32_t min_u32(Wave& w, uint32_t a, uint32_t b) {
  w.scc = a < b;
  return w.scc ? a : b;
}
uint32_t max_i32(Wave& w, uint32_t a, uint32_t b) {
  w.scc = static_cast<int32_t>(a) > static_cast<int32_t>(b);
  return w.scc ? a : b;
}
uint32_t max_u32(Wave& w, uint32_t a, uint32_t b) {
  w.scc = a > b;
  return w.scc ? a : b;
}
template <typename T>
T cselect(Wave& w, T a, T b) {
  return w.scc ? a : b;
}
template <typename T>
T nonzero(Wave& w, T r) {
  w.scc = r != 0;
  return r;
}
template <typename T>
T and_(Wave& w, T a, T b) {
  return nonzero<T>(w, a & b);
}
template <typename T>
T or_(Wave& w, T a, T b) {
  return nonzero<T>(w, a | b);
}
template <typename T>
T xor_(Wave& w, T a, T b) {
  return nonzero<T>(w, a ^ b);
}
template <typename T>
T andn2(Wave& w, T a, T b) {
  return nonzero<T>(w, a & ~b);
}
template <typename T>
T orn2(Wave& w, T a, T b) {
  return nonzero<T>(w, a | ~b);
}
template <typename T>
T nand_(Wave& w, T a, T b) {
  return nonzero<T>(w, ~(a & b));
}
template <typename T>
T nor_(Wave& w, T a, T b) {
  return nonzero<T>(w, ~(a | b));
}
template <typename T>
T xnor_(Wave& w, T a, T b) {
  return nonzero<T>(w, ~(a ^ b));
}
uint32_t lshl_b32(Wave& w, uint32_t a, uint32_t b) { return nonzero(w, a << (b & 31)); }
uint32_t lshr_b32(Wave& w, uint32_t a, uint32_t b) { return nonzero(w, a >> (b & 31)); }
uint32_t ashr_i32(Wave& w, uint32_t a, uint32_t b) {
  return nonzero(w, static_cast<uint32_t>(static_cast<int32_t>(a) >> (b & 31)));
}
uint64_t lshl_b64(Wave& w, uint64_t a, uint32_t b) { return nonzero(w, a << (b & 63)); }
uint64_t lshr_b64(Wave& w, uint64_t a, uint32_t b) { return nonzero(w, a >> (b & 63)); }
uint64_t ashr_i64(Wave& w, uint64_t a, uint32_t b) {
  return nonzero(w, static_cast<uint64_t>(static_cast<int64_t>(a) >> (b & 63)));
}
uint32_t bfm_b32(Wave&, uint32_t a, uint32_t b) { return ((1u << (a & 31)) - 1) << (b & 31); }
uint64_t bfm_b64(Wave&, uint32_t a, uint32_t b) {
  return ((uint64_t{1} << (a & 63)) - 1) << (b & 63);
}
uint32_t mul_i32(Wave&, uint32_t a, uint32_t b) { return a * b; }
uint32_t mul_hi_u32(Wave&, uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(uint64_t{a} * b >> 32);
}
uint32_t mul_hi_i32(Wave&, uint32_t a, uint32_t b) {
  const int64_t r = int64_t{static_cast<int32_t>(a)} * static_cast<int32_t>(b);
  return static_cast<uint32_t>(static_cast<uint64_t>(r) >> 32);
}
// The field's offset is in bits 4:0 (5:0 for 64 bits), its width in bits 22:16.
uint64_t field_mask(uint32_t width) {
  return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}
uint64_t sign_extend(uint64_t value, uint32_t width) {
  if (width == 0) return 0;
  if (width >= 64) return value;
  const uint64_t sign = uint64_t{1} << (width - 1);
  return ((value & field_mask(width)) ^ sign) - sign;
}
uint32_t bfe_u32(Wave& w, uint32_t a, uint32_t b) {
  return nonzero(w, static_cast<uint32_t>((a >> (b & 31)) & field_mask(b >> 16 & 127)));
}
uint32_t bfe_i32(Wave& w, uint32_t a, uint32_t b) {
  const auto shifted = static_cast<uint64_t>(int64_t{static_cast<int32_t>(a)} >> (b & 31));
  return nonzero(w, static_cast<uint32_t>(sign_extend(shifted, b >> 16 & 127)));
}
uint64_t bfe_u64(Wave& w, uint64_t a, uint32_t b) {
  return nonzero(w, (a >> (b & 63)) & field_mask(b >> 16 & 127));
}
uint64_t bfe_i64(Wave& w, uint64_t a, uint32_t b) {
  return nonzero(
      w, sign_extend(static_cast<uint64_t>(static_cast<int64_t>(a) >> (b & 63)), b >> 16 & 127));
}
uint32_t absdiff_i32(Wave& w, uint32_t a, uint32_t b) {
  const uint32_t r = a - b;
  return nonzero(w, static_cast<int32_t>(r) < 0 ? 0u - r : r);
}
template <int N>
uint32_t lshl_add(Wave& w, uint32_t a, uint32_t b) {
  const uint64_t r = (uint64_t{a} << N) + b;
  w.scc = (r >> 32) != 0;
  return static_cast<uint32_t>(r);
}
uint32_t pack_ll(Wave&, uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }
uint32_t pack_lh(Wave&, uint32_t a, uint32_t b) { return (a & 0xffff) | (b & 0xffff0000u); }
uint32_t pack_hh(Wave&, uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }

const Inst* bfm_b64_inst(Wave& w, const Inst* i) {
  w.write64(i->dst, bfm_b64(w, w.read32(i, 0), w.read32(i, 1)));
  return i->next();
}

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
// Leading bits equal to the sign bit; all of them: -1.
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

Handler bind_sop2(Op op) {
  switch (op) {
    case Op::s_add_u32: return sop2<add_u32>;
    case Op::s_sub_u32: return sop2<sub_u32>;
    case Op::s_add_i32: return sop2<add_i32>;
    case Op::s_sub_i32: return sop2<sub_i32>;
    case Op::s_addc_u32: return sop2<addc_u32>;
    case Op::s_subb_u32: return sop2<subb_u32>;
    case Op::s_min_i32: return sop2<min_i32>;
    case Op::s_min_u32: return sop2<min_u32>;
    case Op::s_max_i32: return sop2<max_i32>;
    case Op::s_max_u32: return sop2<max_u32>;
    case Op::s_cselect_b32: return sop2<cselect<uint32_t>>;
    case Op::s_cselect_b64: return sop2_64<cselect<uint64_t>>;
    case Op::s_and_b32: return sop2<and_<uint32_t>>;
    case Op::s_and_b64: return sop2_64<and_<uint64_t>>;
    case Op::s_or_b32: return sop2<or_<uint32_t>>;
    case Op::s_or_b64: return sop2_64<or_<uint64_t>>;
    case Op::s_xor_b32: return sop2<xor_<uint32_t>>;
    case Op::s_xor_b64: return sop2_64<xor_<uint64_t>>;
    case Op::s_andn2_b32: return sop2<andn2<uint32_t>>;
    case Op::s_andn2_b64: return sop2_64<andn2<uint64_t>>;
    case Op::s_orn2_b32: return sop2<orn2<uint32_t>>;
    case Op::s_orn2_b64: return sop2_64<orn2<uint64_t>>;
    case Op::s_nand_b32: return sop2<nand_<uint32_t>>;
    case Op::s_nand_b64: return sop2_64<nand_<uint64_t>>;
    case Op::s_nor_b32: return sop2<nor_<uint32_t>>;
    case Op::s_nor_b64: return sop2_64<nor_<uint64_t>>;
    case Op::s_xnor_b32: return sop2<xnor_<uint32_t>>;
    case Op::s_xnor_b64: return sop2_64<xnor_<uint64_t>>;
    case Op::s_lshl_b32: return sop2<lshl_b32>;
    case Op::s_lshl_b64: return sop2_64_32<lshl_b64>;
    case Op::s_lshr_b32: return sop2<lshr_b32>;
    case Op::s_lshr_b64: return sop2_64_32<lshr_b64>;
    case Op::s_ashr_i32: return sop2<ashr_i32>;
    case Op::s_ashr_i64: return sop2_64_32<ashr_i64>;
    case Op::s_bfm_b32: return sop2<bfm_b32>;
    case Op::s_bfm_b64: return bfm_b64_inst;
    case Op::s_mul_i32: return sop2<mul_i32>;
    case Op::s_bfe_u32: return sop2<bfe_u32>;
    case Op::s_bfe_i32: return sop2<bfe_i32>;
    case Op::s_bfe_u64: return sop2_64_32<bfe_u64>;
    case Op::s_bfe_i64: return sop2_64_32<bfe_i64>;
    case Op::s_absdiff_i32: return sop2<absdiff_i32>;
    case Op::s_lshl1_add_u32: return sop2<lshl_add<1>>;
    case Op::s_lshl2_add_u32: return sop2<lshl_add<2>>;
    case Op::s_lshl3_add_u32: return sop2<lshl_add<3>>;
    case Op::s_lshl4_add_u32: return sop2<lshl_add<4>>;
    case Op::s_pack_ll_b32_b16: return sop2<pack_ll>;
    case Op::s_pack_lh_b32_b16: return sop2<pack_lh>;
    case Op::s_pack_hh_b32_b16: return sop2<pack_hh>;
    case Op::s_mul_hi_u32: return sop2<mul_hi_u32>;
    case Op::s_mul_hi_i32: return sop2<mul_hi_i32>;
    default: return nullptr;
  }
}

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

}  // namespace

Handler bind_scalar(Inst& inst) {
  if (const Handler control = bind_scalar_control(inst)) return control;
  switch (inst.format) {
    case Format::kSop1: return bind_sop1(inst.op);
    case Format::kSop2: return bind_sop2(inst.op);
    case Format::kSopc:
    case Format::kSopk: return bind_sopc_sopk(inst.op);
    default: return nullptr;
  }
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
