// The columns of table/ops.inc against LLVM's descriptions of the instructions, for all rows that
// have operands in the decoder.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "emulator/decode/inst.h"
#include "tests/emulator/decode/llvm_disassembler.h"
#include "tests/emulator/decode/random_words.h"

namespace gfxgraph::emulator {
namespace {

// Floats that no mode changes, and numbers whose products LLVM does not call floating-point.
bool is_number_without_mode(const std::string& name) {
  for (const char* const part : {"_class_", "v_dot", "v_cvt_rpi", "v_cvt_flr", "v_cvt_off",
                                 "_ubyte", "v_cvt_pknorm", "v_cvt_pk_u16_u32", "v_cvt_pk_i16_i32"})
    if (name.find(part) != name.npos) return true;
  return false;
}

void compare(const Row& row, const OpInfo& info, const LlvmDisassembler::Facts& facts) {
  const auto has = [&](uint32_t flag) { return (info.flags & flag) != 0; };
  const std::string& e = row.encoding;
  const bool vector_alu = e.starts_with("VOP");
  const bool scalar_alu = e.starts_with("SO");
  const bool memory = !vector_alu && !scalar_alu && e != "VINTRP";
  EXPECT_EQ(has(OpInfo::kReadsScc), facts.reads.contains("SCC"));
  // LLVM says nothing of s_quadmask, which AMD's manual does.
  if (!row.mnemonic.starts_with("s_quadmask")) {
    EXPECT_EQ(has(OpInfo::kWritesScc), facts.writes.contains("SCC"));
  }
  // Other forms name it as an operand.
  if (e == "VOP3" || e == "SOPP") {
    EXPECT_EQ(has(OpInfo::kReadsVcc), facts.reads.contains("VCC"));
  }
  EXPECT_EQ(has(OpInfo::kWritesExec), facts.writes.contains("EXEC"));
  // As data: messages are sent whatever it holds.
  if (scalar_alu && !row.mnemonic.starts_with("s_sendmsg")) {
    EXPECT_EQ(has(OpInfo::kReadsExec), facts.reads.contains("EXEC"));
  }
  // LLVM lists M0 for LDS of older processors, too, and lacks it for ADDTID.
  if (scalar_alu || (vector_alu && !has(OpInfo::kOpaque))) {
    EXPECT_EQ(has(OpInfo::kReadsM0), facts.reads.contains("M0"));
  }
  if (memory && !row.mnemonic.starts_with("ds_gws")) {
    EXPECT_EQ(has(OpInfo::kLoad), facts.loads);
    EXPECT_EQ(has(OpInfo::kStore), facts.stores);
  }
  const FlowKind flow = info.flow;
  EXPECT_EQ(flow == FlowKind::kEnd, facts.ends);
  EXPECT_EQ(flow == FlowKind::kCall || flow == FlowKind::kIndirectCall, facts.calls);
  const bool branches = flow == FlowKind::kJump || flow == FlowKind::kBranch ||
                        flow == FlowKind::kLoop || flow == FlowKind::kIndirectJump;
  // A return from a trap handler is not one to LLVM.
  if (row.mnemonic != "s_rfe_b64") {
    EXPECT_EQ(branches, facts.branches);
  }
  // Other forms have one for SDWA and DPP; LLVM has none for scalar ones.
  if (e == "VOP3" || e == "VOP3P") {
    EXPECT_EQ(has(OpInfo::kDstIsSource) || has(OpInfo::kAccumulates), facts.keeps_dest);
  }
  if (vector_alu && !is_number_without_mode(row.mnemonic)) {
    EXPECT_EQ(info.value == Value::kNumber, facts.reads.contains("MODE"));
  }
  if (vector_alu && is_number_without_mode(row.mnemonic)) {
    EXPECT_EQ(info.value, Value::kNumber);
  }
  EXPECT_EQ(info.value == Value::kComparison,
            row.mnemonic.starts_with("s_cmp") ||
                (has(OpInfo::kCompares) && info.value != Value::kNumber));
}

TEST(OpInfo, AgreesWithLlvm) {
  if (GFXGRAPH_LLVM_MAJOR != 19) GTEST_SKIP() << "the tables are LLVM 19's";
  const LlvmDisassembler llvm;
  std::mt19937 random(7);
  unsigned compared = 0;
  for (const Row& row : rows()) {
    // Of these the decoder knows the name, if anything.
    if (row.encoding == "MIMG" || row.encoding == "EXP" || row.encoding == "VINTRP") continue;
    LlvmDisassembler::Result expected;
    Words words = {};
    for (unsigned n = 0; n < 20000 && (!expected.ok || expected.mnemonic != row.mnemonic); ++n) {
      words = random_words(random, row);
      expected = llvm.decode(words);
    }
    Inst inst;
    ASSERT_TRUE(expected.ok) << row.encoding << " " << row.mnemonic;
    ASSERT_EQ(decode(words.data(), words.size(), 0, inst), DecodeStatus::kOk) << row.mnemonic;
    ASSERT_EQ(op_name(inst.op), row.mnemonic);
    ++compared;
    SCOPED_TRACE(row.encoding + " " + row.mnemonic);
    compare(row, op_info(inst.op), expected.facts);
  }
  EXPECT_GT(compared, 1200U);
}

}  // namespace
}  // namespace gfxgraph::emulator
