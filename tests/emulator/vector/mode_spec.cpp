#include "tests/emulator/vector/mode_spec.h"

#include <mpfr.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace gfxgraph::emulator::spec {
namespace {

// Holds any sum of a product and an addend of binary64 exactly.
constexpr mpfr_prec_t kExact = 4600;

class Real {
 public:
  Real() : Real(Bits{kExact}) {}
  struct Bits {
    mpfr_prec_t count;
  };
  explicit Real(Bits precision) { mpfr_init2(v_, precision.count); }
  explicit Real(double v) : Real() { mpfr_set_d(v_, v, MPFR_RNDN); }
  Real(const Real& other) : Real(Bits{mpfr_get_prec(other.v_)}) {
    mpfr_set(v_, other.v_, MPFR_RNDN);
  }
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(v_); }
  mpfr_ptr get() { return v_; }
  mpfr_srcptr get() const { return v_; }

 private:
  mpfr_t v_;
};

mpfr_rnd_t direction(unsigned rounding) {
  static const mpfr_rnd_t directions[] = {MPFR_RNDN, MPFR_RNDU, MPFR_RNDD, MPFR_RNDZ};
  return directions[rounding];
}

uint64_t encode(char type, double v) {
  return type == 'd' ? bits(v) : type == 'h' ? to_f16(v) : bits(static_cast<float>(v));
}

// A nonzero exact value in the format. Tiny is what is below the smallest normal number after
// rounding to the format's precision.
uint64_t rounded(char type, const Real& exact, unsigned rounding, bool flush) {
  const Layout l = layout_of(type);
  const mpfr_rnd_t way = direction(rounding);
  const bool negative = mpfr_sgn(exact.get()) < 0;
  const double zero = negative ? -0.0 : 0.0;
  Real r(Real::Bits{l.precision});
  mpfr_set(r.get(), exact.get(), way);
  if (mpfr_get_exp(r.get()) - 1 < l.smallest) {
    if (flush) return encode(type, zero);
    const int unit = l.smallest - l.precision + 1;
    Real units;
    mpfr_mul_2si(units.get(), exact.get(), -unit, MPFR_RNDN);
    if (way == MPFR_RNDN)
      mpfr_roundeven(units.get(), units.get());
    else
      mpfr_rint(units.get(), units.get(), way);
    if (mpfr_zero_p(units.get())) return encode(type, zero);
    mpfr_mul_2si(units.get(), units.get(), unit, MPFR_RNDN);
    return encode(type, mpfr_get_d(units.get(), MPFR_RNDN));
  }
  if (mpfr_get_exp(r.get()) > l.largest) {
    const bool infinite =
        rounding == 0 || (rounding == 1 && !negative) || (rounding == 2 && negative);
    const double most = std::ldexp(2 - std::ldexp(1, 1 - l.precision), l.largest - 1);
    const double magnitude = infinite ? INFINITY : most;
    return encode(type, negative ? -magnitude : magnitude);
  }
  return encode(type, mpfr_get_d(r.get(), MPFR_RNDN));
}

// Zero sums: the sign of equal signs, else minus only when rounding down.
double zero_sum(bool negative_a, bool negative_b, unsigned rounding) {
  if (negative_a == negative_b) return negative_a ? -0.0 : 0.0;
  return rounding == 2 ? -0.0 : 0.0;
}

struct Context {
  char type;
  unsigned rounding;
  bool flush;
  Context(char t, Mode m) : type(t), rounding(m.rounding(t)), flush(m.flushes_results(t)) {}
  uint64_t operator()(const Real& exact) const { return rounded(type, exact, rounding, flush); }
};

bool finite(double a, double b = 0, double c = 0) {
  return std::isfinite(a) && std::isfinite(b) && std::isfinite(c);
}

// a * b + c, times 2^scale. Infinities and NaNs do not depend on the mode.
uint64_t fused(const Context& to, double a, double b, double c, int scale = 0) {
  if (!finite(a, b, c)) return encode(to.type, std::fma(a, b, c));
  const bool minus = std::signbit(a) != std::signbit(b);
  if ((a == 0 || b == 0) && c == 0)
    return encode(to.type, zero_sum(minus, std::signbit(c), to.rounding));
  Real x(a), y(b);
  mpfr_mul(x.get(), x.get(), y.get(), MPFR_RNDN);
  mpfr_add(x.get(), x.get(), Real(c).get(), MPFR_RNDN);
  if (mpfr_zero_p(x.get())) return encode(to.type, to.rounding == 2 ? -0.0 : 0.0);
  mpfr_mul_2si(x.get(), x.get(), scale, MPFR_RNDN);
  return to(x);
}
uint64_t product(const Context& to, double a, double b) {
  if (!finite(a, b)) return encode(to.type, a * b);
  if (a == 0 || b == 0) return encode(to.type, std::signbit(a) != std::signbit(b) ? -0.0 : 0.0);
  Real x(a);
  mpfr_mul(x.get(), x.get(), Real(b).get(), MPFR_RNDN);
  return to(x);
}
uint64_t sum(const Context& to, double a, double b) {
  if (!finite(a, b)) return encode(to.type, a + b);
  if (a == 0 && b == 0)
    return encode(to.type, zero_sum(std::signbit(a), std::signbit(b), to.rounding));
  Real x(a);
  mpfr_add(x.get(), x.get(), Real(b).get(), MPFR_RNDN);
  if (mpfr_zero_p(x.get())) return encode(to.type, to.rounding == 2 ? -0.0 : 0.0);
  return to(x);
}
uint64_t difference(const Context& to, double a, double b) {
  return std::isnan(b) ? encode(to.type, a - b) : sum(to, a, -b);
}
uint64_t converted(const Context& to, double v) {
  if (!finite(v) || v == 0) return encode(to.type, v);
  return to(Real(v));
}

using Runs = std::map<std::string, ModeRun>;

void arithmetic(Runs& runs, char t, const std::string& suffix) {
  const auto value = [t](const In& in, unsigned n) { return decode(t, in.s[n]); };
  const auto binary = [&](const std::string& name, auto f) {
    runs["v_" + name + "_" + suffix] = [=](const In& in, Out& out, Mode m) {
      out.d = f(Context(t, m), value(in, 0), value(in, 1));
    };
  };
  binary("add", [](const Context& to, double a, double b) { return sum(to, a, b); });
  binary("sub", [](const Context& to, double a, double b) { return difference(to, a, b); });
  binary("subrev", [](const Context& to, double a, double b) { return difference(to, b, a); });
  binary("mul", [](const Context& to, double a, double b) { return product(to, a, b); });
  for (const char* name : {"fma", "fmac", "fmamk", "fmaak"})
    runs[std::string("v_") + name + "_" + suffix] = [=](const In& in, Out& out, Mode m) {
      out.d = fused(Context(t, m), value(in, 0), value(in, 1), value(in, 2));
    };
  runs["v_ldexp_" + suffix] = [=](const In& in, Out& out, Mode m) {
    const double a = value(in, 0);
    const int n = std::clamp(t == 'h' ? i16(in.s[1]) : i32(in.s[1]), -5000, 5000);
    if (!finite(a) || a == 0) {
      out.d = encode(t, a + a);
      return;
    }
    Real x(a);
    mpfr_mul_2si(x.get(), x.get(), n, MPFR_RNDN);
    out.d = Context(t, m)(x);
  };
  runs["v_fract_" + suffix] = [=](const In& in, Out& out, Mode m) {
    const double a = value(in, 0);
    const int precision = layout_of(t).precision;
    const double most = 1 - std::ldexp(1, -precision);
    if (!finite(a)) {
      out.d = encode(t, std::isnan(a) ? a + a : NAN);
      return;
    }
    out.d = sum(Context(t, m), a, -std::floor(a));
    if (decode(t, out.d) > most) out.d = encode(t, most);
  };
}

void legacy(Runs& runs) {
  const auto mul = [](const Context& to, float a, float b) {
    return a == 0 || b == 0 ? bits(0.0f) : product(to, a, b);
  };
  runs["v_mul_legacy_f32"] = [=](const In& in, Out& out, Mode m) {
    out.d = mul(Context('f', m), f32(in.s[0]), f32(in.s[1]));
  };
  for (const char* name : {"v_fma_legacy_f32", "v_fmac_legacy_f32"})
    runs[name] = [](const In& in, Out& out, Mode m) {
      const float a = f32(in.s[0]), b = f32(in.s[1]), c = f32(in.s[2]);
      const Context to('f', m);
      out.d = a == 0 || b == 0 ? sum(to, 0.0, c) : fused(to, a, b, c);
    };
  const ModeRun* const mul_legacy = &runs["v_mul_legacy_f32"];
  runs["v_mullit_f32"] = [mul_legacy](const In& in, Out& out, Mode m) {
    const float b = f32(in.s[1]), c = f32(in.s[2]);
    const float most = std::numeric_limits<float>::max();
    if (b == -most || b == -INFINITY || std::isnan(b) || c <= 0 || std::isnan(c))
      out.d = bits(-most);
    else
      (*mul_legacy)(in, out, m);
  };
  runs["v_cubema_f32"] = [](const In& in, Out& out, Mode m) {
    const float x = f32(in.s[0]), y = f32(in.s[1]), z = f32(in.s[2]);
    const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    const float major = az >= ax && az >= ay ? z : ay >= ax ? y : x;
    out.d = product(Context('f', m), major, 2);
  };
}

void conversions(Runs& runs) {
  const auto add = [&](const char* name, char to, auto from) {
    runs[name] = [=](const In& in, Out& out, Mode m) {
      out.d = converted(Context(to, m), static_cast<double>(from(in.s[0])));
    };
  };
  add("v_cvt_f32_i32", 'f', [](uint64_t v) { return i32(v); });
  add("v_cvt_f32_u32", 'f', [](uint64_t v) { return u32(v); });
  add("v_cvt_f32_f64", 'f', [](uint64_t v) { return f64(v); });
  add("v_cvt_f64_f32", 'd', [](uint64_t v) { return f32(v); });
  add("v_cvt_f16_f32", 'h', [](uint64_t v) { return f32(v); });
  add("v_cvt_f16_u16", 'h', [](uint64_t v) { return v & 0xffff; });
  add("v_cvt_f16_i16", 'h', [](uint64_t v) { return i16(v); });
  // Toward zero, but denormal results are flushed.
  const auto pkrtz = all_specs().all().at("v_cvt_pkrtz_f16_f32").run;
  runs["v_cvt_pkrtz_f16_f32"] = [pkrtz](const In& in, Out& out, Mode m) {
    pkrtz(in, out);
    if (m.flushes_results('h')) out.d = flushed('p', out.d);
  };
}

void division(Runs& runs) {
  runs["v_div_fmas_f32"] = [](const In& in, Out& out, Mode m) {
    const int scale = !in.bit ? 0 : (in.s[2] >> 23 & 255) > 127 ? 64 : -64;
    out.d = fused(Context('f', m), f32(in.s[0]), f32(in.s[1]), f32(in.s[2]), scale);
  };
  runs["v_div_fmas_f64"] = [](const In& in, Out& out, Mode m) {
    const int scale = !in.bit ? 0 : (in.s[2] >> 52 & 2047) > 1023 ? 128 : -128;
    out.d = fused(Context('d', m), f64(in.s[0]), f64(in.s[1]), f64(in.s[2]), scale);
    // To nearest, the scaled result may be the rounded one scaled.
    out.ulps = in.bit && m.rounding('d') == 0 ? 1 : 0;
  };
}

// ---- minimum and maximum: ISA guide V_MIN_F32, V_MAX_F32, V_MED3_F32 with IEEE off ----

uint64_t chosen(char t, uint64_t a, uint64_t b, bool smallest) {
  const double x = decode(t, a), y = decode(t, b);
  if (std::isnan(x)) return b;
  if (std::isnan(y)) return a;
  if (x == 0 && y == 0) return std::signbit(x) == smallest ? a : b;
  return (x < y) == smallest ? a : b;
}
uint64_t median(char t, uint64_t a, uint64_t b, uint64_t c) {
  const double x = decode(t, a), y = decode(t, b), z = decode(t, c);
  if (std::isnan(x) || std::isnan(y) || std::isnan(z))
    return chosen(t, chosen(t, a, b, true), c, true);
  const double largest = decode(t, chosen(t, chosen(t, a, b, false), c, false));
  if (largest == x) return chosen(t, b, c, false);
  if (largest == y) return chosen(t, a, c, false);
  return chosen(t, a, b, false);
}

void extremes(Runs& runs, char t, const std::string& suffix) {
  const auto add = [&](const std::string& name, auto f) {
    const std::string mnemonic = "v_" + name + "_" + suffix;
    if (!all_specs().all().contains(mnemonic)) return;
    const auto usual = all_specs().all().at(mnemonic).run;
    runs[mnemonic] = [=](const In& in, Out& out, Mode m) {
      if (m.ieee())
        usual(in, out);
      else
        out.d = f(in.s[0], in.s[1], in.s[2]);
    };
  };
  using U = uint64_t;
  add("min", [t](U a, U b, U) { return chosen(t, a, b, true); });
  add("max", [t](U a, U b, U) { return chosen(t, a, b, false); });
  add("min3", [t](U a, U b, U c) { return chosen(t, chosen(t, a, b, true), c, true); });
  add("max3", [t](U a, U b, U c) { return chosen(t, chosen(t, a, b, false), c, false); });
  add("med3", [t](U a, U b, U c) { return median(t, a, b, c); });
}

// ---- halves and mixed precision ----

double clamped(double v, Mode m) {
  if (std::isnan(v)) return m.dx10_clamp() ? 0.0 : v;
  return v > 0 ? (v < 1 ? v : 1.0) : 0.0;
}

void packed(Runs& runs) {
  for (const auto& [name, half] : {std::pair{"v_pk_add_f16", "v_add_f16"},
                                   {"v_pk_mul_f16", "v_mul_f16"},
                                   {"v_pk_fma_f16", "v_fma_f16"},
                                   {"v_pk_fmac_f16", "v_fma_f16"},
                                   {"v_pk_min_f16", "v_min_f16"},
                                   {"v_pk_max_f16", "v_max_f16"}}) {
    const ModeRun run = runs.at(half);
    runs[name] = [run](const In& in, Out& out, Mode m) {
      for (unsigned shift : {0u, 16u}) {
        In one;
        Out result;
        for (unsigned n = 0; n < 3; ++n) one.s[n] = in.s[n] >> shift & 0xffff;
        run(one, result, m);
        if (m.flushes_results('h')) result.d = flushed('h', result.d & 0xffff);
        const uint64_t v = in.clamp ? to_f16(clamped(f16(result.d & 0xffff), m)) : result.d;
        out.d |= (v & 0xffff) << shift;
      }
    };
  }
  for (const char* name : {"v_dot2c_f32_f16", "v_dot2_f32_f16"})
    runs[name] = [](const In& in, Out& out, Mode m) {
      const Context to('f', m);
      const auto half = [&](unsigned n, unsigned shift) { return f16(in.s[n] >> shift & 0xffff); };
      const uint64_t first = fused(to, half(0, 0), half(1, 0), f32(in.s[2]));
      out.d = fused(to, half(0, 16), half(1, 16), f32(first));
      if (in.clamp) out.d = bits(static_cast<float>(clamped(f32(out.d), m)));
    };
  for (const char type : {'f', 'h', 'H'})
    runs[type == 'f'   ? "v_fma_mix_f32"
         : type == 'h' ? "v_fma_mixlo_f16"
                       : "v_fma_mixhi_f16"] = [type](const In& in, Out& out, Mode m) {
      const uint64_t r = fused(Context('f', m), f32(in.s[0]), f32(in.s[1]), f32(in.s[2]));
      const double v = in.clamp ? clamped(f32(r), m) : static_cast<double>(f32(r));
      out.d = type == 'f' ? bits(static_cast<float>(v)) : converted(Context('h', m), v);
    };
}

}  // namespace

bool ignores_mode(const std::string& mnemonic) {
  static const std::set<std::string> fixed = {"v_rcp_f32",  "v_rcp_iflag_f32", "v_rsq_f32",
                                              "v_sqrt_f32", "v_exp_f32",       "v_log_f32",
                                              "v_sin_f32",  "v_cos_f32"};
  return fixed.contains(mnemonic) || mnemonic.find("_class_") != std::string::npos;
}

uint64_t flushed(char type, uint64_t v) {
  if (type == 'p') return flushed('h', v & 0xffff) | flushed('h', v >> 16 & 0xffff) << 16;
  if (type == 'd') return (v >> 52 & 0x7ff) == 0 ? v & 0x8000000000000000 : v;
  if (type == 'h') return (v >> 10 & 31) == 0 ? v & 0x8000 : v;
  return (v >> 23 & 255) == 0 ? v & 0x80000000 : v;
}

const ModeRun* mode_run(const std::string& mnemonic) {
  static const Runs runs = [] {
    Runs r;
    arithmetic(r, 'f', "f32");
    arithmetic(r, 'd', "f64");
    arithmetic(r, 'h', "f16");
    legacy(r);
    conversions(r);
    division(r);
    extremes(r, 'f', "f32");
    extremes(r, 'd', "f64");
    extremes(r, 'h', "f16");
    packed(r);
    return r;
  }();
  const auto at = runs.find(mnemonic);
  return at == runs.end() ? nullptr : &at->second;
}

}  // namespace gfxgraph::emulator::spec
