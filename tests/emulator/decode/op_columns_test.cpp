// The columns of table/ops.inc that people fill in, for all rows: against what the instructions do
// when they run, which other tests compare with models, and against the encoding.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/row_host.h"

namespace gfxgraph::emulator {
namespace {

using testing::row_backends;
using testing::RowHost;

struct TableRow {
  std::string encoding, mnemonic;
  uint32_t opcode;
};
const std::vector<TableRow>& table_rows() {
  static const std::vector<TableRow> table = {
#define X(encoding, opcode, mnemonic, ...) {#encoding, #mnemonic, opcode},
#include "emulator/table/gfx1030.inc"
#undef X
  };
  return table;
}

const std::map<std::string, const OpInfo*>& infos() {
  static const std::map<std::string, const OpInfo*> all = [] {
    std::map<std::string, const OpInfo*> by_name;
    for (unsigned n = 0; n < static_cast<unsigned>(Op::kCount); ++n)
      by_name[op_name(static_cast<Op>(n))] = &op_info(static_cast<Op>(n));
    return by_name;
  }();
  return all;
}

using Value64 = std::array<uint64_t, kLanes>;  // of a register or a pair; scalar ones: lane 0

// A row with registers as operands: VGPRs 2n for source n and 8 for the result, or the SGPRs of the
// same numbers.
class Calculation {
 public:
  static constexpr unsigned kResult = 8;

  explicit Calculation(const TableRow& row) {
    const uint32_t op = row.opcode;
    const std::string& e = row.encoding;
    if (e == "SOP2") words_ = {0x80000000u | op << 23 | kResult << 16 | 2u << 8 | 0u};
    if (e == "SOP1") words_ = {0xbe800000u | kResult << 16 | op << 8 | 0u};
    if (e == "VOP3" || e == "VOP3P") {
      // Packed: the upper halves of the sources for the upper half.
      const bool packed = e == "VOP3P";
      const uint32_t first = packed ? 0xcc004000u : 0xd4000000u;
      const uint32_t third = (row.mnemonic.starts_with("v_permlane") ? 4u : 260u) << 18;
      const uint32_t second = (row.mnemonic.starts_with("v_permlane") ? 2u : 258u) << 9;
      words_ = {first | op << 16 | kResult, 256u | second | third | (packed ? 3u << 27 : 0)};
    }
    if (e == "DS") words_ = {0xd8000000u | op << 18, 0u | 2u << 8 | 4u << 16 | kResult << 24};
    // Fields of sources that the instruction does not have are zero.
    if (words_.empty() || decode(words_.data(), words_.size(), 0, inst_) != DecodeStatus::kOk)
      words_.clear();
  }
  bool exists() const { return !words_.empty(); }
  const OpInfo& info() const { return op_info(inst_.op); }
  bool vector() const { return inst_.dst >= operand::kVgpr0; }
  unsigned sources() const {
    unsigned count = 0;
    while (count < 3 && inst_.src[count] != operand::kNone) ++count;
    return count;
  }

  // Null: not supported. `old`: the result's register before.
  std::optional<Value64> run(RowHost& host, const std::array<Value64, 3>& sources,
                             const Value64& old) const {
    Wave& wave = host.wave();
    for (unsigned n = 0; n < 3; ++n) set(wave, 2 * n, sources[n]);
    set(wave, kResult, old);
    if (!host.run(*row_backends().front(), words_).empty()) return std::nullopt;
    Value64 result = {};
    for (unsigned l = 0; l < (vector() ? kLanes : 1); ++l)
      for (unsigned d = 0; d < info().dst_dwords && d < 2; ++d)
        result[l] |= uint64_t{vector() ? wave.v(static_cast<uint16_t>(inst_.dst + d)).lane[l]
                                       : wave.sgpr[kResult + d]}
                     << 32 * d;
    return result;
  }

 private:
  static void set(Wave& wave, unsigned code, const Value64& value) {
    for (unsigned d = 0; d < 2; ++d) {
      wave.sgpr[code + d] = static_cast<uint32_t>(value[0] >> 32 * d);
      for (unsigned l = 0; l < kLanes; ++l)
        wave.v(static_cast<uint16_t>(operand::kVgpr0 + code + d)).lane[l] =
            static_cast<uint32_t>(value[l] >> 32 * d);
    }
  }

  std::vector<uint32_t> words_;
  Inst inst_;
};

// Small numbers, floats of each size, bits; no NaN, which is another one after the first time.
Value64 random_value(std::mt19937_64& random) {
  Value64 value;
  for (uint64_t& lane : value) {
    const uint64_t bits = random();
    const uint64_t half = 0x3000 + (bits & 0x8fff);
    switch (bits >> 60 & 3) {
      case 0: lane = bits & 0x1f; break;
      case 1: lane = half | half << 16 | (bits & 0x800fffff00000000) | uint64_t{0x3ff} << 52; break;
      case 2: lane = (bits & 0x80fffbff) | 0x3f000000 | (bits & 0x3fffffff00000000); break;
      default: lane = bits & 0x7b7f7b7f7b7f7b7f; break;
    }
  }
  return value;
}
std::array<Value64, 3> random_sources(std::mt19937_64& random) {
  return {random_value(random), random_value(random), random_value(random)};
}

bool calculates(const Calculation& one) {
  const OpInfo& info = one.info();
  return one.exists() && one.sources() >= 2 && info.dst_dwords != 0 && info.sdst_dwords == 0 &&
         info.dataflow == Dataflow::kAll && info.flow == FlowKind::kNext &&
         info.access_bytes == 0 &&
         (info.flags & (OpInfo::kCompares | OpInfo::kAccumulates | OpInfo::kDstIsSource |
                        OpInfo::kReadsVcc | OpInfo::kReadsScc | OpInfo::kOpaque)) == 0;
}

// Whether the result is the same again in place of each source; null: not supported.
std::optional<bool> gives_same_again(const Calculation& one) {
  RowHost host;
  std::mt19937_64 random(3);
  const OpInfo& info = one.info();
  for (unsigned round = 0; round < 200; ++round) {
    const std::array<Value64, 3> sources = random_sources(random);
    const std::optional<Value64> first = one.run(host, sources, {});
    if (!first) return std::nullopt;
    for (unsigned n = 0; n < one.sources(); ++n) {
      if (info.src_dwords[n] != info.dst_dwords) return false;
      std::array<Value64, 3> again = sources;
      again[n] = *first;
      if (one.run(host, again, {}) != first) return false;
    }
  }
  return true;
}

TEST(OpColumns, AgainIsWhatASecondTimeGives) {
  unsigned compared = 0;
  for (const TableRow& row : table_rows()) {
    const Calculation one(row);
    // Counting a mask's bits gives more in upper lanes only.
    if (!calculates(one) || row.mnemonic.starts_with("v_mbcnt")) continue;
    const std::optional<bool> same = gives_same_again(one);
    if (!same) continue;
    ++compared;
    EXPECT_EQ(one.info().again == Again::kSame, *same) << row.encoding << " " << row.mnemonic;
  }
  EXPECT_GT(compared, 200U);
}

// Which function of two operands a bitwise instruction computes, its result perhaps inverted.
Logic logic_of(uint64_t a, uint64_t b, uint64_t result, uint64_t mask) {
  const auto is = [&](uint64_t value) { return ((value ^ result) & mask) == 0; };
  if (is(a & b) || is(~(a & b))) return Logic::kAnd;
  if (is(a | b) || is(~(a | b))) return Logic::kOr;
  if (is(a ^ b) || is(~(a ^ b))) return Logic::kXor;
  if (is(a & ~b)) return Logic::kAndNot2;
  if (is(a | ~b)) return Logic::kOrNot2;
  if (is(~a & b)) return Logic::kAndNot1;
  if (is(~a | b)) return Logic::kOrNot1;
  return Logic::kNone;
}

// The bits of both operands in all four combinations.
TEST(OpColumns, LogicIsWhatScalarInstructionsCompute) {
  constexpr uint64_t kA = 0x0ff0c3a5963c5aff, kB = 0x3c5aff0ff0c3a596;
  unsigned compared = 0;
  for (const TableRow& row : table_rows()) {
    const Calculation one(row);
    const bool unary = row.encoding == "SOP1";
    if (!one.exists() || (!unary && row.encoding != "SOP2")) continue;
    const OpInfo& info = one.info();
    const uint64_t mask = info.dst_dwords == 2 ? ~uint64_t{0} : 0xffffffff;
    RowHost host;
    Wave& wave = host.wave();
    wave.set_exec(static_cast<uint32_t>(kB));
    wave.sgpr[operand::kExecHi] = static_cast<uint32_t>(kB >> 32);
    std::array<Value64, 3> sources = {};
    sources[0][0] = kA;
    sources[1][0] = kB;
    const std::optional<Value64> result = one.run(host, sources, {});
    if (!result) continue;
    Logic expected = Logic::kNone;
    if (!unary && info.src_dwords[0] == info.dst_dwords)
      expected = logic_of(kA, kB, (*result)[0], mask);
    // EXEC is the second operand and the result, and its old value goes to a register.
    const uint64_t exec = wave.pair(operand::kExecLo);
    if (unary && (exec & mask) != (kB & mask) && ((*result)[0] & mask) == (kB & mask))
      expected = logic_of(kA, kB, exec, mask);
    ++compared;
    EXPECT_EQ(info.logic, expected) << row.mnemonic;
  }
  EXPECT_GT(compared, 100U);
}

// A lane of one source changes, and the result of another lane does.
TEST(OpColumns, PermutesAreWhatReadsOtherLanes) {
  unsigned compared = 0;
  std::set<std::string> permutes;
  for (const TableRow& row : table_rows()) {
    const Calculation one(row);
    if (!one.exists() || !one.vector() || one.info().access_bytes != 0 ||
        one.info().dst_dwords > 2 || one.info().wave64 == Wave64::kWhole)
      continue;
    RowHost host;
    std::mt19937_64 random(5);
    bool crosses = false;
    bool runs = true;
    for (unsigned round = 0; round < 30 && runs; ++round) {
      std::array<Value64, 3> sources = random_sources(random);
      for (unsigned n = 0; n < 3; ++n)
        for (unsigned l = 0; l < kLanes && row.encoding == "DS"; ++l)
          sources[n][l] = sources[n][l] & (n == 0 ? 0x7c : ~uint64_t{0});
      const std::optional<Value64> first = one.run(host, sources, {});
      runs = first.has_value();
      for (unsigned lane = 0; lane < kLanes && runs; ++lane) {
        std::array<Value64, 3> other = sources;
        for (Value64& source : other) source[lane] ^= row.encoding == "DS" ? 0x4 : 0x51;
        if (row.mnemonic.starts_with("v_permlane"))  // its other sources are scalar
          for (unsigned n = 1; n < 3; ++n) other[n] = sources[n];
        std::optional<Value64> second = one.run(host, other, {});
        (*second)[lane] = (*first)[lane];
        crosses = crosses || *second != *first;
      }
    }
    if (!runs) continue;
    ++compared;
    const Dataflow flow = one.info().dataflow;
    const bool permute = flow == Dataflow::kPermute || flow == Dataflow::kPermuteByLanes;
    EXPECT_EQ(permute, crosses) << row.encoding << " " << row.mnemonic;
    if (crosses) permutes.insert(row.mnemonic);
  }
  EXPECT_GT(compared, 200U);
  EXPECT_GE(permutes.size(), 4U);
}

TEST(OpColumns, CopiesGiveTheFirstSource) {
  std::set<std::string> copies;
  for (const TableRow& row : table_rows()) {
    const Calculation one(row);
    const Dataflow flow = one.info().dataflow;
    if (!one.exists() || one.info().access_bytes != 0 || one.info().dst_dwords > 2 ||
        one.info().dst_dwords != one.info().src_dwords[0] || one.info().flow != FlowKind::kNext ||
        (flow != Dataflow::kAll && flow != Dataflow::kCopy))
      continue;
    RowHost host;
    std::mt19937_64 random(9);
    bool copy = true;
    for (unsigned round = 0; round < 50 && copy; ++round) {
      const std::array<Value64, 3> sources = random_sources(random);
      host.wave().scc = round % 2;
      const std::optional<Value64> result = one.run(host, sources, {});
      copy = result.has_value();
      const uint64_t mask = one.info().dst_dwords == 2 ? ~uint64_t{0} : 0xffffffff;
      for (unsigned l = 0; l < (one.vector() ? kLanes : 1) && copy; ++l)
        copy = (*result)[l] == (sources[0][l] & mask);
    }
    if (copy) copies.insert(row.mnemonic);
    EXPECT_EQ(flow == Dataflow::kCopy, copy) << row.encoding << " " << row.mnemonic;
  }
  EXPECT_EQ(copies, (std::set<std::string>{"s_mov_b32", "s_mov_b64", "v_mov_b32"}));
}

// An instruction for signed numbers keeps what the one for unsigned numbers does.
TEST(OpColumns, SignsDoNotMatterToAddresses) {
  unsigned twins = 0;
  for (const auto& [name, info] : infos()) {
    std::string other = name;
    for (size_t at = 0; (at = other.find("_u", at)) != other.npos;) other[at + 1] = 'i';
    const auto twin = infos().find(other);
    if (other == name || twin == infos().end() || info->access_bytes != 0) continue;
    ++twins;
    EXPECT_EQ(info->keeps, twin->second->keeps) << name << " " << other;
    EXPECT_EQ(info->relation, twin->second->relation) << name << " " << other;
    EXPECT_EQ(info->value, twin->second->value) << name << " " << other;
  }
  EXPECT_GT(twins, 60U);
  // A product and an addend of 32 bits, whatever the product is made of.
  for (const auto& [name, info] : infos()) {
    const bool adds = name.starts_with("v_mad_u32") || name.starts_with("v_mad_i32") ||
                      name.starts_with("v_mad_u64") || name.starts_with("v_mad_i64");
    if (adds) {
      EXPECT_EQ(info->keeps, 4) << name;
    }
  }
}

// Scalar instructions run once in a wave64; vector ones, and memory, in halves; what crosses the
// halves or reads a mask of lanes has a handler of its own.
TEST(OpColumns, Wave64FollowsFromTheEncoding) {
  std::set<std::string> masked;
  for (const TableRow& row : table_rows()) {
    const std::string& e = row.encoding;
    const OpInfo* const info = infos().at(row.mnemonic);
    const bool scalar = (e[0] == 'S' && e != "SCRATCH") || row.mnemonic.starts_with("ds_gws");
    if (info->wave64 == Wave64::kWhole) {
      const bool mask = (info->flags & (OpInfo::kReadsVcc | OpInfo::kReadsExec)) != 0;
      const bool crosses = info->dataflow == Dataflow::kReadLane ||
                           info->dataflow == Dataflow::kWriteLane ||
                           info->dataflow == Dataflow::kCounter;
      EXPECT_TRUE(mask ? info->flow == FlowKind::kBranch : crosses) << row.mnemonic;
      continue;
    }
    const bool branches_on_mask = info->flow == FlowKind::kBranch &&
                                  (info->flags & (OpInfo::kReadsVcc | OpInfo::kReadsExec)) != 0;
    EXPECT_FALSE(branches_on_mask) << row.mnemonic;
    EXPECT_EQ(info->wave64 == Wave64::kOnce, scalar) << row.mnemonic;
    if (info->wave64 == Wave64::kMasked) masked.insert(row.mnemonic);
  }
  EXPECT_EQ(masked, (std::set<std::string>{"v_add_co_ci_u32", "v_cndmask_b32", "v_sub_co_ci_u32",
                                           "v_subrev_co_ci_u32"}));
}

}  // namespace
}  // namespace gfxgraph::emulator
