// Straight runs of instructions whose shadow is brought up to date once, at their end, and only for
// registers that are looked at later. Nearly always all registers that a run begins with are
// defined, and then so are all that it leaves behind; else the steps are taken one by one. An
// access to global memory within the run that is to be judged takes the steps before it, and takes
// them back (BehindShadow).
//
// For wave32. Immutable once built.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/engine/observer.h"
#include "lanecheck/shadow_rule.h"

namespace gfxgraph::lanecheck {

// An instruction as the observer sees it.
struct ShadowStep {
  emulator::Inst inst;
  emulator::InstOperands operands;  // as shadow_rule() left them
  ShadowRule rule = ShadowRule::kNone;
};
using ShadowSteps = std::vector<std::unique_ptr<const ShadowStep>>;

struct ShadowRun {
  static constexpr unsigned kMost = 12;         // of sources, of destinations
  static constexpr unsigned kMostWritten = 32;  // registers

  uint8_t vector_sources = 0;
  uint8_t scalar_sources = 0;
  uint8_t vector_dests = 0;
  uint8_t scalar_dests = 0;
  // Operand codes, VGPRs first. Sources: that some destination depends on and that the run does not
  // write before. Destinations: whose shadow is looked at afterwards.
  uint16_t source[kMost] = {};
  uint16_t dest[kMost] = {};
  uint32_t writer[kMost] = {};    // low half of the pc that wrote dest[n] last
  std::vector<uint16_t> written;  // all that the steps write
  ShadowSteps steps;

  bool operator==(const ShadowRun& other) const;
};

// Whether a run may go over the instruction: its rule is replayed with the EXEC and the lane masks
// of the run's end.
bool may_be_in_run(const ShadowStep& step);
// The SGPR whose value the step's rule looks at; kNone if there is none. Nothing may write it
// before the run ends.
uint16_t value_of(const ShadowStep& step);

// The run of these steps; `looked_at` says whether a register's shadow counts after it, `always`
// whether it is never undefined. Null when it has too many registers.
template <typename LookedAt, typename Always>
std::unique_ptr<ShadowRun> make_run(ShadowSteps steps, const LookedAt& looked_at,
                                    const Always& always);

// ---- what make_run() is made of ----

// For each register what it depends on, of the registers at the run's beginning.
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

}  // namespace gfxgraph::lanecheck
