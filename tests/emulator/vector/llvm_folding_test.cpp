// LLVM's constant folding as an oracle: what its generic folder, the AMDGPU target's combiner and
// APFloat make of an expression with constant operands is compared with what the emulator's row
// gives. Expressions that LLVM leaves alone for some operands are skipped for these; each row says
// how many must have been folded.
#include "tests/emulator/vector/llvm_folding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "tests/emulator/vector/vector_host.h"
#include "tests/emulator/vector/vector_model.h"

namespace gfxgraph::emulator::spec {
namespace {

struct Case {
  const char* mnemonic;
  const char* types;       // result, operands: f d h floats, u 32, q 64, w 16 bits, c a condition
  const char* expression;  // $a $b $c: operands; the last line's value is the result
};

const Case kCases[] = {
#define GFXGRAPH_FOLD(mnemonic, types, expression) {#mnemonic, types, expression},
#include "tests/emulator/vector/llvm_folding.inc"
#undef GFXGRAPH_FOLD
};

const TableRow* row_of(const std::string& mnemonic) {
  const TableRow* found = nullptr;
  for (const TableRow& row : table_rows())
    if (row.mnemonic == mnemonic && row.encoding.starts_with("VOP") &&
        (found == nullptr || row.encoding == "VOP3"))
      found = &row;
  return found;
}

bool is_nan(char type, uint64_t v) {
  if (type == 'd') return std::isnan(f64(v));
  return type == 'h' ? std::isnan(f16(v)) : type == 'f' && std::isnan(f32(v));
}

uint64_t masked(char type, uint64_t v) {
  if (type == 'd' || type == 'q') return v;
  return type == 'h' || type == 'w' ? v & 0xffff : type == 'c' ? v & 1 : v & 0xffffffff;
}

// Where LLVM and the guide part: v_rcp_f32 flushes denormals, which LLVM computes; v_med3_f32 with
// a NaN is V_MIN3_F32 in the guide, and in LLVM the larger of two operands if the third is the NaN.
bool differs_by_design(const std::string& mnemonic, const Expression& e, const Folded& folded) {
  const auto denormal = [](uint64_t v) { return (v & 0x7f800000) == 0 && (v & 0x7fffff) != 0; };
  if (mnemonic == "v_rcp_f32") return denormal(folded.bits) || denormal(e.operands[0].bits);
  if (mnemonic != "v_med3_f32") return false;
  return std::any_of(e.operands.begin(), e.operands.end(),
                     [](const auto& operand) { return is_nan('f', operand.bits); });
}

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.mnemonic; }

class Folding : public ::testing::TestWithParam<Case> {};

TEST_P(Folding, AgreesWithLlvm) {
  const Case& c = GetParam();
  const TableRow* row = row_of(c.mnemonic);
  ASSERT_NE(row, nullptr);
  const Spec& spec = all_specs().all().at(c.mnemonic);
  Random random(7);
  constexpr unsigned kRounds = 12;
  std::vector<Instance> instances;
  std::vector<State> states;
  std::vector<Expression> expressions;
  const std::string types = c.types;
  for (unsigned round = 0; round < kRounds; ++round) {
    Instance i = random_instance(random, *row, spec, Extra::kNone);
    i.neg = i.abs = i.op_sel = i.omod = 0;
    i.op_sel_hi = 7;
    i.clamp = false;
    for (unsigned n = 0; n < i.sources(); ++n) i.src[n] = 256 + 4 * n;
    if (i.dst_type() != 'c') i.vdst = 20;
    if (std::string(c.mnemonic).find("fmac") != std::string::npos) i.src[2] = 256 + i.vdst;
    State s;
    random_state(random, i, s);
    s.sgpr[126] = ~0u;
    for (unsigned lane = 0; lane < kWaveLanes; ++lane) {
      Expression e;
      e.text = c.expression;
      e.result = types[0];
      for (unsigned n = 0; n + 1 < types.size(); ++n) {
        const unsigned vgpr = i.src[n] - 256;
        const uint64_t v = s.vgpr[vgpr][lane] | uint64_t{s.vgpr[vgpr + 1][lane]} << 32;
        e.operands.push_back({types[n + 1], masked(types[n + 1], v)});
      }
      expressions.push_back(std::move(e));
    }
    instances.push_back(i);
    states.push_back(s);
  }
  std::string error;
  const std::vector<Folded> folded = fold(expressions, error);
  ASSERT_EQ(error, "");
  unsigned compared = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    const Instance& i = instances[round];
    for (const HostIsa& isa : host_isas()) {
      State got = states[round];
      ASSERT_EQ(run_vector(isa, i.encode(), got), "") << c.mnemonic;
      for (unsigned lane = 0; lane < kWaveLanes; ++lane) {
        const Folded& expected = folded[round * kWaveLanes + lane];
        const Expression& expression = expressions[round * kWaveLanes + lane];
        if (!expected.known || differs_by_design(c.mnemonic, expression, expected)) continue;
        ++compared;
        uint64_t value = 0;
        if (types[0] == 'c') {
          const unsigned sgpr = i.row->encoding == "VOP3" ? i.vdst : 106;
          value = got.sgpr[sgpr] >> lane & 1;
        } else {
          value = got.vgpr[i.vdst][lane] | uint64_t{got.vgpr[i.vdst + 1][lane]} << 32;
        }
        value = masked(types[0], value);
        if (is_nan(types[0], expected.bits) && is_nan(types[0], value)) continue;
        std::string operands;
        for (const auto& operand : expression.operands)
          operands += fmt::format(" {:x}", operand.bits);
        ASSERT_EQ(fmt::format("{:x}", expected.bits), fmt::format("{:x}", value))
            << c.mnemonic << " of" << operands << " on " << isa.name;
      }
    }
  }
  EXPECT_GE(compared, host_isas().size() * kRounds * kWaveLanes / 16) << "LLVM folds too few";
}

INSTANTIATE_TEST_SUITE_P(Rows, Folding, ::testing::ValuesIn(kCases),
                         [](const auto& i) { return std::string(i.param.mnemonic); });

}  // namespace
}  // namespace gfxgraph::emulator::spec
