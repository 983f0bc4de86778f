// Scalar instructions one by one against values worked out from the manual. The code is put
// together here word by word, with opcodes from the table.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "tests/emulator/test_device.h"

namespace gfxgraph::emulator {
namespace {

struct Encoding {
  std::string format;
  uint32_t opcode;
};
const std::map<std::string, Encoding>& encodings() {
  static const std::map<std::string, Encoding> table = [] {
    std::map<std::string, Encoding> t;
#define X(format, opcode, name, ...) t.emplace(#name, Encoding{#format, opcode});
#include "emulator/table/gfx1030.inc"
#undef X
    return t;
  }();
  return table;
}

constexpr uint32_t kLiteral = 255, kZero = 128, kOne = 129, kMinusOne = 193, kExec = 126;

class Assembler {
 public:
  void mov(uint32_t dst, uint32_t literal) {
    words.push_back(0xBE800000u | dst << 16 | encodings().at("s_mov_b32").opcode << 8 | kLiteral);
    words.push_back(literal);
  }
  void mov_register(uint32_t dst, uint32_t src) {
    words.push_back(0xBE800000u | dst << 16 | encodings().at("s_mov_b32").opcode << 8 | src);
  }
  void sop1(const std::string& name, uint32_t dst, uint32_t src) {
    words.push_back(0xBE800000u | dst << 16 | encodings().at(name).opcode << 8 | src);
  }
  void sop2(const std::string& name, uint32_t dst, uint32_t src0, uint32_t src1) {
    words.push_back(0x80000000u | encodings().at(name).opcode << 23 | dst << 16 | src1 << 8 | src0);
  }
  void sopc(const std::string& name, uint32_t src0, uint32_t src1) {
    words.push_back(0xBF000000u | encodings().at(name).opcode << 16 | src1 << 8 | src0);
  }
  void sopk(const std::string& name, uint32_t dst, uint32_t imm) {
    words.push_back(0xB0000000u | encodings().at(name).opcode << 23 | dst << 16 | (imm & 0xffff));
  }
  void sopp(const std::string& name, uint32_t imm = 0) {
    words.push_back(0xBF800000u | encodings().at(name).opcode << 16 | (imm & 0xffff));
  }
  void set_scc(bool scc) { sopc("s_cmp_eq_u32", kZero, scc ? kZero : kOne); }
  void v_mov(uint32_t vgpr, uint32_t src) {
    words.push_back(0x7E000000u | vgpr << 17 | 1u << 9 | src);
  }
  // Stores s20, s21, s22, s23 to *kernarg from lane 0, and ends.
  void finish() {
    mov_register(kExec, kOne);
    for (uint32_t n = 0; n < 4; ++n) v_mov(n, 20 + n);
    v_mov(4, 0);
    v_mov(5, 1);
    words.push_back(0xDC000000u | encodings().at("global_store_dwordx4").opcode << 18 | 2u << 14);
    words.push_back(0x7du << 16 | 0u << 8 | 4);
    sopp("s_endpgm");
  }
  std::vector<uint32_t> words;
};

struct Outcome {
  uint64_t result = 0;  // s20, s21
  uint32_t scc = 0;     // s22
  uint32_t exec = 0;    // s23
  bool operator==(const Outcome&) const = default;
};

class ScalarTest : public ::testing::Test {
 protected:
  // s10:11 = a, s12:13 = b, s20:21 = 0xdeadbeefcafef00d, then `body`, then SCC and EXEC are kept.
  tl::expected<Outcome, Fault> run(uint64_t a, uint64_t b, bool scc, uint32_t exec,
                                   const std::function<void(Assembler&)>& body) {
    Assembler code;
    code.mov(10, static_cast<uint32_t>(a));
    code.mov(11, static_cast<uint32_t>(a >> 32));
    code.mov(12, static_cast<uint32_t>(b));
    code.mov(13, static_cast<uint32_t>(b >> 32));
    code.mov(20, 0xcafef00d);
    code.mov(21, 0xdeadbeef);
    code.mov(kExec, exec);
    code.set_scc(scc);
    body(code);
    code.sop2("s_cselect_b32", 22, kOne, kZero);
    code.mov_register(23, kExec);
    code.finish();
    return run_code(code);
  }
  tl::expected<Outcome, Fault> run_code(const Assembler& code) {
    testing::TestDevice device;
    std::byte* memory = device.allocate(8192, RegionKind::kCode, "code");
    auto* out = device.array<uint32_t>(4);
    // A descriptor: two user SGPRs with the kernarg address, one VGPR granule, wave32.
    const uint64_t entry = 256;
    const uint32_t rsrc1 = 1u | 0xf0u << 12 | 1u << 21 | 1u << 23;
    const uint32_t rsrc2 = 2u << 1;
    const uint16_t properties = 8 | 1u << 10;
    std::memcpy(memory + 16, &entry, 8);
    std::memcpy(memory + 48, &rsrc1, 4);
    std::memcpy(memory + 52, &rsrc2, 4);
    std::memcpy(memory + 56, &properties, 2);
    std::memcpy(memory + entry, code.words.data(), code.words.size() * 4);
    Dispatch dispatch;
    dispatch.kernel_object = reinterpret_cast<uint64_t>(memory);
    dispatch.grid_size = {32, 1, 1};
    dispatch.workgroup_size = {32, 1, 1};
    dispatch.kernarg_address = reinterpret_cast<uint64_t>(out);
    code_address_ = dispatch.kernel_object + entry;
    if (!device.engine().add_raw_code(code_address_, 8192 - entry))
      return tl::unexpected<Fault>(Fault());
    const auto result = device.engine().run(dispatch);
    if (!result) return tl::unexpected<Fault>(result.error());
    return Outcome{out[0] | uint64_t{out[1]} << 32, out[2], out[3]};
  }
  uint64_t code_address_ = 0;
};

constexpr uint64_t kOld = 0xdeadbeefcafef00d;
uint64_t low(uint64_t result) { return (kOld & ~uint64_t{0xffffffff}) | (result & 0xffffffff); }

struct Row {
  const char* name;
  uint64_t a, b;
  bool scc_in;
  uint64_t result;  // 32-bit results: upper half ignored
  bool scc;
  bool wide = false;
};

TEST_F(ScalarTest, TwoOperands) {
  constexpr uint64_t kTop = 0x8000000000000000;
  const Row rows[] = {
      {"s_add_u32", 0xffffffff, 2, false, 1, true},
      {"s_add_u32", 5, 6, true, 11, false},
      {"s_sub_u32", 5, 6, false, 0xffffffff, true},
      {"s_sub_u32", 6, 5, true, 1, false},
      {"s_add_i32", 0x7fffffff, 1, false, 0x80000000, true},
      {"s_add_i32", 0xffffffff, 1, true, 0, false},
      {"s_sub_i32", 0x80000000, 1, false, 0x7fffffff, true},
      {"s_sub_i32", 0, 1, true, 0xffffffff, false},
      {"s_addc_u32", 0xffffffff, 0, true, 0, true},
      {"s_addc_u32", 0xffffffff, 0xffffffff, true, 0xffffffff, true},
      {"s_addc_u32", 1, 2, true, 4, false},
      {"s_subb_u32", 0, 0, true, 0xffffffff, true},
      {"s_subb_u32", 5, 0xffffffff, true, 5, true},
      {"s_subb_u32", 5, 2, false, 3, false},
      {"s_min_i32", 0xffffffff, 1, false, 0xffffffff, true},
      {"s_min_i32", 3, 3, true, 3, false},
      {"s_min_u32", 0xffffffff, 1, true, 1, false},
      {"s_max_i32", 0xffffffff, 1, true, 1, false},
      {"s_max_u32", 0xffffffff, 1, false, 0xffffffff, true},
      {"s_cselect_b32", 7, 9, true, 7, true},
      {"s_cselect_b32", 7, 9, false, 9, false},
      {"s_cselect_b64", 7ull << 40, 9, true, 7ull << 40, true, true},
      {"s_and_b32", 12, 10, false, 8, true},
      {"s_and_b32", 12, 3, true, 0, false},
      {"s_and_b64", 12ull << 40, 10ull << 40, false, 8ull << 40, true, true},
      {"s_or_b32", 12, 3, false, 15, true},
      {"s_or_b64", 0, 0, true, 0, false, true},
      {"s_xor_b32", 12, 12, true, 0, false},
      {"s_xor_b64", kTop, 1, false, kTop | 1, true, true},
      {"s_andn2_b32", 15, 5, false, 10, true},
      {"s_andn2_b64", 15ull << 36, 5ull << 36, false, 10ull << 36, true, true},
      {"s_orn2_b32", 0, 0xfffffff0, false, 15, true},
      {"s_orn2_b64", 0, ~0ull, true, 0, false, true},
      {"s_nand_b32", 0xffffffff, 0xffffffff, true, 0, false},
      {"s_nand_b64", 1, 1, false, ~1ull, true, true},
      {"s_nor_b32", 0xf0f0f0f0, 0x0f0f0f00, false, 0xf, true},
      {"s_nor_b64", ~0ull, 0, true, 0, false, true},
      {"s_xnor_b32", 5, 5, false, 0xffffffff, true},
      {"s_xnor_b64", 5, ~5ull, true, 0, false, true},
      {"s_lshl_b32", 3, 33, false, 6, true},
      {"s_lshl_b64", 3, 65, false, 6, true, true},
      {"s_lshr_b32", 0x80000000, 31, false, 1, true},
      {"s_lshr_b32", 1, 1, true, 0, false},
      {"s_lshr_b64", kTop, 63, false, 1, true, true},
      {"s_ashr_i32", 0x80000000, 31, false, 0xffffffff, true},
      {"s_ashr_i64", kTop, 62, false, ~1ull, true, true},
      {"s_bfm_b32", 4, 8, true, 0xf00, true},
      {"s_bfm_b64", 4, 40, true, 0xfull << 40, true, true},
      {"s_mul_i32", 0xfffffffd, 5, true, 0xfffffff1, true},
      {"s_mul_hi_u32", 0xffffffff, 0xffffffff, false, 0xfffffffe, false},
      {"s_mul_hi_i32", 0xffffffff, 5, true, 0xffffffff, true},
      {"s_bfe_u32", 0xabcd1234, 8 | 12 << 16, false, 0xd12, true},
      {"s_bfe_u32", 0xabcd1234, 0, true, 0, false},
      {"s_bfe_u32", 0xabcd1234, 4 | 64 << 16, false, 0xabcd123, true},
      {"s_bfe_i32", 0xabcd1234, 8 | 12 << 16, false, 0xfffffd12, true},
      {"s_bfe_i32", 0x80000000, 28 | 8 << 16, false, 0xfffffff8, true},
      {"s_bfe_u64", 0xabcd123400000000, 40 | 12 << 16, false, 0xd12, true, true},
      {"s_bfe_i64", 0xabcd123400000000, 40 | 12 << 16, false, 0xfffffffffffffd12, true, true},
      {"s_absdiff_i32", 3, 5, false, 2, true},
      {"s_absdiff_i32", 5, 5, true, 0, false},
      {"s_lshl1_add_u32", 0x80000000, 1, false, 1, true},
      {"s_lshl2_add_u32", 3, 1, true, 13, false},
      {"s_lshl3_add_u32", 3, 1, true, 25, false},
      {"s_lshl4_add_u32", 0x10000000, 5, false, 5, true},
      {"s_pack_ll_b32_b16", 0x11112222, 0x33334444, true, 0x44442222, true},
      {"s_pack_lh_b32_b16", 0x11112222, 0x33334444, true, 0x33332222, true},
      {"s_pack_hh_b32_b16", 0x11112222, 0x33334444, true, 0x33331111, true},
  };
  std::map<std::string, int> seen;
  for (const Row& row : rows) {
    SCOPED_TRACE(::testing::Message() << row.name << " " << std::hex << row.a << " " << row.b);
    ++seen[row.name];
    const auto got =
        run(row.a, row.b, row.scc_in, 5, [&](Assembler& c) { c.sop2(row.name, 20, 10, 12); });
    ASSERT_TRUE(got) << got.error().to_string();
    EXPECT_EQ(got->result, row.wide ? row.result : low(row.result));
    EXPECT_EQ(got->scc, row.scc);
    EXPECT_EQ(got->exec, 5u);
  }
  for (const auto& [name, encoding] : encodings()) {
    if (encoding.format != "SOP2") continue;
    EXPECT_TRUE(seen.count(name) != 0) << name << " has no row";
  }
}

TEST_F(ScalarTest, OneOperand) {
  const Row rows[] = {
      {"s_mov_b32", 7, 0, true, 7, true},
      {"s_mov_b64", 7ull << 40, 0, false, 7ull << 40, false, true},
      {"s_cmov_b32", 7, 0, true, 7, true},
      {"s_cmov_b32", 7, 0, false, kOld, false},
      {"s_cmov_b64", 7, 0, false, kOld, false, true},
      {"s_not_b32", 0xffffffff, 0, true, 0, false},
      {"s_not_b64", 0, 0, false, ~0ull, true, true},
      {"s_wqm_b32", 0x00100402, 0, false, 0x00f00f0f, true},
      {"s_wqm_b64", 0x8000000000000000, 0, false, 0xf000000000000000, true, true},
      {"s_brev_b32", 0x00000013, 0, true, 0xc8000000, true},
      {"s_brev_b64", 1, 0, false, 0x8000000000000000, false, true},
      {"s_bcnt0_i32_b32", 0xf, 0, false, 28, true},
      {"s_bcnt0_i32_b64", ~0ull, 0, true, 0, false},
      {"s_bcnt1_i32_b32", 0xf, 0, false, 4, true},
      {"s_bcnt1_i32_b64", 0xf0000000full, 0, false, 8, true},
      {"s_ff0_i32_b32", 7, 0, true, 3, true},
      {"s_ff0_i32_b64", ~0ull, 0, true, 0xffffffff, true},
      {"s_ff1_i32_b32", 8, 0, true, 3, true},
      {"s_ff1_i32_b32", 0, 0, true, 0xffffffff, true},
      {"s_ff1_i32_b64", 1ull << 40, 0, false, 40, false},
      {"s_flbit_i32_b32", 0x00100000, 0, true, 11, true},
      {"s_flbit_i32_b32", 0, 0, true, 0xffffffff, true},
      {"s_flbit_i32_b64", 1, 0, true, 63, true},
      {"s_flbit_i32", 0xffff0000, 0, true, 16, true},
      {"s_flbit_i32", 0xffffffff, 0, true, 0xffffffff, true},
      {"s_flbit_i32_i64", 0xffffff0000000000, 0, true, 24, true},
      {"s_sext_i32_i8", 0x80, 0, true, 0xffffff80, true},
      {"s_sext_i32_i16", 0x8000, 0, false, 0xffff8000, false},
      {"s_bitset0_b32", 0, 0, true, kOld & ~1ull, true},
      {"s_bitset0_b64", 63, 0, true, kOld & ~(1ull << 63), true, true},
      {"s_bitset1_b32", 33, 0, false, kOld | 2, false},
      {"s_bitset1_b64", 36, 0, false, kOld | 1ull << 36, false, true},
      {"s_quadmask_b32", 0x80001001, 0, false, 0x89, true},
      {"s_quadmask_b64", 0x1000000000000000, 0, false, 0x8000, true, true},
      {"s_abs_i32", 0xfffffffb, 0, false, 5, true},
      {"s_abs_i32", 0, 0, true, 0, false},
      {"s_bitreplicate_b64_b32", 0x80000005, 0, true, 0xc000000000000033, true, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(::testing::Message() << row.name << " " << std::hex << row.a);
    const auto got = run(row.a, 0, row.scc_in, 5, [&](Assembler& c) { c.sop1(row.name, 20, 10); });
    ASSERT_TRUE(got) << got.error().to_string();
    EXPECT_EQ(got->result, row.wide ? row.result : low(row.result));
    EXPECT_EQ(got->scc, row.scc);
  }
}

// EXEC is 0b1100 before, the source 0b1010 (upper halves 0).
TEST_F(ScalarTest, SaveExec) {
  struct ExecRow {
    const char* name;
    uint32_t exec;
    bool new_in_destination;
  };
  const ExecRow rows[] = {
      {"s_and_saveexec_b32", 0b1000, false},    {"s_or_saveexec_b32", 0b1110, false},
      {"s_xor_saveexec_b32", 0b0110, false},    {"s_andn2_saveexec_b32", 0b0010, false},
      {"s_orn2_saveexec_b32", ~0b0100u, false}, {"s_nand_saveexec_b32", ~0b1000u, false},
      {"s_nor_saveexec_b32", ~0b1110u, false},  {"s_xnor_saveexec_b32", ~0b0110u, false},
      {"s_andn1_saveexec_b32", 0b0100, false},  {"s_orn1_saveexec_b32", ~0b0010u, false},
      {"s_andn1_wrexec_b32", 0b0100, true},     {"s_andn2_wrexec_b32", 0b0010, true},
  };
  for (const ExecRow& row : rows) {
    SCOPED_TRACE(row.name);
    const auto got = run(0b1010, 0, false, 0b1100, [&](Assembler& c) { c.sop1(row.name, 20, 10); });
    ASSERT_TRUE(got) << got.error().to_string();
    EXPECT_EQ(got->exec, row.exec);
    EXPECT_EQ(got->result, low(row.new_in_destination ? row.exec : 0b1100u));
    EXPECT_EQ(got->scc, 1u);
    std::string wide = row.name;
    wide.replace(wide.size() - 2, 2, "64");
    const auto got64 = run(0b1010, 0, false, 0b1100, [&](Assembler& c) { c.sop1(wide, 20, 10); });
    ASSERT_TRUE(got64) << got64.error().to_string();
    EXPECT_EQ(got64->exec, row.exec);
    EXPECT_EQ(static_cast<uint32_t>(got64->result), row.new_in_destination ? row.exec : 0b1100u);
  }
  const auto none =
      run(0b0011, 0, true, 0b1100, [](Assembler& c) { c.sop1("s_and_saveexec_b32", 20, 10); });
  ASSERT_TRUE(none);
  EXPECT_EQ(none->scc, 0u);
  EXPECT_EQ(none->exec, 0u);
}

TEST_F(ScalarTest, Comparisons) {
  struct Compare {
    const char* suffix;
    bool less, equal, greater;  // for -1 < 1 signed
  };
  const Compare rows[] = {{"eq", false, true, false}, {"lg", true, false, true},
                          {"gt", false, false, true}, {"ge", false, true, true},
                          {"lt", true, false, false}, {"le", true, true, false}};
  for (const Compare& row : rows)
    for (const bool is_signed : {true, false}) {
      const std::string type = is_signed ? "_i32" : "_u32";
      const std::string name = std::string("s_cmp_") + row.suffix + type;
      const auto scc = [&](uint32_t a, uint32_t b) {
        const auto got = run(a, b, false, 1, [&](Assembler& c) { c.sopc(name, 10, 12); });
        return got ? got->scc : 99;
      };
      // The all-ones word is -1 signed and the largest unsigned.
      EXPECT_EQ(scc(0xffffffff, 1), is_signed ? row.less : row.greater) << name;
      EXPECT_EQ(scc(1, 0xffffffff), is_signed ? row.greater : row.less) << name;
      EXPECT_EQ(scc(5, 5), row.equal) << name;
      const std::string immediate = std::string("s_cmpk_") + row.suffix + type;
      const auto sccv = [&](uint32_t a, uint32_t imm) {
        const auto got = run(a, 0, false, 1, [&](Assembler& c) { c.sopk(immediate, 10, imm); });
        return got ? got->scc : 99;
      };
      EXPECT_EQ(sccv(0xfffffffe, 0xffff), is_signed ? row.less : row.greater) << immediate;
      EXPECT_EQ(sccv(is_signed ? 0xffffffffu : 0xffffu, 0xffff), row.equal) << immediate;
    }
  const auto scc = [&](const char* name, uint64_t a, uint64_t b) {
    const auto got = run(a, b, false, 1, [&](Assembler& c) { c.sopc(name, 10, 12); });
    return got ? got->scc : 99;
  };
  EXPECT_EQ(scc("s_cmp_eq_u64", 1ull << 40, 1ull << 40), 1u);
  EXPECT_EQ(scc("s_cmp_eq_u64", 1ull << 40, 0), 0u);
  EXPECT_EQ(scc("s_cmp_lg_u64", 1ull << 40, 0), 1u);
  EXPECT_EQ(scc("s_bitcmp0_b32", 4, 34), 0u);
  EXPECT_EQ(scc("s_bitcmp1_b32", 4, 34), 1u);
  EXPECT_EQ(scc("s_bitcmp0_b64", 1ull << 40, 40), 0u);
  EXPECT_EQ(scc("s_bitcmp1_b64", 1ull << 40, 40), 1u);
}

TEST_F(ScalarTest, Immediates) {
  const auto value = [&](const char* name, uint32_t imm, bool scc) {
    const auto got = run(0, 0, scc, 1, [&](Assembler& c) { c.sopk(name, 20, imm); });
    EXPECT_TRUE(got) << got.error().to_string();
    return got ? *got : Outcome();
  };
  EXPECT_EQ(static_cast<uint32_t>(value("s_movk_i32", 0xfffe, false).result), 0xfffffffeu);
  EXPECT_EQ(static_cast<uint32_t>(value("s_cmovk_i32", 5, true).result), 5u);
  EXPECT_EQ(value("s_cmovk_i32", 5, false).result, kOld);
  EXPECT_EQ(static_cast<uint32_t>(value("s_addk_i32", 0xffff, false).result), 0xcafef00cu);
  EXPECT_EQ(static_cast<uint32_t>(value("s_mulk_i32", 3, false).result), 0xcafef00du * 3);
}

TEST_F(ScalarTest, RelativeMoves) {
  const auto with_m0 = [&](uint32_t m0, const char* name, uint32_t dst, uint32_t src) {
    return run(0x1111, 0x2222, false, 1, [&](Assembler& c) {
      c.mov(124, m0);
      c.sop1(name, dst, src);
    });
  };
  EXPECT_EQ(static_cast<uint32_t>(with_m0(2, "s_movrels_b32", 20, 10)->result), 0x2222u);
  EXPECT_EQ(with_m0(2, "s_movrels_b64", 20, 10)->result, 0x2222u);
  EXPECT_EQ(static_cast<uint32_t>(with_m0(10, "s_movreld_b32", 10, 12)->result), 0x2222u);
  EXPECT_EQ(with_m0(10, "s_movreld_b64", 10, 12)->result, 0x2222u);
  EXPECT_EQ(static_cast<uint32_t>(with_m0(2 | 10 << 16, "s_movrelsd_2_b32", 10, 10)->result),
            0x2222u);
  const auto outside = with_m0(200, "s_movrels_b32", 20, 10);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().kind, FaultKind::kUnsupported);
}

TEST_F(ScalarTest, NullRegisterAndSpecialSources) {
  const auto got = run(7, 0, true, 3, [](Assembler& c) {
    c.mov_register(125, 10);            // vanishes
    c.sop2("s_add_u32", 20, 125, 253);  // null + SCC (1)
    c.mov_register(21, 252);            // EXECZ
  });
  ASSERT_TRUE(got);
  EXPECT_EQ(got->result, 1u);
  const auto apertures = run(0, 0, false, 1, [](Assembler& c) { c.sop1("s_mov_b64", 20, 235); });
  ASSERT_TRUE(apertures);
  EXPECT_EQ(apertures->result, uint64_t{Dispatch::kDefaultGroupApertureHi} << 32);
}

TEST_F(ScalarTest, HardwareRegisters) {
  const auto get = [&](uint32_t id, uint32_t offset, uint32_t size) {
    const auto got = run(0, 0, false, 1, [&](Assembler& c) {
      c.sopk("s_getreg_b32", 20, id | offset << 6 | (size - 1) << 11);
    });
    return got ? static_cast<uint32_t>(got->result) : ~0u;
  };
  EXPECT_EQ(get(15, 0, 32), 0x00010002u);  // SH_MEM_BASES
  EXPECT_EQ(get(15, 16, 16), 1u);
  EXPECT_EQ(get(1, 0, 10), 0x3f0u);  // MODE
  const auto flat = run(0x12345678, 0, false, 1, [](Assembler& c) {
    c.sopk("s_setreg_b32", 10, 20 | 31u << 11);  // FLAT_SCR_LO
    c.sopk("s_getreg_b32", 20, 20 | 8 << 6 | 15u << 11);
  });
  ASSERT_TRUE(flat);
  EXPECT_EQ(static_cast<uint32_t>(flat->result), 0x3456u);
  const auto mode = run(1, 0, false, 1, [](Assembler& c) {
    c.sopk("s_setreg_b32", 10, 1 | 3u << 11);
    c.sopp("s_denorm_mode", 6);
    c.sopk("s_getreg_b32", 20, 1 | 31u << 11);
  });
  ASSERT_TRUE(mode) << mode.error().to_string();
  EXPECT_EQ(static_cast<uint32_t>(mode->result), 0x361u);
  // Exceptions are refused, never ignored.
  const auto trap =
      run(1, 0, false, 1, [](Assembler& c) { c.sopk("s_setreg_b32", 10, 1 | 12 << 6); });
  ASSERT_FALSE(trap);
  EXPECT_EQ(trap.error().kind, FaultKind::kUnsupported);
}

TEST_F(ScalarTest, JumpsAndCalls) {
  const auto forward = run(0, 0, true, 1, [](Assembler& c) {
    c.mov(20, 1);
    c.sopp("s_cbranch_scc1", 2);
    c.mov(20, 2);  // skipped: two words
    c.sopp("s_cbranch_scc0", 2);
    c.mov(21, 3);
  });
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->result, 3ull << 32 | 1);
  const auto call = run(0, 0, false, 1, [](Assembler& c) {
    c.sopk("s_call_b64", 20, 1);  // over the next word
    c.sopp("s_endpgm");
  });
  ASSERT_TRUE(call);
  const auto pc = run(0, 0, false, 1, [](Assembler& c) {
    c.sop1("s_getpc_b64", 14, 0);
    c.sop2("s_add_u32", 14, 14, kOne + 15);  // 16 bytes: past the next three words
    c.sop2("s_addc_u32", 15, 15, kZero);
    c.sop1("s_swappc_b64", 20, 14);
    c.sopp("s_endpgm");
  });
  ASSERT_TRUE(pc);
  const auto wild = run(0x10, 0, false, 1, [](Assembler& c) { c.sop1("s_setpc_b64", 0, 10); });
  ASSERT_FALSE(wild);
  EXPECT_EQ(wild.error().kind, FaultKind::kIllegal);
  // A loop over a chunk's end: more instructions than one chunk of the code cache holds.
  const auto far = run(0, 0, false, 1, [](Assembler& c) {
    c.mov(20, 0);
    c.mov(21, 0);
    for (int n = 0; n < 1500; ++n) c.sop2("s_add_u32", 20, 20, kOne);
    c.sopp("s_endpgm", 0);
  });
  ASSERT_TRUE(far);
}

TEST_F(ScalarTest, CodeLongerThanAChunk) {
  const auto got = run(0, 0, false, 1, [](Assembler& c) {
    c.mov(20, 0);
    c.mov(21, 0);
    c.mov(12, 2);
    const size_t loop = c.words.size();
    for (int n = 0; n < 1500; ++n) c.sop2("s_add_u32", 20, 20, kOne);
    c.sop2("s_add_i32", 12, 12, kMinusOne);
    c.sopc("s_cmp_lg_u32", 12, kZero);
    c.sopp("s_cbranch_scc1", static_cast<uint32_t>(loop - c.words.size() - 1));
  });
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ(got->result, 3000u);
}

TEST_F(ScalarTest, EveryScalarInstructionRunsOrIsRefusedByName) {
  for (const auto& [name, encoding] : encodings()) {
    const bool scalar = encoding.format == "SOP1" || encoding.format == "SOPC" ||
                        encoding.format == "SOPK" || encoding.format == "SOPP";
    if (!scalar) continue;
    const auto got = run(0, 0, false, 1, [&](Assembler& c) {
      if (encoding.format == "SOP1") c.sop1(name, 20, 10);
      if (encoding.format == "SOPC") c.sopc(name, 10, 12);
      if (encoding.format == "SOPK") c.sopk(name, 20, 20 | 31u << 11);
      if (encoding.format == "SOPP") c.sopp(name, 0);
      if (name == "s_setreg_imm32_b32") c.words.push_back(0);
    });
    if (got) continue;
    EXPECT_NE(got.error().kind, FaultKind::kMemory) << name;
    EXPECT_EQ(got.error().mnemonic.rfind(name, 0), 0u) << name << ": " << got.error().to_string();
  }
}

}  // namespace
}  // namespace gfxgraph::emulator
