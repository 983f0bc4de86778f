// VOP3P: the model in vector_model.cpp applies op_sel and neg; here are pairs of halves and dot
// products.
#include <algorithm>

#include "tests/emulator/vector/vector_spec.h"

namespace gfxgraph::emulator::spec {
namespace {

void pair(Specs& s, const std::string& name, const std::string& types, auto f) {
  s.add(name, types, [f](const In& in, Out& out) {
    for (unsigned n = 0; n < 2; ++n) {
      const auto half = [&](unsigned source) { return in.s[source] >> (16 * n) & 0xffff; };
      out.d |= (f(half(0), half(1), half(2), in.clamp) & 0xffff) << (16 * n);
    }
  });
}

uint64_t unit(double v, bool clamp) {
  if (clamp) v = std::isnan(v) ? 0.0 : std::clamp(v, 0.0, 1.0) + 0.0;
  return to_f16(v);
}
uint64_t fit(int64_t v, bool is_signed, bool clamp) {
  if (!clamp) return static_cast<uint64_t>(v);
  return static_cast<uint64_t>(is_signed ? std::clamp<int64_t>(v, -32768, 32767)
                                         : std::clamp<int64_t>(v, 0, 65535));
}
bool snan(uint64_t b) { return std::isnan(f16(b)) && (b & 0x200) == 0; }
double extreme(uint64_t a, uint64_t b, bool smallest) {
  if (snan(a)) return f16(a | 0x200);
  if (snan(b)) return f16(b | 0x200);
  const double x = f16(a), y = f16(b);
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  if (x == y) return std::signbit(x) == smallest ? x : y;
  return (x < y) == smallest ? x : y;
}

void packed_halves(Specs& s) {
  using U = uint64_t;
  for (const char* name : {"v_pk_fma_f16", "v_pk_fmac_f16"})
    pair(s, name, name[8] == 'c' ? "p=ppp" : "p~=ppp",
         [](U a, U b, U c, bool k) { return unit(std::fma(f16(a), f16(b), f16(c)), k); });
  pair(s, "v_pk_add_f16", "p~=pp", [](U a, U b, U, bool k) { return unit(f16(a) + f16(b), k); });
  pair(s, "v_pk_mul_f16", "p~=pp", [](U a, U b, U, bool k) { return unit(f16(a) * f16(b), k); });
  pair(s, "v_pk_min_f16", "p~=pp",
       [](U a, U b, U, bool k) { return unit(extreme(a, b, true), k); });
  pair(s, "v_pk_max_f16", "p~=pp",
       [](U a, U b, U, bool k) { return unit(extreme(a, b, false), k); });
  pair(s, "v_pk_mad_i16", "P~=PPP",
       [](U a, U b, U c, bool k) { return fit(int64_t{i16(a)} * i16(b) + i16(c), true, k); });
  pair(s, "v_pk_mad_u16", "P~=PPP",
       [](U a, U b, U c, bool k) { return fit(static_cast<int64_t>(a * b + c), false, k); });
  pair(s, "v_pk_mul_lo_u16", "P=PP", [](U a, U b, U, bool) { return a * b; });
  pair(s, "v_pk_add_i16", "P~=PP",
       [](U a, U b, U, bool k) { return fit(int64_t{i16(a)} + i16(b), true, k); });
  pair(s, "v_pk_add_u16", "P~=PP",
       [](U a, U b, U, bool k) { return fit(static_cast<int64_t>(a + b), false, k); });
  pair(s, "v_pk_sub_i16", "P~=PP",
       [](U a, U b, U, bool k) { return fit(int64_t{i16(a)} - i16(b), true, k); });
  pair(s, "v_pk_sub_u16", "P~=PP", [](U a, U b, U, bool k) {
    return fit(static_cast<int64_t>(a) - static_cast<int64_t>(b), false, k);
  });
  pair(s, "v_pk_max_i16", "P=PP", [](U a, U b, U, bool) { return i16(a) > i16(b) ? a : b; });
  pair(s, "v_pk_min_i16", "P=PP", [](U a, U b, U, bool) { return i16(a) < i16(b) ? a : b; });
  pair(s, "v_pk_max_u16", "P=PP", [](U a, U b, U, bool) { return std::max(a, b); });
  pair(s, "v_pk_min_u16", "P=PP", [](U a, U b, U, bool) { return std::min(a, b); });
  pair(s, "v_pk_lshlrev_b16", "P=PP", [](U a, U b, U, bool) { return b << (a % 16); });
  pair(s, "v_pk_lshrrev_b16", "P=PP", [](U a, U b, U, bool) { return b >> (a % 16); });
  pair(s, "v_pk_ashrrev_i16", "P=PP",
       [](U a, U b, U, bool) { return static_cast<U>(i16(b) >> (a % 16)); });
}

template <unsigned kWidth, bool kSigned>
int64_t dot(uint64_t a, uint64_t b) {
  int64_t r = 0;
  for (unsigned n = 0; n < 32 / kWidth; ++n) {
    const int64_t range = int64_t{1} << kWidth;
    int64_t x = static_cast<int64_t>(a >> (n * kWidth)) & (range - 1);
    int64_t y = static_cast<int64_t>(b >> (n * kWidth)) & (range - 1);
    if (kSigned && x >= range / 2) x -= range;
    if (kSigned && y >= range / 2) y -= range;
    r += x * y;
  }
  return r;
}

template <unsigned kWidth, bool kSigned>
void integer_dot(Specs& s, const std::string& name, const std::string& types) {
  s.add(name, types, [](const In& in, Out& out) {
    const int64_t sum = dot<kWidth, kSigned>(in.s[0], in.s[1]) +
                        (kSigned ? int64_t{i32(in.s[2])} : static_cast<int64_t>(in.s[2]));
    const int64_t low = kSigned ? INT32_MIN : 0, high = kSigned ? INT32_MAX : int64_t{UINT32_MAX};
    out.d = u32(static_cast<uint64_t>(in.clamp ? std::clamp(sum, low, high) : sum));
  });
}

}  // namespace

void add_packed_specs(Specs& s) {
  packed_halves(s);
  const auto dot2 = [](const In& in, Out& out) {
    // Products of halves are exact in binary32.
    float r = static_cast<float>(f16(in.s[0] & 0xffff) * f16(in.s[1] & 0xffff)) + f32(in.s[2]);
    r = static_cast<float>(f16(in.s[0] >> 16 & 0xffff) * f16(in.s[1] >> 16 & 0xffff)) + r;
    if (in.clamp) r = std::isnan(r) ? 0.0f : std::clamp(r, 0.0f, 1.0f) + 0.0f;
    out.d = bits(r);
  };
  s.add("v_dot2c_f32_f16", "f=pp0", dot2);
  s.add("v_dot2_f32_f16", "f~=ppF", dot2);
  integer_dot<8, true>(s, "v_dot4c_i32_i8", "u=uuu");
  integer_dot<16, true>(s, "v_dot2_i32_i16", "u~=PPu");
  integer_dot<16, false>(s, "v_dot2_u32_u16", "u~=PPu");
  integer_dot<8, true>(s, "v_dot4_i32_i8", "u~=uuu");
  integer_dot<8, false>(s, "v_dot4_u32_u8", "u~=uuu");
  integer_dot<4, true>(s, "v_dot8_i32_i4", "u~=uuu");
  integer_dot<4, false>(s, "v_dot8_u32_u4", "u~=uuu");
  // The model widens the sources: each is a binary32 value here.
  const auto mix = [](const In& in) {
    float r = std::fma(f32(in.s[0]), f32(in.s[1]), f32(in.s[2]));
    if (in.clamp) r = std::isnan(r) ? 0.0f : std::clamp(r, 0.0f, 1.0f) + 0.0f;
    return r;
  };
  s.add("v_fma_mix_f32", "f~=xxx", [mix](const In& in, Out& out) { out.d = bits(mix(in)); });
  s.add("v_fma_mixlo_f16", "h~=xxx", [mix](const In& in, Out& out) { out.d = to_f16(mix(in)); });
  s.add("v_fma_mixhi_f16", "H~=xxx", [mix](const In& in, Out& out) { out.d = to_f16(mix(in)); });
}

}  // namespace gfxgraph::emulator::spec
