// Vector instructions that are not one function of a lane's operands: lane moves, relative
// registers, whole division sequences, output modifiers; and that every row is either tested or
// refused.
#include <gtest/gtest.h>
#include <algorithm>

#include <bit>
#include <cmath>
#include <random>
#include <set>

#include "emulator/decode/inst.h"
#include "tests/emulator/vector/vector_host.h"
#include "tests/emulator/vector/vector_model.h"
#include "tests/emulator/vector/vector_tested.h"

namespace gfxgraph::emulator::spec {
namespace {

uint32_t vop1(unsigned opcode, unsigned vdst, unsigned src0) {
  return 0x7e000000 | vdst << 17 | opcode << 9 | src0;
}
std::vector<uint32_t> vop3(unsigned opcode, unsigned vdst, unsigned s0, unsigned s1, unsigned s2,
                           unsigned op_sel = 0) {
  return {0xd4000000 | opcode << 16 | op_sel << 11 | vdst, s0 | s1 << 9 | s2 << 18};
}
std::vector<uint32_t> vop3b(unsigned opcode, unsigned vdst, unsigned sdst, unsigned s0, unsigned s1,
                            unsigned s2) {
  return {0xd4000000 | opcode << 16 | sdst << 8 | vdst, s0 | s1 << 9 | s2 << 18};
}

class VectorLanes : public testing::TestWithParam<const HostIsa*> {
 protected:
  void SetUp() override {
    std::mt19937 random(3);
    for (auto& v : state.vgpr)
      for (auto& lane : v) lane = static_cast<uint32_t>(random());
    state.sgpr[operand::kExecLo] = ~0u;
  }
  std::string run(const std::vector<uint32_t>& words, uint32_t mode = 0x3f0) {
    return run_vector(*GetParam(), words, state, mode);
  }
  State state;
};
INSTANTIATE_TEST_SUITE_P(Isa, VectorLanes, testing::ValuesIn([] {
                           std::vector<const HostIsa*> all;
                           for (const HostIsa& isa : host_isas()) all.push_back(&isa);
                           return all;
                         }()),
                         [](const auto& p) { return std::string(p.param->name).substr(7); });

TEST_P(VectorLanes, ReadFirstLane) {
  state.sgpr[126] = 0xffff0100;
  ASSERT_EQ(run({vop1(2, 7, 256 + 3)}), "");
  EXPECT_EQ(state.sgpr[7], state.vgpr[3][8]);
  state.sgpr[126] = 0;  // no lane: lane 0
  ASSERT_EQ(run({vop1(2, 7, 256 + 3)}), "");
  EXPECT_EQ(state.sgpr[7], state.vgpr[3][0]);
}

TEST_P(VectorLanes, ReadLaneAndWriteLaneIgnoreExecAndWrap) {
  state.sgpr[126] = 0;
  state.sgpr[10] = 37;
  ASSERT_EQ(run(vop3(0x360, 4, 256 + 3, 10, 0)), "");
  EXPECT_EQ(state.sgpr[4], state.vgpr[3][5]);
  ASSERT_EQ(run(vop3(0x360, 4, 256 + 3, 128 + 31, 0)), "");
  EXPECT_EQ(state.sgpr[4], state.vgpr[3][31]);
  const State before = state;
  state.sgpr[11] = 0xabcd;
  ASSERT_EQ(run(vop3(0x361, 3, 11, 10, 0)), "");
  for (unsigned l = 0; l < 32; ++l)
    EXPECT_EQ(state.vgpr[3][l], l == 5 ? 0xabcd : before.vgpr[3][l]);
}

TEST_P(VectorLanes, Permlane16) {
  state.sgpr[8] = 0x89abcdef;
  state.sgpr[9] = 0x01234567;
  for (const unsigned opcode : {0x377u, 0x378u}) {
    for (const unsigned op_sel : {0u, 1u, 2u, 3u}) {
      State before = state;
      before.sgpr[126] = state.sgpr[126] = 0x7fff0ff7;
      ASSERT_EQ(run(vop3(opcode, 1, 256 + 3, 8, 9, op_sel)), "");
      for (unsigned l = 0; l < 32; ++l) {
        const unsigned nibble =
            (l % 16 < 8 ? 0x89abcdefu >> (l % 8 * 4) : 0x01234567u >> (l % 8 * 4)) & 15;
        const unsigned from = ((opcode == 0x378 ? l ^ 16 : l) & 16) + nibble;
        const bool readable = (op_sel & 1) != 0 || (before.sgpr[126] >> from & 1) != 0;
        uint32_t expected = before.vgpr[1][l];
        if ((before.sgpr[126] >> l & 1) != 0)
          expected = readable ? before.vgpr[3][from] : (op_sel & 2) != 0 ? 0 : expected;
        EXPECT_EQ(state.vgpr[1][l], expected) << "lane " << l << " op_sel " << op_sel;
      }
      state.vgpr = before.vgpr;
    }
  }
}

TEST_P(VectorLanes, Swap) {
  state.sgpr[126] = 0x0f0f0f0f;
  const State before = state;
  ASSERT_EQ(run({vop1(0x65, 2, 256 + 5)}), "");
  for (unsigned l = 0; l < 32; ++l) {
    const bool active = (0x0f0f0f0f >> l & 1) != 0;
    EXPECT_EQ(state.vgpr[2][l], before.vgpr[active ? 5 : 2][l]);
    EXPECT_EQ(state.vgpr[5][l], before.vgpr[active ? 2 : 5][l]);
  }
}

TEST_P(VectorLanes, RelativeRegisters) {
  state.sgpr[operand::kM0] = 3;
  State before = state;
  ASSERT_EQ(run({vop1(0x42, 2, 256 + 9)}), "");  // movreld: v[2 + 3] = v9
  EXPECT_EQ(state.vgpr[5], before.vgpr[9]);
  EXPECT_EQ(state.vgpr[2], before.vgpr[2]);
  state = before;
  ASSERT_EQ(run({vop1(0x43, 2, 256 + 9)}), "");  // movrels: v2 = v[9 + 3]
  EXPECT_EQ(state.vgpr[2], before.vgpr[12]);
  state = before;
  ASSERT_EQ(run({vop1(0x44, 2, 256 + 9)}), "");  // movrelsd
  EXPECT_EQ(state.vgpr[5], before.vgpr[12]);
  state = before;
  state.sgpr[operand::kM0] = 4 << 16 | 1;
  ASSERT_EQ(run({vop1(0x48, 2, 256 + 9)}), "");  // movrelsd_2: destination + 4, source + 1
  EXPECT_EQ(state.vgpr[6], before.vgpr[10]);
  state = before;
  state.sgpr[operand::kM0] = 4 << 16 | 1;
  ASSERT_EQ(run({vop1(0x68, 2, 256 + 9)}), "");  // swaprel
  EXPECT_EQ(state.vgpr[6], before.vgpr[10]);
  EXPECT_EQ(state.vgpr[10], before.vgpr[6]);
  state.sgpr[operand::kM0] = 255;
  EXPECT_NE(run({vop1(0x43, 2, 256 + 9)}), "");
}

TEST_P(VectorLanes, OutputModifiersNeedIeeeAndDenormalsOff) {
  for (auto& lane : state.vgpr[1]) lane = std::bit_cast<uint32_t>(3.0f);
  const std::vector<uint32_t> twice = {
      0xd5030000, (256 + 1) | 128u << 9 | 1u << 27};  // v_add_f32 v0, v1, 0 mul:2
  ASSERT_EQ(run(twice, 0x3f0), "");
  EXPECT_EQ(state.vgpr[0][0], std::bit_cast<uint32_t>(3.0f));
  ASSERT_EQ(run(twice, 0x100), "");
  EXPECT_EQ(state.vgpr[0][0], std::bit_cast<uint32_t>(6.0f));
}

TEST_P(VectorLanes, Nothing) {
  for (const unsigned opcode : {0u, 0x1bu, 0x41u}) {
    const State before = state;
    ASSERT_EQ(run({vop1(opcode, 0, 0)}), "");
    EXPECT_EQ(state.vgpr, before.vgpr);
  }
}

TEST_P(VectorLanes, InterpolationIsRefused) {
  EXPECT_EQ(run({0xd6000000, 0x00022802}), "not supported");
}

// The sequence that compilers emit for an IEEE division gives the correctly rounded quotient.
// Registers: v0 numerator, v1 denominator; result v9.
TEST_P(VectorLanes, DivisionOfBinary32IsCorrectlyRounded) {
  std::mt19937 random(5);
  static const uint32_t edges[] = {0,          0x80000000, 1,          0x007fffff,
                                   0x00800000, 0x3f800000, 0xbf800001, 0x7f7fffff,
                                   0x7f800000, 0xff800000, 0x7fc00000, 0x7e800000,
                                   0x7f000001, 0x00000100, 0x0d000000, 0x70000000};
  for (unsigned round = 0; round < 3000; ++round) {
    for (unsigned l = 0; l < 32; ++l) {
      state.vgpr[0][l] = random() % 4 == 0 ? edges[random() % 16] : static_cast<uint32_t>(random());
      state.vgpr[1][l] = random() % 4 == 0 ? edges[random() % 16] : static_cast<uint32_t>(random());
    }
    if (round % 10 != 0) {
      // All lanes in one case, often at its border: rows that have it throughout take another way.
      static const int borders[] = {1, 2, 23, 24, 25, 126, 127, 128, 251, 252, 253, 254};
      static const int distances[] = {-151, -150, -126, -125, -124, -123, 0, 94, 95, 96, 97};
      const int e1 = round % 2 == 0 ? borders[random() % 12] : 1 + static_cast<int>(random() % 254);
      int e2 = borders[random() % 12];
      if (round % 3 != 0) e2 = std::clamp(e1 + distances[random() % 11], 1, 254);
      const auto at = [&](int exponent) {
        const uint32_t mantissa = random() % 3 == 0 ? random() % 2 * 0x7fffff : random() & 0x7fffff;
        return static_cast<uint32_t>(random() % 2) << 31 | static_cast<uint32_t>(exponent) << 23 |
               mantissa;
      };
      for (unsigned l = 0; l < 32; ++l) {
        state.vgpr[0][l] = at(e2);
        state.vgpr[1][l] = at(e1);
      }
    }
    constexpr unsigned n = 256, d = 257, sd = 258, sn = 259, r = 260, e = 261, q = 262, t = 263,
                       one = 242;
    ASSERT_EQ(run(vop3b(0x16d, 2, 125, d, d, n)), "");  // v2 = div_scale(den, den, num)
    ASSERT_EQ(run(vop3b(0x16d, 3, 106, n, d, n)), "");  // v3, vcc = div_scale(num, den, num)
    ASSERT_EQ(run({vop1(0x2a, 4, sd)}), "");            // v4 = rcp(v2)
    const auto fma = [&](unsigned dst, unsigned a, unsigned b, unsigned c, bool neg_a) {
      return run({0xd54b0000 | dst, a | b << 9 | c << 18 | (neg_a ? 1u << 29 : 0)});
    };
    ASSERT_EQ(fma(5, sd, r, one, true), "");
    ASSERT_EQ(fma(4, e, r, r, false), "");
    ASSERT_EQ(run({0xd5080006, sn | r << 9}), "");  // v6 = v3 * v4
    ASSERT_EQ(fma(7, sd, q, sn, true), "");
    ASSERT_EQ(fma(6, t, r, q, false), "");
    ASSERT_EQ(fma(7, sd, q, sn, true), "");
    ASSERT_EQ(run(vop3(0x16f, 8, t, r, q)), "");        // div_fmas
    ASSERT_EQ(run(vop3(0x15f, 9, 256 + 8, d, n)), "");  // div_fixup
    for (unsigned l = 0; l < 32; ++l) {
      const float expected =
          std::bit_cast<float>(state.vgpr[0][l]) / std::bit_cast<float>(state.vgpr[1][l]);
      const float got = std::bit_cast<float>(state.vgpr[9][l]);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got));
      else
        EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected))
            << std::hex << state.vgpr[0][l] << " / " << state.vgpr[1][l];
    }
    if (HasFailure()) return;
  }
}

TEST_P(VectorLanes, DivisionOfBinary64IsCorrectlyRounded) {
  std::mt19937_64 random(6);
  static const uint64_t edges[] = {0,
                                   uint64_t{1} << 63,
                                   1,
                                   0x000fffffffffffff,
                                   0x0010000000000000,
                                   0x3ff0000000000000,
                                   0x7fefffffffffffff,
                                   0x7ff0000000000000,
                                   0x7ff8000000000000,
                                   0x7fd0000000000001,
                                   0x0350000000000000,
                                   0x7c00000000000000};
  const auto pair = [&](unsigned v, unsigned l) {
    return uint64_t{state.vgpr[v + 1][l]} << 32 | state.vgpr[v][l];
  };
  for (unsigned round = 0; round < 300; ++round) {
    for (unsigned l = 0; l < 32; ++l) {
      for (const unsigned v : {0u, 2u}) {
        const uint64_t x = random() % 4 == 0 ? edges[random() % 12] : random();
        state.vgpr[v][l] = static_cast<uint32_t>(x);
        state.vgpr[v + 1][l] = static_cast<uint32_t>(x >> 32);
      }
    }
    constexpr unsigned n = 256, d = 258, sd = 260, sn = 262, r = 264, e = 266, q = 268, t = 270,
                       one = 242;
    ASSERT_EQ(run(vop3b(0x16e, 4, 125, d, d, n)), "");
    ASSERT_EQ(run(vop3b(0x16e, 6, 106, n, d, n)), "");
    ASSERT_EQ(run({vop1(0x2f, 8, sd)}), "");
    const auto fma = [&](unsigned dst, unsigned a, unsigned b, unsigned c, bool neg_a) {
      return run({0xd54c0000 | (dst - 256), a | b << 9 | c << 18 | (neg_a ? 1u << 29 : 0)});
    };
    for (unsigned step = 0; step < 2; ++step) {
      ASSERT_EQ(fma(e, sd, r, one, true), "");
      ASSERT_EQ(fma(r, r, e, r, false), "");
    }
    ASSERT_EQ(run({0xd565000c, sn | r << 9}), "");
    ASSERT_EQ(fma(t, sd, q, sn, true), "");
    ASSERT_EQ(run(vop3(0x170, 16, t, r, q)), "");
    ASSERT_EQ(run(vop3(0x160, 18, 256 + 16, d, n)), "");
    for (unsigned l = 0; l < 32; ++l) {
      const double expected = std::bit_cast<double>(pair(0, l)) / std::bit_cast<double>(pair(2, l));
      const double got = std::bit_cast<double>(pair(18, l));
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got));
      else
        EXPECT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(expected))
            << std::hex << pair(0, l) << " / " << pair(2, l);
    }
    if (HasFailure()) return;
  }
}

// The segments of 2 / pi add up to it.
TEST_P(VectorLanes, TrigPreopSegmentsAreTwoOverPi) {
  const double x = 1.0;
  for (unsigned l = 0; l < 32; ++l) {
    state.vgpr[0][l] = static_cast<uint32_t>(std::bit_cast<uint64_t>(x));
    state.vgpr[1][l] = static_cast<uint32_t>(std::bit_cast<uint64_t>(x) >> 32);
  }
  long double sum = 0;
  for (int segment = 2; segment >= 0; --segment) {
    ASSERT_EQ(run(vop3(0x174, 2, 256, 128u + static_cast<unsigned>(segment), 0)), "");
    sum += static_cast<long double>(
        std::bit_cast<double>(uint64_t{state.vgpr[3][0]} << 32 | state.vgpr[2][0]));
  }
  EXPECT_EQ(sum, 0.636619772367581343075535053490057448L);
}

TEST(VectorCoverage, EveryImplementedRowHasATest) {
  for (const TableRow& row : table_rows()) {
    if (!row.encoding.starts_with("VOP") && row.encoding != "VINTRP") continue;
    const bool tested = !how_tested(row.mnemonic).empty();
    const bool refused = row.mnemonic.starts_with("v_interp");
    EXPECT_NE(tested, refused) << row.encoding << " " << row.mnemonic;
  }
}

}  // namespace
}  // namespace gfxgraph::emulator::spec
