#include "check/lanes/lane_observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <bitset>
#include <cstring>

#include "check/lanes/cross_lane.h"
#include "check/lanes/lane_observer.inl"
#include "emulator/decode/operand_uses.h"
#include "emulator/engine/launch.h"
#include "emulator/engine/wave64.h"

namespace gfxgraph::check {
namespace {

using emulator::Dataflow;
using emulator::Inst;
using emulator::InstOperands;
using emulator::Op;
using emulator::OperandRef;

using emulator::operand::kVgpr0;

// The half of a wave64 that has the lane.
LaneWaveState& half_of(LaneWaveState& state, const emulator::Wave& wave, uint32_t lane) {
  const bool upper = wave.upper != nullptr && (lane & 32) != 0;
  return upper ? *static_cast<LaneWaveState*>(wave.upper->observer_state) : state;
}

void write_register(LaneWaveState& state, unsigned code, uint32_t lanes, uint32_t defined,
                    const Inst& inst) {
  uint32_t& shadow = state.defined[code & 511];
  shadow = (shadow & ~lanes) | (defined & lanes);
  state.written[code & 255] = lanes;
  state.writer[code & 255] = static_cast<uint32_t>(inst.pc);
}

}  // namespace

void LaneObserver::decoded(const Inst& inst, InstOperands& operands) {
  if (options_.waits != nullptr) options_.waits->note_reached(inst.pc);
  const ShadowRule rule = shadow_rule(inst, operands);
  operands.user = static_cast<uint32_t>(rule) << kRuleShift;
  if (has_packed_sources(rule)) operands.user |= packed_sources(operands);
  const AddressFlow::Watch watch = flow_.watch(inst.pc);
  if (watch.how == AddressFlow::Watch::How::kRun)
    operands.user =
        static_cast<uint32_t>(emulator::is_vector_alu(inst.format) ? ShadowRule::kRun
                                                                   : ShadowRule::kRunLate)
            << kRuleShift |
        watch.run;
  else if (inst.format == emulator::Format::kSmem && watch.sources_defined)
    operands.user |= kAddressDefined;
  operands.hooked = watch.how == AddressFlow::Watch::How::kRun ||
                    (watch.how == AddressFlow::Watch::How::kAlone && rule != ShadowRule::kNone);
  if (rule == ShadowRule::kCrossLane) {
    if (misses_none_if_all_active(inst)) operands.user |= kMissesNone;
    if (emulator::permutes_lanes(inst) && writes_all_if_all_active(inst))
      operands.user |= kWritesAll;
  }
  const bool misses =
      rule == ShadowRule::kCrossLane ? may_miss_lanes(inst) : may_name_lane_past(inst);
  if (!operands.hooked && misses) {
    operands.hooked = true;
    operands.user |= kOnlyMissed;
  }
}

void LaneObserver::add_kernel(uint64_t kernel_object, size_t most_instructions) {
  const auto table = memory_.snapshot();
  const emulator::Region* const region = table->find(kernel_object);
  if (region == nullptr || !region->contains(kernel_object, 64)) return;
  const auto descriptor =
      codeobj::decode_descriptor({region->host + (kernel_object - region->address), 64});
  if (!descriptor) return;
  // Of a wave64, whose lane masks are pairs, all instructions are watched.
  if (!descriptor->wave32()) return;
  const uint64_t entry = kernel_object + static_cast<uint64_t>(descriptor->entry_offset_bytes);
  flow_.add_kernel(entry, emulator::initialised_sgprs(*descriptor),
                   emulator::initialised_vgprs(*descriptor), *table, of_, most_instructions);
}

void LaneObserver::dispatch_begin(const emulator::DispatchInfo& info) {
  regions_ = memory_.snapshot();
  scratch_lane_bytes_ = info.scratch_bytes_per_lane;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint32_t size = std::max<uint32_t>(1, info.dispatch->workgroup_size[axis]);
    groups_[axis] = (info.dispatch->grid_size[axis] + size - 1) / size;
  }
  const uint64_t entry =
      info.dispatch->kernel_object + static_cast<uint64_t>(info.descriptor->entry_offset_bytes);
  namespace operand = emulator::operand;
  const uint32_t sgprs = std::min<uint32_t>(emulator::initialised_sgprs(*info.descriptor), 106);
  scalars_.fill(0);
  std::fill_n(scalars_.begin(), sgprs, ~0u);
  // Registers that every wave starts with, and sources that are not SGPRs.
  std::fill(scalars_.begin() + operand::kTtmp0, scalars_.begin() + operand::kM0, ~0u);
  std::fill(scalars_.begin() + operand::kNull, scalars_.end(), ~0u);
  scalars_[operand::kScc] = 0;
  std::bitset<256> always;
  for (const uint16_t code : flow_.never_undefined(entry)) always.set(code);
  begun_ = flow_.begun(entry);
  changing_.clear();
  for (uint16_t code = 0; code < 256; ++code) {
    if (always[code])
      scalars_[code] = ~0u;
    else if (code < operand::kFirstConstant || code == operand::kScc)
      changing_.push_back(code);
  }
  ++dispatches_;
}

void LaneObserver::dispatch_end() { regions_.reset(); }

namespace {

// Divides the number of registers in LaneWaveState.
constexpr uint32_t kAtATime = 8;
inline void clear_some(uint32_t* registers) { std::memset(registers, 0, kAtATime * 4); }

}  // namespace

void LaneObserver::wave_begin(WaveState& state, const Wave& wave, const emulator::WaveInfo& info) {
  // Registers that the kernel does not have are never read.
  const uint32_t vectors = std::min<uint32_t>(info.vgprs, 256);
  uint32_t* const vector_defined = state.defined + kVgpr0;
  if (state.dispatch == dispatches_) {
    for (const uint16_t code : changing_) state.defined[code] = scalars_[code];
  } else {
    std::copy(scalars_.begin(), scalars_.end(), state.defined);
    state.dispatch = dispatches_;
  }
  // Few registers, but for every wave: faster without a call of memset.
  for (uint32_t n = 0; n < vectors; n += kAtATime) {
    clear_some(vector_defined + n);
    clear_some(state.written + n);
    clear_some(state.writer + n);
  }
  const uint32_t initialised = std::min<uint32_t>(info.initialised_vgprs, vectors);
  for (uint32_t n = 0; n < initialised; ++n) vector_defined[n] = state.written[n] = ~0u;
  for (const AddressFlow::Begun& begun : begun_) {
    if (begun.code < kVgpr0) {
      state.defined[begun.code] = ~0u;
      continue;
    }
    uint32_t& shadow = state.defined[begun.code];
    shadow = (shadow & ~info.launched_lanes) | (begun.defined ? info.launched_lanes : 0);
    state.written[begun.code & 255] = info.launched_lanes;
    state.writer[begun.code & 255] = begun.writer;
  }
  state.launched = info.launched_lanes;
  state.region_base = state.region_size = 0;
  state.place.launch = launch_;
  state.place.workgroup = info.workgroup;
  state.place.group =
      info.workgroup[0] +
      uint64_t{groups_[0]} * (info.workgroup[1] + uint64_t{groups_[1]} * info.workgroup[2]);
  state.place.wave = info.wave;
  state.scratch.clear();
  if (!state.part_masks.empty()) state.part_masks.clear();
  if (!state.scratch_part_masks.empty()) state.scratch_part_masks.clear();
  state.loaded_defined = ~0u;
  state.scratch_computed.clear();
  state.loads_scratch = false;
  state.raw = nullptr;
  state.pending.clear();
  state.lower = nullptr;
  if (wave.upper != nullptr) {
    auto& upper = *static_cast<WaveState*>(wave.upper->observer_state);
    upper.lower = &state;
    upper.lower_wave = &wave;
  }
}

void LaneObserver::before_halves(WaveState& low, WaveState& high, const emulator::HalfPlan& plan) {
  for (unsigned n = 0; n < plan.copy_count; ++n)
    high.defined[plan.copies[n].to] = low.defined[plan.copies[n].from];
  for (unsigned n = 0; n < 3; ++n) {
    if ((plan.specials >> n & 1) == 0) continue;
    for (unsigned d = 0; d < 2; ++d) high.defined[plan.high->src[n] + d] = ~0u;
  }
}

void LaneObserver::after_halves(WaveState& low, WaveState& high, const emulator::HalfPlan& plan) {
  if (plan.mask_result != emulator::HalfPlan::kNone)
    low.defined[plan.mask_result] = high.defined[plan.mask_source()];
  if (!low.pending.empty()) flush(low);
}

void LaneObserver::flush(WaveState& low) {
  for (const LaneEvent& event : low.pending) sites_.add(kernel_, event);
  low.pending.clear();
}

void LaneObserver::wave_end(WaveState& state, const Wave&) {
  if (state.dropped_lanes != 0)
    dropped_lanes_.fetch_add(state.dropped_lanes, std::memory_order_relaxed);
  if (state.empty_exec_loads != 0)
    empty_exec_loads_.fetch_add(state.empty_exec_loads, std::memory_order_relaxed);
  state.dropped_lanes = state.empty_exec_loads = 0;
}

template <unsigned... kRule>
static void apply_rule(LaneWaveState& state, const emulator::Wave& wave, const ShadowStep& step,
                       std::integer_sequence<unsigned, kRule...>) {
  const auto apply = [&]<unsigned kOne>() {
    if (static_cast<unsigned>(step.rule) == kOne)
      shadow::apply<static_cast<ShadowRule>(kOne)>(state, wave, step.inst, step.operands);
  };
  (apply.template operator()<kRule>(), ...);
}

void LaneObserver::take_apart(WaveState& state, const Wave& wave, const ShadowRun& run) {
  if (!shadow::finish_by_lane<false>(state, run, wave.exec()))
    take_steps(state, wave, run, run.steps.size());
}

void LaneObserver::take_step(WaveState& state, const Wave& wave, const ShadowStep& step) {
  // All rules but those of runs.
  constexpr unsigned kCount = static_cast<unsigned>(ShadowRule::kRun);
  apply_rule(state, wave, step, std::make_integer_sequence<unsigned, kCount>());
}

void LaneObserver::take_steps(WaveState& state, const Wave& wave, const ShadowRun& run,
                              size_t count) {
  for (size_t n = 0; n < count; ++n) take_step(state, wave, *run.steps[n]);
}

void LaneObserver::after_rare(WaveState& state, const Wave& wave, const Inst& inst,
                              const InstOperands& operands, ShadowRule rule) {
  if (rule == ShadowRule::kRelative) return after_relative(state, wave, inst);
  if (rule == ShadowRule::kSwap) {
    const uint32_t first = state.defined[inst.dst & 511], second = state.defined[inst.src[0] & 511];
    write_register(state, inst.dst, wave.exec(), second, inst);
    write_register(state, inst.src[0], wave.exec(), first, inst);
    return;
  }
  const uint32_t exec = wave.exec();
  if (emulator::op_info(inst.op).dataflow == Dataflow::kCounter) {
    // Once for both halves of a wave64.
    write_register(state, inst.dst, exec, ~0u, inst);
    if (wave.upper == nullptr) return;
    auto& upper = *static_cast<WaveState*>(wave.upper->observer_state);
    return write_register(upper, inst.dst, wave.upper->exec(), ~0u, inst);
  }
  const auto of = [&](uint16_t code, unsigned dword = 0) {
    return code < 512 ? state.defined[(code + dword) & 511] : ~0u;
  };
  uint32_t all = ~0u;
  for (unsigned n = 0; n < operands.source_count; ++n) {
    for (unsigned d = 0; d < operands.source[n].dwords; ++d) all &= of(operands.source[n].code, d);
  }
  switch (rule) {
    case ShadowRule::kReadLane: {
      const uint64_t active =
          exec | (wave.upper != nullptr ? uint64_t{wave.upper->exec()} << 32 : 0);
      uint32_t lane = active == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(active));
      if (inst.op == Op::v_readlane_b32) lane = wave.read32(&inst, 1);
      const WaveState& half = half_of(state, wave, lane);
      const uint32_t shadow = inst.src[0] < 512 ? half.defined[inst.src[0]] : ~0u;
      const bool defined = (shadow >> (lane & 31) & 1) != 0;
      if (inst.dst >= 128) return;
      state.defined[inst.dst] = defined ? ~0u : 0;
      if (defined || half.part_masks.empty()) return;
      const auto part = half.part_masks.find(inst.src[0] * 32u + (lane & 31));
      if (part != half.part_masks.end() && part->second.value == wave.sgpr[inst.dst])
        state.defined[inst.dst] = part->second.defined;
      return;
    }
    case ShadowRule::kWriteLane: {
      const uint32_t lane = wave.read32(&inst, 1);
      WaveState& half = half_of(state, wave, lane);
      const uint32_t bit = 1u << (lane & 31);
      uint32_t& shadow = half.defined[inst.dst & 511];
      const uint32_t defined = of(inst.src[0]);
      shadow = defined == ~0u ? shadow | bit : shadow & ~bit;
      // Only initcheck looks at single bits.
      if (half.raw != nullptr && defined != 0 && defined != ~0u)
        half.part_masks[inst.dst * 32u + (lane & 31)] = {wave.read32(&inst, 0), defined};
      else if (!half.part_masks.empty())
        half.part_masks.erase(inst.dst * 32u + (lane & 31));
      half.writer[inst.dst & 255] = static_cast<uint32_t>(inst.pc);
      half.written[inst.dst & 255] |= bit;
      return;
    }
    case ShadowRule::kCrossLane:
      for (unsigned n = 0; n < operands.dest_count; ++n)
        for (unsigned d = 0; d < operands.dest[n].dwords; ++d) {
          const unsigned code = operands.dest[n].code + d;
          if (code >= kVgpr0)
            write_register(state, code, state.exchange_written, state.exchange_defined, inst);
          else
            state.defined[code & 511] = state.exchange_defined | ~state.exchange_written;
        }
      return;
    case ShadowRule::kLoad:
      all &= state.loaded_defined;
      state.loaded_defined = ~0u;
      break;
    default: break;
  }
  for (unsigned n = 0; n < operands.dest_count; ++n) {
    for (unsigned d = 0; d < operands.dest[n].dwords; ++d) {
      const unsigned code = operands.dest[n].code + d;
      if (code >= kVgpr0) {
        write_register(state, code, exec, all, inst);
      } else {
        state.defined[code & 511] = all | ~exec;
      }
    }
  }
}

void LaneObserver::before_exchange(WaveState& state, const Wave& wave, const Inst& inst) {
  if (!emulator::permutes_lanes(inst)) return;
  const InstOperands& operands = emulator::operands_of(inst);
  const uint16_t moved = inst.src[exchanged_source(inst)];  // the others are each lane's own
  uint32_t own = ~0u;
  for (unsigned n = 0; n < operands.source_count; ++n) {
    // As src[1] is src[0], too, in v_add_f32_dpp v0, v0, v0, the other use counts as well.
    const OperandRef& source = operands.source[n];
    const bool again = inst.src[1] == moved || inst.src[2] == moved;
    if (source.code == moved && (inst.format == emulator::Format::kDs || !again)) continue;
    for (unsigned d = 0; d < source.dwords; ++d) own &= state.defined[(source.code + d) & 511];
  }
  const uint32_t shadow = moved < 512 ? state.defined[moved] : ~0u;
  const CrossLane lanes = cross_lane(inst, wave);
  uint32_t defined = 0;
  for (unsigned lane = 0; lane < emulator::kLanes; ++lane) {
    const uint8_t from = lanes.from[lane];
    if (from == CrossLane::kNone || (shadow >> from & 1) != 0) defined |= 1u << lane;
  }
  state.exchange_written = lanes.written;
  state.exchange_defined = defined & own;
  report_exchange(state, wave, inst, lanes.past, "past the wave");
  report_exchange(state, wave, inst, lanes.inactive, "inactive");
}

void LaneObserver::before_one_lane(WaveState& state, const Wave& wave, const Inst& inst) {
  if (!may_name_lane_past(inst)) return;
  const uint32_t lane = wave.read32(&inst, 1);
  const unsigned lanes = wave.upper != nullptr ? 2 * emulator::kLanes : emulator::kLanes;
  if (lane < lanes) return;
  // Where no lane is active, code that was not worth a jump around it looks for the first one.
  if (wave.exec() == 0 && (wave.upper == nullptr || wave.upper->exec() == 0)) return;
  LaneEvent found;
  found.finding_class = FindingClass::kS8;
  found.place = state.place;
  found.pc = inst.pc;
  found.op = inst.op;
  found.exec = uint64_t{wave.exec()} << wave.first_lane;
  found.detail = fmt::format("names lane {}, past the wave of {} lanes", lane, lanes);
  sites_.add(kernel_, found);
}

void LaneObserver::report_exchange(WaveState& state, const Wave& wave, const Inst& inst,
                                   uint32_t lanes, const char* which) {
  if (lanes == 0) return;
  LaneEvent found;
  found.finding_class = FindingClass::kS8;
  found.place = state.place;
  found.pc = inst.pc;
  found.op = inst.op;
  found.lanes = uint64_t{lanes} << wave.first_lane;
  found.exec = uint64_t{wave.exec()} << wave.first_lane;
  const bool several = (lanes & (lanes - 1)) != 0;
  found.detail = std::string("lane") + (several ? "s " : " ") + lane_ranges(found.lanes) +
                 (several ? " name lanes that are " : " names a lane that is ") + which;
  sites_.add(kernel_, found);
}

void LaneObserver::after_relative(WaveState& state, const Wave& wave, const Inst& inst) {
  const RelativeRegisters at = relative_registers(inst, wave.sgpr[emulator::operand::kM0]);
  const auto of = [&](uint32_t code) { return code < 512 ? state.defined[code] : ~0u; };
  const emulator::OpInfo& info = emulator::op_info(inst.op);
  const bool wide = info.dst_dwords == 2;
  if (inst.dst < kVgpr0) {
    const uint32_t low = of(at.source), high = wide ? of(at.source + 1u) : 0;
    if (at.dest < 128) state.defined[at.dest] = low;
    if (wide && at.dest + 1u < 128) state.defined[at.dest + 1u] = high;
    return;
  }
  const uint32_t defined = of(at.source), old = of(at.dest);
  write_register(state, at.dest, wave.exec(), defined, inst);
  if (info.dataflow == Dataflow::kRelativeSwap)
    write_register(state, at.source, wave.exec(), old, inst);
}

}  // namespace gfxgraph::check
