// The three instructions around a division: scaling, the last fma, and the special cases. Source:
// RDNA2 ISA guide V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP. The guide's pseudo-code of DIV_FMAS has one
// factor, but the scalings of DIV_SCALE need two: a scaled-up denominator makes the quotient small,
// a scaled-up numerator makes it large. The quotient's size selects the factor.
#include "emulator/isa/vector/vector_float.h"
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

template <class V>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr T kType = T::kF32;
  static constexpr int kMantissa = 23, kExponentMask = 0xff;
  static constexpr int kBigRatio = 96, kTinyNumerator = 23, kUnderflow = -150;
  static constexpr float kUp = 0x1p64f, kDown = 0x1p-64f, kSmallest = 0x1p-126f;
  static constexpr Bits kSign = 0x80000000u, kInvalid = 0xffc00000u, kInfinity = 0x7f800000u;
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr T kType = T::kF64;
  static constexpr int kMantissa = 52, kExponentMask = 0x7ff;
  static constexpr int kBigRatio = 768, kTinyNumerator = 53, kUnderflow = -1075;
  static constexpr double kUp = 0x1p128, kDown = 0x1p-128, kSmallest = 0x1p-1022;
  static constexpr Bits kSign = 0x8000000000000000u, kInvalid = 0xfff8000000000000u,
                        kInfinity = 0x7ff0000000000000u;
};

template <class V>
GFXGRAPH_INLINE int exponent(V v) {
  return static_cast<int>(bits_of(v) >> Format<V>::kMantissa) & Format<V>::kExponentMask;
}
template <class V>
GFXGRAPH_INLINE V magnitude(V v) {
  return as<V>(bits_of(v) & ~Format<V>::kSign);
}
template <class V>
GFXGRAPH_INLINE bool denormal(V v) {
  return v != 0 && exponent(v) == 0;
}

// s0 is the value to scale: the denominator s1 or the numerator s2. `flag`: whether DIV_FMAS must
// undo the scaling.
template <class V>
GFXGRAPH_INLINE V div_scale(V s0, V s1, V s2, bool& flag) {
  using X = Format<V>;
  flag = false;
  if (s1 != s1 || s2 != s2) return quiet(s0);
  if (s2 == 0 || s1 == 0) return as<V>(static_cast<typename X::Bits>(X::kInvalid & ~X::kSign));
  if (exponent(s2) - exponent(s1) >= X::kBigRatio) {
    flag = true;
    return s0 == s1 ? s0 * X::kUp : quiet(s0);
  }
  if (denormal(s1)) return s0 * X::kUp;
  const bool tiny_inverse = denormal(V(1) / s1);
  const bool tiny_quotient = magnitude(s2 / s1) < X::kSmallest;
  if (tiny_inverse && tiny_quotient) {
    // The guide scales up here, which would overflow such a denominator and make every quotient 0.
    flag = true;
    return s0 == s1 ? s0 * X::kDown : quiet(s0);
  }
  if (tiny_inverse) return s0 * X::kDown;
  if (tiny_quotient) {
    flag = true;
    return s0 == s2 ? s0 * X::kUp : quiet(s0);
  }
  if (exponent(s2) <= X::kTinyNumerator) return s0 * X::kUp;
  return quiet(s0);
}

GFXGRAPH_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
GFXGRAPH_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

// a * b + c, times 2^64 or 2^-64, rounded once.
GFXGRAPH_INLINE float div_fmas(float a, float b, float c, bool flag) {
  if (!flag) return fma(a, b, c);
  const double product = static_cast<double>(a) * static_cast<double>(b);  // exact
  const double sum = product + static_cast<double>(c);
  const double part = sum - product;
  const double error = (product - (sum - part)) + (static_cast<double>(c) - part);
  uint64_t u = bits_of(sum);
  // Rounds to odd, so that only the narrowing below rounds.
  if (error == error && error != 0 && (u & 1) == 0)
    u = ((bits_of(error) ^ u) >> 63) == 0 ? u + 1 : u - 1;
  return static_cast<float>(as<double>(u) * (exponent(c) > 127 ? 0x1p64 : 0x1p-64));
}
GFXGRAPH_INLINE double div_fmas(double a, double b, double c, bool flag) {
  if (!flag) return fma(a, b, c);
  const double scale = exponent(c) > 1023 ? 0x1p128 : 0x1p-128;
  const double r = __builtin_fma(a, b, c);
  const double scaled = r * scale;
  if (!(magnitude(scaled) <= Format<double>::kSmallest)) return scaled;
  // The scaled result is denormal, or was before rounding: round once, from a format that holds the
  // exact product.
  return static_cast<double>((static_cast<__float128>(a) * b + c) * scale);
}

// s0: the quotient; s1: denominator; s2: numerator.
template <class V>
GFXGRAPH_INLINE V div_fixup(V s0, V s1, V s2) {
  using X = Format<V>;
  using Bits = typename X::Bits;
  const Bits sign = (bits_of(s1) ^ bits_of(s2)) & X::kSign;
  const V infinity = as<V>(static_cast<Bits>(X::kInfinity));
  const V abs1 = magnitude(s1);
  const V abs2 = magnitude(s2);
  if (s2 != s2) return quiet(s2);
  if (s1 != s1) return quiet(s1);
  if ((s1 == 0 && s2 == 0) || (abs1 == infinity && abs2 == infinity))
    return as<V>(static_cast<Bits>(X::kInvalid));
  if (s1 == 0 || abs2 == infinity) return as<V>(static_cast<Bits>(X::kInfinity | sign));
  if (abs1 == infinity || s2 == 0) return as<V>(sign);
  if (exponent(s2) - exponent(s1) < X::kUnderflow) return as<V>(sign);
  if (exponent(s1) == X::kExponentMask || s0 != s0)
    return as<V>(static_cast<Bits>(X::kInfinity | sign));
  return as<V>(static_cast<Bits>((bits_of(s0) & ~X::kSign) | sign));
}

// Whether, in all active lanes, div_scale returns `a` and div_fixup gives `a` the sign of the
// quotient c / b: normal numbers with a normal quotient, far from both instructions' special cases.
// One pass without branches, for the common case.
GFXGRAPH_INLINE bool usual_division(const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                                    const uint32_t* c) {
  constexpr uint32_t kLeastDenominator = 1, kMostDenominator = 252;  // its inverse is normal
  constexpr uint32_t kLeastNumerator = Format<float>::kTinyNumerator + 1, kMostNumerator = 254;
  constexpr uint32_t kLeastRatio = static_cast<uint32_t>(-124);
  constexpr uint32_t kMostRatio = Format<float>::kBigRatio - 1;
  uint32_t unusual = 0;
  GFXGRAPH_LANES {
    const uint32_t denominator = b[l] >> 23 & 0xff;
    const uint32_t numerator = c[l] >> 23 & 0xff;
    const uint32_t bad =
        static_cast<uint32_t>(denominator - kLeastDenominator >
                              kMostDenominator - kLeastDenominator) |
        static_cast<uint32_t>(numerator - kLeastNumerator > kMostNumerator - kLeastNumerator) |
        static_cast<uint32_t>(numerator - denominator - kLeastRatio > kMostRatio - kLeastRatio) |
        static_cast<uint32_t>((a[l] & 0x7fffffffu) > Format<float>::kInfinity);
    unusual |= (0u - bad) & mask[l];
  }
  return unusual == 0;
}

template <class V>
uint32_t div_scale_kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                          const uint32_t* c, uint32_t) {
  constexpr T type = Format<V>::kType;
  if constexpr (type == T::kF32) {
    if (usual_division(mask, a, b, c)) {
      GFXGRAPH_LANES d[l] = (a[l] & mask[l]) | (d[l] & ~mask[l]);
      return 0;
    }
  }
  uint32_t bits = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    bool flag;
    const V r = div_scale<V>(load<type>(RowSource{a}, l), load<type>(RowSource{b}, l),
                             load<type>(RowSource{c}, l), flag);
    store<type>(d, l, mask[l], r);
    bits |= flag ? 1u << l : 0;
  }
  return bits;
}
template <class V>
uint32_t div_fmas_kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                         const uint32_t* c, uint32_t bits) {
  constexpr T type = Format<V>::kType;
  if (bits == 0) {
    GFXGRAPH_LANES store<type>(
        d, l, mask[l],
        fma(load<type>(RowSource{a}, l), load<type>(RowSource{b}, l), load<type>(RowSource{c}, l)));
    return 0;
  }
  for (unsigned l = 0; l < kLanes; ++l) {
    const V r = div_fmas(load<type>(RowSource{a}, l), load<type>(RowSource{b}, l),
                         load<type>(RowSource{c}, l), (bits >> l & 1) != 0);
    store<type>(d, l, mask[l], r);
  }
  return 0;
}

uint32_t div_fixup_kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                          const uint32_t* c, uint32_t) {
  constexpr uint32_t kSign = Format<float>::kSign;
  if (usual_division(mask, a, b, c)) {
    GFXGRAPH_LANES {
      const uint32_t r = (a[l] & ~kSign) | ((b[l] ^ c[l]) & kSign);
      d[l] = (r & mask[l]) | (d[l] & ~mask[l]);
    }
    return 0;
  }
  for (unsigned l = 0; l < kLanes; ++l)
    store<T::kF32>(d, l, mask[l],
                   div_fixup<float>(as<float>(a[l]), as<float>(b[l]), as<float>(c[l])));
  return 0;
}

template <class V>
VectorOp division(Kernel kernel, uint8_t flags) {
  VectorOp op;
  op.kernel = kernel;
  op.dst = op.src[0] = op.src[1] = op.src[2] = Format<V>::kType;
  op.flags = flags;
  return op;
}

// Like binary32, without the scaling range checks, which a binary16 quotient does not need.
GFXGRAPH_INLINE float div_fixup16(float s0, float s1, float s2) {
  const uint32_t sign = (bits_of(s1) ^ bits_of(s2)) & 0x80000000u;
  const float abs1 = magnitude(s1);
  const float abs2 = magnitude(s2);
  const float infinity = __builtin_inff();
  if (s2 != s2) return quiet(s2);
  if (s1 != s1) return quiet(s1);
  if ((s1 == 0 && s2 == 0) || (abs1 == infinity && abs2 == infinity)) return as<float>(0xffc00000u);
  if (s1 == 0 || abs2 == infinity) return as<float>(0x7f800000u | sign);
  if (abs1 == infinity || s2 == 0) return as<float>(sign);
  return as<float>((bits_of(s0) & 0x7fffffffu) | sign);
}

}  // namespace

void add_division(VectorTable& t) {
  constexpr T D = T::kF64, H = T::kF16;
  t[Op::v_div_scale_f32] = division<float>(div_scale_kernel<float>, VectorOp::kBitsToSdst);
  t[Op::v_div_scale_f64] = division<double>(div_scale_kernel<double>, VectorOp::kBitsToSdst);
  t[Op::v_div_fmas_f32] = division<float>(div_fmas_kernel<float>, VectorOp::kBitsFromVcc);
  t[Op::v_div_fmas_f64] = division<double>(div_fmas_kernel<double>, VectorOp::kBitsFromVcc);
  t[Op::v_div_fixup_f32] = division<float>(div_fixup_kernel, 0);
  t[Op::v_div_fixup_f64] =
      lane<[](double a, double b, double c) { return div_fixup<double>(a, b, c); }, D, D, D, D>();
  t[Op::v_div_fixup_f16] =
      lane<[](float a, float b, float c) { return div_fixup16(a, b, c); }, H, H, H, H>();
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
