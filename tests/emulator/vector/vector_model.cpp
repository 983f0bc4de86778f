#include "tests/emulator/vector/vector_model.h"

#include <string_view>

namespace gfxgraph::emulator::spec {
namespace {

using std::string;

bool starts(const string& text, std::string_view part) {
  return text.compare(0, part.size(), part) == 0;
}
bool is_float(char t) { return t == 'f' || t == 'd' || t == 'h' || t == 'b' || t == 'F'; }
bool is_wide(char t) { return t == 'd' || t == 'q'; }
bool is_half(char t) { return t == 'h' || t == 'w'; }
bool multiplies_literal(const string& m) { return starts(m, "v_fmamk"); }
bool adds_literal(const string& m) { return starts(m, "v_fmaak"); }

// ---- reading ----

uint64_t constant(const Instance& i, unsigned n) {
  const unsigned code = i.src[n];
  const char t = i.source_type(n);
  if (code == 255) {
    if (t == 'd') return uint64_t{i.literal} << 32;
    if (t == 'q' && i.row->mnemonic.find("i64") != string::npos)
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(i.literal)));
    return i.literal;
  }
  if (code <= 208) {
    const int64_t value = code <= 192 ? static_cast<int>(code) - 128 : 192 - static_cast<int>(code);
    return is_wide(t) ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value);
  }
  static const double values[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189535};
  const double v = values[code - 240];
  if (is_wide(t)) return code == 248 ? 0x3fc45f306dc9c882 : bits(v);
  const bool half = t == 'h' || t == 'p' || (t == 'x' && (i.op_sel_hi >> n & 1) != 0);
  return half ? to_f16(v) : bits(static_cast<float>(v));
}

uint64_t read_raw(const Instance& i, unsigned n, const State& s, unsigned lane) {
  const unsigned code = i.src[n];
  const bool wide = is_wide(i.source_type(n));
  if (code >= 256)
    return s.vgpr[code - 256][lane] | (wide ? uint64_t{s.vgpr[code - 255][lane]} << 32 : 0);
  if (code < 128) return s.sgpr[code] | (wide ? uint64_t{s.sgpr[code + 1]} << 32 : 0);
  return constant(i, n);
}

uint64_t part(uint64_t v, unsigned selector, bool sign_extend) {
  if (selector >= 6) return v;
  if (selector < 4) {
    const uint64_t b = v >> (8 * selector) & 255;
    return sign_extend ? u32(static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(b))))
                       : b;
  }
  const uint64_t w = v >> (16 * (selector - 4)) & 0xffff;
  return sign_extend ? u32(static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(w))))
                     : w;
}

// Where DPP16 reads for `lane`; 32: nowhere. ISA guide table "DPP16".
unsigned dpp_source(unsigned control, unsigned lane) {
  const unsigned base = lane / 16 * 16, at = lane % 16, n = control & 15;
  if (control < 256) return lane / 4 * 4 + (control >> (lane % 4 * 2)) % 4;
  switch (control >> 4) {
    case 0x10: return at + n > 15 ? 32 : lane + n;
    case 0x11: return at < n ? 32 : lane - n;
    case 0x12: return base + (at + 16 - n) % 16;
    case 0x14: return n == 0 ? base + 15 - at : lane / 8 * 8 + 7 - lane % 8;
    case 0x15: return base + n;
    default: return base + (at ^ n);
  }
}

// The lane from which source 0 comes, or 32 for a zero. `write`: whether the lane is written at
// all.
unsigned crossed_lane(const Instance& i, const State& s, unsigned lane, bool& write) {
  const uint32_t exec = s.sgpr[126];
  if (i.extra == Extra::kDpp8) {
    const unsigned from = lane / 8 * 8 + (i.dpp8_selectors >> (lane % 8 * 3)) % 8;
    return i.fetch_inactive || (exec >> from & 1) != 0 ? from : 32;
  }
  if (i.extra != Extra::kDpp16) return lane;
  const unsigned from = dpp_source(i.control, lane);
  const bool valid = from < 32 && (i.fetch_inactive || (exec >> from & 1) != 0);
  if ((i.row_mask >> (lane / 16) & 1) == 0 || (i.bank_mask >> (lane % 16 / 4) & 1) == 0)
    write = false;
  if (!valid && !i.bound_control) write = false;
  return valid ? from : 32;
}

uint64_t sign_modified(char t, uint64_t v, bool neg, bool abs) {
  const uint64_t sign = t == 'd' ? uint64_t{1} << 63 : t == 'h' ? 0x8000 : 0x80000000u;
  if (abs) v &= ~sign;
  return neg ? v ^ sign : v;
}

uint64_t packed_value(const Instance& i, unsigned n, uint64_t v) {
  uint64_t low = v >> ((i.op_sel >> n & 1) * 16) & 0xffff;
  uint64_t high = v >> ((i.op_sel_hi >> n & 1) * 16) & 0xffff;
  if (i.source_type(n) == 'p') {
    low ^= (i.neg >> n & 1) << 15;
    high ^= (i.abs >> n & 1) << 15;
  }
  return low | high << 16;
}

uint64_t flushed_source(const Instance& i, char t, uint64_t v, Mode mode) {
  if (ignores_mode(i.row->mnemonic)) return v;
  if (t == 'p' && i.row->mnemonic != "v_sat_pk_u8_i16")
    return mode.flushes_inputs('h') ? flushed('p', v) : v;
  const bool is_value = t == 'f' || t == 'F' || t == 'd' || t == 'h';
  return is_value && mode.flushes_inputs(t) ? flushed(t, v) : v;
}

uint64_t read_source(const Instance& i, unsigned n, const State& s, unsigned lane, unsigned from,
                     Mode mode) {
  const char t = i.source_type(n);
  uint64_t v =
      n == 0 && from != lane ? (from < 32 ? read_raw(i, n, s, from) : 0) : read_raw(i, n, s, lane);
  const bool neg = (i.neg >> n & 1) != 0, abs = (i.abs >> n & 1) != 0;
  if (i.row->encoding == "VOP3P") {
    if (t == 'p' || t == 'P') return packed_value(i, n, v);
    if (t == 'x') {
      const bool half = (i.op_sel_hi >> n & 1) != 0;
      if (half) v = v >> ((i.op_sel >> n & 1) * 16) & 0xffff;
      v = flushed_source(i, half ? 'h' : 'f', v, mode);
      const uint64_t wide = half ? bits(static_cast<float>(f16(v))) : v;
      return sign_modified('f', wide, neg, abs);
    }
    return t == 'F' ? sign_modified('f', v, neg, abs) : v;
  }
  if (i.extra == Extra::kSdwa && n < 2) v = part(v, i.sel[n], i.sext[n]);
  if (is_half(t)) {
    if (i.row->encoding == "VOP3" && (i.op_sel >> n & 1) != 0) v >>= 16;
    v &= 0xffff;
  }
  return is_float(t) ? sign_modified(t, v, neg, abs) : v;
}

// ---- writing ----

uint64_t clamp_float(char t, uint64_t v, Mode mode) {
  const double x = t == 'd' ? f64(v) : t == 'h' ? f16(v) : f32(v);
  if (std::isnan(x) && !mode.dx10_clamp()) return v;
  if (!(x > 0)) return 0;
  if (x < 1) return v;
  return t == 'd' ? bits(1.0) : t == 'h' ? 0x3c00 : bits(1.0f);
}

bool result_nan(char t, uint64_t v) {
  if (t == 'p') return std::isnan(f16(v & 0xffff)) || std::isnan(f16(v >> 16 & 0xffff));
  return t == 'd'               ? std::isnan(f64(v))
         : t == 'h' || t == 'H' ? std::isnan(f16(v))
                                : t == 'f' && std::isnan(f32(v));
}

uint32_t placed(const Instance& i, uint32_t v, uint32_t old) {
  if (i.extra == Extra::kSdwa) {
    if (i.dst_sel >= 6) return v;
    const unsigned width = i.dst_sel < 4 ? 8 : 16;
    const unsigned at = i.dst_sel < 4 ? 8 * i.dst_sel : 16 * (i.dst_sel - 4);
    const uint32_t ones = (width == 8 ? 0xffu : 0xffffu);
    const uint32_t inside = (v & ones) << at;
    if (i.dst_unused == 2) return (old & ~(ones << at)) | inside;
    const bool negative = (v >> (width - 1) & 1) != 0;
    const uint32_t above =
        i.dst_unused == 1 && negative && at + width < 32 ? ~0u << (at + width) : 0;
    return inside | above;
  }
  if (i.dst_type() == 'H') return (old & 0xffff) | v << 16;
  if (!is_half(i.dst_type())) return v;
  const bool high = i.row->encoding == "VOP3" && (i.op_sel & 8) != 0;
  return high ? (old & 0xffff) | v << 16 : (old & 0xffff0000) | (v & 0xffff);
}

// Output modifiers work without IEEE where result denormals are flushed; they make +0 of -0.
uint64_t scaled(const Instance& i, char t, uint64_t v, Mode mode) {
  if (i.omod == 0 || mode.ieee() || !mode.flushes_results(t)) return v;
  const double factor = i.omod == 3 ? 0.5 : i.omod * 2.0;
  if (t == 'd') {
    const uint64_t r = flushed('d', bits(f64(v) * factor));
    return f64(r) == 0 ? 0 : r;
  }
  if (t == 'h') {
    const uint64_t r = flushed('h', to_f16(f16(v) * factor));
    return f16(r) == 0 ? 0 : r;
  }
  const uint64_t r = flushed('f', bits(f32(v) * static_cast<float>(factor)));
  return f32(r) == 0 ? 0 : r;
}

void write_lane(const Instance& i, const Out& out, State& s, unsigned lane, Mode mode) {
  const char t = i.dst_type();
  if (t == '4') {
    for (unsigned n = 0; n < 4; ++n) s.vgpr[i.vdst + n][lane] = out.quad[n];
    return;
  }
  uint64_t v = out.d;
  const bool value = t == 'f' || t == 'd' || t == 'h';
  if (value && mode.flushes_results(t) && !ignores_mode(i.row->mnemonic)) v = flushed(t, v);
  if (is_float(t)) v = scaled(i, t, v, mode);
  if (i.clamp && is_float(t) && !i.clamps_integers()) v = clamp_float(t, v, mode);
  uint32_t& low = s.vgpr[i.vdst][lane];
  low = placed(i, static_cast<uint32_t>(is_half(t) ? v & 0xffff : v), low);
  if (is_wide(t)) s.vgpr[i.vdst + 1][lane] = static_cast<uint32_t>(v >> 32);
}

unsigned nan_inputs(const Instance& i, const In& in) {
  unsigned count = 0;
  for (unsigned n = 0; n < i.sources(); ++n) {
    const char t = i.source_type(n);
    if (t == 'd')
      count += std::isnan(f64(in.s[n]));
    else if (t == 'h')
      count += std::isnan(f16(in.s[n]));
    else if (t == 'f' || t == 'F' || t == 'b' || t == 'x')
      count += std::isnan(f32(in.s[n]));
    else if (t == 'p')
      count += 2;  // not looked into
  }
  return count;
}

void set_bits(const Instance& i, uint32_t mask, State& s) {
  if (i.dst_type() == 'c') {
    if (starts(i.row->mnemonic, "v_cmpx"))
      s.sgpr[126] = mask;
    else if (i.row->encoding == "VOP3") {
      if (i.vdst != 125) s.sgpr[i.vdst] = mask;
    } else if (i.extra == Extra::kSdwa && i.sd)
      s.sgpr[i.sdst] = mask;
    else
      s.sgpr[106] = mask;
  } else if (i.has_carry_out() && i.sdst != 125) {
    s.sgpr[i.sdst] = mask;
  }
}

}  // namespace

bool accumulates(const string& m) {
  return starts(m, "v_fmac_") || starts(m, "v_pk_fmac_") || starts(m, "v_dot2c_") ||
         starts(m, "v_dot4c_");
}

unsigned Instance::sources() const {
  const size_t at = spec->types.find('=') + 1;
  unsigned n = static_cast<unsigned>(spec->types.size() - at);
  return spec->types.back() == 'v' ? n - 1 : n;
}
char Instance::source_type(unsigned n) const {
  const char t = spec->types[spec->types.find('=') + 1 + n];
  return t == '0' ? 'f' : t;
}

std::vector<uint32_t> Instance::encode() const {
  const string& e = row->encoding;
  const string& m = row->mnemonic;
  std::vector<uint32_t> w;
  const bool literal_form = multiplies_literal(m) || adds_literal(m);
  const unsigned src0 = extra == Extra::kSdwa    ? 249
                        : extra == Extra::kDpp16 ? 250
                        : extra == Extra::kDpp8  ? (fetch_inactive ? 234 : 233)
                                                 : src[0];
  const unsigned src1 = (multiplies_literal(m) ? src[2] : src[1]) & 255;
  if (e == "VOP1")
    w = {0x7e000000u | vdst << 17 | row->opcode << 9 | src0};
  else if (e == "VOP2")
    w = {row->opcode << 25 | vdst << 17 | src1 << 9 | src0};
  else if (e == "VOPC")
    w = {0x7c000000u | row->opcode << 17 | src1 << 9 | src0};
  if (e[3] != '3') {
    if (extra == Extra::kNone) {
      if (literal_form || src[0] == 255) w.push_back(literal);
      return w;
    }
    uint32_t second = src[0] & 255;
    if (extra == Extra::kDpp8) {
      second |= dpp8_selectors << 8;
    } else if (extra == Extra::kDpp16) {
      second |= control << 8 | uint32_t{fetch_inactive} << 18 | uint32_t{bound_control} << 19 |
                (neg & 1) << 20 | (abs & 1) << 21 | (neg >> 1 & 1) << 22 | (abs >> 1 & 1) << 23 |
                bank_mask << 24 | row_mask << 28;
    } else {
      second |= sel[0] << 16 | uint32_t{sext[0]} << 19 | (neg & 1) << 20 | (abs & 1) << 21 |
                uint32_t{src[0] < 256} << 23;
      if (e != "VOP1")
        second |= sel[1] << 24 | uint32_t{sext[1]} << 27 | (neg >> 1 & 1) << 28 |
                  (abs >> 1 & 1) << 29 | uint32_t{src[1] < 256} << 31;
      if (e == "VOPC")
        second |= sd ? sdst << 8 | 1u << 15 : 0;
      else
        second |= dst_sel << 8 | dst_unused << 11 | uint32_t{clamp} << 13 | omod << 14;
    }
    w.push_back(second);
    return w;
  }
  const bool third = sources() == 3 && !accumulates(m);
  const uint32_t codes = src[0] | (sources() > 1 ? src[1] << 9 : 0) | (third ? src[2] << 18 : 0);
  if (e == "VOP3P") {
    w = {0xcc000000u | row->opcode << 16 | vdst | abs << 8 | (op_sel & 7) << 11 |
             (op_sel_hi >> 2) << 14 | uint32_t{clamp} << 15,
         codes | (op_sel_hi & 3) << 27 | neg << 29};
  } else {
    const uint32_t middle = has_carry_out() ? sdst << 8 : abs << 8 | op_sel << 11;
    w = {0xd4000000u | row->opcode << 16 | vdst | middle | uint32_t{clamp} << 15,
         codes | omod << 27 | neg << 29};
  }
  if (src[0] == 255 || src[1] == 255 || (third && src[2] == 255)) w.push_back(literal);
  return w;
}

void run_model(const Instance& i, State& s, Freedom& freedom, Mode mode) {
  const ModeRun* const in_mode = mode.is_default() ? nullptr : mode_run(i.row->mnemonic);
  freedom.nans_alike = !mode.ieee();
  const State before = s;
  const uint32_t exec = before.sgpr[126];
  uint32_t mask = 0;
  const bool vcc_input = i.spec->types.back() == 'v';
  for (unsigned lane = 0; lane < kWaveLanes; ++lane) {
    freedom.ulps[lane] = 0;
    freedom.any_nan[lane] = false;
    if ((exec >> lane & 1) == 0) continue;
    bool write = true;
    const unsigned from = crossed_lane(i, before, lane, write);
    In in;
    in.lane = lane;
    in.clamp = i.clamp && i.clamps_integers();
    for (unsigned n = 0; n < i.sources(); ++n) {
      const char t = i.source_type(n);
      if (t == 'm')
        in.bit = (read_raw(i, n, before, lane) >> lane & 1) != 0;
      else if (t == '4')
        for (unsigned k = 0; k < 4; ++k) in.quad[k] = before.vgpr[i.src[n] - 256 + k][lane];
      else
        in.s[n] =
            flushed_source(i, t, read_source(i, n, before, lane, n == 0 ? from : lane, mode), mode);
    }
    if (vcc_input) in.bit = (before.sgpr[106] >> lane & 1) != 0;
    if (!write) continue;
    Out out;
    for (unsigned n = 0; n < 4; ++n) out.quad[n] = in.quad[n];
    if (in_mode != nullptr)
      (*in_mode)(in, out, mode);
    else
      i.spec->run(in, out);
    if (out.bit) mask |= 1u << lane;
    freedom.ulps[lane] = out.ulps;
    if (i.dst_type() != 'c') {
      freedom.any_nan[lane] = result_nan(i.dst_type(), out.d) &&
                              (nan_inputs(i, in) != 1 || out.ulps != 0 || freedom.nans_alike);
      write_lane(i, out, s, lane, mode);
    }
  }
  set_bits(i, mask, s);
}

}  // namespace gfxgraph::emulator::spec
