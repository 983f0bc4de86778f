// A run brings the shadow to where its steps, taken one by one, bring it: over random instructions,
// shadows and EXEC masks.
#include "check/lanes/shadow_run.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "check/lanes/lane_observer.inl"

namespace gfxgraph::check {
namespace {

using emulator::Inst;
using emulator::Wave;
namespace operand = emulator::operand;

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  uint32_t bits() { return static_cast<uint32_t>(random_()); }
  uint32_t below(uint32_t count) { return bits() % count; }
  // Few registers, so that steps depend on each other.
  uint32_t vgpr() { return below(6); }
  uint32_t sgpr() { return below(3) == 0 ? uint32_t{operand::kVccLo} : below(4); }
  uint32_t source() { return below(2) == 0 ? 256 + vgpr() : sgpr(); }

 private:
  std::mt19937 random_;
};

// A word pair of some encoding with random opcode.
std::array<uint32_t, 2> random_words(Random& random) {
  switch (random.below(5)) {
    case 0:  // VOP2
      return {random.below(0x40) << 25 | random.vgpr() << 17 | random.vgpr() << 9 | random.source(),
              0};
    case 1:  // VOP1
      return {0x7e000000u | random.vgpr() << 17 | random.below(0x80) << 9 | random.source(), 0};
    case 2:  // VOPC
      return {0x7c000000u | random.below(0x100) << 17 | random.vgpr() << 9 | random.source(), 0};
    case 3:  // SOP2
      return {0x80000000u | random.below(0x40) << 23 | random.sgpr() << 16 | random.sgpr() << 8 |
                  random.sgpr(),
              0};
    default:  // VOP3
      return {0xd4000000u | random.below(0x400) << 16 | random.sgpr() << 8 | random.vgpr(),
              random.source() | random.source() << 9 | random.source() << 18};
  }
}

bool writes_exec(const ShadowStep& step) {
  for (unsigned n = 0; n < step.operands.dest_count; ++n)
    if (step.operands.dest[n].code + step.operands.dest[n].dwords > operand::kExecLo &&
        step.operands.dest[n].code < 128)
      return true;
  return false;
}

// Null: nothing that can be in a run.
std::unique_ptr<const ShadowStep> random_step(Random& random, uint64_t pc) {
  const auto words = random_words(random);
  auto step = std::make_unique<ShadowStep>();
  if (emulator::decode(words.data(), words.size(), pc, step->inst) != emulator::DecodeStatus::kOk)
    return nullptr;
  emulator::describe_operands(step->inst, step->operands);
  step->rule = shadow_rule(step->inst, step->operands);
  if (step->rule == ShadowRule::kNone || !may_be_in_run(*step) || writes_exec(*step))
    return nullptr;
  if (has_packed_sources(step->rule)) step->operands.user = packed_sources(step->operands);
  return step;
}

ShadowSteps random_steps(Random& random) {
  ShadowSteps steps;
  const size_t count = 2 + random.below(5);
  while (steps.size() < count) {
    auto step = random_step(random, 0x1000 + 8 * steps.size());
    if (step != nullptr) steps.push_back(std::move(step));
  }
  return steps;
}

void fill(Random& random, LaneWaveState& state, Wave& wave) {
  wave.sgpr[operand::kExecLo] = random.below(3) == 0 ? ~0u : random.bits() | 1u;
  for (unsigned code = 0; code < 4; ++code) wave.sgpr[code] = random.bits();
  wave.sgpr[operand::kVccLo] = random.bits();
  const uint32_t exec = wave.exec();
  for (unsigned code = 0; code < 512; ++code) {
    const bool all = code >= 128 && code < 256 && code != operand::kScc;
    const uint32_t usual = code < 256 ? ~0u : exec | random.bits();
    state.defined[code] = all || random.below(12) != 0 ? usual : random.bits();
  }
  for (unsigned n = 0; n < 256; ++n) state.written[n] = state.writer[n] = 0;
}

TEST(ShadowRun, EndsWhereItsStepsEnd) {
  Random random(20);
  const auto wave = std::make_unique<Wave>();
  const auto start = std::make_unique<LaneWaveState>();
  unsigned runs = 0, finished = 0, apart = 0;
  for (int round = 0; round < 200000; ++round) {
    const uint32_t counts = random.bits();
    const auto run = make_run(
        random_steps(random), [&](uint16_t code) { return (counts >> code % 32 & 1) != 0; },
        [](uint16_t) { return false; });
    if (run == nullptr) continue;  // too many registers
    ++runs;
    fill(random, *start, *wave);
    LaneWaveState at_once = *start;
    const bool defined = shadow::finish(at_once, *run, wave->exec());
    if (!defined && !shadow::finish_by_lane<false>(at_once, *run, wave->exec())) continue;
    ++(defined ? finished : apart);
    LaneWaveState one_by_one = *start;
    LaneObserver::take_steps(one_by_one, *wave, *run, run->steps.size());
    for (unsigned n = 0; n < run->vector_dests + run->scalar_dests; ++n) {
      const unsigned code = run->dest[n];
      std::string text;
      for (const auto& step : run->steps) text += std::string(op_name(step->inst.op)) + " ";
      ASSERT_EQ(at_once.defined[code], one_by_one.defined[code]) << text << "code " << code;
      if (code < operand::kVgpr0) continue;
      ASSERT_EQ(at_once.written[code & 255], one_by_one.written[code & 255]) << text;
      ASSERT_EQ(at_once.writer[code & 255], one_by_one.writer[code & 255]) << text;
    }
  }
  EXPECT_GT(runs, 100000U);
  EXPECT_GT(finished, runs / 4);
  EXPECT_GT(apart, runs / 20);
  EXPECT_LT(finished + apart, runs);
}

}  // namespace
}  // namespace gfxgraph::check
