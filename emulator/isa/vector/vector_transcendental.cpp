// Reciprocals, roots, exponentials, logarithms, sine and cosine. The hardware's approximations are
// not public. f32 and f16 results here are rounded from binary64: within 0.5001 ulp, at most 1 ulp
// from the exact value, which is the hardware's documented bound. f64 rcp, rsq and sqrt are
// correctly rounded; the hardware gives fewer bits and expects a refinement to follow. f32:
// denormal inputs count as signed zero and denormal results are flushed, as on the hardware in
// every MODE; f16 and f64 keep denormals. See docs/isa-coverage.md.
#include <cmath>

#include "emulator/isa/vector/vector_float.h"
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T F = T::kF32, D = T::kF64, H = T::kF16;

GFXGRAPH_INLINE float flush(float v) {
  const uint32_t u = bits_of(v);
  return (u & 0x7f800000u) == 0 ? as<float>(u & 0x80000000u) : v;
}

GFXGRAPH_INLINE double rsq(double v) { return 1.0 / __builtin_sqrt(v); }

GFXGRAPH_INLINE float rcp32(float a) { return flush(1.0f / flush(a)); }
GFXGRAPH_INLINE float sqrt32(float a) { return __builtin_sqrtf(flush(a)); }
// -0 gives -inf, like the reciprocal of the root of -0.
GFXGRAPH_INLINE float rsq32(float a) {
  return static_cast<float>(rsq(static_cast<double>(flush(a))));
}
GFXGRAPH_INLINE float exp32(float a) {
  return flush(static_cast<float>(::exp2(static_cast<double>(flush(a)))));
}
GFXGRAPH_INLINE float log32(float a) {
  return static_cast<float>(::log2(static_cast<double>(flush(a))));
}

// The argument is in revolutions: the fraction is exact, the quarter turns give exact results.
// Beyond 2^24 revolutions the fraction is zero anyway; infinities give NaN.
constexpr double kTwoPi = 6.283185307179586476925286766559;
GFXGRAPH_INLINE double fraction(double v) { return v - __builtin_nearbyint(v); }
GFXGRAPH_INLINE double sine(double v) {
  if (v - v != 0) return v - v;
  const double r = fraction(v);
  if (r == 0) return v < 0 ? -0.0 : v == 0 ? v : 0.0;
  if (r == 0.5 || r == -0.5) return 0.0;
  return r == 0.25 ? 1.0 : r == -0.25 ? -1.0 : ::sin(r * kTwoPi);
}
GFXGRAPH_INLINE double cosine(double v) {
  if (v - v != 0) return v - v;
  const double r = fraction(v);
  const double magnitude = r < 0 ? -r : r;
  return magnitude == 0.25 ? 0.0 : ::cos(magnitude * kTwoPi);
}

// rsq(f64): rounds the host's long double root and quotient once more; correctly rounded except for
// rare cases at 0.5 ulp.
GFXGRAPH_INLINE double rsq64(double a) {
  return static_cast<double>(1.0L / __builtin_sqrtl(static_cast<long double>(a)));
}

}  // namespace

void add_transcendental(VectorTable& t) {
  t[Op::v_rcp_f32] = hot<[](float a) { return rcp32(a); }, F, F>();
  t[Op::v_rcp_iflag_f32] = hot<[](float a) { return rcp32(a); }, F, F>();
  t[Op::v_rsq_f32] = hot<[](float a) { return rsq32(a); }, F, F>();
  t[Op::v_sqrt_f32] = hot<[](float a) { return sqrt32(a); }, F, F>();
  t[Op::v_exp_f32] = hot<[](float a) { return exp32(a); }, F, F>();
  t[Op::v_log_f32] = hot<[](float a) { return log32(a); }, F, F>();
  t[Op::v_sin_f32] =
      lane<[](float a) { return static_cast<float>(sine(static_cast<double>(flush(a)))); }, F, F>();
  t[Op::v_cos_f32] =
      lane<[](float a) { return static_cast<float>(cosine(static_cast<double>(flush(a)))); }, F,
           F>();

  t[Op::v_rcp_f64] = lane<[](double a) { return 1.0 / a; }, D, D>();
  t[Op::v_rsq_f64] = lane<[](double a) { return rsq64(a); }, D, D>();
  t[Op::v_sqrt_f64] = lane<[](double a) { return __builtin_sqrt(a); }, D, D>();

  // The binary32 result is precise enough for binary16 with one rounding, because it has more than
  // twice as many bits.
  t[Op::v_rcp_f16] = lane<[](float a) { return 1.0f / a; }, H, H>();
  t[Op::v_sqrt_f16] = lane<[](float a) { return __builtin_sqrtf(a); }, H, H>();
  t[Op::v_rsq_f16] =
      lane<[](float a) { return static_cast<float>(rsq(static_cast<double>(a))); }, H, H>();
  t[Op::v_exp_f16] =
      lane<[](float a) { return static_cast<float>(::exp2(static_cast<double>(a))); }, H, H>();
  t[Op::v_log_f16] =
      lane<[](float a) { return static_cast<float>(::log2(static_cast<double>(a))); }, H, H>();
  t[Op::v_sin_f16] =
      lane<[](float a) { return static_cast<float>(sine(static_cast<double>(a))); }, H, H>();
  t[Op::v_cos_f16] =
      lane<[](float a) { return static_cast<float>(cosine(static_cast<double>(a))); }, H, H>();
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
