#include "check/deep/deep_observer.h"

#include "check/lanes/bitwise.h"
#include "check/lanes/lane_observer.inl"

namespace gfxgraph::check {

void DeepObserver::decoded(const Inst& inst, emulator::InstOperands& operands) {
  LaneObserver::decoded(inst, operands);
  if (init_ != nullptr && (is_branch(inst) || is_bitwise(inst)) && !sources_defined(inst.pc)) {
    operands.user = (is_branch(inst) ? kBranch : kBitwise) << kRuleShift;
    operands.hooked = true;
  }
  if (race_ == nullptr || !RaceCheck::orders(inst)) return;
  const bool run =
      operands.hooked && hook_kind(operands) == static_cast<unsigned>(ShadowRule::kRunLate);
  operands.user = (run ? kOrdersAfterRun : kOrders) << kRuleShift | (operands.user & kUserMask);
  operands.hooked = true;
}

void DeepObserver::take_run(WaveState& state, const Wave& wave, const ShadowRun& run) {
  if (shadow::finish_by_lane<true>(state, run, wave.exec())) return;
  for (const auto& step : run.steps) {
    take_step(state, wave, *step);
    if (!result_defined(state, wave, step->inst))
      InitCheck::undefined_result(state, state.init, wave, step->inst, step->operands);
  }
}

void DeepObserver::dispatch_begin(const emulator::DispatchInfo& info) {
  LaneObserver::dispatch_begin(info);
  if (race_ != nullptr) race_->dispatch_begin(info);
  if (init_ != nullptr) init_->dispatch_begin();
}

void DeepObserver::dispatch_end() {
  LaneObserver::dispatch_end();
  if (race_ != nullptr) race_->dispatch_end();
}

void DeepObserver::wave_begin(WaveState& state, const Wave& wave, const emulator::WaveInfo& info) {
  LaneObserver::wave_begin(state, wave, info);
  state.race = {};
  if (race_ != nullptr && wave.first_lane == 0) race_->wave_begin(state.race, wave, info);
  if (init_ != nullptr) init_->wave_begin(state, state.init, wave);
}

void DeepObserver::wave_end(WaveState& state, const Wave& wave) {
  LaneObserver::wave_end(state, wave);
  if (race_ != nullptr) race_->wave_end(state.race, wave);
  if (init_ != nullptr) init_->wave_end(wave);
}

}  // namespace gfxgraph::check
