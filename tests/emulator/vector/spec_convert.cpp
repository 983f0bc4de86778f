// Conversions and packing.
#include <algorithm>

#include "tests/emulator/vector/vector_spec.h"

namespace gfxgraph::emulator::spec {
namespace {

// Toward zero into [low, high]; NaN is 0.
int64_t to_integer(double v, int64_t low, int64_t high) {
  if (std::isnan(v)) return 0;
  if (v <= static_cast<double>(low)) return low;
  if (v >= static_cast<double>(high)) return high;
  return static_cast<int64_t>(v);
}
uint64_t to_i32(double v) {
  return u32(static_cast<uint64_t>(to_integer(v, INT32_MIN, INT32_MAX)));
}
uint64_t to_u32(double v) { return u32(static_cast<uint64_t>(to_integer(v, 0, UINT32_MAX))); }

uint64_t to_half_toward_zero(double v) {
  const uint64_t r = to_f16(v);
  if (std::isnan(v) || std::isinf(v)) return r;
  // One step back if rounding went outwards.
  return std::fabs(f16(r)) > std::fabs(v) ? r - 1 : r;
}

// The product is rounded to binary32 first, as the hardware multiplies in binary32.
uint64_t snorm(double v) {
  if (std::isnan(v)) return 0;
  const float product = static_cast<float>(std::clamp(v, -1.0, 1.0)) * 32767.0f;
  return static_cast<uint64_t>(static_cast<int64_t>(std::nearbyint(product))) & 0xffff;
}
uint64_t unorm(double v) {
  if (std::isnan(v)) return 0;
  const float product = static_cast<float>(std::clamp(v, 0.0, 1.0)) * 65535.0f;
  return static_cast<uint64_t>(std::nearbyint(product));
}

void unary(Specs& s, const std::string& name, const std::string& types, auto f) {
  s.add(name, types, [f](const In& in, Out& out) { out.d = f(in.s[0]); });
}

void words(Specs& s) {
  using U = uint64_t;
  unary(s, "v_cvt_f32_i32", "f=u", [](U a) { return bits(static_cast<float>(i32(a))); });
  unary(s, "v_cvt_f32_u32", "f=u", [](U a) { return bits(static_cast<float>(u32(a))); });
  unary(s, "v_cvt_f64_i32", "d=u", [](U a) { return bits(static_cast<double>(i32(a))); });
  unary(s, "v_cvt_f64_u32", "d=u", [](U a) { return bits(static_cast<double>(u32(a))); });
  unary(s, "v_cvt_u32_f32", "u=f", [](U a) { return to_u32(f32(a)); });
  unary(s, "v_cvt_i32_f32", "u=f", [](U a) { return to_i32(f32(a)); });
  unary(s, "v_cvt_u32_f64", "u=d", [](U a) { return to_u32(f64(a)); });
  unary(s, "v_cvt_i32_f64", "u=d", [](U a) { return to_i32(f64(a)); });
  unary(s, "v_cvt_flr_i32_f32", "u=f", [](U a) { return to_i32(std::floor(f32(a))); });
  unary(s, "v_cvt_rpi_i32_f32", "u=f", [](U a) { return to_i32(std::floor(f32(a) + 0.5f)); });
  unary(s, "v_cvt_off_f32_i4", "f=u", [](U a) {
    const int n = static_cast<int>(a & 15);
    return bits(static_cast<float>(n < 8 ? n : n - 16) / 16.0f);
  });
  unary(s, "v_cvt_f32_f64", "f=d", [](U a) { return bits(static_cast<float>(f64(a))); });
  unary(s, "v_cvt_f64_f32", "d=f", [](U a) { return bits(static_cast<double>(f32(a))); });
  for (unsigned n = 0; n < 4; ++n)
    unary(s, "v_cvt_f32_ubyte" + std::to_string(n), "f=u",
          [n](U a) { return bits(static_cast<float>(a >> (8 * n) & 255)); });
}

void halves(Specs& s) {
  using U = uint64_t;
  unary(s, "v_cvt_f16_f32", "h=f", [](U a) { return to_f16(f32(a)); });
  unary(s, "v_cvt_f32_f16", "f=h", [](U a) { return bits(static_cast<float>(f16(a))); });
  unary(s, "v_cvt_f16_u16", "h=w", [](U a) { return to_f16(static_cast<double>(a)); });
  unary(s, "v_cvt_f16_i16", "h=w", [](U a) { return to_f16(i16(a)); });
  unary(s, "v_cvt_u16_f16", "w=h",
        [](U a) { return static_cast<U>(to_integer(f16(a), 0, 65535)); });
  unary(s, "v_cvt_i16_f16", "w=h",
        [](U a) { return static_cast<U>(to_integer(f16(a), -32768, 32767)) & 0xffff; });
  unary(s, "v_cvt_norm_i16_f16", "w=h", [](U a) { return snorm(f16(a)); });
  unary(s, "v_cvt_norm_u16_f16", "w=h", [](U a) { return unorm(f16(a)); });
  unary(s, "v_sat_pk_u8_i16", "w=u", [](U a) {
    return static_cast<U>(std::clamp(i16(a), 0, 255)) |
           static_cast<U>(std::clamp(i16(a >> 16), 0, 255)) << 8;
  });
}

void packs(Specs& s) {
  const auto add = [&s](const std::string& name, const std::string& types, auto f) {
    s.add(name, types, [f](const In& in, Out& out) { out.d = f(in.s[0]) | f(in.s[1]) << 16; });
  };
  using U = uint64_t;
  add("v_cvt_pkrtz_f16_f32", "u=ff", [](U a) { return to_half_toward_zero(f32(a)); });
  add("v_cvt_pknorm_i16_f32", "u=ff", [](U a) { return snorm(f32(a)); });
  add("v_cvt_pknorm_u16_f32", "u=ff", [](U a) { return unorm(f32(a)); });
  add("v_cvt_pknorm_i16_f16", "u=hh", [](U a) { return snorm(f16(a)); });
  add("v_cvt_pknorm_u16_f16", "u=hh", [](U a) { return unorm(f16(a)); });
  add("v_cvt_pk_u16_u32", "u=uu", [](U a) { return std::min<U>(a, 65535); });
  add("v_cvt_pk_i16_i32", "u=uu",
      [](U a) { return static_cast<U>(std::clamp(i32(a), -32768, 32767)) & 0xffff; });
  add("v_pack_b32_f16", "u=hh", [](U a) { return a; });
  s.add("v_cvt_pk_u8_f32", "u=fuu", [](const In& in, Out& out) {
    const U shift = in.s[1] % 4 * 8;
    out.d = (in.s[2] & ~(U{255} << shift)) | static_cast<U>(to_integer(f32(in.s[0]), 0, 255))
                                                 << shift;
  });
}

}  // namespace

void add_convert_specs(Specs& s) {
  words(s);
  halves(s);
  packs(s);
}

}  // namespace gfxgraph::emulator::spec
