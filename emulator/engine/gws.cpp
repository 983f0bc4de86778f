#include "emulator/engine/gws.h"

#include <bit>

#include "emulator/engine/context.h"
#include "emulator/memory/access_watch.h"

namespace gfxgraph::emulator {

void Gws::init(uint32_t resource, uint32_t count) {
  const std::scoped_lock lock(mutex_);
  resources_[resource].counter = count;
}

bool Gws::arrive(uint32_t resource, uint32_t next_count, uint32_t& phase) {
  const std::scoped_lock lock(mutex_);
  Resource& r = resources_[resource];
  phase = r.phase;
  if (r.counter != 0) {
    --r.counter;
    return false;
  }
  r.counter = next_count;
  ++r.phase;
  return true;
}

uint32_t Gws::phase(uint32_t resource) const {
  const std::scoped_lock lock(mutex_);
  return resources_[resource].phase;
}

uint32_t Gws::missing(uint32_t resource) const {
  const std::scoped_lock lock(mutex_);
  return resources_[resource].counter + 1;
}

namespace {

uint32_t resource_of(const Wave& wave, const Inst* inst) {
  return (wave.sgpr[operand::kM0] >> 16 & 63) + (static_cast<uint32_t>(inst->imm) & 63);
}

}  // namespace

uint32_t gws_missing(const Wave& wave) {
  return wave.dispatch->gws->missing(resource_of(wave, wave.resume));
}

namespace {

void tell_of_foreign(const Wave& wave, const Inst* inst) {
  const Dispatch* const dispatch = wave.dispatch->dispatch;
  const auto& tell = wave.dispatch->options->on_foreign_grid_barrier;
  if (tell && !dispatch->cooperative) tell({dispatch, wave.group->id, wave.index, inst->pc});
}

}  // namespace

const Inst* run_gws(Wave& wave, const Inst* inst) {
  const uint32_t resource = resource_of(wave, inst);
  if (resource >= Gws::kResources) return wave.unsupported(inst, "a GWS resource number above 63");
  Gws& gws = *wave.dispatch->gws;
  // The first active lane's value; for a wave64 whose lower lanes are all inactive, the upper
  // half's.
  const Wave& half =
      wave.exec() == 0 && wave.upper != nullptr && wave.upper->exec() != 0 ? *wave.upper : wave;
  const uint32_t exec = half.exec();
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
  const uint32_t count = half.v(inst->src[0]).lane[lane];
  if (inst->op == Op::ds_gws_init) {
    AccessWatch::note_change();
    gws.init(resource, count);
    return inst->next();
  }
  if (!wave.gws_waits) {
    tell_of_foreign(wave, inst);
    AccessWatch::note_change();
    if (gws.arrive(resource, count, wave.gws_phase)) return inst->next();
    wave.gws_waits = true;
  } else if (gws.phase(resource) != wave.gws_phase) {
    wave.gws_waits = false;
    return inst->next();
  }
  // Retries after the other waves have had their turn.
  wave.resume = inst;
  wave.exit = WaveExit::kYield;
  return nullptr;
}

}  // namespace gfxgraph::emulator
