// Comparisons of floats: a relation, or its negation, which is true with NaNs; and classes.
#include "emulator/isa/vector/vector_compare.h"
#include "emulator/isa/vector/vector_float.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

template <T type, auto F>
void add(VectorTable& t, Op op, Op op_exec) {
  t[op] = t[op_exec] = comparison<type, type, F>();
}

// ISA guide V_CMP_CLASS: bit 0 signalling NaN, 1 quiet NaN, then -inf, -normal, -denormal, -0, +0,
// +denormal, +normal, +inf. The class of `bits` with that many exponent and mantissa bits.
template <unsigned kExponent, unsigned kMantissa>
GFXGRAPH_INLINE uint32_t class_bit(uint64_t bits) {
  constexpr uint64_t kMaxExponent = (uint64_t{1} << kExponent) - 1;
  const uint64_t exponent = bits >> kMantissa & kMaxExponent;
  const uint64_t mantissa = bits & ((uint64_t{1} << kMantissa) - 1);
  const bool negative = (bits >> (kExponent + kMantissa) & 1) != 0;
  if (exponent == kMaxExponent) {
    if (mantissa != 0) return (mantissa >> (kMantissa - 1)) != 0 ? 2u : 1u;
    return negative ? 1u << 2 : 1u << 9;
  }
  if (exponent != 0) return negative ? 1u << 3 : 1u << 8;
  if (mantissa != 0) return negative ? 1u << 4 : 1u << 7;
  return negative ? 1u << 5 : 1u << 6;
}

constexpr auto kClass16 = [](float a, uint32_t classes) {
  return (class_bit<5, 10>(raw_half(a)) & classes) != 0;
};
constexpr auto kClass32 = [](float a, uint32_t classes) {
  return (class_bit<8, 23>(bits_of(a)) & classes) != 0;
};
constexpr auto kClass64 = [](double a, uint32_t classes) {
  return (class_bit<11, 52>(bits_of(a)) & classes) != 0;
};

#define GFXGRAPH_COMPARE(name, type, expression) \
  add<type, [](auto a, auto b) {                 \
    (void)a;                                     \
    (void)b;                                     \
    return (expression);                         \
  }>(t, Op::v_cmp_##name, Op::v_cmpx_##name)
#define GFXGRAPH_RELATIONS(suffix, type)                      \
  GFXGRAPH_COMPARE(f_##suffix, type, false);                  \
  GFXGRAPH_COMPARE(lt_##suffix, type, a < b);                 \
  GFXGRAPH_COMPARE(eq_##suffix, type, a == b);                \
  GFXGRAPH_COMPARE(le_##suffix, type, a <= b);                \
  GFXGRAPH_COMPARE(gt_##suffix, type, a > b);                 \
  GFXGRAPH_COMPARE(lg_##suffix, type, (a < b) | (a > b));     \
  GFXGRAPH_COMPARE(ge_##suffix, type, a >= b);                \
  GFXGRAPH_COMPARE(o_##suffix, type, (a == a) & (b == b));    \
  GFXGRAPH_COMPARE(u_##suffix, type, (a != a) | (b != b));    \
  GFXGRAPH_COMPARE(nge_##suffix, type, !(a >= b));            \
  GFXGRAPH_COMPARE(nlg_##suffix, type, !((a < b) | (a > b))); \
  GFXGRAPH_COMPARE(ngt_##suffix, type, !(a > b));             \
  GFXGRAPH_COMPARE(nle_##suffix, type, !(a <= b));            \
  GFXGRAPH_COMPARE(neq_##suffix, type, !(a == b));            \
  GFXGRAPH_COMPARE(nlt_##suffix, type, !(a < b));             \
  GFXGRAPH_COMPARE(tru_##suffix, type, true)

}  // namespace

void add_compare_float(VectorTable& t) {
  GFXGRAPH_RELATIONS(f16, T::kF16);
  GFXGRAPH_RELATIONS(f32, T::kF32);
  GFXGRAPH_RELATIONS(f64, T::kF64);
  t[Op::v_cmp_class_f16] = comparison<T::kF16, T::kU32, kClass16>();
  t[Op::v_cmpx_class_f16] = comparison<T::kF16, T::kU32, kClass16>();
  t[Op::v_cmp_class_f32] = comparison<T::kF32, T::kU32, kClass32>();
  t[Op::v_cmpx_class_f32] = comparison<T::kF32, T::kU32, kClass32>();
  t[Op::v_cmp_class_f64] = comparison<T::kF64, T::kU32, kClass64>();
  t[Op::v_cmpx_class_f64] = comparison<T::kF64, T::kU32, kClass64>();
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
