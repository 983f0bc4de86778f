// Straight-line runs of instructions whose shadow is updated once, at the end of the run, and only
// for registers that are read later. Nearly always all source registers of a run are defined, and
// so are all its results; else its steps are applied one by one. To check an access to global
// memory within a run, the steps before it are applied and then undone (BehindShadow).
//
// Only for wave32. Immutable after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "check/lanes/shadow_rule.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {

// An instruction as the observer sees it.
struct ShadowStep {
  emulator::Inst inst;
  emulator::InstOperands operands;  // as shadow_rule() left them
  ShadowRule rule = ShadowRule::kNone;
};
using ShadowSteps = std::vector<std::unique_ptr<const ShadowStep>>;

struct ShadowRun {
  static constexpr unsigned kMost = 12;         // most sources, most destinations
  static constexpr unsigned kMostWritten = 32;  // most written registers

  uint8_t vector_sources = 0;
  uint8_t scalar_sources = 0;
  uint8_t vector_dests = 0;
  uint8_t scalar_dests = 0;
  // Operand codes, VGPRs first. Sources: registers that a destination depends on, with their values
  // before the run. Destinations: registers whose shadow is read after the run.
  uint16_t source[kMost] = {};
  uint16_t dest[kMost] = {};
  uint32_t writer[kMost] = {};    // low half of the pc of the last write to dest[n]
  std::vector<uint16_t> written;  // all registers that the steps write
  ShadowSteps steps;
  // The sources that each destination depends on, as bits.
  uint16_t depends[kMost] = {};
  // For a VGPR that is the high half of a result (ShadowRule::kWide): the destination that is the
  // low half. kMost: none.
  uint8_t low_half[kMost] = {};
  // Whether all steps work lane by lane: a lane of a VGPR is defined where it is in `depends`.
  bool by_lane = false;

  bool operator==(const ShadowRun& other) const;
};

// Whether the instruction may be in a run. Its rule is applied with the EXEC and lane masks at the
// end of the run.
bool may_be_in_run(const ShadowStep& step);
// The SGPR whose value the step's rule reads; kNone: none. The run must not write it.
uint16_t value_of(const ShadowStep& step);

// Builds a run from steps. `looked_at(code)`: the register's shadow is read after the run;
// `always(code)`: the register is never undefined. Null if there are too many registers.
template <typename LookedAt, typename Always>
std::unique_ptr<ShadowRun> make_run(ShadowSteps steps, const LookedAt& looked_at,
                                    const Always& always);

// ---- parts of make_run() ----

// For each written register, the registers whose values before the run it depends on.
class RunRegisters {
 public:
  void take(const ShadowStep& step);
  struct Register {
    uint16_t code;
    uint32_t writer;
    std::vector<uint16_t> from;  // sorted
  };
  const std::vector<Register>& written() const { return written_; }

 private:
  std::vector<uint16_t> origins(uint16_t code) const;
  void set(uint16_t code, uint64_t pc, const std::vector<uint16_t>& from);
  std::vector<Register> written_;
};
std::unique_ptr<ShadowRun> finish_run(ShadowSteps steps, const RunRegisters& registers,
                                      const std::vector<RunRegisters::Register>& dests,
                                      const std::vector<uint16_t>& sources);

template <typename LookedAt, typename Always>
std::unique_ptr<ShadowRun> make_run(ShadowSteps steps, const LookedAt& looked_at,
                                    const Always& always) {
  RunRegisters registers;
  for (const auto& step : steps) registers.take(*step);
  std::vector<RunRegisters::Register> dests;
  std::vector<uint16_t> sources;
  for (const RunRegisters::Register& one : registers.written()) {
    if (!looked_at(one.code)) continue;
    dests.push_back(one);
    for (const uint16_t code : one.from)
      if (!always(code)) sources.push_back(code);
  }
  return finish_run(std::move(steps), registers, dests, sources);
}

}  // namespace gfxgraph::check
