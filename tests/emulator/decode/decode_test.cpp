// The decoder against LLVM's disassembler: every row of the table with random fields; and that it
// is total.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "codeobj/code_object.h"
#include "emulator/decode/assembly.h"
#include "emulator/decode/inst.h"
#include "fmt/format.h"
#include "tests/emulator/decode/llvm_disassembler.h"
#include "tests/emulator/decode/random_words.h"

namespace gfxgraph::emulator {
namespace {

std::string hex(const Words& w) { return fmt::format("{:08x} {:08x} {:08x}", w[0], w[1], w[2]); }

TEST(Decode, AgreesWithLlvmOnEveryRow) {
  if (GFXGRAPH_LLVM_MAJOR != 19)
    GTEST_SKIP() << "the tables are LLVM 19's; LLVM " << GFXGRAPH_LLVM_MAJOR
                 << " takes other operands and writes others";
  const LlvmDisassembler llvm;
  std::mt19937 random(7);
  std::set<std::string> never;
  unsigned failures = 0;
  for (const Row& row : rows()) {
    unsigned compared = 0;
    for (unsigned n = 0; n < 400 || (compared == 0 && n < 20000); ++n) {
      const Words w = random_words(random, row);
      const LlvmDisassembler::Result expected = llvm.decode(w);
      if (!expected.ok || expected.mnemonic == "v_illegal") continue;
      Inst inst;
      const DecodeStatus status = decode(w.data(), w.size(), 0, inst);
      if (status == DecodeStatus::kOk && inst.size_bytes() == expected.size_bytes &&
          op_name(inst.op) == expected.mnemonic) {
        if (row.mnemonic == expected.mnemonic) ++compared;
        continue;
      }
      if (++failures > 25) FAIL() << "too many differences";
      ADD_FAILURE() << row.encoding << " " << hex(w) << " LLVM: " << expected.mnemonic << " ("
                    << expected.size_bytes << " bytes); decoder: "
                    << (status != DecodeStatus::kOk
                            ? "illegal"
                            : fmt::format("{} ({} bytes)", op_name(inst.op), inst.size_bytes()));
      break;
    }
    // Image instructions are never run, and LLVM wants their masks and registers to fit each other.
    if (compared == 0 && row.encoding != "MIMG") never.insert(row.encoding + " " + row.mnemonic);
  }
  EXPECT_TRUE(never.empty()) << never.size()
                             << " rows were never compared: " << testing::PrintToString(never);
}

// LLVM's text without the encoding's suffix, blanks at its ends, and the second blank that LLVM 19
// prints before some modifiers.
std::string plain(std::string text) {
  for (const std::string suffix : {"_e32", "_e64", "_sdwa", "_dpp8", "_dpp"}) {
    const size_t at = text.find(suffix);
    if (at == text.npos) continue;
    text.erase(at, suffix.size());
    break;
  }
  std::string out;
  for (const char c : text) {
    const char plain = c == '\t' ? ' ' : c;
    if (plain != ' ' || (!out.empty() && out.back() != ' ')) out += plain;
  }
  while (out.ends_with(' ')) out.pop_back();
  // A scalar load's offset of zero: null or 0x0, by the version.
  if (out.starts_with("s_") && out.find("load_dword") != out.npos && out.ends_with(", null"))
    out.replace(out.size() - 4, 4, "0x0");
  return out;
}

// Of random fields much is never compiled (odd register pairs, unused immediates), so the
// instructions are those of compiled kernels.
TEST(Assembly, IsThatOfLlvm) {
  if (GFXGRAPH_LLVM_MAJOR != 19)
    GTEST_SKIP() << "the tables are LLVM 19's; LLVM " << GFXGRAPH_LLVM_MAJOR
                 << " takes other operands and writes others";
  const LlvmDisassembler llvm;
  std::set<Op> ops;
  unsigned failures = 0;
  for (const auto& file : std::filesystem::directory_iterator(GFXGRAPH_KERNEL_DIR)) {
    if (file.path().extension() != ".co") continue;
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    const auto elves = codeobj::extract_device_elves(std::as_bytes(std::span(text)));
    ASSERT_TRUE(elves) << file.path();
    for (const codeobj::BundleEntry& elf : *elves) {
      const auto object = codeobj::CodeObject::parse(elf.bytes);
      ASSERT_TRUE(object) << file.path();
      // The oracle is one of wave32.
      if ((*object)->kernels().empty() || (*object)->kernels()[0].wavefront_size != 32) continue;
      for (const codeobj::Segment& segment : (*object)->segments()) {
        if (!segment.executable) continue;
        std::vector<uint32_t> words(segment.file_bytes / 4);
        std::memcpy(words.data(), (*object)->bytes().data() + segment.file_offset,
                    words.size() * 4);
        for (size_t at = 0; at < words.size();) {
          const std::span<const uint32_t> rest(words.data() + at,
                                               std::min<size_t>(5, words.size() - at));
          Inst inst;
          if (decode(rest.data(), rest.size(), 0, inst) != DecodeStatus::kOk) {
            ++at;
            continue;
          }
          at += inst.size_bytes() / 4;
          const bool opaque = (op_info(inst.op).flags & OpInfo::kOpaque) != 0;
          if (opaque || inst.format == Format::kVintrp) continue;
          if (inst.op == Op::s_sendmsg || inst.op == Op::ds_swizzle_b32) continue;  // assembly.h
          // LLVM prints the low half of a literal of 32 bits that a 16-bit source reads.
          if (inst.op == Op::v_mul_lo_u16) continue;
          const std::string expected = plain(llvm.text(rest));
          ops.insert(inst.op);
          if (assembly(inst, false) == expected) continue;
          ADD_FAILURE() << "LLVM: " << expected << "\nours: " << assembly(inst, false);
          if (++failures > 25) FAIL() << "too many differences";
        }
      }
    }
  }
  EXPECT_GT(ops.size(), 150U);
}

TEST(Assembly, OfWave64NamesMasksAsPairs) {
  const auto text = [](std::vector<uint32_t> words) {
    Inst inst;
    return decode(words.data(), words.size(), 0, inst) == DecodeStatus::kOk ? assembly(inst, true)
                                                                            : "illegal";
  };
  EXPECT_EQ(text({0xd70f6a03, 0x00020202}), "v_add_co_u32 v3, vcc, s2, v1");
  EXPECT_EQ(text({0x50080403}), "v_add_co_ci_u32 v4, vcc, s3, v2, vcc");
  EXPECT_EQ(text({0x7d080000}), "v_cmp_gt_i32 vcc, s0, v0");
}

// The table is asked for opcodes; this asks for none: every image instruction that LLVM knows has a
// row, those of ray tracing (DMASK 15, UNRM, R128) too.
TEST(Decode, KnowsEveryImageInstruction) {
  const LlvmDisassembler llvm;
  std::mt19937 random(13);
  std::set<std::string> names;
  for (uint32_t op = 0; op < 256; ++op) {
    for (unsigned n = 0; n < 200; ++n) {
      Words w = {};
      for (uint32_t& word : w) word = static_cast<uint32_t>(random());
      const uint32_t extra_addresses = n % 4;
      w[0] = 0xf0000000 | (op & 127) << 18 | op >> 7 | extra_addresses << 1 |
             (n % 3 == 0 ? 0x9f00u : w[0] & 0xff38u);
      w[1] &= n % 2 == 0 ? 0x3c7fffffu : 0x7c7fffffu;
      const LlvmDisassembler::Result expected = llvm.decode(w);
      if (!expected.ok) continue;
      names.insert(expected.mnemonic);
      Inst inst;
      ASSERT_EQ(decode(w.data(), w.size(), 0, inst), DecodeStatus::kOk) << expected.mnemonic;
      ASSERT_EQ(op_name(inst.op), expected.mnemonic);
      ASSERT_EQ(inst.size_bytes(), expected.size_bytes) << expected.mnemonic;
    }
  }
  EXPECT_TRUE(names.contains("image_bvh_intersect_ray"));
  EXPECT_TRUE(names.contains("image_bvh64_intersect_ray"));
}

TEST(Decode, IsTotal) {
  std::mt19937 random(11);
  for (unsigned n = 0; n < 2000000; ++n) {
    uint32_t words[6];
    for (uint32_t& w : words) w = static_cast<uint32_t>(random());
    if (n % 2 == 0) words[0] = words[0] >> 8 | n << 24;
    for (size_t available = 0; available <= 6; available += n % 3 == 0 ? 1 : 6) {
      Inst inst;
      const DecodeStatus status = decode(words, available, 0x1000, inst);
      if (status != DecodeStatus::kOk) continue;
      ASSERT_LE(inst.size_bytes(), 4 * available);
      ASSERT_LT(static_cast<unsigned>(inst.op), static_cast<unsigned>(Op::kCount));
    }
  }
}

TEST(Decode, TruncatedInstructionsSayThatMoreIsNeeded) {
  const uint32_t literal[] = {0x7e0002ff, 0x12345678};  // v_mov_b32 v0, 0x12345678
  const uint32_t vop3[] = {0xd54b0000, 0x04020100};     // v_fma_f32
  Inst inst;
  EXPECT_EQ(decode(literal, 0, 0, inst), DecodeStatus::kTruncated);
  EXPECT_EQ(decode(literal, 1, 0, inst), DecodeStatus::kTruncated);
  EXPECT_EQ(decode(literal, 2, 0, inst), DecodeStatus::kOk);
  EXPECT_EQ(decode(vop3, 1, 0, inst), DecodeStatus::kTruncated);
  EXPECT_EQ(decode(vop3, 2, 0, inst), DecodeStatus::kOk);
}

TEST(Decode, IllegalWordsAreRefused) {
  for (const uint32_t first :
       {0x00000000u, 0xffffffffu, 0xc0000000u, 0xcc800000u, 0x7e000012u | 0x9u << 9}) {
    const uint32_t words[] = {first, 0, 0, 0, 0};
    Inst inst;
    EXPECT_EQ(decode(words, 5, 0, inst), DecodeStatus::kIllegal) << std::hex << first;
  }
}

TEST(Decode, OperandsAreAsInstHSays) {
  Inst inst;
  const auto run = [&inst](std::initializer_list<uint32_t> words) {
    return decode(std::data(words), words.size(), 0, inst) == DecodeStatus::kOk;
  };
  ASSERT_TRUE(run({0x560a0403}));  // v_fmac_f32 v5, s3, v2
  EXPECT_EQ(inst.op, Op::v_fmac_f32);
  EXPECT_EQ(inst.dst, 256 + 5);
  EXPECT_EQ(inst.src[0], 3);
  EXPECT_EQ(inst.src[1], 256 + 2);
  EXPECT_EQ(inst.src[2], 256 + 5);
  ASSERT_TRUE(run({0xf4080103, 0xfa1ffff0}));  // s_load_dwordx4 s[4:7], s[6:7], -0x10
  EXPECT_EQ(inst.op, Op::s_load_dwordx4);
  EXPECT_EQ(inst.dst, 4);
  EXPECT_EQ(inst.src[0], 6);
  EXPECT_EQ(inst.src[1], operand::kNone);
  EXPECT_EQ(inst.imm, -16);
  ASSERT_TRUE(run({0xdc308ffc, 0x02040001}));  // global_load_dword v2, v1, s[4:5] offset:-4
  EXPECT_EQ(inst.format, Format::kGlobal);
  EXPECT_EQ(inst.dst, 256 + 2);
  EXPECT_EQ(inst.src[0], 256 + 1);
  EXPECT_EQ(inst.src[2], 4);
  EXPECT_EQ(inst.imm, -4);
  ASSERT_TRUE(
      run({0xd5640000, 0x0001e6ff,
           0x40000000}));  // v_add_f64 v[0:1], 0x40000000, -4.0... literal is the upper half
  EXPECT_EQ(inst.k[0], 0x4000000000000000u);
  EXPECT_EQ(inst.k[1], 0xbff0000000000000u);
}

}  // namespace
}  // namespace gfxgraph::emulator
