#include "recorder/contents/host_runs.h"

#include <time.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "recorder/contents/host_memory.h"

namespace gfxgraph::recorder {
namespace {

constexpr uint32_t kFunctionTimeoutMs = 500;

}  // namespace

Work::~Work() {
  if (issuing != nullptr && !appended) issuing->forget_runs(*this);
}

void HostRuns::wait_for_functions() {
  const uint64_t end = monotonic_ns() + uint64_t{kFunctionTimeoutMs} * 1'000'000u;
  while (monotonic_ns() < end) {
    {
      const std::lock_guard lock(mutex_);
      if (running_.empty()) return;
    }
    const timespec moment{0, 1'000'000};
    (void)nanosleep(&moment, nullptr);
  }
}

void HostRuns::will_run(Work& work, std::vector<std::shared_ptr<HostCall>> calls,
                        Handle executable) {
  if (calls.empty()) return;
  work.issuing = this;
  work.first_run = next_run_;
  work.runs = static_cast<uint32_t>(calls.size());
  work.host_calls = std::move(calls);
  next_run_ += work.runs;
  const std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < work.runs; ++i) {
    issuing_[work.first_run + i] = &work;
    const std::shared_ptr<HostCall>& call = work.host_calls[i];
    if (!call) continue;
    deferred_effects_.push_back({.run = work.first_run + i, .first_later = allocations_.next_id()});
    call->runs.push_back({work.first_run + i, executable, false});
  }
}

void HostRuns::in_graph(HostCall& call) {
  const std::lock_guard lock(mutex_);
  call.in_graph = true;
}

void HostRuns::forget_runs(Work& work) noexcept {
  guarded([&] {
    const std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < work.runs; ++i) {
      const uint64_t token = work.first_run + i;
      issuing_.erase(token);
      for (DeferredSource& source : deferred_) std::erase(source.runs, token);
      if (DeferredEffect* effect = effect_of(token)) effect->ended = true;  // its graph is there
      std::erase_if(deferred_effects_, [&](const DeferredEffect& effect) {
        return effect.run == token && effect.graph == nullptr;
      });
      HostCall* call = work.host_calls[i].get();
      if (call == nullptr) continue;
      std::erase_if(call->runs, [&](const HostCall::Run& run) { return run.token == token; });
      if (call->runs.empty() && !call->in_graph) host_calls_.erase(call);
    }
  });
}

std::shared_ptr<HostCall> HostRuns::wrap_host_function(void* function, void* data,
                                                       bool in_graph) noexcept {
  std::shared_ptr<HostCall> wrapped;
  guard_.unlocked([&] {
    auto made = std::make_shared<HostCall>();
    made->function = function;
    made->data = data;
    made->in_graph = in_graph;
    const std::lock_guard lock(mutex_);
    host_calls_[made.get()] = made;
    wrapped = std::move(made);
  });
  return wrapped;
}

HostRuns::HostRun HostRuns::host_function_runs(HostCall& call) noexcept {
  HostRun result;
  const NoCancel own;
  try {
    const std::lock_guard lock(mutex_);
    const auto found = host_calls_.find(&call);
    if (found == host_calls_.end()) return result;
    result.keep = found->second;
    std::vector<HostCall::Run>& runs = call.runs;
    if (runs.empty()) {
      if (!call.in_graph) host_calls_.erase(found);
      return result;
    }
    result.token = runs.front().token;
    running_.insert(result.token);
    effects_.begin(result.token);
    // Nodes of one executable run in order of its launches. Of several executables that were made
    // from one graph, any may be the one that runs: the host is taken to know of all of them.
    const bool one = std::all_of(runs.begin(), runs.end(), [&](const HostCall::Run& run) {
      return run.executable == runs.front().executable;
    });
    for (HostCall::Run& run : runs) {
      if (!run.told) ran_.push_back(run.token);
      run.told = true;
      if (one) break;
    }
    runs.erase(runs.begin());
    if (runs.empty() && !call.in_graph) host_calls_.erase(found);
    any_ran_.store(true, std::memory_order_release);
  } catch (const std::exception& caught) {
    guarded([&] { finding(format::FindingKind::kIncomplete, "host function", caught.what()); });
  }
  return result;
}

void HostRuns::host_function_ran(const HostRun& run) noexcept {
  if (run.token == 0) return;
  const NoCancel own;
  try {
    const std::lock_guard lock(mutex_);
    running_.erase(run.token);
    host_function_ended(run.token);
    for (DeferredSource& source : deferred_) {
      if (std::erase(source.runs, run.token) == 0) continue;
      source.bytes = keep_host_rows(store_, source.raw, source.raw.source);
    }
  } catch (const std::exception& caught) {
    guarded([&] { finding(format::FindingKind::kIncomplete, "host function", caught.what()); });
  }
}

std::vector<uint64_t> HostRuns::runs_to_come() {
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t> tokens(running_.begin(), running_.end());
  for (const auto& [call, kept] : host_calls_) {
    for (const HostCall::Run& run : kept->runs) tokens.push_back(run.token);
  }
  return tokens;
}

std::vector<uint64_t> HostRuns::runs_before(format::StreamId stream) {
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t> tokens;
  for (const DeferredEffect& effect : deferred_effects_) {
    if (!effect.ended && effect.first != 0 && flights_.follows(stream, effect.first))
      tokens.push_back(effect.run);
  }
  return tokens;
}

void HostRuns::defer(DeferredSource source) {
  const std::lock_guard lock(mutex_);
  // One that has run in the meantime has filled the memory by now.
  std::erase_if(source.runs, [&](uint64_t token) {
    return !running_.contains(token) &&
           std::none_of(host_calls_.begin(), host_calls_.end(), [&](const auto& entry) {
             return std::any_of(entry.second->runs.begin(), entry.second->runs.end(),
                                [&](const HostCall::Run& run) { return run.token == token; });
           });
  });
  source.bytes = keep_host_rows(store_, source.raw, source.raw.source);
  source.first_later = allocations_.next_id();
  deferred_.push_back(std::move(source));
}

void HostRuns::watch(Allocation& allocation) {
  if (!allocation.host_visible()) return;
  if (allocation.reachable && !allocation.plain_host) allocations_.is_reachable();
  const std::lock_guard lock(mutex_);
  allocation.watched = true;
  effects_.watch(allocation.id, allocation.host_address, allocation.size_bytes,
                 allocation.plain_host);
}

void HostRuns::unwatch(Allocation& allocation) {
  if (!allocation.host_visible()) return;
  if (allocation.reachable) allocations_.was_reachable();
  const std::lock_guard lock(mutex_);
  allocation.watched = false;
  effects_.forget(allocation.id);
}

// Requires the lock.
void HostRuns::host_function_ended(uint64_t run) {
  HostEffects::Effect effect = effects_.end(run);
  DeferredEffect* const deferred = effect_of(run);
  if (deferred == nullptr) return;  // seen as the program's own writes, later
  deferred->ended = true;
  if (effect.changes.empty()) return;
  deferred->changes = effect.changes;
  ended_effects_.push_back(std::move(effect));
  any_effect_.store(true, std::memory_order_release);
}

void HostRuns::take_effects() {
  if (!any_effect_.load(std::memory_order_acquire)) return;
  std::vector<HostEffects::Effect> effects;
  {
    const std::lock_guard lock(mutex_);
    effects.swap(ended_effects_);
    any_effect_.store(false, std::memory_order_relaxed);
  }
  for (const HostEffects::Effect& effect : effects) {
    for (const HostEffects::Block& block : effect.blocks) {
      Allocation* allocation = allocations_.by_id(block.allocation);
      if (allocation == nullptr || block.index >= allocation->known_blocks.size()) continue;
      uint64_t& known = allocation->known_blocks[block.index];
      if (known == block.hash_before) known = block.hash_after;
    }
    for (const HostEffects::Change& change : effect.changes) {
      Allocation* allocation = allocations_.by_id(change.allocation);
      if (allocation == nullptr) continue;
      const std::vector<std::byte> bytes = change.bytes.all();
      allocation->write_known(change.offset_bytes, bytes);
      const uint64_t block = change.offset_bytes / kHostBlockBytes;  // changes do not cross blocks
      const auto saved = allocation->saved_blocks.find(block);
      if (saved == allocation->saved_blocks.end()) continue;
      saved->second.write(change.offset_bytes - block * kHostBlockBytes, bytes);
    }
  }
}

void HostRuns::hold_words() {
  const std::lock_guard lock(mutex_);
  for (DeferredSource& source : deferred_) {
    if (source.runs.empty() && !source.words) source.words = allocations_.words_now();
  }
  for (DeferredEffect& effect : deferred_effects_) {
    if (effect.ended && !effect.changes.empty() && !effect.words)
      effect.words = allocations_.words_now();
  }
}

// Requires the lock.
DeferredEffect* HostRuns::effect_of(uint64_t run) {
  const auto found = std::ranges::find(deferred_effects_, run, &DeferredEffect::run);
  return found == deferred_effects_.end() ? nullptr : &*found;
}

void HostRuns::defer_effect(uint64_t run, format::StreamId stream) {
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

void HostRuns::run_beside_functions(const std::vector<Flight>& flights, const Work& work,
                                    format::StreamId stream) {
  if (flights.empty()) return;
  const std::lock_guard lock(mutex_);
  for (DeferredEffect& effect : deferred_effects_) {
    if (effect.ended || effect.run - work.first_run < work.runs) continue;
    if (effect.first != 0 && flights_.follows(stream, effect.first)) continue;
    for (const Flight& flight : flights) effect.add(flight);
  }
}

// Requires the lock. Whether the next work of the stream may run while the function does.
bool HostRuns::beside(const DeferredEffect& effect, format::StreamId stream) const {
  return !effect.ended && (effect.first == 0 || !flights_.follows(stream, effect.first));
}

bool HostRuns::functions_beside(format::StreamId stream) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(deferred_effects_,
                             [&](const DeferredEffect& effect) { return beside(effect, stream); });
}

void HostRuns::read_beside_functions(const Allocation& source, uint64_t offset, uint64_t size_bytes,
                                     format::StreamId stream) {
  const std::lock_guard lock(mutex_);
  for (DeferredEffect& effect : deferred_effects_) {
    if (!beside(effect, stream)) continue;
    if (auto bytes = keep_host_bytes(store_, source.host_address + offset, size_bytes))
      effect.read.push_back({source.id, offset, std::move(bytes)});
  }
}

bool HostRuns::waits_for_effects(const Work& work) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(deferred_effects_, [&](const DeferredEffect& effect) {
    return effect.run - work.first_run < work.runs;
  });
}

bool HostRuns::told_unchanged(const Allocation& allocation, uint64_t block, bool copies) {
  const std::lock_guard lock(mutex_);
  const std::optional<uint64_t> then = effects_.hash_at_begin(telling_, allocation.id, block);
  return then ? *then == allocation.known_blocks[block] : !copies;
}

std::vector<uint64_t> HostRuns::take_ran() {
  const std::lock_guard lock(mutex_);
  any_ran_.store(false, std::memory_order_relaxed);
  return std::exchange(ran_, {});
}

void HostRuns::give_back_ran(const std::vector<uint64_t>& tokens) {
  if (tokens.empty()) return;
  const std::lock_guard lock(mutex_);
  ran_.insert(ran_.begin(), tokens.begin(), tokens.end());
  any_ran_.store(true, std::memory_order_release);
}

Work* HostRuns::issuing(uint64_t token) const {
  const auto found = issuing_.find(token);
  return found == issuing_.end() ? nullptr : found->second;
}

void HostRuns::issued(const Work& work, format::HostFunctionId first) {
  for (uint32_t i = 0; i < work.runs; ++i) {
    ids_[work.first_run + i] = first + i;
    issuing_.erase(work.first_run + i);
  }
}

void HostRuns::run_beside(const Work& work, format::HostFunctionId first,
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

format::HostFunctionId HostRuns::id_of(uint64_t token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? 0 : found->second;
}

void HostRuns::told(uint64_t token) {
  telling_ = 0;
  ids_.erase(token);
  const std::lock_guard lock(mutex_);
  effects_.drop(token);
}

std::optional<HostEffects::Meanwhile> HostRuns::changed_meanwhile(
    const Allocation& allocation, uint64_t block, std::span<const std::byte> bytes,
    std::vector<HostEffects::Change>& changes) {
  const std::lock_guard lock(mutex_);
  if (any_effect_.load(std::memory_order_relaxed)) return std::nullopt;
  return effects_.changed_meanwhile(allocation.id, block * kHostBlockBytes, bytes,
                                    allocation.known_blocks[block], changes);
}

void HostRuns::rewritten(const Allocation& allocation, uint64_t block) {
  const std::lock_guard lock(mutex_);
  for (DeferredEffect& effect : deferred_effects_) {
    if (!effect.ended) effect.rewritten.emplace(allocation.id, block);
  }
}

KeptBytes HostRuns::told_to_hold(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  return effects_.seen(telling_, allocation.id);
}

void HostRuns::defer_effect(uint64_t run, format::Graph& graph, size_t ordinal,
                            const std::vector<Flight>& beside, bool early) {
  const std::lock_guard lock(mutex_);
  DeferredEffect* const effect = effect_of(run);
  if (effect == nullptr) return;
  effect->early = early;
  effect->graph = &graph;
  for (const Flight& flight : beside) effect->add(flight);
  effect->ordinal = ordinal;
}

bool HostRuns::any_deferred_effect() {
  const std::lock_guard lock(mutex_);
  return !deferred_effects_.empty();
}

HostRuns::Known HostRuns::take_known(EventQueue& queue, bool all) {
  Known known;
  const bool memory = !allocations_.map().host_visible().empty() || !allocations_.adopted().empty();
  const std::lock_guard lock(mutex_);
  std::erase_if(deferred_, [&](DeferredSource& source) {
    if (!source.runs.empty() && !all) {
      queue.block(source.item);
      return false;
    }
    known.sources.push_back(std::move(source));
    return true;
  });
  std::erase_if(deferred_effects_, [&](DeferredEffect& effect) {
    const void* const item =
        effect.graph != nullptr ? static_cast<const void*>(effect.graph) : effect.events;
    if (item == nullptr) return false;  // its call has not returned
    if (!effect.ended && !all) queue.block(item);
    // Nodes are put in when nothing points at others any more.
    if (queue.blocked(item)) return false;
    known.cut_off += !effect.ended && running_.contains(effect.run) && memory;
    known.effects.push_back(std::move(effect));
    return true;
  });
  return known;
}

void HostRuns::forget_trace() {
  ids_.clear();
  const std::lock_guard lock(mutex_);
  deferred_.clear();
  deferred_effects_.clear();
  ended_effects_.clear();
}

}  // namespace gfxgraph::recorder
