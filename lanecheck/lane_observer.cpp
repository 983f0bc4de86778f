#include "lanecheck/lane_observer.h"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cstring>

#include "emulator/launch.h"
#include "emulator/wave64.h"
#include "lanecheck/lane_observer.inl"

namespace gfxgraph::lanecheck {
namespace {

using emulator::Inst;
using emulator::InstOperands;
using emulator::Op;
using emulator::OperandRef;

constexpr uint64_t kNullPageBytes = 4096;
constexpr unsigned kFirstVector = emulator::operand::kVgpr0;

const char* unmapped_class(uint64_t address) {
  if (address < kNullPageBytes) return "null page";
  const uint64_t top = address >> 47;
  return top == 0 || top == 0x1ffff ? "unmapped" : "non-canonical";
}

AddressShadow shadow_of_address(const LaneWaveState& state, const InstOperands& operands) {
  AddressShadow result;
  for (unsigned n = 0; n < operands.source_count; ++n) {
    const OperandRef& source = operands.source[n];
    if ((source.role & OperandRef::kAddress) == 0) continue;
    for (unsigned d = 0; d < source.dwords; ++d) {
      const unsigned code = source.code + d;
      if (code >= kFirstVector) {
        result.undefined |= ~state.defined[code & 511];
        result.stale |= ~state.written[code & 255];
        if (d == 0) result.writer = state.writer[code & 255];
      } else if (state.defined[code] != ~0u) {
        result.undefined = ~0u;
      }
    }
  }
  return result;
}

// Takes the steps of a run whose end has not come yet; its destructor takes them back.
class BehindShadow {
 public:
  BehindShadow(LaneWaveState& state, const emulator::Wave& wave, const ShadowRun& run, size_t steps)
      : state_(state), run_(run) {
    for (size_t n = 0; n < run.written.size(); ++n) {
      const unsigned code = run.written[n];
      old_[n] = {state.defined[code], state.written[code & 255], state.writer[code & 255]};
    }
    LaneObserver::take_steps(state, wave, run, steps);
  }
  ~BehindShadow() {
    for (size_t n = 0; n < run_.written.size(); ++n) {
      const unsigned code = run_.written[n];
      state_.defined[code] = old_[n].defined;
      if (code < kFirstVector) continue;
      state_.written[code & 255] = old_[n].written;
      state_.writer[code & 255] = old_[n].writer;
    }
  }
  BehindShadow(const BehindShadow&) = delete;
  BehindShadow& operator=(const BehindShadow&) = delete;

 private:
  struct Old {
    uint32_t defined, written, writer;
  };
  LaneWaveState& state_;
  const ShadowRun& run_;
  std::array<Old, ShadowRun::kMostWritten> old_;
};

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
  const ShadowRule rule = shadow_rule(inst, operands);
  operands.user = static_cast<uint32_t>(rule) << kRuleShift;
  if (rule == ShadowRule::kVectorOne || rule == ShadowRule::kMixedOne)
    operands.user |= packed_sources(operands);
  const AddressFlow::Watch watch = flow_.watch(inst.pc);
  if (watch.how == AddressFlow::Watch::How::kRun)
    operands.user = static_cast<uint32_t>(ShadowRule::kRun) << kRuleShift | watch.run;
  else if (inst.format == emulator::Format::kSmem && watch.address_defined)
    operands.user |= kAddressDefined;
  operands.hooked = watch.how == AddressFlow::Watch::How::kRun ||
                    (watch.how == AddressFlow::Watch::How::kAlone && rule != ShadowRule::kNone);
}

void LaneObserver::add_kernel(uint64_t kernel_object) {
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
                   emulator::initialised_vgprs(*descriptor), *table);
}

void LaneObserver::dispatch_begin(const emulator::DispatchInfo& info) {
  regions_ = memory_.snapshot();
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
  // Registers that every wave starts with, and sources that are no SGPR.
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
  // Registers that the kernel does not have are never looked at.
  const uint32_t vectors = std::min<uint32_t>(info.vgprs, 256);
  uint32_t* const vector_defined = state.defined + kFirstVector;
  if (state.dispatch == dispatches_) {
    for (const uint16_t code : changing_) state.defined[code] = scalars_[code];
  } else {
    std::copy(scalars_.begin(), scalars_.end(), state.defined);
    state.dispatch = dispatches_;
  }
  // Few registers for every wave: without the library's memset.
  for (uint32_t n = 0; n < vectors; n += kAtATime) {
    clear_some(vector_defined + n);
    clear_some(state.written + n);
    clear_some(state.writer + n);
  }
  const uint32_t initialised = std::min<uint32_t>(info.initialised_vgprs, vectors);
  for (uint32_t n = 0; n < initialised; ++n) vector_defined[n] = state.written[n] = ~0u;
  for (const AddressFlow::Begun& begun : begun_) {
    if (begun.code < kFirstVector) {
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
  state.loaded_defined = ~0u;
  state.called_host = false;
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

void LaneObserver::take_steps(WaveState& state, const Wave& wave, const ShadowRun& run,
                              size_t count) {
  // All rules but kNone and kRun.
  constexpr unsigned kCount = static_cast<unsigned>(ShadowRule::kRun);
  for (size_t n = 0; n < count; ++n)
    apply_rule(state, wave, *run.steps[n], std::make_integer_sequence<unsigned, kCount>());
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
      if (inst.dst < 128) state.defined[inst.dst] = defined ? ~0u : 0;
      return;
    }
    case ShadowRule::kWriteLane: {
      const uint32_t lane = wave.read32(&inst, 1);
      WaveState& half = half_of(state, wave, lane);
      const uint32_t bit = 1u << (lane & 31);
      uint32_t& shadow = half.defined[inst.dst & 511];
      shadow = of(inst.src[0]) == ~0u ? shadow | bit : shadow & ~bit;
      half.writer[inst.dst & 255] = static_cast<uint32_t>(inst.pc);
      half.written[inst.dst & 255] |= bit;
      return;
    }
    case ShadowRule::kCrossLane: all = (all & exec) == exec ? ~0u : all; break;
    case ShadowRule::kLoad:
      all &= state.loaded_defined;
      state.loaded_defined = ~0u;
      break;
    default: break;
  }
  const bool for_both = inst.op == Op::ds_append || inst.op == Op::ds_consume;
  if (for_both && wave.upper != nullptr) {
    auto& upper = *static_cast<WaveState*>(wave.upper->observer_state);
    write_register(upper, inst.dst, wave.upper->exec(), ~0u, inst);
  }
  for (unsigned n = 0; n < operands.dest_count; ++n) {
    for (unsigned d = 0; d < operands.dest[n].dwords; ++d) {
      const unsigned code = operands.dest[n].code + d;
      if (code >= kFirstVector) {
        write_register(state, code, exec, all, inst);
      } else {
        state.defined[code & 511] = all | ~exec;
      }
    }
  }
}

void LaneObserver::after_relative(WaveState& state, const Wave& wave, const Inst& inst) {
  const RelativeRegisters at = relative_registers(inst, wave.sgpr[emulator::operand::kM0]);
  const auto of = [&](uint32_t code) { return code < 512 ? state.defined[code] : ~0u; };
  const bool wide = inst.op == Op::s_movreld_b64 || inst.op == Op::s_movrels_b64;
  if (inst.dst < kFirstVector) {
    const uint32_t low = of(at.source), high = wide ? of(at.source + 1u) : 0;
    if (at.dest < 128) state.defined[at.dest] = low;
    if (wide && at.dest + 1u < 128) state.defined[at.dest + 1u] = high;
    return;
  }
  const uint32_t defined = of(at.source), old = of(at.dest);
  write_register(state, at.dest, wave.exec(), defined, inst);
  if (inst.op == Op::v_swaprel_b32) write_register(state, at.source, wave.exec(), old, inst);
}

AddressShadow LaneObserver::address_shadow(WaveState& state, const Wave& wave,
                                           const Inst& inst) const {
  const InstOperands& operands = emulator::operands_of(inst);
  const AddressFlow::Behind behind = flow_.behind(inst.pc);
  if (behind.steps == 0) return shadow_of_address(state, operands);
  const BehindShadow caught_up(state, wave, flow_.run(behind.run), behind.steps);
  return shadow_of_address(state, operands);
}

void LaneObserver::report(WaveState& state, const Wave& wave, const Inst& inst,
                          FindingClass finding_class, uint32_t lanes,
                          const emulator::MemoryEvent& event, const char* address_class) {
  LaneEvent found;
  found.finding_class = finding_class;
  found.place = state.place;
  found.pc = inst.pc;
  found.op = inst.op;
  found.lanes = uint64_t{lanes} << wave.first_lane;
  found.exec = uint64_t{event.exec} << wave.first_lane;
  if (wave.upper != nullptr) found.exec |= uint64_t{wave.upper->exec()} << 32;
  if (state.lower != nullptr) found.exec |= state.lower_wave->exec();
  found.address = event.address[std::countr_zero(lanes)];
  found.access_bytes = event.access_bytes;
  found.write = event.kind != emulator::AccessKind::kLoad;
  found.written_by = address_shadow(state, wave, inst).writer;
  found.address_class = address_class;
  if (wave.upper == nullptr && state.lower == nullptr) {
    sites_.add(kernel_, found);
    return;
  }
  // One instruction is one event, whichever halves it is seen in.
  std::vector<LaneEvent>& pending = (state.lower != nullptr ? state.lower : &state)->pending;
  for (LaneEvent& other : pending) {
    if (other.finding_class != finding_class || other.pc != inst.pc) continue;
    other.lanes |= found.lanes;
    return;
  }
  pending.push_back(found);
}

bool LaneObserver::belongs_to_host_call(WaveState& state, uint64_t address) {
  if (address - kHostCallAddress < kHostCallBytes) {
    state.called_host = true;
    called_host_ = true;
    return true;
  }
  // The pointers in the buffer read as zero.
  return state.called_host && address < kHostCallBytes;
}

uint32_t LaneObserver::judge_active(WaveState& state, const Wave& wave, const Inst& inst,
                                    const emulator::MemoryEvent& event, uint32_t active) {
  uint32_t outside = 0;
  uint32_t slack = 0;
  uint32_t silent = 0;
  const char* outside_class = "";
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t address = event.address[lane];
    const uint64_t offset = address - state.region_base;
    if (offset < state.region_size && event.access_bytes <= state.region_size - offset) continue;
    const emulator::Region* const region = regions_->find(address);
    if (region == nullptr || !region->contains(address, event.access_bytes)) {
      if (belongs_to_host_call(state, address)) {
        silent |= 1u << lane;
        continue;
      }
      if (outside == 0) outside_class = unmapped_class(address);
      outside |= 1u << lane;
      continue;
    }
    if (address - region->address + event.access_bytes > region->requested_bytes) {
      slack |= 1u << lane;
      continue;
    }
    state.region_base = region->address;
    state.region_size = region->requested_bytes;
  }
  if (outside != 0) report(state, wave, inst, FindingClass::kE1, outside, event, outside_class);
  if (slack != 0) report(state, wave, inst, FindingClass::kE2, slack, event, "slack");
  return event.exec & ~(outside | silent);
}

void LaneObserver::judge_masked(WaveState& state, const Wave& wave, const Inst& inst,
                                const emulator::MemoryEvent& event, uint32_t masked) {
  const AddressShadow shadow = address_shadow(state, wave, inst);
  const uint32_t undefined = masked & shadow.undefined;
  const uint32_t stale = masked & shadow.stale & ~undefined;
  const uint32_t computed = masked & ~undefined & ~stale;
  uint32_t unmapped = 0;
  uint32_t elsewhere = 0;
  const char* elsewhere_class = "";
  for (uint32_t rest = options_.literal ? masked : computed; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t address = event.address[lane];
    const emulator::Region* const region = regions_->find(address);
    if (region == nullptr || !region->contains(address, event.access_bytes)) {
      if (!belongs_to_host_call(state, address)) unmapped |= 1u << lane;
      continue;
    }
    const bool slack = address - region->address + event.access_bytes > region->requested_bytes;
    // Without an active lane there is no buffer that this one should be in.
    const bool other = event.exec != 0 && region->address != state.region_base;
    if ((slack || other) && elsewhere == 0) elsewhere_class = slack ? "slack" : "other allocation";
    if (slack || other) elsewhere |= 1u << lane;
  }
  const auto tell = [&](FindingClass finding_class, uint32_t lanes) {
    if (lanes == 0) return;
    report(state, wave, inst, finding_class, lanes, event,
           unmapped_class(event.address[std::countr_zero(lanes)]));
  };
  tell(FindingClass::kW1, unmapped & computed);
  tell(FindingClass::kI1, unmapped & stale);
  tell(FindingClass::kI2, unmapped & undefined);
  elsewhere &= computed;
  if (elsewhere != 0)
    report(state, wave, inst, FindingClass::kW2, elsewhere, event, elsewhere_class);
}

bool LaneObserver::judge_scalar(WaveState& state, const Wave& wave, const Inst& inst,
                                const emulator::ScalarEvent& event) {
  if (!event.in_range) return true;  // the buffer's range check answers it
  const InstOperands& operands = emulator::operands_of(inst);
  const bool undefined = shadow_of_address(state, operands).undefined != 0;
  const emulator::Region* const region = regions_->find(event.address);
  const bool mapped = region != nullptr && region->contains(event.address, event.bytes);
  if (wave.exec_is_zero()) ++state.empty_exec_loads;
  if (mapped && !undefined) return true;
  if (!mapped && belongs_to_host_call(state, event.address)) return false;
  LaneEvent found;
  found.finding_class = FindingClass::kE3;
  found.place = state.place;
  found.pc = inst.pc;
  found.op = inst.op;
  found.exec = wave.exec() | (wave.upper != nullptr ? uint64_t{wave.upper->exec()} << 32 : 0);
  found.address = event.address;
  found.access_bytes = event.bytes;
  found.address_class = mapped ? "in a buffer" : unmapped_class(event.address);
  found.detail = undefined             ? "its address comes from a register that was never written"
                 : wave.exec_is_zero() ? "scalar loads run although EXEC is 0"
                                       : "its address is in no live range";
  sites_.add(kernel_, found);
  return mapped;
}

// Scratch holds spilled registers: what was not stored is as undefined as a register never written.
void LaneObserver::watch_scratch(WaveState& state, const Wave& wave, const Inst& inst,
                                 const emulator::MemoryEvent& event) {
  const uint64_t dword_stride = wave.scratch_row / 4;  // from one dword of a lane to its next
  const uint64_t dwords_in_wave = wave.scratch_bytes / 4;
  const unsigned dwords = std::max<unsigned>(1, event.access_bytes / 4u);
  const bool store = event.kind != emulator::AccessKind::kLoad;
  if (store && state.scratch.empty()) state.scratch.resize(dwords_in_wave);
  uint32_t defined = ~0u;
  for (uint32_t rest = event.exec; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t first = (event.address[lane] - wave.scratch_base) / 4;
    for (unsigned d = 0; d < dwords; ++d) {
      const uint64_t at = first + d * dword_stride;
      if (at >= state.scratch.size()) {
        defined &= ~(1u << lane);
        break;
      }
      if (!store) {
        if (!state.scratch[at]) defined &= ~(1u << lane);
      } else if (inst.src[1] >= kFirstVector && inst.src[1] < 512) {
        state.scratch[at] = (state.defined[(inst.src[1] + d) & 511] >> lane & 1) != 0;
      } else {
        state.scratch[at] = true;
      }
    }
  }
  if (!store) state.loaded_defined = defined;
}

}  // namespace gfxgraph::lanecheck
