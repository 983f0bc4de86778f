// Floating arithmetic, transcendental functions and the steps of a division.
#include <algorithm>
#include <string_view>

#include "tests/emulator/vector/vector_spec.h"

namespace gfxgraph::emulator::spec {
namespace {

// A floating format as a class so that one text serves three widths.
struct F32 {
  using V = float;
  static constexpr char kType = 'f';
  static constexpr const char* kName = "f32";
  static V get(uint64_t b) { return f32(b); }
  static uint64_t put(V v) { return bits(v); }
  static bool snan(uint64_t b) { return std::isnan(f32(b)) && (b & 0x400000) == 0; }
  static uint64_t quiet(uint64_t b) { return std::isnan(f32(b)) ? b | 0x400000 : b; }
  static constexpr uint64_t kSign = 0x80000000;
};
struct F64 {
  using V = double;
  static constexpr char kType = 'd';
  static constexpr const char* kName = "f64";
  static V get(uint64_t b) { return f64(b); }
  static uint64_t put(V v) { return bits(v); }
  static bool snan(uint64_t b) { return std::isnan(f64(b)) && (b & 0x8000000000000) == 0; }
  static uint64_t quiet(uint64_t b) { return std::isnan(f64(b)) ? b | 0x8000000000000 : b; }
  static constexpr uint64_t kSign = 0x8000000000000000;
};
// Values as double: sums and products of halves, and their fma to far more bits than a half has,
// are exact enough.
struct F16 {
  using V = double;
  static constexpr char kType = 'h';
  static constexpr const char* kName = "f16";
  static V get(uint64_t b) { return f16(b); }
  static uint64_t put(V v) { return to_f16(v); }
  static bool snan(uint64_t b) { return std::isnan(f16(b)) && (b & 0x200) == 0; }
  static uint64_t quiet(uint64_t b) { return std::isnan(f16(b)) ? b | 0x200 : b; }
  static constexpr uint64_t kSign = 0x8000;
};

// ISA guide V_MIN_F32, line by line.
template <class F>
uint64_t minimum(uint64_t a, uint64_t b) {
  if (F::snan(a)) return F::quiet(a);
  if (F::snan(b)) return F::quiet(b);
  if (std::isnan(F::get(a))) return b;
  if (std::isnan(F::get(b))) return a;
  if (F::get(a) == 0 && F::get(b) == 0) return (a & F::kSign) != 0 ? a : b;
  return F::get(a) < F::get(b) ? a : b;
}
template <class F>
uint64_t maximum(uint64_t a, uint64_t b) {
  if (F::snan(a)) return F::quiet(a);
  if (F::snan(b)) return F::quiet(b);
  if (std::isnan(F::get(a))) return b;
  if (std::isnan(F::get(b))) return a;
  if (F::get(a) == 0 && F::get(b) == 0) return (a & F::kSign) == 0 ? a : b;
  return F::get(a) > F::get(b) ? a : b;
}
template <class F>
uint64_t median(uint64_t a, uint64_t b, uint64_t c) {
  if (std::isnan(F::get(a)) || std::isnan(F::get(b)) || std::isnan(F::get(c)))
    return minimum<F>(minimum<F>(a, b), c);
  const uint64_t largest = maximum<F>(maximum<F>(a, b), c);
  if (F::get(largest) == F::get(a)) return maximum<F>(b, c);
  if (F::get(largest) == F::get(b)) return maximum<F>(a, c);
  return maximum<F>(a, b);
}

template <class F>
void binary(Specs& s, const std::string& name, auto f) {
  const std::string t(1, F::kType);
  s.add("v_" + name + "_" + F::kName, t + "=" + t + t,
        [f](const In& in, Out& out) { out.d = F::put(f(F::get(in.s[0]), F::get(in.s[1]))); });
}
template <class F>
void unary(Specs& s, const std::string& name, auto f, double ulps = 0) {
  const std::string t(1, F::kType);
  s.add("v_" + name + "_" + F::kName, t + "=" + t, [f, ulps](const In& in, Out& out) {
    out.d = F::put(static_cast<typename F::V>(f(F::get(in.s[0]))));
    out.ulps = ulps;
  });
}
template <class F>
void ternary_bits(Specs& s, const std::string& name, auto f) {
  const std::string t(1, F::kType);
  s.add("v_" + name + "_" + F::kName, t + "=" + t + t + t,
        [f](const In& in, Out& out) { out.d = f(in.s[0], in.s[1], in.s[2]); });
}

template <class F>
void common(Specs& s) {
  using V = typename F::V;
  const std::string t(1, F::kType);
  binary<F>(s, "add", [](V a, V b) { return a + b; });
  binary<F>(s, "mul", [](V a, V b) { return a * b; });
  s.add(std::string("v_min_") + F::kName, t + "=" + t + t,
        [](const In& in, Out& out) { out.d = minimum<F>(in.s[0], in.s[1]); });
  s.add(std::string("v_max_") + F::kName, t + "=" + t + t,
        [](const In& in, Out& out) { out.d = maximum<F>(in.s[0], in.s[1]); });
  ternary_bits<F>(s, "fma", [](uint64_t a, uint64_t b, uint64_t c) {
    return F::put(std::fma(F::get(a), F::get(b), F::get(c)));
  });
  unary<F>(s, "trunc", [](V a) { return std::isnan(a) ? a + a : std::trunc(a); });
  unary<F>(s, "ceil", [](V a) { return std::isnan(a) ? a + a : std::ceil(a); });
  unary<F>(s, "floor", [](V a) { return std::isnan(a) ? a + a : std::floor(a); });
  unary<F>(s, "rndne", [](V a) { return std::isnan(a) ? a + a : std::nearbyint(a); });
}

template <class F>
void short_common(Specs& s) {
  using V = typename F::V;
  binary<F>(s, "sub", [](V a, V b) { return a - b; });
  binary<F>(s, "subrev", [](V a, V b) { return b - a; });
  const auto fma = [](uint64_t a, uint64_t b, uint64_t c) {
    return F::put(std::fma(F::get(a), F::get(b), F::get(c)));
  };
  ternary_bits<F>(s, "fmac", fma);
  ternary_bits<F>(s, "fmamk", fma);
  ternary_bits<F>(s, "fmaak", fma);
  ternary_bits<F>(s, "min3", [](uint64_t a, uint64_t b, uint64_t c) {
    return minimum<F>(minimum<F>(a, b), c);
  });
  ternary_bits<F>(s, "max3", [](uint64_t a, uint64_t b, uint64_t c) {
    return maximum<F>(maximum<F>(a, b), c);
  });
  ternary_bits<F>(s, "med3", [](uint64_t a, uint64_t b, uint64_t c) { return median<F>(a, b, c); });
}

double flush32(float v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0, v) : v; }
float flush_result(double v) {
  const float r = static_cast<float>(v);
  return std::fpclassify(r) == FP_SUBNORMAL ? std::copysign(0.0f, r) : r;
}
double turns_sin(double v) {
  const double r = std::remainder(v, 1.0);
  if (std::fabs(r) == 0.5) return 0;
  return static_cast<double>(
      sinl(6.283185307179586476925286766559005768L * static_cast<long double>(r)));
}
double turns_cos(double v) {
  const double r = std::fabs(std::remainder(v, 1.0));
  return r == 0.25 ? 0.0
                   : static_cast<double>(cosl(6.283185307179586476925286766559005768L *
                                              static_cast<long double>(r)));
}

void transcendental(Specs& s) {
  for (const char* name : {"rcp", "rcp_iflag"})
    unary<F32>(s, name, [](float a) { return flush_result(1.0 / flush32(a)); }, 1);
  unary<F32>(s, "rsq", [](float a) { return flush_result(1.0 / std::sqrt(flush32(a))); }, 1);
  unary<F32>(s, "sqrt", [](float a) { return flush_result(std::sqrt(flush32(a))); }, 1);
  unary<F32>(s, "exp", [](float a) { return flush_result(std::exp2(flush32(a))); }, 1);
  unary<F32>(s, "log", [](float a) { return flush_result(std::log2(flush32(a))); }, 1);
  unary<F32>(s, "sin", [](float a) { return static_cast<float>(turns_sin(flush32(a))); }, 1);
  unary<F32>(s, "cos", [](float a) { return static_cast<float>(turns_cos(flush32(a))); }, 1);
  unary<F16>(s, "rcp", [](double a) { return 1.0 / a; }, 1);
  unary<F16>(s, "rsq", [](double a) { return 1.0 / std::sqrt(a); }, 1);
  unary<F16>(s, "sqrt", [](double a) { return std::sqrt(a); }, 1);
  unary<F16>(s, "exp", [](double a) { return std::exp2(a); }, 1);
  unary<F16>(s, "log", [](double a) { return std::log2(a); }, 1);
  unary<F16>(s, "sin", [](double a) { return turns_sin(a); }, 1);
  unary<F16>(s, "cos", [](double a) { return turns_cos(a); }, 1);
  unary<F64>(s, "rcp", [](double a) { return 1.0 / a; }, 1);
  unary<F64>(s, "rsq", [](double a) { return static_cast<double>(1.0L / sqrtl(a)); }, 1);
  unary<F64>(s, "sqrt", [](double a) { return static_cast<double>(sqrtl(a)); }, 1);
}

// frexp with the guide's results for zero, infinities and NaN.
template <class V>
V mantissa(V a) {
  int e;
  return std::isfinite(a) ? std::frexp(a, &e) : a + a;
}
template <class V>
int exponent_of(V a) {
  int e = 0;
  if (std::isfinite(a) && a != 0) std::frexp(a, &e);
  return e;
}

void parts(Specs& s) {
  unary<F32>(s, "fract", [](float a) {
    return std::isnan(a)   ? a + a
           : std::isinf(a) ? NAN
                           : std::fmin(a - std::floor(a), 0x1.fffffep-1f);
  });
  unary<F64>(s, "fract", [](double a) {
    return std::isnan(a)   ? a + a
           : std::isinf(a) ? NAN
                           : std::fmin(a - std::floor(a), 0x1.fffffffffffffp-1);
  });
  s.add("v_fract_f16", "h=h", [](const In& in, Out& out) {
    const double a = f16(in.s[0]);
    out.d = to_f16(std::isnan(a) ? a : std::isinf(a) ? NAN : a - std::floor(a));
    if (out.d == 0x3c00) out.d = 0x3bff;
  });
  unary<F32>(s, "frexp_mant", [](float a) { return mantissa(a); });
  unary<F64>(s, "frexp_mant", [](double a) { return mantissa(a); });
  unary<F16>(s, "frexp_mant", [](double a) { return mantissa(a); });
  s.add("v_frexp_exp_i32_f32", "u=f",
        [](const In& in, Out& out) { out.d = u32(exponent_of(f32(in.s[0]))); });
  s.add("v_frexp_exp_i32_f64", "u=d",
        [](const In& in, Out& out) { out.d = u32(exponent_of(f64(in.s[0]))); });
  s.add("v_frexp_exp_i16_f16", "w=h",
        [](const In& in, Out& out) { out.d = u32(exponent_of(f16(in.s[0]))); });
  s.add("v_ldexp_f32", "f=fu",
        [](const In& in, Out& out) { out.d = bits(std::ldexp(f32(in.s[0]), i32(in.s[1]))); });
  s.add("v_ldexp_f64", "d=du",
        [](const In& in, Out& out) { out.d = bits(std::ldexp(f64(in.s[0]), i32(in.s[1]))); });
  s.add("v_ldexp_f16", "h=hw",
        [](const In& in, Out& out) { out.d = to_f16(std::ldexp(f16(in.s[0]), i16(in.s[1]))); });
}

void legacy(Specs& s) {
  s.add("v_mul_legacy_f32", "f=ff", [](const In& in, Out& out) {
    const float a = f32(in.s[0]), b = f32(in.s[1]);
    out.d = bits(a == 0 || b == 0 ? 0.0f : a * b);
  });
  for (const char* name : {"v_fma_legacy_f32", "v_fmac_legacy_f32"}) {
    s.add(name, "f=fff", [](const In& in, Out& out) {
      const float a = f32(in.s[0]), b = f32(in.s[1]), c = f32(in.s[2]);
      out.d = bits(a == 0 || b == 0 ? 0.0f + c : std::fma(a, b, c));
    });
  }
  s.add("v_mullit_f32", "f=fff", [](const In& in, Out& out) {
    const float a = f32(in.s[0]), b = f32(in.s[1]), c = f32(in.s[2]);
    const float most = std::numeric_limits<float>::max();
    const bool low = b == -most || b == -INFINITY || std::isnan(b) || c <= 0 || std::isnan(c);
    out.d = bits(low ? -most : a == 0 || b == 0 ? 0.0f : a * b);
  });
  // The face by the axis of largest magnitude: z before y before x.
  const auto cube = [&s](const char* name, auto f) {
    s.add(name, "f=fff", [f](const In& in, Out& out) {
      const float x = f32(in.s[0]), y = f32(in.s[1]), z = f32(in.s[2]);
      const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
      const int axis = az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
      out.d = bits(static_cast<float>(f(axis, x, y, z)));
    });
  };
  cube("v_cubeid_f32", [](int axis, float x, float y, float z) {
    return axis == 2   ? (z < 0 ? 5.0f : 4.0f)
           : axis == 1 ? (y < 0 ? 3.0f : 2.0f)
           : x < 0     ? 1.0f
                       : 0.0f;
  });
  cube("v_cubesc_f32", [](int axis, float x, float, float z) {
    return axis == 2 ? (z < 0 ? -x : x) : axis == 1 ? x : x < 0 ? z : -z;
  });
  cube("v_cubetc_f32", [](int axis, float, float y, float z) {
    return axis == 2 ? -y : axis == 1 ? (y < 0 ? -z : z) : -y;
  });
  cube("v_cubema_f32", [](int axis, float x, float y, float z) {
    return (axis == 2 ? z : axis == 1 ? y : x) * 2.0f;
  });
}

// ---- division: the guide's pseudo-code ----
template <class F>
struct Limits;
template <>
struct Limits<F32> {
  static constexpr int kMant = 23, kExp = 255, kRatio = 96, kScale = 64, kTiny = 23, kUnder = -150;
};
template <>
struct Limits<F64> {
  static constexpr int kMant = 52, kExp = 2047, kRatio = 768, kScale = 128, kTiny = 53,
                       kUnder = -1075;
};

template <class F>
void scale(const In& in, Out& out) {
  using V = typename F::V;
  using L = Limits<F>;
  const V s0 = F::get(in.s[0]), s1 = F::get(in.s[1]), s2 = F::get(in.s[2]);
  const auto e = [](uint64_t b) { return static_cast<int>(b >> L::kMant & L::kExp); };
  const auto subnormal = [](V v) { return std::fpclassify(v) == FP_SUBNORMAL; };
  const auto tiny = [](V v) { return std::fabs(v) < std::numeric_limits<V>::min(); };
  V r = s0;
  if (std::isnan(s1) || std::isnan(s2)) {
    out.d = F::quiet(in.s[0]);
    return;
  }
  if (s1 == 0 || s2 == 0) {
    r = std::numeric_limits<V>::quiet_NaN();
  } else if (e(in.s[2]) - e(in.s[1]) >= L::kRatio) {
    out.bit = true;
    if (s0 == s1) r = std::ldexp(s0, L::kScale);
  } else if (subnormal(s1)) {
    r = std::ldexp(s0, L::kScale);
  } else if (subnormal(1 / s1) && tiny(s2 / s1)) {
    out.bit = true;
    if (s0 == s1) r = std::ldexp(s0, -L::kScale);
  } else if (subnormal(1 / s1)) {
    r = std::ldexp(s0, -L::kScale);
  } else if (tiny(s2 / s1)) {
    out.bit = true;
    if (s0 == s2) r = std::ldexp(s0, L::kScale);
  } else if (e(in.s[2]) <= L::kTiny) {
    r = std::ldexp(s0, L::kScale);
  }
  out.d = F::quiet(F::put(r));
}

template <class F>
void fixup(const In& in, Out& out) {
  using V = typename F::V;
  const V s0 = F::get(in.s[0]), s1 = F::get(in.s[1]), s2 = F::get(in.s[2]);
  const bool negative = std::signbit(s1) != std::signbit(s2);
  const auto with_sign = [&](V v) { return F::put(negative ? -v : v); };
  if (std::isnan(s2))
    out.d = F::quiet(in.s[2]);
  else if (std::isnan(s1))
    out.d = F::quiet(in.s[1]);
  else if ((s1 == 0 && s2 == 0) || (std::isinf(s1) && std::isinf(s2)))
    out.d = F::put(-std::numeric_limits<V>::quiet_NaN());
  else if (s1 == 0 || std::isinf(s2))
    out.d = with_sign(std::numeric_limits<V>::infinity());
  else if (std::isinf(s1) || s2 == 0)
    out.d = with_sign(0);
  else if constexpr (F::kType == 'h')
    out.d = F::quiet((in.s[0] & 0x7fff) | (negative ? 0x8000 : 0));
  else {
    using L = Limits<F>;
    const auto e = [](uint64_t b) { return static_cast<int>(b >> L::kMant & L::kExp); };
    if (e(in.s[2]) - e(in.s[1]) < L::kUnder)
      out.d = with_sign(0);
    else if (std::isnan(s0))
      out.d = with_sign(std::numeric_limits<V>::infinity());
    else
      out.d = with_sign(std::fabs(s0));
  }
}

void division(Specs& s) {
  s.add("v_div_scale_f32", "f+=fff", scale<F32>);
  s.add("v_div_scale_f64", "d+=ddd", scale<F64>);
  s.add("v_div_fixup_f32", "f=fff", fixup<F32>);
  s.add("v_div_fixup_f64", "d=ddd", fixup<F64>);
  s.add("v_div_fixup_f16", "h=hhh", fixup<F16>);
  s.add("v_div_fmas_f32", "f=fffv", [](const In& in, Out& out) {
    const float a = f32(in.s[0]), b = f32(in.s[1]), c = f32(in.s[2]);
    if (!in.bit) {
      out.d = bits(std::fma(a, b, c));
      return;
    }
    const bool large = (in.s[2] >> 23 & 255) > 127;
    // 64 bits of mantissa hold the product exactly and the sum closely; the test values make no
    // double rounding.
    const long double exact = static_cast<long double>(a) * b + c;
    out.d = bits(static_cast<float>(std::ldexp(exact, large ? 64 : -64)));
    out.ulps = 1;
  });
  s.add("v_div_fmas_f64", "d=dddv", [](const In& in, Out& out) {
    const double r = std::fma(f64(in.s[0]), f64(in.s[1]), f64(in.s[2]));
    const bool large = (in.s[2] >> 52 & 2047) > 1023;
    out.d = bits(!in.bit ? r : std::ldexp(r, large ? 128 : -128));
    out.ulps = in.bit ? 1 : 0;
  });
}

void trig(Specs& s) {
  // Segments that together make 2 / pi are checked in division_test; here the exponent part for
  // segment 0.
  s.add("v_trig_preop_f64", "d=du", [](const In& in, Out& out) {
    // 2 / pi in 32-bit digits, first 10: enough for the segments and exponents that the generator
    // makes.
    static const uint32_t digits[] = {
        0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
        0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
        0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
        0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
        0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
        0x1f8d5d08, 0x56033046, 0xfc7b6bab};
    const int e = static_cast<int>(in.s[0] >> 52 & 2047);
    int shift = static_cast<int>(in.s[1] & 31) * 53 + (e > 1077 ? e - 1077 : 0);
    long double value = 0;
    for (int n = 0; n < 53 && shift < 1201; ++n) {
      const int at = shift + n;
      const int digit = at < 1201 ? static_cast<int>(digits[at / 32] >> (31 - at % 32) & 1) : 0;
      value = value * 2 + digit;
    }
    out.d = bits(static_cast<double>(std::ldexp(value, -53 - shift + (e >= 1968 ? 128 : 0))));
  });
}

}  // namespace

void add_float_specs(Specs& s) {
  common<F32>(s);
  common<F64>(s);
  common<F16>(s);
  short_common<F32>(s);
  short_common<F16>(s);
  transcendental(s);
  parts(s);
  legacy(s);
  division(s);
  trig(s);
}

}  // namespace gfxgraph::emulator::spec
