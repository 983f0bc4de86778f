#include "recorder/events/deferred_data.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "recorder/events/host_memory.h"

namespace gfxgraph::recorder {

void DeferredData::will_run(uint64_t run) {
  effects_.push_back({.run = run, .first_later = allocations_.next_id()});
}

void DeferredData::began(uint64_t run) {
  if (DeferredEffect* const effect = effect_of(run)) effect->began = true;
}

bool DeferredData::ended(uint64_t run, const std::vector<HostEffects::Change>& changes) {
  DeferredEffect* const effect = effect_of(run);
  if (effect == nullptr) return false;
  effect->ended = true;
  if (!changes.empty()) effect->changes = changes;
  return true;
}

void DeferredData::fill_sources(uint64_t run) {
  for (DeferredSource& source : sources_) {
    if (std::erase(source.runs, run) == 0) continue;
    source.bytes = keep_host_rows(store_, source.raw, source.raw.source);
  }
}

void DeferredData::forget(uint64_t run) {
  for (DeferredSource& source : sources_) std::erase(source.runs, run);
  if (DeferredEffect* effect = effect_of(run)) effect->ended = true;  // its graph is there
  std::erase_if(effects_, [&](const DeferredEffect& effect) {
    return effect.run == run && effect.graph == nullptr;
  });
}

void DeferredData::add(DeferredSource source) {
  source.bytes = keep_host_rows(store_, source.raw, source.raw.source);
  source.first_later = allocations_.next_id();
  sources_.push_back(std::move(source));
}

void DeferredData::forget_trace() {
  sources_.clear();
  effects_.clear();
  sources_in_flight_.forget_trace();
}

// Requires the lock.
DeferredEffect* DeferredData::effect_of(uint64_t run) {
  const auto found = std::ranges::find(effects_, run, &DeferredEffect::run);
  return found == effects_.end() ? nullptr : &*found;
}

// Requires the lock. Whether the next work of the stream may run while the function does.
bool DeferredData::beside(const DeferredEffect& effect, format::StreamId stream) const {
  return !effect.ended && (effect.first == 0 || !flights_.follows(stream, effect.first));
}

void DeferredData::defer_effect(uint64_t run, format::StreamId stream) {
  const std::lock_guard lock(mutex_);
  DeferredEffect* const effect = effect_of(run);
  if (effect == nullptr) return;
  auto events = std::make_unique<std::vector<format::Event>>();
  format::Event& event = events->emplace_back();
  journal_.stamp(event);
  format::Copy copy;
  copy.asynchronous = true;
  copy.stream = stream;
  event.action = std::move(copy);
  event.site = journal_.sites().here();
  effect->events = events.get();
  journal_.enqueue(journal_.queue().draw(), std::move(events));
}

void DeferredData::defer_effect(uint64_t run, format::Graph& graph, size_t ordinal,
                                const std::vector<Flight>& beside, bool early) {
  const std::lock_guard lock(mutex_);
  DeferredEffect* const effect = effect_of(run);
  if (effect == nullptr) return;
  effect->early = early;
  effect->graph = &graph;
  for (const Flight& flight : beside) effect->add(flight);
  effect->ordinal = ordinal;
}

void DeferredData::run_beside(const Work& work, format::HostFunctionId first,
                              const std::vector<Flight>& flights) {
  const std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < work.runs; ++i) {
    DeferredEffect* const effect = effect_of(work.first_run + i);
    if (effect == nullptr) continue;
    effect->first = first;
    effect->first_later = allocations_.next_id();
    for (const Flight& flight : flights) effect->add(flight);
  }
}

void DeferredData::run_beside_functions(const std::vector<Flight>& flights, const Work& work,
                                        format::StreamId stream) {
  if (flights.empty()) return;
  const std::lock_guard lock(mutex_);
  for (DeferredEffect& effect : effects_) {
    if (effect.ended || effect.run - work.first_run < work.runs) continue;
    if (effect.first != 0 && flights_.follows(stream, effect.first)) continue;
    for (const Flight& flight : flights) effect.add(flight);
  }
}

void DeferredData::read_beside_functions(const Allocation& source, uint64_t offset,
                                         uint64_t size_bytes, format::StreamId stream) {
  const std::lock_guard lock(mutex_);
  for (DeferredEffect& effect : effects_) {
    if (!beside(effect, stream)) continue;
    if (auto bytes = keep_host_bytes(store_, source.host_address + offset, size_bytes))
      effect.read.push_back({source.id, offset, std::move(bytes)});
  }
}

bool DeferredData::functions_beside(format::StreamId stream) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(effects_,
                             [&](const DeferredEffect& effect) { return beside(effect, stream); });
}

std::vector<uint64_t> DeferredData::runs_before(format::StreamId stream) {
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t> tokens;
  for (const DeferredEffect& effect : effects_) {
    if (!effect.ended && effect.first != 0 && flights_.follows(stream, effect.first))
      tokens.push_back(effect.run);
  }
  return tokens;
}

bool DeferredData::waits_for_effects(const Work& work) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(effects_, [&](const DeferredEffect& effect) {
    return effect.run - work.first_run < work.runs;
  });
}

bool DeferredData::any_effect() {
  const std::lock_guard lock(mutex_);
  return !effects_.empty();
}

void DeferredData::rewritten(const Allocation& allocation, uint64_t block) {
  const std::lock_guard lock(mutex_);
  for (DeferredEffect& effect : effects_) {
    if (!effect.ended) effect.rewritten.emplace(allocation.id, block);
  }
}

void DeferredData::hold_words() {
  const std::lock_guard lock(mutex_);
  for (DeferredSource& source : sources_) {
    if (source.runs.empty() && !source.words) source.words = allocations_.words_now();
  }
  for (DeferredEffect& effect : effects_) {
    if (effect.ended && !effect.changes.empty() && !effect.words)
      effect.words = allocations_.words_now();
  }
}

DeferredData::Known DeferredData::take_known(EventQueue& queue, bool all) {
  Known known;
  const bool memory = !allocations_.map().host_visible().empty() || !allocations_.adopted().empty();
  const std::lock_guard lock(mutex_);
  std::erase_if(sources_, [&](DeferredSource& source) {
    if (!source.runs.empty() && !all) {
      queue.block(source.item);
      return false;
    }
    known.sources.push_back(std::move(source));
    return true;
  });
  std::erase_if(effects_, [&](DeferredEffect& effect) {
    const void* const item =
        effect.graph != nullptr ? static_cast<const void*>(effect.graph) : effect.events;
    if (item == nullptr) return false;  // its call has not returned
    if (!effect.ended && !all) queue.block(item);
    // Nodes are put in when nothing points at others any more.
    if (queue.blocked(item)) return false;
    known.cut_off += effect.began && !effect.ended && memory;
    known.effects.push_back(std::move(effect));
    return true;
  });
  return known;
}

}  // namespace gfxgraph::recorder
