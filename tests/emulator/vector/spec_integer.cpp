// Integers of 16, 32 and 64 bits, bit fields, carries.
#include <algorithm>
#include <bitset>

#include "tests/emulator/vector/vector_spec.h"

namespace gfxgraph::emulator::spec {
namespace {

using Wide = __int128;

// The exact result r in a register of that many bits: wrapped, or saturated when the instruction
// clamps.
uint64_t fit(Wide r, unsigned width, bool is_signed, bool clamp) {
  const Wide low = is_signed ? -(Wide{1} << (width - 1)) : Wide{0};
  const Wide high = is_signed ? (Wide{1} << (width - 1)) - 1 : (Wide{1} << width) - 1;
  if (clamp) r = std::clamp(r, low, high);
  return static_cast<uint64_t>(r) & (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
}

int32_t i24(uint64_t v) { return static_cast<int32_t>((v & 0xffffff) ^ 0x800000) - 0x800000; }
uint32_t u24(uint64_t v) { return static_cast<uint32_t>(v & 0xffffff); }

// An exact formula over one interpretation of the three sources.
void exact(Specs& s, const std::string& name, const std::string& types, unsigned width,
           bool is_signed, auto f) {
  s.add(name, types, [=](const In& in, Out& out) {
    out.d = fit(f(in.s[0], in.s[1], in.s[2]), width, is_signed, in.clamp);
  });
}

void sums(Specs& s) {
  using U = uint64_t;
  exact(s, "v_add_nc_u32", "u~=uu", 32, false, [](U a, U b, U) { return Wide(a) + Wide(b); });
  exact(s, "v_sub_nc_u32", "u~=uu", 32, false, [](U a, U b, U) { return Wide(a) - Wide(b); });
  exact(s, "v_subrev_nc_u32", "u~=uu", 32, false, [](U a, U b, U) { return Wide(b) - Wide(a); });
  exact(s, "v_add_nc_i32", "u~=uu", 32, true, [](U a, U b, U) { return Wide(i32(a)) + i32(b); });
  exact(s, "v_sub_nc_i32", "u~=uu", 32, true, [](U a, U b, U) { return Wide(i32(a)) - i32(b); });
  exact(s, "v_add_nc_u16", "w~=ww", 16, false, [](U a, U b, U) { return Wide(a) + Wide(b); });
  exact(s, "v_sub_nc_u16", "w~=ww", 16, false, [](U a, U b, U) { return Wide(a) - Wide(b); });
  exact(s, "v_add_nc_i16", "w~=ww", 16, true, [](U a, U b, U) { return Wide(i16(a)) + i16(b); });
  exact(s, "v_sub_nc_i16", "w~=ww", 16, true, [](U a, U b, U) { return Wide(i16(a)) - i16(b); });
  exact(s, "v_add3_u32", "u=uuu", 32, false,
        [](U a, U b, U c) { return Wide(a) + Wide(b) + Wide(c); });
  exact(s, "v_add_lshl_u32", "u=uuu", 32, false,
        [](U a, U b, U c) { return Wide(u32(a + b)) << (c % 32); });
  exact(s, "v_lshl_add_u32", "u=uuu", 32, false,
        [](U a, U b, U c) { return (Wide(a) << (b % 32)) + Wide(c); });
  exact(s, "v_xad_u32", "u=uuu", 32, false, [](U a, U b, U c) { return Wide(a ^ b) + Wide(c); });
}

void carries(Specs& s) {
  const auto carry = [&s](const std::string& name, bool carry_in, auto f) {
    s.add(name, carry_in ? "u+~=uum" : "u+~=uu", [=](const In& in, Out& out) {
      const Wide r = f(Wide(u32(in.s[0])), Wide(u32(in.s[1])), Wide(carry_in && in.bit ? 1 : 0));
      out.d = fit(r, 32, false, in.clamp);
      out.bit = r < 0 || r > Wide(0xffffffff);
    });
  };
  carry("v_add_co_u32", false, [](Wide a, Wide b, Wide c) { return a + b + c; });
  carry("v_sub_co_u32", false, [](Wide a, Wide b, Wide c) { return a - b - c; });
  carry("v_subrev_co_u32", false, [](Wide a, Wide b, Wide c) { return b - a - c; });
  carry("v_add_co_ci_u32", true, [](Wide a, Wide b, Wide c) { return a + b + c; });
  carry("v_sub_co_ci_u32", true, [](Wide a, Wide b, Wide c) { return a - b - c; });
  carry("v_subrev_co_ci_u32", true, [](Wide a, Wide b, Wide c) { return b - a - c; });
  s.add("v_mad_u64_u32", "q+~=uuq", [](const In& in, Out& out) {
    const Wide r = Wide(in.s[0]) * Wide(in.s[1]) + Wide(in.s[2]);
    out.d = fit(r, 64, false, in.clamp);
    out.bit = (r >> 64) != 0;
  });
  s.add("v_mad_i64_i32", "q+~=uuq", [](const In& in, Out& out) {
    const Wide r = Wide(i32(in.s[0])) * i32(in.s[1]) + static_cast<int64_t>(in.s[2]);
    out.d = fit(r, 64, true, in.clamp);
    out.bit = (r >> 64 & 1) != 0;
  });
}

void products(Specs& s) {
  using U = uint64_t;
  exact(s, "v_mul_lo_u32", "u=uu", 32, false, [](U a, U b, U) { return Wide(a) * Wide(b); });
  exact(s, "v_mul_hi_u32", "u=uu", 32, false,
        [](U a, U b, U) { return (Wide(a) * Wide(b)) >> 32; });
  exact(s, "v_mul_hi_i32", "u=uu", 32, true,
        [](U a, U b, U) { return (Wide(i32(a)) * i32(b)) >> 32; });
  exact(s, "v_mul_i32_i24", "u=uu", 32, true, [](U a, U b, U) { return Wide(i24(a)) * i24(b); });
  exact(s, "v_mul_u32_u24", "u=uu", 32, false, [](U a, U b, U) { return Wide(u24(a)) * u24(b); });
  exact(s, "v_mul_hi_i32_i24", "u=uu", 32, true,
        [](U a, U b, U) { return (Wide(i24(a)) * i24(b)) >> 32; });
  exact(s, "v_mul_hi_u32_u24", "u=uu", 32, false,
        [](U a, U b, U) { return (Wide(u24(a)) * u24(b)) >> 32; });
  exact(s, "v_mad_i32_i24", "u~=uuu", 32, true,
        [](U a, U b, U c) { return Wide(i24(a)) * i24(b) + i32(c); });
  exact(s, "v_mad_u32_u24", "u~=uuu", 32, false,
        [](U a, U b, U c) { return Wide(u24(a)) * u24(b) + Wide(c); });
  exact(s, "v_mad_u32_u16", "u~=wwu", 32, false,
        [](U a, U b, U c) { return Wide(a) * Wide(b) + Wide(c); });
  exact(s, "v_mad_i32_i16", "u~=wwu", 32, true,
        [](U a, U b, U c) { return Wide(i16(a)) * i16(b) + i32(c); });
  exact(s, "v_mul_lo_u16", "w=ww", 16, false, [](U a, U b, U) { return Wide(a) * Wide(b); });
  exact(s, "v_mad_u16", "w~=www", 16, false,
        [](U a, U b, U c) { return Wide(a) * Wide(b) + Wide(c); });
  exact(s, "v_mad_i16", "w~=www", 16, true,
        [](U a, U b, U c) { return Wide(i16(a)) * i16(b) + i16(c); });
}

template <class V>
void orders_of(Specs& s, const std::string& suffix, char type, auto value) {
  const std::string t(1, type);
  const auto add = [&](const std::string& name, unsigned sources, auto f) {
    s.add("v_" + name + "_" + suffix, t + "=" + std::string(sources, type),
          [=](const In& in, Out& out) {
            V v[3] = {V(value(in.s[0])), V(value(in.s[1])), V(value(in.s[2]))};
            for (unsigned pass = 1; pass < sources; ++pass)
              for (unsigned n = 1; n < sources; ++n)
                if (v[n] < v[n - 1]) std::swap(v[n], v[n - 1]);
            out.d = fit(f(v), type == 'u' ? 32 : 16, false, false);
          });
  };
  add("min", 2, [](V* v) { return Wide(v[0]); });
  add("max", 2, [](V* v) { return Wide(v[1]); });
  add("min3", 3, [](V* v) { return Wide(v[0]); });
  add("med3", 3, [](V* v) { return Wide(v[1]); });
  add("max3", 3, [](V* v) { return Wide(v[2]); });
}

uint32_t byte(uint64_t v, unsigned n) { return static_cast<uint32_t>(v >> (8 * n)) & 255; }
uint64_t sad8(uint64_t a, uint64_t b, bool masked) {
  uint64_t r = 0;
  for (unsigned n = 0; n < 4; ++n) {
    if (masked && byte(b, n) == 0) continue;
    r += static_cast<uint64_t>(
        std::abs(static_cast<int>(byte(a, n)) - static_cast<int>(byte(b, n))));
  }
  return r;
}

void differences(Specs& s) {
  using U = uint64_t;
  exact(s, "v_sad_u8", "u~=uuu", 32, false,
        [](U a, U b, U c) { return Wide(sad8(a, b, false)) + Wide(c); });
  exact(s, "v_msad_u8", "u~=uuu", 32, false,
        [](U a, U b, U c) { return Wide(sad8(a, b, true)) + Wide(c); });
  exact(s, "v_sad_hi_u8", "u~=uuu", 32, false,
        [](U a, U b, U c) { return Wide(sad8(a, b, false) << 16) + Wide(c); });
  exact(s, "v_sad_u16", "u~=uuu", 32, false, [](U a, U b, U c) {
    return Wide(std::abs(int(a & 0xffff) - int(b & 0xffff))) +
           std::abs(int(a >> 16) - int(b >> 16)) + Wide(c);
  });
  exact(s, "v_sad_u32", "u~=uuu", 32, false,
        [](U a, U b, U c) { return Wide(a > b ? a - b : b - a) + Wide(c); });
  for (const bool masked : {false, true}) {
    s.add(masked ? "v_mqsad_pk_u16_u8" : "v_qsad_pk_u16_u8", "q~=quq",
          [masked](const In& in, Out& out) {
            for (unsigned n = 0; n < 4; ++n) {
              const uint64_t sum =
                  sad8(in.s[0] >> (8 * n), in.s[1], masked) + (in.s[2] >> (16 * n) & 0xffff);
              out.d |= fit(Wide(sum), 16, false, in.clamp) << (16 * n);
            }
          });
  }
  s.add("v_mqsad_u32_u8", "4~=qu4", [](const In& in, Out& out) {
    for (unsigned n = 0; n < 4; ++n)
      out.quad[n] = u32(fit(Wide(sad8(in.s[0] >> (8 * n), in.s[1], true)) + Wide(in.quad[n]), 32,
                            false, in.clamp));
  });
  s.add("v_lerp_u8", "u=uuu", [](const In& in, Out& out) {
    for (unsigned n = 0; n < 4; ++n)
      out.d |= uint64_t{(byte(in.s[0], n) + byte(in.s[1], n) + (byte(in.s[2], n) & 1)) / 2}
               << (8 * n);
  });
}

void shifts(Specs& s) {
  const auto add = [&s](const std::string& name, const std::string& types, auto f) {
    s.add(name, types, [=](const In& in, Out& out) { out.d = f(in.s[0], in.s[1], in.s[2]); });
  };
  using U = uint64_t;
  add("v_lshlrev_b32", "u=uu", [](U a, U b, U) { return U{u32(b << (a % 32))}; });
  add("v_lshrrev_b32", "u=uu", [](U a, U b, U) { return b >> (a % 32); });
  add("v_ashrrev_i32", "u=uu",
      [](U a, U b, U) { return U{u32(static_cast<uint64_t>(int64_t{i32(b)} >> (a % 32)))}; });
  add("v_lshlrev_b16", "w=ww", [](U a, U b, U) { return (b << (a % 16)) & 0xffff; });
  add("v_lshrrev_b16", "w=ww", [](U a, U b, U) { return b >> (a % 16); });
  add("v_ashrrev_i16", "w=ww", [](U a, U b, U) { return U(i16(b) >> (a % 16)) & 0xffff; });
  add("v_lshlrev_b64", "q=uq", [](U a, U b, U) { return b << (a % 64); });
  add("v_lshrrev_b64", "q=uq", [](U a, U b, U) { return b >> (a % 64); });
  add("v_ashrrev_i64", "q=uq",
      [](U a, U b, U) { return static_cast<U>(static_cast<int64_t>(b) >> (a % 64)); });
  add("v_alignbit_b32", "u=uuu", [](U a, U b, U c) { return U{u32((a << 32 | b) >> (c % 32))}; });
  add("v_alignbyte_b32", "u=uuu",
      [](U a, U b, U c) { return U{u32((a << 32 | b) >> (c % 4 * 8))}; });
}

uint64_t one_permuted_byte(uint64_t data, unsigned selector) {
  switch (selector) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7: return data >> (8 * selector) & 255;
    case 8: return (data >> 15 & 1) * 255;
    case 9: return (data >> 31 & 1) * 255;
    case 10: return (data >> 47 & 1) * 255;
    case 11: return (data >> 63 & 1) * 255;
    case 12: return 0;
    default: return 255;
  }
}

void fields(Specs& s) {
  const auto add = [&s](const std::string& name, const std::string& types, auto f) {
    s.add(name, types, [=](const In& in, Out& out) { out.d = u32(f(in.s[0], in.s[1], in.s[2])); });
  };
  using U = uint64_t;
  add("v_not_b32", "u=u", [](U a, U, U) { return ~a; });
  add("v_and_b32", "u=uu", [](U a, U b, U) { return a & b; });
  add("v_or_b32", "u=uu", [](U a, U b, U) { return a | b; });
  add("v_xor_b32", "u=uu", [](U a, U b, U) { return a ^ b; });
  add("v_xnor_b32", "u=uu", [](U a, U b, U) { return ~(a ^ b); });
  add("v_and_or_b32", "u=uuu", [](U a, U b, U c) { return (a & b) | c; });
  add("v_or3_b32", "u=uuu", [](U a, U b, U c) { return a | b | c; });
  add("v_xor3_b32", "u=uuu", [](U a, U b, U c) { return a ^ b ^ c; });
  add("v_lshl_or_b32", "u=uuu", [](U a, U b, U c) { return (a << (b % 32)) | c; });
  add("v_bfi_b32", "u=uuu", [](U a, U b, U c) { return (a & b) | (~a & c); });
  add("v_mov_b32", "b=b", [](U a, U, U) { return a; });
  s.add("v_cndmask_b32", "b=bbm", [](const In& in, Out& out) { out.d = in.s[in.bit ? 1 : 0]; });
  add("v_bfe_u32", "u=uuu",
      [](U a, U b, U c) { return (a >> (b % 32)) & ((U{1} << (c % 32)) - 1); });
  add("v_bfe_i32", "u=uuu", [](U a, U b, U c) {
    const unsigned width = c % 32;
    if (width == 0) return U{0};
    const U v = static_cast<U>(int64_t{i32(a)} >> (b % 32)) & ((U{1} << width) - 1);
    return (v >> (width - 1) & 1) != 0 ? v - (U{1} << width) : v;
  });
  add("v_bfm_b32", "u=uu", [](U a, U b, U) { return ((U{1} << (a % 32)) - 1) << (b % 32); });
  add("v_perm_b32", "u=uuu", [](U a, U b, U c) {
    U r = 0;
    for (unsigned n = 0; n < 4; ++n) r |= one_permuted_byte(a << 32 | b, byte(c, n)) << (8 * n);
    return r;
  });
  add("v_bfrev_b32", "u=u", [](U a, U, U) {
    U r = 0;
    for (unsigned n = 0; n < 32; ++n) r |= (a >> n & 1) << (31 - n);
    return r;
  });
  add("v_ffbh_u32", "u=u", [](U a, U, U) { return a == 0 ? ~U{0} : U(std::countl_zero(u32(a))); });
  add("v_ffbl_b32", "u=u", [](U a, U, U) { return a == 0 ? ~U{0} : U(std::countr_zero(u32(a))); });
  add("v_ffbh_i32", "u=u", [](U a, U, U) {
    for (unsigned n = 1; n < 32; ++n)
      if ((a >> (31 - n) & 1) != (a >> 31 & 1)) return U{n};
    return ~U{0};
  });
  add("v_bcnt_u32_b32", "u=uu", [](U a, U b, U) { return std::bitset<32>(a).count() + b; });
  s.add("v_mbcnt_lo_u32_b32", "u=uu", [](const In& in, Out& out) {
    uint64_t r = in.s[1];
    for (unsigned n = 0; n < in.lane; ++n) r += in.s[0] >> n & 1;
    out.d = u32(r);
  });
  add("v_mbcnt_hi_u32_b32", "u=uu", [](U, U b, U) { return b; });
}

}  // namespace

void add_integer_specs(Specs& s) {
  sums(s);
  carries(s);
  products(s);
  orders_of<uint32_t>(s, "u32", 'u', [](uint64_t v) { return u32(v); });
  orders_of<int32_t>(s, "i32", 'u', [](uint64_t v) { return i32(v); });
  orders_of<uint16_t>(s, "u16", 'w', [](uint64_t v) { return v; });
  orders_of<int16_t>(s, "i16", 'w', [](uint64_t v) { return v; });
  differences(s);
  shifts(s);
  fields(s);
}

}  // namespace gfxgraph::emulator::spec
