#include "emulator/engine/schedule/resident_group.h"

#include <cstring>
#include <new>

#include "emulator/engine/gws.h"

namespace gfxgraph::emulator {
namespace {

void clear_regions(Wave& wave) {
  for (RegionCacheEntry& entry : wave.regions) entry = RegionCacheEntry();
}

}  // namespace

void WaveDeleter::operator()(Wave* wave) const {
  if (wave->observer_state != nullptr) {
    backend->destroy_state(wave->observer_state);
    ::operator delete(wave->observer_state, std::align_val_t{backend->wave_state_align});
  }
  delete wave;
}

Scratch::~Scratch() { release(); }

void Scratch::release() {
  if (bytes_ != nullptr && options_->give_scratch) options_->give_scratch(size_bytes_);
  bytes_.reset();
  size_bytes_ = 0;
}

std::byte* Scratch::reserve(uint64_t size_bytes, const EngineOptions& options) {
  if (size_bytes <= size_bytes_) return bytes_.get();
  release();
  if (options.take_scratch && !options.take_scratch(size_bytes)) throw std::bad_alloc();
  try {
    bytes_ = std::make_unique<std::byte[]>(size_bytes);
  } catch (const std::bad_alloc&) {
    if (options.give_scratch) options.give_scratch(size_bytes);
    throw;
  }
  size_bytes_ = size_bytes;
  options_ = &options;
  return bytes_.get();
}

WavePointer GroupStarter::new_wave() const {
  WavePointer wave(new Wave, WaveDeleter{&backend_});
  wave->observer_state = nullptr;
  if (backend_.construct_state != nullptr) {
    wave->observer_state =
        ::operator new(backend_.wave_state_bytes, std::align_val_t{backend_.wave_state_align});
    backend_.construct_state(wave->observer_state);
  }
  return wave;
}

void GroupStarter::start(ResidentGroup& g, uint64_t index) const {
  g.shape = group_shape(launch_, index);
  g.group.id = g.shape.id;
  g.group.wave_count = g.shape.wave_count;
  g.group.lds_bytes = launch_.lds_bytes;
  g.group.lds_requested = launch_.lds_requested;
  if (g.lds_capacity < launch_.lds_bytes) {
    g.lds = std::make_unique<std::byte[]>(launch_.lds_bytes + 64);
    g.lds_capacity = launch_.lds_bytes;
  } else if (launch_.lds_bytes != 0) {
    std::memset(g.lds.get(), 0, launch_.lds_bytes);
  }
  g.group.lds = g.lds.get();
  // Cached ranges stay valid across dispatches while the memory map does not change.
  const uint64_t generation = context_.memory->generation();
  const bool clear =
      generation != g.cache_generation || g.used_scratch || launch_.scratch_wave_bytes != 0;
  g.cache_generation = generation;
  g.used_scratch = launch_.scratch_wave_bytes != 0;
  g.live = g.shape.wave_count;
  g.states.assign(g.shape.wave_count, WaveExit::kSlice);
  g.loops.clear();
  while (g.waves.size() < g.shape.wave_count) {
    g.waves.push_back(new_wave());
    g.scratch.emplace_back();
  }
  if (launch_.lanes == 64)
    while (g.uppers.size() < g.shape.wave_count) g.uppers.push_back(new_wave());
  if (clear) {
    for (auto& wave : g.waves) clear_regions(*wave);
    for (auto& wave : g.uppers) clear_regions(*wave);
  }
  const uint64_t clock = launch_.first_clock + index * launch_.max_waves;
  for (uint32_t n = 0; n < g.shape.wave_count; ++n) {
    g.waves[n]->clock = clock + n;
    start_wave_of(g, n);
  }
}

void GroupStarter::start_wave_of(ResidentGroup& g, uint32_t n) const {
  Wave& wave = *g.waves[n];
  const uint64_t scratch = launch_.scratch_wave_bytes;
  wave.scratch = g.scratch[n].reserve(scratch, *context_.options);
  wave.scratch_bytes = scratch;
  wave.scratch_base = kScratchWindow + n * scratch;
  wave.group = &g.group;
  wave.dispatch = &context_;
  wave.observer = observer_;
  wave.upper = launch_.lanes == 64 ? g.uppers[n].get() : nullptr;
  wave.index = n;
  const WaveInfo info = start_wave(launch_, g.shape, wave);
  if (backend_.wave_begin == nullptr) return;
  if (wave.upper != nullptr) {
    WaveInfo upper = info;
    upper.launched_lanes = wave.upper->launched_lanes;
    backend_.wave_begin(observer_, wave.upper->observer_state, *wave.upper, upper);
  }
  backend_.wave_begin(observer_, wave.observer_state, wave, info);
}

void add_places(std::vector<WavePlace>& to, const ResidentGroup& g) {
  constexpr uint64_t kBarrierBytes = 4;
  for (uint32_t n = 0; n < g.shape.wave_count; ++n) {
    if (g.states[n] == WaveExit::kEnded) continue;
    const Wave& wave = *g.waves[n];
    WavePlace stuck;
    stuck.workgroup = g.shape.id;
    stuck.wave = n;
    stuck.pc = wave.resume->pc;
    if (g.states[n] == WaveExit::kBarrier) {
      stuck.why = WavePlace::Why::kBarrier;
      stuck.pc -= kBarrierBytes;
    } else if (wave.gws_waits) {
      stuck.why = WavePlace::Why::kGws;
      stuck.gws_missing = gws_missing(wave);
    } else if (n < g.loops.size() && g.loops[n].low_pc != 0) {
      stuck.why = WavePlace::Why::kRepeats;
      stuck.loop = g.loops[n];
      stuck.pc = stuck.loop.poll_pc != 0 ? stuck.loop.poll_pc : stuck.loop.low_pc;
    }
    to.push_back(stuck);
  }
}

}  // namespace gfxgraph::emulator
