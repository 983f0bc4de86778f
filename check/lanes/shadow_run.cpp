#include "check/lanes/shadow_run.h"

#include <algorithm>

namespace gfxgraph::check {
namespace {

using emulator::Op;
using emulator::OperandRef;
namespace operand = emulator::operand;

using emulator::operand::kVgpr0;

void unite(std::vector<uint16_t>& into, const std::vector<uint16_t>& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

bool is_register(uint16_t code) {
  return operand::is_sgpr(code) || operand::is_vgpr(code) || code == operand::kScc;
}

}  // namespace

bool ShadowRun::operator==(const ShadowRun& other) const {
  const auto same_steps = [&] {
    return std::equal(steps.begin(), steps.end(), other.steps.begin(), other.steps.end(),
                      [](const auto& a, const auto& b) {
                        return a->inst.pc == b->inst.pc && a->rule == b->rule;
                      });
  };
  return vector_sources == other.vector_sources && scalar_sources == other.scalar_sources &&
         vector_dests == other.vector_dests && scalar_dests == other.scalar_dests &&
         std::equal(source, source + kMost, other.source) &&
         std::equal(dest, dest + kMost, other.dest) &&
         std::equal(writer, writer + kMost, other.writer) && same_steps();
}

bool may_be_in_run(const ShadowStep& step) {
  switch (step.rule) {
    case ShadowRule::kNone:
    case ShadowRule::kVector:
    case ShadowRule::kVectorOne:
    case ShadowRule::kLoadedOne:
    case ShadowRule::kMixedOne:
    case ShadowRule::kScalar:
    case ShadowRule::kDefined:
    case ShadowRule::kLaneMask:
    case ShadowRule::kMixed:
    case ShadowRule::kSelect:
    case ShadowRule::kWide: return true;
    // v_readlane may read a lane whose EXEC bit is 0.
    case ShadowRule::kReadLane: return step.inst.op == Op::v_readfirstlane_b32;
    default: return false;
  }
}

static bool goes_by_lane(const ShadowStep& step) {
  switch (step.rule) {
    case ShadowRule::kSelect:
    case ShadowRule::kReadLane: return false;
    default: return true;
  }
}

// The destination that is the low half of the result whose high half `dest[n]` is.
static unsigned low_half_of(const ShadowRun& run, const ShadowSteps& steps, unsigned n) {
  for (const auto& step : steps) {
    if (step->rule != ShadowRule::kWide || static_cast<uint32_t>(step->inst.pc) != run.writer[n] ||
        run.dest[n] != step->inst.dst + 1u)
      continue;
    for (unsigned low = 0; low < run.vector_dests; ++low)
      if (run.dest[low] == step->inst.dst && run.writer[low] == run.writer[n]) return low;
  }
  return ShadowRun::kMost;
}

uint16_t value_of(const ShadowStep& step) {
  const bool selects = step.rule == ShadowRule::kSelect && operand::is_sgpr(step.inst.src[2]);
  return selects ? step.inst.src[2] : operand::kNone;
}

std::vector<uint16_t> RunRegisters::origins(uint16_t code) const {
  for (const Register& one : written_)
    if (one.code == code) return one.from;
  return is_register(code) ? std::vector<uint16_t>{code} : std::vector<uint16_t>{};
}

void RunRegisters::set(uint16_t code, uint64_t pc, const std::vector<uint16_t>& from) {
  const auto at = std::find_if(written_.begin(), written_.end(),
                               [&](const Register& one) { return one.code == code; });
  const Register value{code, static_cast<uint32_t>(pc), from};
  if (at == written_.end())
    written_.push_back(value);
  else
    *at = value;
}

void RunRegisters::take(const ShadowStep& step) {
  const emulator::Inst& inst = step.inst;
  const emulator::InstOperands& operands = step.operands;
  std::vector<uint16_t> all;
  for (unsigned n = 0; n < operands.source_count; ++n) {
    const OperandRef& source = operands.source[n];
    for (unsigned d = 0; d < source.dwords; ++d)
      unite(all, origins(static_cast<uint16_t>((source.code + d) & 511)));
  }
  if (step.rule == ShadowRule::kWide) {
    std::vector<uint16_t> low = origins(inst.src[0]);
    unite(low, origins(inst.src[1]));
    unite(low, origins(inst.src[2]));
    set(inst.dst, inst.pc, low);
    set(static_cast<uint16_t>(inst.dst + 1), inst.pc, all);
    if (inst.sdst < 128) set(inst.sdst, inst.pc, all);
    return;
  }
  if (step.rule == ShadowRule::kDefined) all.clear();
  for (unsigned n = 0; n < operands.dest_count; ++n)
    for (unsigned d = 0; d < operands.dest[n].dwords; ++d)
      set(static_cast<uint16_t>((operands.dest[n].code + d) & 511), inst.pc, all);
}

std::unique_ptr<ShadowRun> finish_run(ShadowSteps steps, const RunRegisters& registers,
                                      const std::vector<RunRegisters::Register>& dests,
                                      const std::vector<uint16_t>& sources) {
  std::vector<uint16_t> needed;
  unite(needed, sources);
  if (needed.size() > ShadowRun::kMost || dests.size() > ShadowRun::kMost ||
      registers.written().size() > ShadowRun::kMostWritten)
    return nullptr;
  auto run = std::make_unique<ShadowRun>();
  for (const RunRegisters::Register& one : registers.written()) run->written.push_back(one.code);
  unsigned at = 0;
  const auto take_source = [&](bool vector, uint8_t& count) {
    for (const uint16_t code : needed) {
      if ((code >= kVgpr0) != vector) continue;
      run->source[at++] = code;
      ++count;
    }
  };
  take_source(true, run->vector_sources);
  take_source(false, run->scalar_sources);
  at = 0;
  const auto take_dest = [&](bool vector, uint8_t& count) {
    for (const RunRegisters::Register& one : dests) {
      if ((one.code >= kVgpr0) != vector) continue;
      run->dest[at] = one.code;
      for (unsigned n = 0; n < needed.size(); ++n)
        if (std::find(one.from.begin(), one.from.end(), run->source[n]) != one.from.end())
          run->depends[at] |= static_cast<uint16_t>(1u << n);
      run->writer[at++] = one.writer;
      ++count;
    }
  };
  take_dest(true, run->vector_dests);
  take_dest(false, run->scalar_dests);
  run->by_lane =
      std::all_of(steps.begin(), steps.end(), [](const auto& step) { return goes_by_lane(*step); });
  for (unsigned n = 0; n < ShadowRun::kMost; ++n)
    run->low_half[n] = static_cast<uint8_t>(low_half_of(*run, steps, n));
  run->steps = std::move(steps);
  return run;
}

}  // namespace gfxgraph::check
