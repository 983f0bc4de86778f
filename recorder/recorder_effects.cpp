// What waits for host functions of the program: bytes that they write before device work reads
// them. It is known when they have run, and until then nothing from there on goes to the writer.
#include <algorithm>

#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

void Recorder::watch(const Allocation& allocation) {
  if (!allocation.host_visible()) return;
  const std::lock_guard lock(ran_mutex_);
  effects_.watch(allocation.id, allocation.host_address, allocation.size_bytes);
}

void Recorder::unwatch(const Allocation& allocation) {
  if (!allocation.host_visible()) return;
  const std::lock_guard lock(ran_mutex_);
  effects_.forget(allocation.id);
}

// ---- what they wrote into memory that kernels reach ---------------------------------------------

// With ran_mutex_.
void Recorder::host_function_ended(uint64_t run) {
  HostEffects::Effect effect = effects_.end(run);
  DeferredEffect* const deferred = effect_of(run);
  if (deferred == nullptr) return;  // seen as the program's own writes, later
  deferred->ended = true;
  if (effect.changes.empty()) return;
  std::erase_if(effect.changes, [&](const HostEffects::Change& change) {
    return change.allocation >= deferred->first_later;
  });
  std::erase_if(effect.blocks, [&](const HostEffects::Block& block) {
    return block.allocation >= deferred->first_later;
  });
  deferred->changes = effect.changes;
  ended_effects_.push_back(std::move(effect));
  any_effect_.store(true, std::memory_order_release);
}

// What host functions wrote is in the trace, and not to be found as a write of the program's.
void Recorder::take_effects() {
  if (!any_effect_.load(std::memory_order_acquire)) return;
  std::vector<HostEffects::Effect> effects;
  {
    const std::lock_guard lock(ran_mutex_);
    effects.swap(ended_effects_);
    any_effect_.store(false, std::memory_order_relaxed);
  }
  for (const HostEffects::Effect& effect : effects) {
    for (const HostEffects::Block& block : effect.blocks) {
      Allocation* allocation = by_id(block.allocation);
      if (allocation == nullptr || block.index >= allocation->known_blocks.size()) continue;
      uint64_t& known = allocation->known_blocks[block.index];
      if (known == block.hash_before) known = block.hash_after;
    }
    for (const HostEffects::Change& change : effect.changes) {
      Allocation* allocation = by_id(change.allocation);
      if (allocation == nullptr) continue;
      if (allocation->last_known) {
        std::ranges::copy(change.bytes, allocation->last_known->begin() +
                                            static_cast<ptrdiff_t>(change.offset_bytes));
      }
      const uint64_t block = change.offset_bytes / kHostBlockBytes;  // changes do not cross blocks
      const auto saved = allocation->saved_blocks.find(block);
      if (saved == allocation->saved_blocks.end()) continue;
      std::ranges::copy(change.bytes,
                        saved->second.begin() +
                            static_cast<ptrdiff_t>(change.offset_bytes - block * kHostBlockBytes));
    }
  }
}

// The block has changed. If a host function is under way that may be the reason, the trace gets
// what has changed and no more: the rest of the block may be about to.
bool Recorder::told_meanwhile(Allocation& allocation, uint64_t block,
                              std::span<const std::byte> bytes) {
  using Meanwhile = HostEffects::Meanwhile;
  std::vector<HostEffects::Change> changes;
  Meanwhile meanwhile = Meanwhile::kNobody;
  bool ended = false;
  {
    const std::lock_guard lock(ran_mutex_);
    ended = any_effect_.load(std::memory_order_relaxed);  // since the bytes were read
    if (!ended)
      meanwhile = effects_.changed_meanwhile(allocation.id, block * kHostBlockBytes, bytes,
                                             allocation.known_blocks[block], changes);
  }
  if (ended) {
    check_host_writes(allocation, block * kHostBlockBytes, 1);
    return true;
  }
  if (meanwhile == Meanwhile::kMixed) {
    finding(format::FindingKind::kIncomplete, "host function",
            "the program and a host function wrote memory side by side that kernels read: which "
            "of them read what is not known");
  }
  for (const HostEffects::Change& change : changes) {
    write_from_host(allocation, change.offset_bytes, change.bytes);
  }
  return meanwhile == Meanwhile::kTold;
}

// ---- into the trace -----------------------------------------------------------------------------

// With ran_mutex_.
Recorder::DeferredEffect* Recorder::effect_of(uint64_t run) {
  const auto found = std::ranges::find(deferred_effects_, run, &DeferredEffect::run);
  return found == deferred_effects_.end() ? nullptr : &*found;
}

// Before the event of a host function in a stream.
void Recorder::defer_effect(uint64_t run, format::StreamId stream) {
  const std::lock_guard lock(ran_mutex_);
  DeferredEffect* const effect = effect_of(run);
  if (effect == nullptr) return;
  auto events = std::make_unique<std::vector<format::Event>>();
  format::Event& event = events->emplace_back();
  stamp(event);
  format::Copy copy;
  copy.asynchronous = true;
  copy.stream = stream;
  event.action = std::move(copy);
  effect->events = events.get();
  pending_.emplace_back(std::move(events));
  count_pending();
}

// The memory of the host that kernel nodes reach which neither come before the node nor after it.
std::set<format::AllocationId> Recorder::given_beside(const std::vector<format::GraphNode>& nodes,
                                                      size_t function) {
  std::vector<bool> before(nodes.size());
  std::vector<bool> after(nodes.size());
  before[function] = after[function] = true;
  for (size_t i = function + 1; i-- > 0;) {
    if (!before[i]) continue;
    for (const uint32_t earlier : nodes[i].dependencies) before[earlier] = true;
  }
  std::set<format::AllocationId> given;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const uint32_t earlier : nodes[i].dependencies) after[i] = after[i] || after[earlier];
    const auto* launch = std::get_if<format::Launch>(&nodes[i].action);
    if (launch == nullptr || before[i] || after[i]) continue;
    for (const format::Relocation& word : launch->relocations) given.insert(word.allocation);
    for (const std::shared_ptr<Allocation>& allocation : map_.host_visible()) {
      if (allocation->in_memory) given.insert(allocation->id);
    }
  }
  return given;
}

// Of the `ordinal`-th host function node.
void Recorder::defer_effect(uint64_t run, format::Graph& graph, size_t ordinal) {
  size_t function = 0;
  for (size_t count = 0; function < graph.nodes.size(); ++function) {
    if (std::holds_alternative<format::HostFunction>(graph.nodes[function].action) &&
        count++ == ordinal) {
      break;
    }
  }
  if (function == graph.nodes.size()) return;
  std::set<format::AllocationId> beside = given_beside(graph.nodes, function);
  const std::lock_guard lock(ran_mutex_);
  DeferredEffect* const effect = effect_of(run);
  if (effect == nullptr) return;
  effect->graph = &graph;
  effect->beside = std::move(beside);
  effect->ordinal = ordinal;
}

bool Recorder::waits_for_effects(const Work& work) {
  const std::lock_guard lock(ran_mutex_);
  return std::ranges::any_of(deferred_effects_, [&](const DeferredEffect& effect) {
    return effect.run - work.first_run < work.runs;
  });
}

std::vector<format::Copy> Recorder::copies_of(const std::vector<HostEffects::Change>& changes,
                                              const format::Copy& pattern) {
  std::vector<format::Copy> copies;
  for (const HostEffects::Change& change : changes) {
    format::Copy& copy = copies.emplace_back(pattern);
    copy.destination.allocation = change.allocation;
    copy.destination.offset_bytes = change.offset_bytes;
    copy.width_bytes = change.bytes.size();
    copy.host_source = make_content(change.bytes, true);
    report_ambiguous(copy);
  }
  return copies;
}

void Recorder::write_effect(const DeferredEffect& effect) {
  if (effect.events != nullptr) {
    const format::Event first = std::move(effect.events->front());
    effect.events->clear();
    for (format::Copy& copy : copies_of(effect.changes, std::get<format::Copy>(first.action))) {
      format::Event& event = effect.events->emplace_back();
      event.thread = first.thread;
      event.time_ns = first.time_ns;
      event.action = std::move(copy);
    }
    return;
  }
  format::Copy pattern;
  pattern.asynchronous = true;
  std::vector<format::Copy> copies = copies_of(effect.changes, pattern);
  if (copies.empty()) return;
  std::vector<format::GraphNode>& nodes = effect.graph->nodes;
  size_t ordinal = effect.ordinal;
  const auto function = std::ranges::find_if(nodes, [&](const format::GraphNode& node) {
    return std::holds_alternative<format::HostFunction>(node.action) && ordinal-- == 0;
  });
  if (function == nodes.end()) return;
  const auto place = static_cast<uint32_t>(function - nodes.begin());
  const auto count = static_cast<uint32_t>(copies.size());
  for (format::GraphNode& node : nodes) {
    for (uint32_t& dependency : node.dependencies) {
      if (dependency >= place) dependency += count;
    }
  }
  // The function follows its copies, so that whatever followed it follows them.
  std::vector<format::GraphNode> inserted;
  for (uint32_t i = 0; i < count; ++i) {
    inserted.push_back({std::move(copies[i]), function->dependencies});
  }
  for (uint32_t i = 0; i < count; ++i) function->dependencies.push_back(place + i);
  nodes.insert(function, std::make_move_iterator(inserted.begin()),
               std::make_move_iterator(inserted.end()));
}

// Fills in what is known by now, and says what must not be written yet; `all`: takes what is there.
// With drain_mutex_ too.
void Recorder::resolve_deferred(bool all) {
  std::vector<DeferredSource> sources;
  std::vector<DeferredEffect> effects;
  size_t cut_off = 0;
  blocked_.clear();
  {
    const std::lock_guard lock(ran_mutex_);
    std::erase_if(deferred_, [&](DeferredSource& source) {
      if (!source.runs.empty() && !all) {
        blocked_.insert(source.item);
        return false;
      }
      sources.push_back(std::move(source));
      return true;
    });
    std::erase_if(deferred_effects_, [&](DeferredEffect& effect) {
      const void* const item =
          effect.graph != nullptr ? static_cast<const void*>(effect.graph) : effect.events;
      if (item == nullptr) return false;  // its call has not returned
      if (!effect.ended && !all) blocked_.insert(item);
      // Nodes are put in when nothing points at others any more.
      if (blocked_.contains(item)) return false;
      cut_off += !effect.ended && running_.contains(effect.run);
      effects.push_back(std::move(effect));
      return true;
    });
  }
  for (DeferredSource& source : sources) {
    if (!source.bytes || !source.runs.empty()) {
      finding(format::FindingKind::kIncomplete, "host function",
              "the source of a copy that it fills is not known");
    }
    if (source.bytes) source.copy->host_source = make_content(*source.bytes, true);
  }
  for (const DeferredEffect& effect : effects) {
    const bool mixed = std::ranges::any_of(effect.changes, [&](const HostEffects::Change& change) {
      return effect.beside.contains(change.allocation);
    });
    if (mixed) {
      finding(
          format::FindingKind::kIncomplete, "host function",
          "a node of a graph beside kernels that were given the same memory, which was written: "
          "they wrote memory side by side, and which of them wrote what is not known");
    }
    write_effect(effect);
  }
  if (cut_off != 0) {
    finding(format::FindingKind::kIncomplete, "host function",
            "it has not ended: what it writes is not known");
  }
}

}  // namespace gfxgraph::recorder
