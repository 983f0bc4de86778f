// Random instructions and states with values that matter; and the comparison of states.
#include <algorithm>
#include <iterator>

#include "fmt/format.h"
#include "tests/emulator/vector/vector_model.h"

namespace gfxgraph::emulator::spec {
namespace {

using std::string;

constexpr uint64_t kEdges32[] = {
    0,          0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x00000001, 0x80000001,
    0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7fc00000, 0xffc12345, 0x7f800001, 0xffabcdef, 0x4b800000, 0x4f000000, 0x4f800000, 0xcf000000,
    0xcf000001, 0x3e800000, 0x38800000, 0x33800000, 0x477fe000, 0x477ff000, 0x40490fdb, 0xffffffff,
    0x7fffffff, 0x0000ffff, 0x00008000, 31,         32,         0x20000000, 0x5f800000, 0x7e800000,
    0x7f000000, 0x0c800000, 0x3f7fffff};
constexpr uint64_t kEdges64[] = {0,
                                 0x8000000000000000,
                                 0x3ff0000000000000,
                                 0xbff0000000000000,
                                 0x3fe0000000000000,
                                 1,
                                 0x8000000000000001,
                                 0x000fffffffffffff,
                                 0x0010000000000000,
                                 0x7fefffffffffffff,
                                 0xffefffffffffffff,
                                 0x7ff0000000000000,
                                 0xfff0000000000000,
                                 0x7ff8000000000000,
                                 0xfff8000000012345,
                                 0x7ff0000000000001,
                                 0xfff4000000000000,
                                 0x41dfffffffc00000,
                                 0x41e0000000000000,
                                 0xc1e0000000000000,
                                 0xc1e0000000200000,
                                 0x41efffffffe00000,
                                 0x41f0000000000000,
                                 0x36a0000000000000,
                                 0x3690000000000000,
                                 0x47efffffe0000000,
                                 0x47effffff0000000,
                                 0x4330000000000000,
                                 0x4340000000000000,
                                 0xffffffffffffffff,
                                 0x7fffffffffffffff,
                                 0x00000000ffffffff,
                                 0x43d0000000000000,
                                 0x7b00000000000000,
                                 0x3fefffffffffffff,
                                 0x0200000000000000};
constexpr uint64_t kEdges16[] = {0,      0x8000, 0x3c00, 0xbc00, 0x3800, 1,      0x8001,
                                 0x03ff, 0x0400, 0x8400, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
                                 0x7e00, 0xfe12, 0x7c01, 0xfd55, 0x6400, 0x6800, 0x7800,
                                 0xffff, 0x7fff, 15,     16,     0x1400, 0x5bff, 0x3bff};

uint32_t random32(Random& r) { return static_cast<uint32_t>(r()); }
unsigned below(Random& r, unsigned n) { return static_cast<unsigned>(r() % n); }
bool chance(Random& r, unsigned one_in) { return r() % one_in == 0; }

uint64_t random16(Random& r) {
  switch (below(r, 4)) {
    case 0: return kEdges16[below(r, std::size(kEdges16))];
    case 1: return (r() & 0x83ff) | (10 + below(r, 10)) << 10;
    default: return r() & 0xffff;
  }
}

uint64_t random_value(Random& r, char type) {
  switch (type) {
    case 'd':
      switch (below(r, 4)) {
        case 0: return kEdges64[below(r, std::size(kEdges64))];
        case 1: return r();
        default: return (r() & 0x800fffffffffffff) | uint64_t{1003 + below(r, 48)} << 52;
      }
    case 'q': return chance(r, 3) ? kEdges64[below(r, std::size(kEdges64))] : r() >> below(r, 60);
    case 'h':
    case 'w': return random16(r) | (r() & 0xffff) << 16;
    case 'p':
    case 'P':
    case 'x': return chance(r, 3) ? random_value(r, 'f') : random16(r) | random16(r) << 16;
    case 'u':
      return chance(r, 3)   ? kEdges32[below(r, std::size(kEdges32))]
             : chance(r, 2) ? random32(r) >> below(r, 32)
                            : random32(r);
    case 'm': return random32(r);
    default:
      switch (below(r, 4)) {
        case 0: return kEdges32[below(r, std::size(kEdges32))];
        case 1: return random32(r);
        default: return (random32(r) & 0x807fffff) | (107 + below(r, 44)) << 23;
      }
  }
}

unsigned random_vgpr(Random& r) { return 256 + below(r, 20); }
unsigned random_scalar(Random& r, bool literal_allowed) {
  switch (below(r, literal_allowed ? 4 : 3)) {
    case 0: return 2 * below(r, 20);
    case 1: return 128 + below(r, 81);
    case 2: return 240 + below(r, 9);
    default: return 255;
  }
}

void choose_sources(Random& r, Instance& i) {
  const string& e = i.row->encoding;
  const string& m = i.row->mnemonic;
  const bool vop3 = e[3] == '3';
  for (unsigned n = 0; n < i.sources(); ++n) {
    const char t = i.source_type(n);
    const bool any = n == 0 || vop3;
    if (t == 'm')
      i.src[n] = vop3 ? 2 * below(r, 20) : 106;
    else if (t == '4' || i.extra == Extra::kDpp16 || i.extra == Extra::kDpp8)
      i.src[n] = random_vgpr(r);
    else if (i.extra == Extra::kSdwa)
      i.src[n] = chance(r, 4) ? random_scalar(r, false) : random_vgpr(r);
    else
      i.src[n] = any && chance(r, 3) ? random_scalar(r, true) : random_vgpr(r);
  }
  i.literal = static_cast<uint32_t>(random_value(r, i.source_type(i.sources() - 1)));
  if (m.starts_with("v_fmamk")) i.src[1] = 255;
  if (m.starts_with("v_fmaak")) i.src[2] = 255;
  if (accumulates(m)) i.src[2] = 256 + i.vdst;
}

void choose_modifiers(Random& r, Instance& i) {
  const string& e = i.row->encoding;
  const char d = i.dst_type();
  const bool float_result = d == 'f' || d == 'd' || d == 'h' || d == 'b';
  const bool carries = i.has_carry_out();
  if (e == "VOP3P") {
    const bool integer_dot = i.source_type(0) == 'u';
    i.clamp = i.clamps_integers() && chance(r, 4);
    if (integer_dot || chance(r, 2)) return;
    i.op_sel = below(r, 8);
    i.op_sel_hi = below(r, 8);
    i.neg = below(r, 8);
    i.abs = below(r, 8);
    // Two-source ops have no third source; packed integers no signs.
    if (i.source_type(0) == 'P') i.neg = i.abs = 0;
    if (i.source_type(i.sources() - 1) == 'F') i.op_sel_hi |= 4;
    return;
  }
  if (i.extra == Extra::kDpp8 || (e != "VOP3" && i.extra == Extra::kNone) || chance(r, 2)) return;
  for (unsigned n = 0; n < i.sources() && (n < 2 || i.extra == Extra::kNone); ++n) {
    const char t = i.source_type(n);
    const bool takes_sign = t == 'f' || t == 'd' || t == 'h' || t == 'b';
    if (takes_sign) i.neg |= below(r, 2) << n;
    if (takes_sign && !carries) i.abs |= below(r, 2) << n;
    if (e == "VOP3" && (t == 'h' || t == 'w')) i.op_sel |= below(r, 2) << n;
  }
  if (e == "VOP3" && (d == 'h' || d == 'w')) i.op_sel |= below(r, 2) << 3;
  if (i.extra == Extra::kDpp16 || d == 'c') return;
  i.clamp = (float_result || i.clamps_integers()) && chance(r, 3);
  if (float_result && !carries) i.omod = below(r, 4);
}

void choose_extra(Random& r, Instance& i) {
  if (i.extra == Extra::kSdwa) {
    for (unsigned n = 0; n < 2; ++n) {
      const char t = n < i.sources() ? i.source_type(n) : 'm';
      i.sel[n] = below(r, 7);
      i.sext[n] = (t == 'u' || t == 'w') && chance(r, 2);
    }
    if (i.row->encoding == "VOP1") i.sel[1] = 0, i.sext[1] = false;
    i.dst_sel = below(r, 7);
    i.dst_unused = below(r, 3);
    i.sd = i.row->encoding == "VOPC" && chance(r, 2);
    if (i.sd) i.sdst = 2 * below(r, 20);
  } else if (i.extra == Extra::kDpp16) {
    static const unsigned kinds[] = {0x100, 0x110, 0x120, 0x150, 0x160};
    i.control = chance(r, 3)   ? below(r, 256)
                : chance(r, 6) ? 0x140 + below(r, 2)
                               : kinds[below(r, 5)] + 1 + below(r, 15);
    i.row_mask = chance(r, 3) ? below(r, 16) : 15;
    i.bank_mask = chance(r, 3) ? below(r, 16) : 15;
    i.bound_control = chance(r, 2);
    i.fetch_inactive = chance(r, 2);
  } else if (i.extra == Extra::kDpp8) {
    i.dpp8_selectors = random32(r) & 0xffffff;
    i.fetch_inactive = chance(r, 2);
  }
}

void fill_vgpr(Random& r, char type, unsigned vgpr, State& s) {
  for (unsigned lane = 0; lane < kWaveLanes; ++lane) {
    const uint64_t v = random_value(r, type);
    s.vgpr[vgpr][lane] = static_cast<uint32_t>(v);
    if (type == 'd' || type == 'q') s.vgpr[vgpr + 1][lane] = static_cast<uint32_t>(v >> 32);
  }
}

// A place in the integers such that neighbours are neighbouring floats.
int64_t ordered(char t, uint64_t v) {
  const int64_t sign = t == 'd' ? INT64_MIN : t == 'f' ? int64_t{0x80000000} : int64_t{0x8000};
  const int64_t x = static_cast<int64_t>(v);
  return (x & sign) != 0 ? -(x & ~sign) : x;
}

bool close(char t, uint64_t a, uint64_t b, double ulps) {
  return std::fabs(static_cast<double>(ordered(t, a)) - static_cast<double>(ordered(t, b))) <= ulps;
}
bool quiet_nan(char t, uint64_t v, bool signalling_too) {
  if (t == 'd') return std::isnan(f64(v)) && (signalling_too || (v >> 51 & 1) != 0);
  if (t == 'f') return std::isnan(f32(v)) && (signalling_too || (v >> 22 & 1) != 0);
  return std::isnan(f16(v)) && (signalling_too || (v >> 9 & 1) != 0);
}

// Whether a lane of the destination may differ as it does.
bool allowed(const Instance& i, const Freedom& freedom, const State& expected, const State& got,
             unsigned lane) {
  const char t = i.dst_type();
  const bool odd_form = i.extra == Extra::kSdwa || (i.op_sel & 8) != 0 || i.clamp;
  if ((freedom.any_nan[lane] || freedom.ulps[lane] > 0) && odd_form) return true;
  const uint32_t e0 = expected.vgpr[i.vdst][lane], g0 = got.vgpr[i.vdst][lane];
  const auto acceptable = [&](char kind, uint64_t e, uint64_t g) {
    if (e == g) return true;
    if (freedom.any_nan[lane] && quiet_nan(kind, e, freedom.nans_alike))
      return quiet_nan(kind, g, freedom.nans_alike);
    return freedom.ulps[lane] > 0 && close(kind, e, g, freedom.ulps[lane]);
  };
  if (t == 'd') {
    return acceptable('d', uint64_t{expected.vgpr[i.vdst + 1][lane]} << 32 | e0,
                      uint64_t{got.vgpr[i.vdst + 1][lane]} << 32 | g0);
  }
  if (t == 'f') return acceptable('f', e0, g0);
  if (t == 'h' || t == 'H' || t == 'p') {
    const bool low_ok =
        t == 'H' ? (e0 & 0xffff) == (g0 & 0xffff) : acceptable('h', e0 & 0xffff, g0 & 0xffff);
    const bool high_ok = t == 'h' ? e0 >> 16 == g0 >> 16 : acceptable('h', e0 >> 16, g0 >> 16);
    return low_ok && high_ok;
  }
  return false;
}

}  // namespace

const std::vector<TableRow>& table_rows() {
  static const std::vector<TableRow> rows = [] {
    constexpr int kLiteral = 2, kSdwa = 4, kDpp16 = 8, kDpp8 = 16;
    (void)kLiteral;
    std::vector<TableRow> r;
#define X(encoding, opcode, mnemonic, o0, o1, o2, o3, o4, flags)                              \
  r.push_back({#encoding, opcode, #mnemonic, ((flags) & kSdwa) != 0, ((flags) & kDpp16) != 0, \
               ((flags) & kDpp8) != 0});
#include "emulator/table/gfx1030.inc"
#undef X
    return r;
  }();
  return rows;
}

std::vector<Extra> extras_of(const TableRow& row) {
  std::vector<Extra> extras = {Extra::kNone};
  if (row.sdwa) extras.push_back(Extra::kSdwa);
  if (row.dpp16) extras.push_back(Extra::kDpp16);
  if (row.dpp8) extras.push_back(Extra::kDpp8);
  return extras;
}

const Specs& all_specs() {
  static const Specs specs = [] {
    Specs s;
    add_float_specs(s);
    add_integer_specs(s);
    add_convert_specs(s);
    add_compare_specs(s);
    add_packed_specs(s);
    return s;
  }();
  return specs;
}

Instance random_instance(Random& r, const TableRow& row, const Spec& spec, Extra extra) {
  Instance i;
  i.row = &row;
  i.spec = &spec;
  i.extra = extra;
  i.vdst = below(r, 20);
  if (i.dst_type() == 'c') i.vdst = row.encoding == "VOP3" ? 2 * below(r, 20) : 0;
  if (i.dst_type() == 'c' && row.mnemonic.starts_with("v_cmpx")) i.vdst = 126;
  if (i.has_carry_out() && row.encoding == "VOP3") i.sdst = chance(r, 5) ? 125 : 2 * below(r, 20);
  choose_sources(r, i);
  choose_modifiers(r, i);
  choose_extra(r, i);
  return i;
}

void random_state(Random& r, const Instance& i, State& s) {
  for (auto& v : s.vgpr)
    for (auto& lane : v) lane = random32(r);
  for (auto& v : s.sgpr) v = random32(r);
  s.sgpr[125] = 0;
  switch (below(r, 4)) {
    case 0: s.sgpr[126] = random32(r); break;
    case 1: s.sgpr[126] = chance(r, 3) ? 0 : 1u << below(r, 32); break;
    default: s.sgpr[126] = ~0u; break;
  }
  for (unsigned n = 0; n < i.sources(); ++n) {
    const char t = i.source_type(n);
    if (i.src[n] >= 256) {
      for (unsigned k = 0; k < (t == '4' ? 4u : 1u); ++k)
        fill_vgpr(r, t == '4' ? 'u' : t, i.src[n] - 256 + k, s);
    } else if (i.src[n] < 106) {
      const uint64_t v = random_value(r, t);
      s.sgpr[i.src[n]] = static_cast<uint32_t>(v);
      if (t == 'd' || t == 'q') s.sgpr[i.src[n] + 1] = static_cast<uint32_t>(v >> 32);
    }
  }
  // Divisions of which all lanes are of one kind take another way: one exponent per operand, near
  // a border of what the guide treats apart.
  if (i.row->mnemonic.starts_with("v_div_") && i.dst_type() == 'f' && chance(r, 2)) {
    static constexpr int kExponents[] = {1, 2, 23, 24, 25, 127, 251, 252, 253, 254};
    static constexpr int kDistances[] = {-151, -150, -126, -125, -124, -123, 94, 95, 96, 97};
    const int first = kExponents[below(r, 10)];
    for (unsigned n = 0; n < i.sources(); ++n) {
      const int exponent = n == 2 && chance(r, 2)
                               ? std::clamp(first + kDistances[below(r, 10)], 1, 254)
                           : n == 0 ? kExponents[below(r, 10)]
                                    : first;
      if (i.src[n] < 256) continue;
      for (uint32_t& lane : s.vgpr[i.src[n] - 256])
        lane = (random32(r) & 0x807fffffu) | static_cast<uint32_t>(exponent) << 23;
    }
  }
  // Divisions look at equal operands.
  if (i.row->mnemonic.starts_with("v_div_scale") && i.src[0] >= 256) {
    const unsigned from = i.src[chance(r, 2) ? 1 : 2];
    if (from >= 256 && from < 256 + kModelVgprs - 1) {
      s.vgpr[i.src[0] - 256] = s.vgpr[from - 256];
      if (i.dst_type() == 'd') s.vgpr[i.src[0] - 255] = s.vgpr[from - 255];
    }
  }
}

bool same(const Instance& i, const Freedom& freedom, const State& expected, const State& got,
          string& difference) {
  for (unsigned n = 0; n < expected.sgpr.size(); ++n) {
    if (expected.sgpr[n] == got.sgpr[n]) continue;
    difference =
        fmt::format("SGPR code {}: expected {:08x}, got {:08x}", n, expected.sgpr[n], got.sgpr[n]);
    return false;
  }
  for (unsigned n = 0; n < kModelVgprs; ++n) {
    for (unsigned lane = 0; lane < kWaveLanes; ++lane) {
      if (expected.vgpr[n][lane] == got.vgpr[n][lane]) continue;
      const bool in_result =
          i.dst_type() != 'c' && n >= i.vdst && n < i.vdst + (i.dst_type() == 'd' ? 2u : 1u);
      if (in_result && allowed(i, freedom, expected, got, lane)) continue;
      difference = fmt::format("v{} lane {}: expected {:08x}, got {:08x}", n, lane,
                               expected.vgpr[n][lane], got.vgpr[n][lane]);
      return false;
    }
  }
  return true;
}

}  // namespace gfxgraph::emulator::spec
