// Moves, logic, shifts and bit fields.
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T U = T::kU32, I = T::kI32, L = T::kU64, B = T::kB32;

GFXGRAPH_INLINE uint32_t field_mask(uint32_t width) { return (1u << (width & 31)) - 1; }

GFXGRAPH_INLINE uint32_t bfe_i32(uint32_t a, uint32_t offset, uint32_t width) {
  const uint32_t w = width & 31;
  const uint32_t v =
      static_cast<uint32_t>(static_cast<int32_t>(a) >> (offset & 31)) & field_mask(w);
  const uint32_t sign = w == 0 ? 0 : v >> (w - 1) & 1;
  return sign != 0 ? v | ~field_mask(w) : v;
}

GFXGRAPH_INLINE uint32_t reverse(uint32_t v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(v);
}
GFXGRAPH_INLINE uint32_t population(uint32_t v) {
  v -= v >> 1 & 0x55555555u;
  v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
  v = (v + (v >> 4)) & 0x0f0f0f0fu;
  return v * 0x01010101u >> 24;
}
// Position of the first 1 bit from the top or from the bottom; -1 if there is none.
GFXGRAPH_INLINE uint32_t first_high(uint32_t v) {
  return v == 0 ? ~0u : static_cast<uint32_t>(__builtin_clz(v));
}
GFXGRAPH_INLINE uint32_t first_low(uint32_t v) {
  return v == 0 ? ~0u : static_cast<uint32_t>(__builtin_ctz(v));
}

// One byte of {a, b} (b is bytes 0..3), or a filler. ISA guide V_PERM_B32.
GFXGRAPH_INLINE uint32_t permuted_byte(uint64_t data, uint32_t selector) {
  if (selector >= 13) return 0xff;
  if (selector == 12) return 0;
  if (selector >= 8) return (data >> (16 * (selector - 8) + 15) & 1) != 0 ? 0xff : 0;
  return static_cast<uint32_t>(data >> (8 * selector)) & 0xff;
}
GFXGRAPH_INLINE uint32_t perm(uint32_t a, uint32_t b, uint32_t s) {
  const uint64_t data = uint64_t{a} << 32 | b;
  uint32_t r = 0;
  for (unsigned n = 0; n < 4; ++n) r |= permuted_byte(data, s >> (8 * n) & 0xff) << (8 * n);
  return r;
}

struct Cndmask {
  static constexpr T kDst = B;
  static constexpr T kSrc[3] = {B, B, T::kNone};
  template <class SA, class SB>
  GFXGRAPH_INLINE static void run(uint32_t* d, const uint32_t* mask, SA a, SB b, uint32_t bits) {
    GFXGRAPH_LANES {
      const uint32_t chosen = (bits & (1u << l)) != 0 ? b.lo(l) : a.lo(l);
      d[l] = (chosen & mask[l]) | (d[l] & ~mask[l]);
    }
  }
  static uint32_t kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                         const uint32_t*, uint32_t bits) {
    run(d, mask, RowSource{a}, RowSource{b}, bits);
    return 0;
  }
};
template <unsigned Kinds>
const Inst* cndmask_handler(Wave& w, const Inst* i) {
  Cndmask::run(w.v(i->dst).lane, w.exec_mask.lane, plain_source<Cndmask, 0, Kinds>(w, i),
               plain_source<Cndmask, 1, Kinds>(w, i), w.read32(i, 2));
  return i->next();
}
VectorOp cndmask() {
  VectorOp op = describe<Cndmask>();
  op.flags = VectorOp::kBitsFromSrc2;
  op.plain[0] = cndmask_handler<0>;
  op.plain[1] = cndmask_handler<1>;
  op.plain[2] = cndmask_handler<2>;
  op.plain[3] = cndmask_handler<3>;
  return op;
}

void add_logic(VectorTable& t) {
  t[Op::v_mov_b32] = hot<[](uint32_t a) { return a; }, B, B>();
  t[Op::v_cndmask_b32] = cndmask();
  t[Op::v_not_b32] = hot<[](uint32_t a) { return ~a; }, U, U>();
  t[Op::v_and_b32] = hot<[](uint32_t a, uint32_t b) { return a & b; }, U, U, U>();
  t[Op::v_or_b32] = hot<[](uint32_t a, uint32_t b) { return a | b; }, U, U, U>();
  t[Op::v_xor_b32] = hot<[](uint32_t a, uint32_t b) { return a ^ b; }, U, U, U>();
  t[Op::v_xnor_b32] = lane<[](uint32_t a, uint32_t b) { return ~(a ^ b); }, U, U, U>();
  t[Op::v_and_or_b32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }, U, U, U, U>();
  t[Op::v_or3_b32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }, U, U, U, U>();
  t[Op::v_xor3_b32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; }, U, U, U, U>();
  t[Op::v_lshl_or_b32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return a << (b & 31) | c; }, U, U, U, U>();
  t[Op::v_bfi_b32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (~a & c); }, U, U, U, U>();
}

void add_shifts(VectorTable& t) {
  t[Op::v_lshlrev_b32] = hot<[](uint32_t a, uint32_t b) { return b << (a & 31); }, U, U, U>();
  t[Op::v_lshrrev_b32] = hot<[](uint32_t a, uint32_t b) { return (b >> (a & 31)); }, U, U, U>();
  t[Op::v_ashrrev_i32] = hot<[](uint32_t a, int32_t b) { return (b >> (a & 31)); }, I, U, I>();
  t[Op::v_lshlrev_b64] = hot<[](uint32_t a, uint64_t b) { return b << (a & 63); }, L, U, L>();
  t[Op::v_lshrrev_b64] = hot<[](uint32_t a, uint64_t b) { return (b >> (a & 63)); }, L, U, L>();
  t[Op::v_ashrrev_i64] =
      hot<[](uint32_t a, int64_t b) { return (b >> (a & 63)); }, T::kI64, U, T::kI64>();
  t[Op::v_alignbit_b32] = hot<[](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>((uint64_t{a} << 32 | b) >> (c & 31));
  },
                              U, U, U, U>();
  t[Op::v_alignbyte_b32] = lane<[](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>((uint64_t{a} << 32 | b) >> (8 * (c & 3)));
  },
                                U, U, U, U>();
}

void add_fields(VectorTable& t) {
  t[Op::v_bfe_u32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return ((a >> (b & 31)) & field_mask(c)); }, U,
          U, U, U>();
  t[Op::v_bfe_i32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return bfe_i32(a, b, c); }, U, U, U, U>();
  t[Op::v_bfm_b32] =
      lane<[](uint32_t a, uint32_t b) { return field_mask(a) << (b & 31); }, U, U, U>();
  t[Op::v_perm_b32] =
      hot<[](uint32_t a, uint32_t b, uint32_t c) { return perm(a, b, c); }, U, U, U, U>();
  t[Op::v_bfrev_b32] = lane<[](uint32_t a) { return reverse(a); }, U, U>();
  t[Op::v_ffbh_u32] = lane<[](uint32_t a) { return first_high(a); }, U, U>();
  t[Op::v_ffbl_b32] = lane<[](uint32_t a) { return first_low(a); }, U, U>();
  // The first bit that differs from the sign; -1 for 0 and -1.
  t[Op::v_ffbh_i32] = lane<[](uint32_t a) {
    return first_high(a ^ static_cast<uint32_t>(static_cast<int32_t>(a) >> 31));
  },
                           U, U>();
  t[Op::v_bcnt_u32_b32] = lane<[](uint32_t a, uint32_t b) { return population(a) + b; }, U, U, U>();
}

// Bits of src0 below the lane, in the lower and upper 32 lanes of a wave64 (a wave32 has no upper
// ones).
struct Mbcnt {
  static uint32_t low(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                      const uint32_t*, uint32_t) {
    GFXGRAPH_LANES {
      const uint32_t r = population(a[l] & ((1u << l) - 1)) + b[l];
      d[l] = (r & mask[l]) | (d[l] & ~mask[l]);
    }
    return 0;
  }
};

VectorOp mbcnt_lo() {
  VectorOp op;
  op.kernel = Mbcnt::low;
  op.dst = op.src[0] = op.src[1] = U;
  return op;
}

}  // namespace

void add_integer_bits(VectorTable& t) {
  add_logic(t);
  add_shifts(t);
  add_fields(t);
  t[Op::v_mbcnt_lo_u32_b32] = mbcnt_lo();
  t[Op::v_mbcnt_hi_u32_b32] = lane<[](uint32_t, uint32_t b) { return b; }, U, U, U>();
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
