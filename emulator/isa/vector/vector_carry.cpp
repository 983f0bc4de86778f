// Sums with carry, and the wide multiply-add. Carry bits of inactive lanes become 0 (the handler
// masks them).
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T U = T::kU32;

// kSubtract: a - b - carry; kReverse: b - a - carry. With clamp the difference or sum saturates.
enum class Kind { kAdd, kSubtract, kReverse };

template <Kind kind, bool kCarryIn, bool kClamp>
struct Carry {
  static constexpr T kDst = U;
  static constexpr T kSrc[3] = {U, U, T::kNone};
  template <class Mask, class SA, class SB>
  GFXGRAPH_INLINE static uint32_t run(uint32_t* d, Mask mask, SA a, SB b, uint32_t carry_in) {
    Row out;
    GFXGRAPH_LANES {
      const uint32_t x = kind == Kind::kReverse ? b.lo(l) : a.lo(l);
      const uint32_t y = kind == Kind::kReverse ? a.lo(l) : b.lo(l);
      const uint32_t in = kCarryIn && (carry_in & (1u << l)) != 0 ? 1u : 0u;
      uint32_t r;
      uint32_t carry;
      if constexpr (kind == Kind::kAdd) {
        const uint32_t sum = x + y;
        r = sum + in;
        carry = (sum < x ? ~0u : 0u) | (r < in ? ~0u : 0u);
        if (kClamp) r = carry != 0 ? ~0u : r;
      } else {
        const uint32_t difference = x - y;
        r = difference - in;
        carry = (x < y ? ~0u : 0u) | (difference < in ? ~0u : 0u);
        if (kClamp) r = carry != 0 ? 0u : r;
      }
      out.lane[l] = carry;
      d[l] = (r & mask[l]) | (d[l] & ~mask[l]);
    }
    return lane_bits(out);
  }
  static uint32_t kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                         const uint32_t*, uint32_t bits) {
    return run(d, mask, RowSource{a}, RowSource{b}, bits);
  }
};

template <class O, bool kCarryIn, unsigned Kinds>
const Inst* carry_handler(Wave& w, const Inst* i) {
  const uint32_t in = kCarryIn ? w.read32(i, 2) : 0;
  uint32_t* d = w.v(i->dst).lane;
  const auto a = plain_source<O, 0, Kinds>(w, i);
  const auto b = plain_source<O, 1, Kinds>(w, i);
  if (w.exec() == ~0u) {
    w.write32(i->sdst, O::run(d, AllLanes(), a, b, in));
    return i->next();
  }
  const uint32_t out = O::run(d, static_cast<const uint32_t*>(w.exec_mask.lane), a, b, in);
  w.write32(i->sdst, out & w.exec());
  return i->next();
}

template <Kind kind, bool kCarryIn>
VectorOp carry() {
  using O = Carry<kind, kCarryIn, false>;
  VectorOp op = describe<O>();
  op.clamp_kernel = Carry<kind, kCarryIn, true>::kernel;
  op.flags = static_cast<uint8_t>(VectorOp::kBitsToSdst | (kCarryIn ? VectorOp::kBitsFromSrc2 : 0));
  op.plain[0] = carry_handler<O, kCarryIn, 0>;
  op.plain[1] = carry_handler<O, kCarryIn, 1>;
  op.plain[2] = carry_handler<O, kCarryIn, 2>;
  return op;
}

template <bool kSigned, bool kClamp>
struct MadWide {
  static constexpr T kDst = kSigned ? T::kI64 : T::kU64;
  static constexpr T kSrc[3] = {U, U, kDst};
  template <class SA, class SB, class SC>
  GFXGRAPH_INLINE static uint32_t run(uint32_t* d, const uint32_t* mask, SA a, SB b, SC c) {
    Row out;
    GFXGRAPH_LANES {
      const uint64_t addend = load<T::kU64>(c, l);
      const uint64_t product = kSigned
                                   ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(a.lo(l))} *
                                                           static_cast<int32_t>(b.lo(l)))
                                   : uint64_t{a.lo(l)} * b.lo(l);
      uint64_t r = product + addend;
      bool overflow = r < product;
      if (kSigned) overflow = (static_cast<int64_t>((r ^ product) & (r ^ addend))) < 0;
      if (kClamp && overflow)
        r = !kSigned                            ? ~uint64_t{0}
            : static_cast<int64_t>(product) < 0 ? uint64_t{1} << 63
                                                : ~uint64_t{0} >> 1;
      // Signed: bit 64, the sign of the 65-bit sum.
      const bool negative = (static_cast<int64_t>(product + addend) < 0) != overflow;
      out.lane[l] = (kSigned ? negative : overflow) ? ~0u : 0u;
      store<T::kU64>(d, l, mask[l], r);
    }
    return lane_bits(out);
  }
  static uint32_t kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                         const uint32_t* c, uint32_t) {
    return run(d, mask, RowSource{a}, RowSource{b}, RowSource{c});
  }
};

template <class O, unsigned Kinds>
const Inst* mad_wide_handler(Wave& w, const Inst* i) {
  const uint32_t out = O::run(w.v(i->dst).lane, w.exec_mask.lane, plain_source<O, 0, Kinds>(w, i),
                              plain_source<O, 1, Kinds>(w, i), plain_source<O, 2, Kinds>(w, i));
  w.write32(i->sdst, out & w.exec());
  return i->next();
}

template <bool kSigned>
VectorOp mad_wide() {
  using O = MadWide<kSigned, false>;
  VectorOp op = describe<O>();
  op.clamp_kernel = MadWide<kSigned, true>::kernel;
  op.flags = VectorOp::kBitsToSdst;
  op.plain[0] = mad_wide_handler<O, 0>;
  op.plain[1] = mad_wide_handler<O, 1>;
  op.plain[2] = mad_wide_handler<O, 2>;
  op.plain[3] = mad_wide_handler<O, 3>;
  op.plain[4] = mad_wide_handler<O, 4>;
  op.plain[5] = mad_wide_handler<O, 5>;
  op.plain[6] = mad_wide_handler<O, 6>;
  return op;
}

}  // namespace

void add_carry(VectorTable& t) {
  t[Op::v_add_co_u32] = carry<Kind::kAdd, false>();
  t[Op::v_sub_co_u32] = carry<Kind::kSubtract, false>();
  t[Op::v_subrev_co_u32] = carry<Kind::kReverse, false>();
  t[Op::v_add_co_ci_u32] = carry<Kind::kAdd, true>();
  t[Op::v_sub_co_ci_u32] = carry<Kind::kSubtract, true>();
  t[Op::v_subrev_co_ci_u32] = carry<Kind::kReverse, true>();
  t[Op::v_mad_u64_u32] = mad_wide<false>();
  t[Op::v_mad_i64_i32] = mad_wide<true>();
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
