// Every vector row with floating operands in random modes: rounding and denormals of binary32 and
// of binary16 and binary64, IEEE, DX10_CLAMP, output modifiers. Against MPFR (mode_spec.cpp).
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "tests/emulator/vector/vector_host.h"
#include "tests/emulator/vector/vector_model.h"
#include "tests/emulator/vector/vector_tested.h"

namespace gfxgraph::emulator::spec {
namespace {

const Spec* float_spec(const TableRow& row) {
  if (!row.encoding.starts_with("VOP")) return nullptr;
  const auto at = all_specs().all().find(row.mnemonic);
  if (at == all_specs().all().end()) return nullptr;
  return has_float_operand(at->second) ? &at->second : nullptr;
}

std::string check(const Instance& instance, const State& before, Mode mode) {
  State expected = before;
  Freedom freedom;
  run_model(instance, expected, freedom, mode);
  const std::vector<uint32_t> words = instance.encode();
  for (const HostIsa& isa : host_isas()) {
    State got = before;
    std::string difference = run_vector(isa, words, got, mode.bits);
    if (difference.empty() && same(instance, freedom, expected, got, difference)) continue;
    std::string text = fmt::format("{} {} in mode {:#x} on {}: {}\n  words", instance.row->encoding,
                                   instance.row->mnemonic, mode.bits, isa.name, difference);
    for (const uint32_t word : words) text += fmt::format(" {:08x}", word);
    const size_t at = difference.find("lane ");
    const size_t lane = at == std::string::npos ? 0 : std::stoul(difference.substr(at + 5));
    for (unsigned n = 0; n < instance.sources(); ++n)
      if (instance.src[n] >= 256)
        text +=
            fmt::format("\n  source {}: {:08x}_{:08x}", n, before.vgpr[instance.src[n] - 255][lane],
                        before.vgpr[instance.src[n] - 256][lane]);
    return text;
  }
  return "";
}

Mode random_mode(Random& random) {
  // Three in four with IEEE and DX10_CLAMP, as compilers make them.
  const auto m = static_cast<uint32_t>(random());
  return Mode{(m & 0xff) | ((m & 0xc00) != 0 ? 0x300 : m & 0x300)};
}

TEST(FloatMode, EveryRowInRandomModes) {
  unsigned failed = 0;
  uint64_t seed = 1;
  for (const TableRow& row : table_rows()) {
    const Spec* spec = float_spec(row);
    if (spec == nullptr) continue;
    for (const Extra extra : extras_of(row)) {
      Random random(seed++);
      const unsigned rounds = extra == Extra::kNone ? 60 : 12;
      for (unsigned n = 0; n < rounds; ++n) {
        const Instance instance = random_instance(random, row, *spec, extra);
        State before;
        random_state(random, instance, before);
        const std::string wrong = check(instance, before, random_mode(random));
        if (wrong.empty()) continue;
        ADD_FAILURE() << wrong;
        ++failed;
        break;
      }
    }
    ASSERT_LT(failed, 40u) << "too many failures";
  }
}

// Values at the edges of formats: the smallest normal number, halfway cases just below it,
// overflow.
std::vector<uint64_t> edges_of(char type) {
  const unsigned mantissa = type == 'd' ? 52 : type == 'h' ? 10 : 23;
  const uint64_t one = type == 'd' ? 0x3ff : type == 'h' ? 15 : 127;
  const uint64_t most = 2 * one, ones = (uint64_t{1} << mantissa) - 1;
  const auto make = [&](uint64_t exponent, uint64_t m) { return exponent << mantissa | m; };
  std::vector<uint64_t> r = {
      make(0, 0),        make(0, 1),          make(0, ones),     make(1, 0),
      make(1, 1),        make(one - 1, ones), make(one, 0),      make(one, 1),
      make(one - 1, 0),  make(one + 1, 0),    make(most, ones),  make(most, ones - 1),
      make(most + 1, 0), make(one - 2, 1),    make(mantissa, 1), make(one, ones)};
  const uint64_t sign = make(most + 2, 0);
  for (size_t n = 0, count = r.size(); n < count; ++n) r.push_back(r[n] | sign);
  return r;
}

TEST(FloatMode, EdgesInEveryMode) {
  Random random(1);
  for (const TableRow& row : table_rows()) {
    static const std::set<std::string> rows = {"v_add_f32", "v_mul_f32", "v_fmac_f32",
                                               "v_add_f16", "v_mul_f16", "v_fmac_f16",
                                               "v_add_f64", "v_mul_f64"};
    if (!rows.contains(row.mnemonic)) continue;
    Instance i = random_instance(random, row, all_specs().all().at(row.mnemonic), Extra::kNone);
    if (i.neg != 0 || i.abs != 0 || i.clamp || i.omod != 0 || i.op_sel != 0)
      i.neg = i.abs = i.op_sel = i.omod = 0, i.clamp = false;
    i.vdst = 8;
    i.src[0] = 256;
    i.src[1] = 258;
    if (i.sources() == 3) i.src[2] = 256 + i.vdst;
    const char t = i.dst_type();
    const std::vector<uint64_t> edges = edges_of(t);
    for (uint32_t fields = 0; fields < 256; fields += t == 'f' ? 1 : 4) {
      State s{};
      s.sgpr[126] = ~0u;
      const uint64_t addend = edges[fields % edges.size()];
      for (const uint64_t first : edges) {
        for (unsigned lane = 0; lane < kWaveLanes; ++lane) {
          s.vgpr[0][lane] = static_cast<uint32_t>(first);
          s.vgpr[1][lane] = static_cast<uint32_t>(first >> 32);
          s.vgpr[2][lane] = static_cast<uint32_t>(edges[lane]);
          s.vgpr[3][lane] = static_cast<uint32_t>(edges[lane] >> 32);
          s.vgpr[8][lane] = static_cast<uint32_t>(addend);
        }
        if (t == 'f' && fields >= 64 && fields % 16 != 0) break;  // others' fields
        ASSERT_EQ(check(i, s, Mode{0x300 | fields}), "");
      }
    }
  }
}

}  // namespace
}  // namespace gfxgraph::emulator::spec
