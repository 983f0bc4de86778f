#include "emulator/analysis/closure.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "emulator/engine/gws.h"

namespace gfxgraph::emulator {

GFXGRAPH_DECLARE_BACKENDS(kTrialBackend);

namespace {

constexpr uint64_t kFirstSteps = 512;
constexpr uint64_t kMoreSteps = 6;
constexpr unsigned kMostTries = 24;
constexpr unsigned kMostRounds = 48;
constexpr size_t kMostStates = 4096;
constexpr uint64_t kMostScratchBytes = 1 << 22;

CodeCache::WaveSize wave_size(const Launch& launch) {
  return launch.lanes == 64 ? CodeCache::WaveSize::k64 : CodeCache::WaveSize::k32;
}

// The same in each look.
uint64_t number_of(const Launch& launch, const ResidentGroup& group) {
  const auto& id = group.shape.id;
  return id[0] + uint64_t{launch.groups[0]} * (id[1] + uint64_t{launch.groups[1]} * id[2]);
}

void append_word(std::string& key, uint32_t word) {
  key.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

}  // namespace

struct ClosureProof::State {
  uint64_t pc = 0;
  CodeCache* code = nullptr;
  uint32_t hidden[6] = {};  // SCC, MODE, TRAPSTS, FLAT_SCRATCH, the global wave sync
  uint32_t gws_phase = 0;
  uint32_t sgpr[128] = {};
  std::vector<Row> vgpr;
  std::vector<uint32_t> scratch;
  std::vector<TrialMemory::OwnWord> memory;
};

// One wave's states.
struct ClosureProof::Look {
  explicit Look(const Launch& launch) : graph(launch.vgprs, launch.lanes == 64) {}
  WayGraph graph;
  bool barrier_open = false;
  bool reaches_barrier = false;
  State first;
  std::deque<State> open;
  std::unordered_set<std::string> seen;
  std::vector<uint64_t> heads;  // of loops: where a way came back
};

ClosureProof::ClosureProof(const Launch& launch, const DispatchContext& context,
                           const Limits& limits)
    : launch_(launch),
      real_context_(context),
      limits_(limits),
      memory_(*context.memory, context.address_mask, context.options->give_up != nullptr),
      backend_(select_backend(GFXGRAPH_BACKEND_SET(kTrialBackend))),
      code_(*context.memory, backend_, &memory_, wave_size(launch)),
      lds_(launch.lds_bytes + 64),
      wave_(std::make_unique<Wave>()),
      upper_(launch.lanes == 64 ? std::make_unique<Wave>() : nullptr) {
  context_.dispatch = context.dispatch;
  context_.memory = context.memory;
  context_.code = &code_.default_mode;
  context_.code_any_mode = &code_.any_mode;
  context_.gws = context.gws;
  context_.options = context.options;
  context_.address_mask = context.address_mask;
  context_.group_aperture_hi = context.group_aperture_hi;
  context_.private_aperture_hi = context.private_aperture_hi;
}

bool ClosureProof::holds(const std::vector<ResidentGroup*>& groups) {
  std::vector<Group> all;
  for (ResidentGroup* group : groups)
    if (group->live != 0) all.push_back({group, false, number_of(launch_, *group)});
  for (unsigned round = 0; round < kMostRounds; ++round) {
    states_.clear();
    bool opened = false;
    for (Group& group : all) {
      const bool was_open = group.open;
      if (follow_group(group) != Outcome::kCloses) {
        failed_ = group.resident;
        return false;
      }
      opened = opened || group.open != was_open;
    }
    // Waves that were followed before a word got a new value have not seen it.
    if (!memory_.take_growth() && !opened) {
      std::vector<uint64_t> values;
      memory_.list_values(values);
      states_.insert(values.begin(), values.end());
      return true;
    }
  }
  return false;
}

ClosureProof::Outcome ClosureProof::follow_group(Group& group) {
  ResidentGroup& real = *group.resident;
  std::copy_n(real.group.lds, launch_.lds_bytes, lds_.data());
  workgroup_ = real.group;
  workgroup_.lds = lds_.data();
  memory_.set_group(group.number, lds_.data(), launch_.lds_bytes);
  real.spins.assign(real.shape.wave_count, Spin());
  uint32_t reaching = 0;
  for (uint32_t n = 0; n < real.shape.wave_count; ++n) {
    if (real.states[n] == WaveExit::kEnded) continue;
    if (real.states[n] == WaveExit::kFault || !take_over(*real.waves[n])) return Outcome::kGoesOn;
    Look look(launch_);
    look.barrier_open = group.open;
    if (real.states[n] == WaveExit::kBarrier) look.reaches_barrier = true;
    if (real.states[n] != WaveExit::kBarrier || group.open) {
      memory_.set_wave(group.number << 8 | n, scratch_.data());
      save(look.first);
      if (follow_wave(look, group.number << 8 | n) != Outcome::kCloses) return Outcome::kGoesOn;
      real.spins[n] = spin_of(look);
    }
    reaching += look.reaches_barrier;
  }
  group.open = group.open || reaching == real.live;
  return Outcome::kCloses;
}

ClosureProof::Outcome ClosureProof::follow_wave(Look& look, uint64_t name) {
  uint64_t most_steps = std::min(kFirstSteps, limits_.wave);
  for (unsigned n = 0; n < kMostTries; ++n) {
    const Outcome outcome = follow_ways(look, most_steps);
    if (outcome == Outcome::kGoesOn) return outcome;
    const bool news = look.graph.take_news();
    if (outcome == Outcome::kCloses && !news) {
      for (const std::string& key : look.seen)
        states_.insert(std::hash<std::string>()(key) + name * 0x9e3779b97f4a7c15u);
      return outcome;
    }
    if (outcome == Outcome::kTooLong) {
      if (most_steps >= limits_.wave && !news) return Outcome::kGoesOn;
      most_steps = std::min(most_steps * kMoreSteps, limits_.wave);
    }
    if (!look.graph.analyse()) return Outcome::kGoesOn;
  }
  return Outcome::kGoesOn;
}

ClosureProof::Outcome ClosureProof::follow_ways(Look& look, uint64_t most_steps) {
  look.seen.clear();
  look.heads.clear();
  look.open.clear();
  look.open.push_back(look.first);
  uint64_t steps = 0;
  while (!look.open.empty()) {
    load(look.open.back());
    look.open.pop_back();
    for (bool stays = true; stays;) {
      if (++steps > most_steps || look.seen.size() > kMostStates) return Outcome::kTooLong;
      if (++steps_ > limits_.all) return Outcome::kGoesOn;
      if (const Outcome outcome = step(look, stays); outcome != Outcome::kCloses) return outcome;
    }
  }
  return Outcome::kCloses;
}

// ---- steps ----

const Inst* ClosureProof::decoded_at(uint64_t pc) {
  const Inst* const slot = wave_->code_cache->at(pc);
  if (slot == nullptr) return nullptr;
  return slot->advance != 0 ? slot : wave_->code_cache->decode_slot(*wave_, slot);
}

// What has an effect that is not followed is not run.
bool ClosureProof::may_run(const Inst& inst) const {
  switch (inst.op) {
    case Op::s_endpgm:
    case Op::s_endpgm_saved:
    case Op::s_sendmsg:
    case Op::s_sendmsghalt:
    case Op::s_trap:
    case Op::s_subvector_loop_begin:
    case Op::s_subvector_loop_end:
    case Op::ds_append:
    case Op::ds_consume:
    case Op::ds_ordered_count:
    case Op::ds_gws_init: return false;
    case Op::ds_gws_barrier: return wave_->gws_waits;
    default: break;
  }
  for (const uint16_t source : inst.src)
    if (source == operand::kLdsDirect) return false;
  return inst.format != Format::kMubuf || (inst.mods & mmod::kLds) == 0;
}

// `stays`: the wave's present state is to be followed on.
ClosureProof::Outcome ClosureProof::step(Look& look, bool& stays) {
  const Inst* const inst = decoded_at(wave_->resume->pc);
  if (inst == nullptr || !may_run(*inst)) return Outcome::kGoesOn;
  const uint64_t pc = inst->pc;
  const Halves lanes = exec();
  if (!look.graph.enter(*inst, lanes.lower | uint64_t{lanes.upper} << 32)) return Outcome::kGoesOn;
  const bool accesses = inst->format >= Format::kDs || inst->format == Format::kSmem;
  State before;
  if (accesses) save(before);
  bool by_lane = false;
  stays = false;
  memory_.begin_step();
  do {
    if (memory_.choices() > 1 || by_lane) load(before);
    memory_.begin_run(by_lane);
    const bool ran = by_lane ? run_lanes(inst) : run_once(inst);
    if (ran && memory_.needs_lanes() && !by_lane) {
      memory_.undo();
      by_lane = true;
      load(before);
      memory_.begin_step();
      memory_.begin_run(true);
      if (!run_lanes(inst)) return Outcome::kGoesOn;
    } else if (!ran) {
      return Outcome::kGoesOn;
    }
    if (!by_lane) memory_.collect();
    if (memory_.refused()) return Outcome::kGoesOn;
    if (wave_->gws_waits) return Outcome::kCloses;  // nobody arrives
    const uint64_t next = wave_->resume->pc;
    look.graph.leave(pc, memory_, next);
    if (wave_->exit == WaveExit::kBarrier) {
      look.reaches_barrier = true;
      if (!look.barrier_open) continue;
    }
    const bool several = memory_.choices() > 1;
    if ((several || next <= pc) && !is_new(look)) continue;
    if (several)
      save(look.open.emplace_back());
    else
      stays = true;
  } while (memory_.next_choice());
  return Outcome::kCloses;
}

// False: it faulted or ended the wave.
bool ClosureProof::run_once(const Inst* inst) {
  wave_->resume = inst;
  wave_->slice = 1;
  backend_.run(*wave_);
  return wave_->exit != WaveExit::kFault && wave_->exit != WaveExit::kEnded;
}

bool ClosureProof::run_lanes(const Inst* inst) {
  const Halves all = exec();
  for (const bool upper : {false, true}) {
    for (uint32_t m = upper ? all.upper : all.lower; m != 0; m &= m - 1) {
      const uint32_t lane = m & (0u - m);
      set_exec(upper ? Halves{0, lane} : Halves{lane, 0});
      memory_.begin_lane();
      if (!run_once(inst)) return false;
      memory_.collect();
    }
  }
  set_exec(all);
  return true;
}

// ---- states ----

ClosureProof::Halves ClosureProof::exec() const {
  return {wave_->exec(), upper_ != nullptr ? upper_->exec() : 0};
}

void ClosureProof::set_exec(Halves lanes) {
  wave_->set_exec(lanes.lower);
  if (upper_ != nullptr) wave_->write32(operand::kExecHi, lanes.upper);
}

// False: it is not supported.
bool ClosureProof::take_over(const Wave& real) {
  if (real.scratch_bytes > kMostScratchBytes) return false;
  const auto copy = [&](Wave& to, const Wave& from) {
    to = from;
    for (RegionCacheEntry& entry : to.regions) entry = RegionCacheEntry();
    to.group = &workgroup_;
    to.dispatch = &context_;
    to.observer = &memory_;
    to.observer_state = &observer_state_;
    to.scratch = scratch_.data();
    to.code_cache = from.code_cache == real_context_.code ? context_.code : context_.code_any_mode;
  };
  scratch_.assign(real.scratch, real.scratch + real.scratch_bytes);
  copy(*wave_, real);
  if (upper_ != nullptr) {
    copy(*upper_, *real.upper);
    wave_->upper = upper_.get();
  }
  const Inst* const at = wave_->code_cache->at(real.resume->pc);
  if (at == nullptr) return false;
  wave_->resume = at;
  return true;
}

void ClosureProof::save(State& to) const {
  const Wave& w = *wave_;
  to.pc = w.resume->pc;
  to.code = w.code_cache;
  const uint32_t hidden[6] = {w.scc,
                              w.mode,
                              w.trap_status,
                              w.flat_scratch[0],
                              w.flat_scratch[1],
                              static_cast<uint32_t>(w.gws_waits)};
  std::memcpy(to.hidden, hidden, sizeof(hidden));
  to.gws_phase = w.gws_phase;
  std::memcpy(to.sgpr, w.sgpr, sizeof(to.sgpr));
  to.vgpr.assign(w.vgpr, w.vgpr + launch_.vgprs);
  if (upper_ != nullptr) to.vgpr.insert(to.vgpr.end(), upper_->vgpr, upper_->vgpr + launch_.vgprs);
  memory_.save_scratch(to.scratch);
  memory_.save_own(to.memory);
}

void ClosureProof::load(const State& from) {
  Wave& w = *wave_;
  w.code_cache = from.code;
  w.resume = from.code->at(from.pc);
  w.scc = from.hidden[0];
  w.mode = from.hidden[1];
  w.trap_status = from.hidden[2];
  w.flat_scratch[0] = from.hidden[3];
  w.flat_scratch[1] = from.hidden[4];
  w.gws_waits = from.hidden[5] != 0;
  w.gws_phase = from.gws_phase;
  std::memcpy(w.sgpr, from.sgpr, sizeof(from.sgpr));
  w.set_exec(from.sgpr[operand::kExecLo]);
  std::memcpy(w.vgpr, from.vgpr.data(), launch_.vgprs * sizeof(Row));
  if (upper_ != nullptr) {
    upper_->mode = w.mode;
    upper_->flat_scratch[0] = w.flat_scratch[0];
    upper_->flat_scratch[1] = w.flat_scratch[1];
    w.write32(operand::kExecHi, from.sgpr[operand::kExecHi]);
    std::memcpy(upper_->vgpr, from.vgpr.data() + launch_.vgprs, launch_.vgprs * sizeof(Row));
  }
  memory_.load_scratch(from.scratch);
  memory_.load_own(from.memory);
}

// Whether the wave is in a state that was not followed yet.
bool ClosureProof::is_new(Look& look) {
  std::string key;
  append_key(look.graph, key);
  if (look.seen.insert(std::move(key)).second) return true;
  look.heads.push_back(wave_->resume->pc);
  return false;
}

void ClosureProof::append_key(const WayGraph& graph, std::string& key) const {
  const Wave& w = *wave_;
  const uint64_t pc = w.resume->pc;
  const Locations* const relevant = graph.relevant(pc);
  for (const uint32_t word : {static_cast<uint32_t>(pc), static_cast<uint32_t>(pc >> 32), w.mode,
                              w.trap_status, w.flat_scratch[0], w.flat_scratch[1]})
    append_word(key, word);
  for (uint16_t code = 0; code < 128; ++code)
    if (relevant == nullptr || relevant->scalar[code]) append_word(key, w.sgpr[code]);
  if (relevant == nullptr || relevant->scalar[operand::kScc]) append_word(key, w.scc);
  for (uint32_t v = 0; v < launch_.vgprs; ++v) {
    const uint64_t lanes = relevant == nullptr ? ~uint64_t{0} : relevant->vgpr[v];
    for (auto m = static_cast<uint32_t>(lanes); m != 0; m &= m - 1)
      append_word(key, w.vgpr[v].lane[std::countr_zero(m)]);
    if (upper_ == nullptr) continue;
    for (auto m = static_cast<uint32_t>(lanes >> 32); m != 0; m &= m - 1)
      append_word(key, upper_->vgpr[v].lane[std::countr_zero(m)]);
  }
  // Dwords that no way of before touched hold what is really there: they are left out when they do.
  std::vector<uint32_t> scratch;
  memory_.save_scratch(scratch);
  for (uint32_t n = 0; n < scratch.size(); ++n) {
    if (relevant != nullptr && !relevant->has_scratch(n)) continue;
    if (scratch[n] == memory_.real_scratch(n)) continue;
    append_word(key, n);
    append_word(key, scratch[n]);
  }
  append_word(key, ~0u);
  std::vector<TrialMemory::OwnWord> own;
  memory_.save_own(own);
  for (const TrialMemory::OwnWord& word : own)
    for (const uint32_t part :
         {static_cast<uint32_t>(word.key), static_cast<uint32_t>(word.key >> 32), word.value})
      append_word(key, part);
}

// As the exact proof says it: best a load or atomic of global memory, the first one in the code.
Spin ClosureProof::spin_of(const Look& look) {
  Spin spin;
  for (const WayGraph::Place& place : look.graph.places_from(look.heads)) {
    spin.low_pc = spin.low_pc == 0 ? place.pc : std::min(spin.low_pc, place.pc);
    spin.high_pc = std::max(spin.high_pc, place.pc);
    if (!place.polls) continue;
    const bool better = spin.poll_pc == 0 || (place.address != 0 && spin.address == 0) ||
                        ((place.address != 0) == (spin.address != 0) && place.pc < spin.poll_pc);
    if (!better) continue;
    spin.poll_pc = place.pc;
    spin.address = place.address;
  }
  return spin;
}

}  // namespace gfxgraph::emulator
