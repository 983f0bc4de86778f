// Scalar instructions that leave the straight way: ends, waits, faults, messages, branches on
// masks; and instructions that are refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "tests/emulator/row_host.h"

namespace gfxgraph::emulator::testing {
namespace {

uint32_t sopp(const std::string& name, uint32_t imm = 0) {
  return 0xbf800000u | opcode_of("SOPP", name) << 16 | imm;
}

class Control : public ::testing::Test {
 protected:
  // On each instruction set; `check` gets the backend's name for messages.
  void each(const std::vector<uint32_t>& words, const auto& check) {
    for (const Backend* backend : row_backends()) {
      Inst inst;
      ASSERT_EQ(decode(words.data(), words.size(), 0x1000, inst), DecodeStatus::kOk);
      inst.k[0] = reinterpret_cast<uint64_t>(&target_);
      const Handler handler = backend->bind(inst);
      ASSERT_NE(handler, nullptr) << backend->isa;
      host_.wave().exit = WaveExit::kSlice;
      host_.wave().resume = nullptr;
      check(inst, handler(host_.wave(), &inst));
    }
  }
  void expect_left(const std::vector<uint32_t>& words, WaveExit why, bool goes_on) {
    each(words, [&](const Inst& inst, const Inst* next) {
      EXPECT_EQ(next, nullptr);
      EXPECT_EQ(host_.wave().exit, why);
      if (goes_on) {
        EXPECT_EQ(host_.wave().resume, inst.next());
      }
    });
  }
  RowHost host_;
  Inst target_;
};

TEST_F(Control, Barrier) {
  // Alone in its workgroup a wave need not wait.
  each({sopp("s_barrier")},
       [](const Inst& inst, const Inst* next) { EXPECT_EQ(next, inst.next()); });
  host_.wave().group->wave_count = 2;
  expect_left({sopp("s_barrier")}, WaveExit::kBarrier, true);
}

TEST_F(Control, SleepLetsOthersRun) { expect_left({sopp("s_sleep", 3)}, WaveExit::kYield, true); }

TEST_F(Control, Ends) {
  expect_left({sopp("s_endpgm")}, WaveExit::kEnded, false);
  expect_left({sopp("s_endpgm_saved")}, WaveExit::kEnded, false);
}

TEST_F(Control, Trap) {
  expect_left({sopp("s_trap", 2)}, WaveExit::kFault, false);
  EXPECT_EQ(host_.wave().fault.kind, FaultKind::kTrap);
}

TEST_F(Control, CodeEnd) {
  expect_left({sopp("s_code_end")}, WaveExit::kFault, false);
  EXPECT_EQ(host_.wave().fault.kind, FaultKind::kIllegal);
  EXPECT_NE(std::string(host_.wave().fault.detail).find("ran off"), std::string::npos);
}

TEST_F(Control, Messages) {
  EngineOptions options;
  std::vector<uint64_t> got;
  options.on_message = [&](uint32_t message, uint32_t m0) {
    got.push_back(uint64_t{message} << 32 | m0);
  };
  host_.context().options = &options;
  host_.wave().sgpr[operand::kM0] = 77;
  each({sopp("s_sendmsg", 1)},
       [](const Inst& inst, const Inst* next) { EXPECT_EQ(next, inst.next()); });
  ASSERT_EQ(got.size(), row_backends().size());
  EXPECT_EQ(got[0], uint64_t{1} << 32 | 77);
  expect_left({sopp("s_sendmsg", 2)}, WaveExit::kFault, false);
  EXPECT_EQ(host_.wave().fault.kind, FaultKind::kUnsupported);
}

TEST_F(Control, BranchesOnMasks) {
  Wave& wave = host_.wave();
  for (const uint32_t vcc : {0u, 1u, 0x80000000u})
    for (const uint32_t exec : {0u, 2u, ~0u}) {
      wave.sgpr[operand::kVccLo] = vcc;
      wave.sgpr[operand::kVccLo + 1] = ~vcc;  // not looked at in wave32
      wave.set_exec(exec);
      const auto expect = [&](const char* name, bool taken) {
        each({sopp(name, 5)}, [&](const Inst& inst, const Inst* next) {
          EXPECT_EQ(next, taken ? &target_ : inst.next()) << name << " " << vcc << " " << exec;
        });
      };
      expect("s_cbranch_vccz", vcc == 0);
      expect("s_cbranch_vccnz", vcc != 0);
      expect("s_cbranch_execz", exec == 0);
      expect("s_cbranch_execnz", exec != 0);
      for (const char* name : {"s_cbranch_cdbgsys", "s_cbranch_cdbguser",
                               "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user"})
        expect(name, false);
    }
}

TEST_F(Control, ABranchOutOfCodeFaults) {
  for (const Backend* backend : row_backends()) {
    Inst inst;
    const uint32_t word = sopp("s_cbranch_execnz", 5);
    ASSERT_EQ(decode(&word, 1, 0x1000, inst), DecodeStatus::kOk);
    inst.k[0] = 0;
    EXPECT_EQ(backend->bind(inst)(host_.wave(), &inst), nullptr);
    EXPECT_EQ(host_.wave().fault.kind, FaultKind::kIllegal);
  }
}

// Not in the emulator: the engine names the instruction.
TEST(Refused, IsNotBound) {
  const auto ds = [](const char* name, bool gds) {
    return std::vector<uint32_t>{0xd8000000u | opcode_of("DS", name) << 18 | uint32_t{gds} << 17,
                                 0};
  };
  const auto mubuf = [](const char* name, uint32_t bits) {
    return std::vector<uint32_t>{0xe0000000u | opcode_of("MUBUF", name) << 18 | bits, 0x80000000u};
  };
  const std::vector<std::vector<uint32_t>> refused = {
      ds("ds_add_u32", true),
      ds("ds_read_b32", true),
      ds("ds_ordered_count", true),
      ds("ds_condxchg32_rtn_b64", false),
      ds("ds_gws_sema_v", true),
      ds("ds_gws_sema_p", true),
      ds("ds_gws_sema_br", true),
      ds("ds_gws_sema_release_all", true),
      ds("ds_gws_init", false),
      mubuf("buffer_store_dword", 1 << 16),
      {sopp("s_sendmsghalt", 1)},
      {sopp("s_setkill", 1)},
      {sopp("s_sethalt", 1)},
      {sopp("s_endpgm_ordered_ps_done")},
      {0xbe800000u | opcode_of("SOP1", "s_rfe_b64") << 8 | 10}};
  for (const auto& words : refused)
    for (const Backend* backend : row_backends()) {
      Inst inst;
      ASSERT_EQ(decode(words.data(), words.size(), 0x1000, inst), DecodeStatus::kOk)
          << fmt::format("{:08x}", words[0]);
      EXPECT_EQ(backend->bind(inst), nullptr) << op_name(inst.op);
    }
}

}  // namespace
}  // namespace gfxgraph::emulator::testing
