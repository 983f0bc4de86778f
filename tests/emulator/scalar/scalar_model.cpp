#include "tests/emulator/scalar/scalar_model.h"

#include <set>

namespace gfxgraph::emulator::spec {
namespace {

using S = ScalarState;
using Map = std::map<std::string, ScalarSpec>;
constexpr uint64_t kLow = 0xffffffff;

int64_t sx(uint64_t v, unsigned bits) {
  return bits == 64 ? static_cast<int64_t>(v)
                    : static_cast<int64_t>(v << (64 - bits)) >> (64 - bits);
}
bool fits32(int64_t v) { return v >= INT32_MIN && v <= INT32_MAX; }

// `result` in `bits`; SCC: not zero.
void logical(S& s, unsigned bits, uint64_t result) {
  s.d = bits == 32 ? result & kLow : result;
  s.scc = s.d != 0;
}

void add_sums(Map& m) {
  m["s_add_u32"] = {1, 1, 1, [](S& s) { s.d = s.a + s.b, s.scc = s.d > kLow; }};
  m["s_sub_u32"] = {1, 1, 1, [](S& s) { s.d = s.a - s.b, s.scc = s.a < s.b; }};
  m["s_addc_u32"] = {1, 1, 1, [](S& s) { s.d = s.a + s.b + (s.scc ? 1 : 0), s.scc = s.d > kLow; }};
  m["s_subb_u32"] = {1, 1, 1, [](S& s) {
                       const uint64_t take = s.b + (s.scc ? 1 : 0);
                       s.d = s.a - take;
                       s.scc = s.a < take;
                     }};
  m["s_add_i32"] = {1, 1, 1, [](S& s) {
                      const int64_t r = sx(s.a, 32) + sx(s.b, 32);
                      s.d = static_cast<uint64_t>(r);
                      s.scc = !fits32(r);
                    }};
  m["s_sub_i32"] = {1, 1, 1, [](S& s) {
                      const int64_t r = sx(s.a, 32) - sx(s.b, 32);
                      s.d = static_cast<uint64_t>(r);
                      s.scc = !fits32(r);
                    }};
  m["s_addk_i32"] = {1, 0, 0, [](S& s) {
                       const int64_t r = sx(s.d, 32) + sx(s.b, 16);
                       s.d = static_cast<uint64_t>(r);
                       s.scc = !fits32(r);
                     }};
  m["s_mulk_i32"] = {1, 0, 0, [](S& s) { s.d = static_cast<uint64_t>(sx(s.d, 32) * sx(s.b, 16)); }};
  m["s_mul_i32"] = {1, 1, 1, [](S& s) { s.d = s.a * s.b; }};
  m["s_mul_hi_u32"] = {1, 1, 1, [](S& s) { s.d = s.a * s.b >> 32; }};
  m["s_mul_hi_i32"] = {1, 1, 1,
                       [](S& s) { s.d = static_cast<uint64_t>(sx(s.a, 32) * sx(s.b, 32) >> 32); }};
  m["s_absdiff_i32"] = {1, 1, 1, [](S& s) {
                          const uint64_t r = (s.a - s.b) & kLow;
                          logical(s, 32, sx(r, 32) < 0 ? 0 - r : r);
                        }};
  for (unsigned n = 1; n <= 4; ++n)
    m["s_lshl" + std::to_string(n) + "_add_u32"] = {
        1, 1, 1, [n](S& s) { s.d = (s.a << n) + s.b, s.scc = s.d > kLow; }};
  const auto pick = [&](const char* name, bool is_signed, bool greater) {
    m[name] = {1, 1, 1, [=](S& s) {
                 const bool less = is_signed ? sx(s.a, 32) < sx(s.b, 32) : s.a < s.b;
                 const bool more = is_signed ? sx(s.a, 32) > sx(s.b, 32) : s.a > s.b;
                 s.scc = greater ? more : less;
                 s.d = s.scc ? s.a : s.b;
               }};
  };
  pick("s_min_i32", true, false);
  pick("s_min_u32", false, false);
  pick("s_max_i32", true, true);
  pick("s_max_u32", false, true);
}

using Logic = uint64_t (*)(uint64_t, uint64_t);
struct NamedLogic {
  const char* name;
  Logic f;
};
constexpr NamedLogic kLogic[] = {
    {"and", [](uint64_t a, uint64_t b) { return a & b; }},
    {"or", [](uint64_t a, uint64_t b) { return a | b; }},
    {"xor", [](uint64_t a, uint64_t b) { return a ^ b; }},
    {"andn2", [](uint64_t a, uint64_t b) { return a & ~b; }},
    {"orn2", [](uint64_t a, uint64_t b) { return a | ~b; }},
    {"nand", [](uint64_t a, uint64_t b) { return ~(a & b); }},
    {"nor", [](uint64_t a, uint64_t b) { return ~(a | b); }},
    {"xnor", [](uint64_t a, uint64_t b) { return ~(a ^ b); }},
    {"andn1", [](uint64_t a, uint64_t b) { return ~a & b; }},
    {"orn1", [](uint64_t a, uint64_t b) { return ~a | b; }},
};

void add_logic(Map& m) {
  for (const unsigned bits : {32u, 64u}) {
    const unsigned n = bits / 32;
    const std::string type = "_b" + std::to_string(bits);
    const uint64_t all = bits == 32 ? kLow : ~uint64_t{0};
    for (const NamedLogic& logic : kLogic) {
      const std::string name = std::string("s_") + logic.name;
      const Logic f = logic.f;
      if (name != "s_andn1" && name != "s_orn1")
        m[name + type] = {n, n, n, [=](S& s) { logical(s, bits, f(s.a, s.b)); }};
      m[name + "_saveexec" + type] = {n, n, 0, [=](S& s) {
                                        const uint64_t old = s.exec & all;
                                        const uint64_t result = f(s.a, old) & all;
                                        s.exec = (s.exec & ~all) | result;
                                        s.d = old;
                                        s.scc = result != 0;
                                      }};
      if (name == "s_andn1" || name == "s_andn2")
        m[name + "_wrexec" + type] = {n, n, 0, [=](S& s) {
                                        const uint64_t result = f(s.a, s.exec & all) & all;
                                        s.exec = (s.exec & ~all) | result;
                                        s.d = result;
                                        s.scc = result != 0;
                                      }};
    }
    m["s_cselect" + type] = {n, n, n, [](S& s) { s.d = s.scc ? s.a : s.b; }};
    m["s_mov" + type] = {n, n, 0, [](S& s) { s.d = s.a; }};
    m["s_cmov" + type] = {n, n, 0, [](S& s) { s.d = s.scc ? s.a : s.d; }};
    m["s_not" + type] = {n, n, 0, [=](S& s) { logical(s, bits, ~s.a); }};
    m["s_wqm" + type] = {n, n, 0, [=](S& s) {
                           uint64_t r = 0;
                           for (unsigned b = 0; b < bits; ++b)
                             if ((s.a >> (b / 4 * 4) & 15) != 0) r |= uint64_t{1} << b;
                           logical(s, bits, r);
                         }};
    m["s_quadmask" + type] = {n, n, 0, [=](S& s) {
                                uint64_t r = 0;
                                for (unsigned q = 0; q < bits / 4; ++q)
                                  if ((s.a >> (4 * q) & 15) != 0) r |= uint64_t{1} << q;
                                logical(s, bits, r);
                              }};
    m["s_brev" + type] = {n, n, 0, [=](S& s) {
                            uint64_t r = 0;
                            for (unsigned b = 0; b < bits; ++b) r = r << 1 | (s.a >> b & 1);
                            s.d = r;
                          }};
    for (const uint64_t bit : {0u, 1u}) {
      m["s_bitset" + std::to_string(bit) + type] = {n, 1, 0, [=](S& s) {
                                                      const uint64_t mask = uint64_t{1}
                                                                            << (s.a % bits);
                                                      s.d = bit != 0 ? s.d | mask : s.d & ~mask;
                                                    }};
      m["s_bitcmp" + std::to_string(bit) + type] = {
          0, n, 1, [=](S& s) { s.scc = (s.a >> (s.b % bits) & 1) == bit; }};
      const auto count = [=](S& s) {
        uint64_t r = 0;
        for (unsigned b = 0; b < bits; ++b) r += (s.a >> b & 1) == bit;
        logical(s, 32, r);
      };
      m["s_bcnt" + std::to_string(bit) + "_i32" + type] = {1, n, 0, count};
      const auto find = [=](S& s) {
        s.d = ~uint64_t{0};
        for (unsigned b = bits; b-- > 0;)
          if ((s.a >> b & 1) == bit) s.d = b;
      };
      m["s_ff" + std::to_string(bit) + "_i32" + type] = {1, n, 0, find};
    }
    const auto leading = [=](S& s, bool is_signed) {
      s.d = ~uint64_t{0};
      const uint64_t top = s.a >> (bits - 1) & 1;
      for (unsigned b = 0; b < bits; ++b)
        if ((s.a >> b & 1) != (is_signed ? top : 0)) s.d = bits - 1 - b;
    };
    m["s_flbit_i32" + type] = {1, n, 0, [=](S& s) { leading(s, false); }};
    m[bits == 32 ? "s_flbit_i32" : "s_flbit_i32_i64"] = {1, n, 0, [=](S& s) { leading(s, true); }};
    m["s_bfm" + type] = {n, 1, 1,
                         [=](S& s) { s.d = ((uint64_t{1} << (s.a % bits)) - 1) << (s.b % bits); }};
  }
}

void add_shifts(Map& m) {
  for (const unsigned bits : {32u, 64u}) {
    const unsigned n = bits / 32;
    const std::string w = std::to_string(bits);
    m["s_lshl_b" + w] = {n, n, 1, [=](S& s) { logical(s, bits, s.a << (s.b % bits)); }};
    m["s_lshr_b" + w] = {n, n, 1, [=](S& s) { logical(s, bits, s.a >> (s.b % bits)); }};
    m["s_ashr_i" + w] = {n, n, 1, [=](S& s) {
                           logical(s, bits, static_cast<uint64_t>(sx(s.a, bits) >> (s.b % bits)));
                         }};
    // Offset: 5 or 6 bits; width: bits 22:16. A field past the top ends there.
    const auto field = [=](S& s, bool is_signed) {
      const unsigned offset = static_cast<unsigned>(s.b % bits);
      const unsigned asked = static_cast<unsigned>(s.b >> 16 & 127);
      uint64_t r = 0;
      const unsigned width = asked < bits - offset ? asked : bits - offset;
      for (unsigned b = 0; b < width; ++b) r |= (s.a >> (offset + b) & 1) << b;
      if (is_signed && width != 0) r = static_cast<uint64_t>(sx(r, width));
      logical(s, bits, r);
    };
    m["s_bfe_u" + w] = {n, n, 1, [=](S& s) { field(s, false); }};
    m["s_bfe_i" + w] = {n, n, 1, [=](S& s) { field(s, true); }};
  }
  m["s_sext_i32_i8"] = {1, 1, 0, [](S& s) { s.d = static_cast<uint64_t>(sx(s.a, 8)); }};
  m["s_sext_i32_i16"] = {1, 1, 0, [](S& s) { s.d = static_cast<uint64_t>(sx(s.a, 16)); }};
  m["s_abs_i32"] = {1, 1, 0, [](S& s) { logical(s, 32, sx(s.a, 32) < 0 ? 0 - s.a : s.a); }};
  m["s_bitreplicate_b64_b32"] = {2, 1, 0, [](S& s) {
                                   s.d = 0;
                                   for (unsigned b = 0; b < 64; ++b)
                                     s.d |= (s.a >> (b / 2) & 1) << b;
                                 }};
  m["s_pack_ll_b32_b16"] = {1, 1, 1, [](S& s) { s.d = (s.a & 0xffff) | (s.b & 0xffff) << 16; }};
  m["s_pack_lh_b32_b16"] = {1, 1, 1, [](S& s) { s.d = (s.a & 0xffff) | s.b >> 16 << 16; }};
  m["s_pack_hh_b32_b16"] = {1, 1, 1, [](S& s) { s.d = s.a >> 16 | s.b >> 16 << 16; }};
}

void add_comparisons(Map& m) {
  const char* const names[] = {"eq", "lg", "gt", "ge", "lt", "le"};
  for (unsigned n = 0; n < 6; ++n)
    for (const bool is_signed : {false, true}) {
      const auto compare = [=](int64_t a, int64_t b) {
        const bool results[] = {a == b, a != b, a > b, a >= b, a < b, a <= b};
        return results[n];
      };
      const std::string suffix = std::string(names[n]) + (is_signed ? "_i32" : "_u32");
      m["s_cmp_" + suffix] = {0, 1, 1, [=](S& s) {
                                s.scc = is_signed ? compare(sx(s.a, 32), sx(s.b, 32))
                                                  : compare(static_cast<int64_t>(s.a),
                                                            static_cast<int64_t>(s.b));
                              }};
      m["s_cmpk_" + suffix] = {1, 0, 0, [=](S& s) {
                                 s.scc = is_signed ? compare(sx(s.d, 32), sx(s.b, 16))
                                                   : compare(static_cast<int64_t>(s.d),
                                                             static_cast<int64_t>(s.b));
                               }};
    }
  m["s_cmp_eq_u64"] = {0, 2, 2, [](S& s) { s.scc = s.a == s.b; }};
  m["s_cmp_lg_u64"] = {0, 2, 2, [](S& s) { s.scc = s.a != s.b; }};
  m["s_movk_i32"] = {1, 0, 0, [](S& s) { s.d = static_cast<uint64_t>(sx(s.b, 16)); }};
  m["s_cmovk_i32"] = {1, 0, 0,
                      [](S& s) { s.d = s.scc ? static_cast<uint64_t>(sx(s.b, 16)) : s.d; }};
}

}  // namespace

const Map& scalar_specs() {
  static const Map specs = [] {
    Map m;
    add_sums(m);
    add_logic(m);
    add_shifts(m);
    add_comparisons(m);
    return m;
  }();
  return specs;
}

const std::map<std::string, uint32_t>& scalar_hints() {
  static const std::map<std::string, uint32_t> hints = {{"s_nop", 3},
                                                        {"s_waitcnt", 0},
                                                        {"s_setprio", 2},
                                                        {"s_icache_inv", 0},
                                                        {"s_incperflevel", 0},
                                                        {"s_decperflevel", 0},
                                                        {"s_ttracedata", 0},
                                                        {"s_ttracedata_imm", 0},
                                                        {"s_inst_prefetch", 3},
                                                        {"s_clause", 15},
                                                        {"s_wait_idle", 0},
                                                        {"s_waitcnt_depctr", 0},
                                                        {"s_wakeup", 0},
                                                        {"s_sethalt", 0},
                                                        {"s_round_mode", 0},
                                                        {"s_denorm_mode", 15},
                                                        {"s_cbranch_cdbgsys", 1},
                                                        {"s_cbranch_cdbguser", 1},
                                                        {"s_cbranch_cdbgsys_or_user", 1},
                                                        {"s_cbranch_cdbgsys_and_user", 1},
                                                        {"s_version", 5},
                                                        {"s_waitcnt_vscnt", 0},
                                                        {"s_waitcnt_vmcnt", 0},
                                                        {"s_waitcnt_expcnt", 0},
                                                        {"s_waitcnt_lgkmcnt", 0}};
  return hints;
}

const char* how_scalar_tested(const std::string& mnemonic) {
  if (scalar_specs().contains(mnemonic) || scalar_hints().contains(mnemonic))
    return "scalar_row_test";
  static const std::set<std::string> by_hand = {
      "s_movrels_b32",    "s_movrels_b64",  "s_movreld_b32",  "s_movreld_b64",
      "s_movrelsd_2_b32", "s_getpc_b64",    "s_setpc_b64",    "s_swappc_b64",
      "s_call_b64",       "s_getreg_b32",   "s_setreg_b32",   "s_setreg_imm32_b32",
      "s_branch",         "s_cbranch_scc0", "s_cbranch_scc1", "s_endpgm"};
  if (by_hand.contains(mnemonic)) return "scalar_test";
  static const std::set<std::string> control = {
      "s_barrier",      "s_sleep",         "s_sendmsg",       "s_trap",           "s_code_end",
      "s_cbranch_vccz", "s_cbranch_vccnz", "s_cbranch_execz", "s_cbranch_execnz", "s_endpgm_saved"};
  if (mnemonic.starts_with("s_subvector_loop_")) return "wave64_test";
  return control.contains(mnemonic) ? "scalar_control_test" : nullptr;
}

}  // namespace gfxgraph::emulator::spec
