// Scalar ALU with two sources. Source: RDNA2 ISA guide, chapter "Scalar ALU Operations". One line
// per instruction in bind_*(). Instructions with one source: scalar_unary.cpp; comparisons and
// immediates: scalar_compare.cpp; instructions that change the pc or the wave's state:
// scalar_control.cpp.
#include "emulator/isa/scalar/scalar_op.h"

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
