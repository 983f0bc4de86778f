// What waits for host functions of the program: bytes that they write before device work reads
// them. It is known when they have run, and until then nothing from there on goes to the writer.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

void Recorder::watch(Allocation& allocation) {
  if (!allocation.host_visible()) return;
  if (allocation.reachable && !allocation.plain_host) any_reachable_ = true;
  const std::lock_guard lock(ran_mutex_);
  allocation.watched = true;
  effects_.watch(allocation.id, allocation.host_address, allocation.size_bytes,
                 allocation.plain_host);
}

void Recorder::unwatch(Allocation& allocation) {
  if (!allocation.host_visible()) return;
  if (allocation.reachable) recount_reachable_ = true;
  const std::lock_guard lock(ran_mutex_);
  allocation.watched = false;
  effects_.forget(allocation.id);
}

// A host function is about to be issued: what the program wrote before is not taken for the
// function's, nor written over what that writes.
void Recorder::check_watched_host_writes() {
  const auto check = [&](const auto& allocations) {
    for (const std::shared_ptr<Allocation>& one : allocations) {
      if (!one->watched && !std::exchange(one->brought, false)) continue;
      check_host_writes(*one, 0, one->size_bytes);
    }
  };
  check(map_.host_visible());
  check(adopted_);
}

// ---- what they wrote into memory that kernels reach ---------------------------------------------

// With ran_mutex_.
void Recorder::host_function_ended(uint64_t run) {
  HostEffects::Effect effect = effects_.end(run);
  DeferredEffect* const deferred = effect_of(run);
  if (deferred == nullptr) return;  // seen as the program's own writes, later
  deferred->ended = true;
  if (effect.changes.empty()) return;
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
      const std::vector<std::byte> bytes = change.bytes.all();
      allocation->write_known(change.offset_bytes, bytes);
      const uint64_t block = change.offset_bytes / kHostBlockBytes;  // changes do not cross blocks
      const auto saved = allocation->saved_blocks.find(block);
      if (saved == allocation->saved_blocks.end()) continue;
      saved->second.write(change.offset_bytes - block * kHostBlockBytes, bytes);
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
    write_from_host(allocation, change.offset_bytes, change.bytes.all());
  }
  if (meanwhile == Meanwhile::kTold) return true;
  // The block is written as it is now. A function that is to come may change it, and stands before
  // that in the trace.
  const std::lock_guard lock(ran_mutex_);
  for (DeferredEffect& effect : deferred_effects_) {
    if (!effect.ended) effect.rewritten.emplace(allocation.id, block);
  }
  return false;
}

// What words lead to is about to change. Those that functions have left by now lead where they led
// until now, also where they are looked at later: no memory that begins behind the function.
void Recorder::hold_words() {
  const std::lock_guard lock(ran_mutex_);
  for (DeferredSource& source : deferred_) {
    if (source.runs.empty() && !source.words) source.words = words_now();
  }
  for (DeferredEffect& effect : deferred_effects_) {
    if (effect.ended && !effect.changes.empty() && !effect.words) effect.words = words_now();
  }
}

// ---- into the trace -----------------------------------------------------------------------------

// With ran_mutex_.
DeferredEffect* Recorder::effect_of(uint64_t run) {
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
  journal_.stamp(event);
  format::Copy copy;
  copy.asynchronous = true;
  copy.stream = stream;
  event.action = std::move(copy);
  event.site = journal_.sites().here();
  effect->events = events.get();
  journal_.enqueue(journal_.queue().draw(), std::move(events));
}

// Work that is about to be issued, or was just now.
void Recorder::run_beside_functions(const std::vector<Flight>& flights, const Work& work,
                                    format::StreamId stream) {
  if (flights.empty()) return;
  const std::lock_guard lock(ran_mutex_);
  for (DeferredEffect& effect : deferred_effects_) {
    if (effect.ended || effect.run - work.first_run < work.runs) continue;
    if (effect.first != 0 && flights_.follows(stream, effect.first)) continue;
    for (const Flight& flight : flights) effect.add(flight);
  }
}

// With ran_mutex_: whether the next work of the stream may run while the function does.
bool Recorder::beside(const DeferredEffect& effect, format::StreamId stream) const {
  return !effect.ended && (effect.first == 0 || !flights_.follows(stream, effect.first));
}

bool Recorder::functions_beside(format::StreamId stream) {
  const std::lock_guard lock(ran_mutex_);
  return std::ranges::any_of(deferred_effects_,
                             [&](const DeferredEffect& effect) { return beside(effect, stream); });
}

// A copy that is about to be issued; before what functions have written by now is looked for.
void Recorder::read_beside_functions(const Allocation& source, uint64_t offset, uint64_t size_bytes,
                                     format::StreamId stream) {
  const std::lock_guard lock(ran_mutex_);
  for (DeferredEffect& effect : deferred_effects_) {
    if (!beside(effect, stream)) continue;
    if (auto bytes = keep_host_bytes(store_, source.host_address + offset, size_bytes))
      effect.read.push_back({source.id, offset, std::move(bytes)});
  }
}

// Whether a copy may have read other bytes than these.
bool DeferredEffect::was_read_before(const HostEffects::Change& change) const {
  const uint64_t begin = change.offset_bytes;
  const uint64_t end = begin + change.bytes.size();
  return std::ranges::any_of(read, [&](const HostEffects::Change& then) {
    const uint64_t from = std::max(begin, then.offset_bytes);
    const uint64_t to = std::min(end, then.offset_bytes + then.bytes.size());
    if (then.allocation != change.allocation || from >= to) return false;
    return change.bytes.part(from - begin, to - from).all() !=
           then.bytes.part(from - then.offset_bytes, to - from).all();
  });
}

std::vector<bool> nodes_before(const std::vector<format::GraphNode>& nodes, size_t node) {
  std::vector<bool> before(nodes.size());
  before[node] = true;
  for (size_t i = node + 1; i-- > 0;) {
    if (!before[i]) continue;
    for (const uint32_t earlier : nodes[i].dependencies) before[earlier] = true;
  }
  return before;
}

// What the nodes write, or were given, that neither come before the function nor after it. `early`:
// the function does not wait for what comes before it, and that may be any work; nor is it then
// said what reads.
std::vector<Flight> Recorder::nodes_beside(const std::vector<format::GraphNode>& nodes,
                                           size_t function, bool early) {
  const std::vector<bool> before = nodes_before(nodes, function);
  std::vector<bool> after(nodes.size());
  after[function] = true;
  std::vector<Flight> found;
  const auto given = [&](format::AllocationId id) {
    found.push_back({.allocation = id, .kernel = true, .named = true});
  };
  if (early) {
    for (const Flight& flight : flights_.all()) given(flight.allocation);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const uint32_t earlier : nodes[i].dependencies) after[i] = after[i] || after[earlier];
    if (after[i] || (before[i] && !early)) continue;
    if (const auto* copy = std::get_if<format::Copy>(&nodes[i].action)) {
      found.push_back(flight_of(*copy));
      if (early) given(copy->destination.allocation);
      if (early) given(copy->source.allocation);
    } else if (const auto* set = std::get_if<format::Memset>(&nodes[i].action)) {
      found.push_back(flight_of(*set));
      if (early) given(set->allocation);
    } else if (const auto* launch = std::get_if<format::Launch>(&nodes[i].action)) {
      for (const format::Relocation& word : launch->relocations) given(word.allocation);
      for (const std::shared_ptr<Allocation>& allocation : map_.host_visible()) {
        if (allocation->in_memory) given(allocation->id);
      }
    }
  }
  return found;
}

// Of the `ordinal`-th host function node.
void Recorder::defer_effect(uint64_t run, format::Graph& graph, size_t ordinal, bool early) {
  size_t function = 0;
  for (size_t count = 0; function < graph.nodes.size(); ++function) {
    if (std::holds_alternative<format::HostFunction>(graph.nodes[function].action) &&
        count++ == ordinal) {
      break;
    }
  }
  if (function == graph.nodes.size()) return;
  const std::vector<Flight> beside = nodes_beside(graph.nodes, function, early);
  const std::lock_guard lock(ran_mutex_);
  DeferredEffect* const effect = effect_of(run);
  if (effect == nullptr) return;
  effect->graph = &graph;
  for (const Flight& flight : beside) effect->add(flight);
  effect->ordinal = ordinal;
}

bool Recorder::waits_for_effects(const Work& work) {
  const std::lock_guard lock(ran_mutex_);
  return std::ranges::any_of(deferred_effects_, [&](const DeferredEffect& effect) {
    return effect.run - work.first_run < work.runs;
  });
}

// Its words may hold addresses that memory got which was allocated while the function ran, before
// the recorder knew that it had ended.
void Recorder::leave_later_targets(format::Content& content, format::AllocationId first_later) {
  const size_t left = std::erase_if(content.relocations, [&](const format::Relocation& word) {
    return word.allocation >= first_later;
  });
  if (left == 0) return;
  finding(format::FindingKind::kNote, "host function",
          "it left an address of memory that was allocated while it ran: kept as it is");
}

// One for changes side by side.
std::vector<format::Copy> Recorder::copies_of(const DeferredEffect& effect,
                                              const format::Copy& pattern) {
  const std::vector<HostEffects::Change>& changes = effect.changes;
  const WordResolver& words = effect.words ? effect.words->words : words_;
  std::vector<format::Copy> copies;
  const auto end_of = [](const HostEffects::Change& change) {
    return change.offset_bytes + change.bytes.size();
  };
  for (size_t first = 0, next = 0; first < changes.size(); first = next) {
    const HostEffects::Change& change = changes[first];
    for (next = first + 1; next < changes.size() && changes[next].allocation == change.allocation &&
                           changes[next].offset_bytes == end_of(changes[next - 1]);) {
      ++next;
    }
    const auto run = std::span(changes).subspan(first, next - first);
    const auto read = [&](uint64_t offset, std::span<std::byte> piece) {
      offset += change.offset_bytes;
      auto at = std::ranges::upper_bound(run, offset, {}, end_of);
      for (size_t size = 0; !piece.empty(); piece = piece.subspan(size), offset += size, ++at) {
        size = std::min<uint64_t>(piece.size(), end_of(*at) - offset);
        if (!at->bytes.read(offset - at->offset_bytes, piece.first(size))) return false;
      }
      return true;
    };
    auto content =
        take_content(end_of(run.back()) - change.offset_bytes, true, words, nullptr, read);
    if (!content) continue;  // note_lost_bytes() says so
    leave_later_targets(*content, effect.first_later);
    format::Copy& copy = copies.emplace_back(pattern);
    copy.destination.allocation = change.allocation;
    copy.destination.offset_bytes = change.offset_bytes;
    copy.width_bytes = content->size_bytes;
    copy.host_source = *std::move(content);
    check(journal_.findings().look_at(copy));
  }
  return copies;
}

// Memory that the trace knows from a later moment on than the function.
void Recorder::write_into_beginning(const HostEffects::Change& change) {
  const auto found = std::ranges::find(deferred_begins_, change.allocation, &DeferredBegin::id);
  if (found == deferred_begins_.end() ||
      !range_fits(change.offset_bytes, change.bytes.size(), found->bytes.size())) {
    finding(format::FindingKind::kIncomplete, "host function",
            "it wrote memory that began while it ran: what that held first is not known");
    return;
  }
  found->written |= found->bytes.write(change.offset_bytes, change.bytes.all());
}

// An allocation of the host's memory, which functions that have not ended may write.
void Recorder::append_beginning(format::AllocationBegin begin, const ReadPiece& read) {
  const format::AllocationId id = begin.id;
  const uint64_t size = begin.size_bytes;
  if (any_ran_.load(std::memory_order_acquire)) note_runs();
  format::Event& event = push(std::move(begin));
  const std::lock_guard lock(ran_mutex_);
  if (deferred_effects_.empty()) return;
  deferred_begins_.push_back(
      {id, &std::get<format::AllocationBegin>(event.action), store_.keep(size, read)});
}

namespace {

// What copies and memsets wrote while the function ran is not its own.
void leave_to_copies(DeferredEffect& effect) {
  if (effect.copied.empty()) return;
  std::vector<HostEffects::Change> left;
  for (HostEffects::Change& change : effect.changes) {
    const uint64_t begin = change.offset_bytes;
    const uint64_t size = change.bytes.size();
    std::vector<const Flight*> copies;
    for (const Flight& copy : effect.copied) {
      if (copy.allocation == change.allocation && copy.begin < begin + size && begin < copy.end)
        copies.push_back(&copy);
    }
    if (copies.empty()) {
      left.push_back(std::move(change));
      continue;
    }
    const auto copied = [&](uint64_t at) {
      return std::ranges::any_of(copies,
                                 [&](const Flight* copy) { return copy->writes(begin + at); });
    };
    for (uint64_t at = 0; at < size; ++at) {
      uint64_t end = at;
      while (end < size && !copied(end)) ++end;
      if (end == at) continue;
      left.push_back({change.allocation, begin + at, change.bytes.part(at, end - at)});
      at = end;
    }
  }
  effect.changes = std::move(left);
}

}  // namespace

void Recorder::write_effect(DeferredEffect& effect) {
  std::erase_if(effect.changes, [&](const HostEffects::Change& change) {
    if (change.allocation < effect.first_later) return false;
    write_into_beginning(change);
    return true;
  });
  if (effect.events != nullptr) {
    const format::Event first = std::move(effect.events->front());
    effect.events->clear();
    for (format::Copy& copy : copies_of(effect, std::get<format::Copy>(first.action))) {
      format::Event& event = effect.events->emplace_back();
      event.thread = first.thread;
      event.time_ns = first.time_ns;
      event.action = std::move(copy);
    }
    return;
  }
  format::Copy pattern;
  pattern.asynchronous = true;
  std::vector<format::Copy> copies = copies_of(effect, pattern);
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
  filling_ = Filling::kContent;
  journal_.queue().unblock();
  resolve_reads(all);
  for (const DeferredRead& read : reads_) journal_.queue().block(read.item);
  {
    const std::lock_guard lock(ran_mutex_);
    std::erase_if(deferred_, [&](DeferredSource& source) {
      if (!source.runs.empty() && !all) {
        journal_.queue().block(source.item);
        return false;
      }
      sources.push_back(std::move(source));
      return true;
    });
    std::erase_if(deferred_effects_, [&](DeferredEffect& effect) {
      const void* const item =
          effect.graph != nullptr ? static_cast<const void*>(effect.graph) : effect.events;
      if (item == nullptr) return false;  // its call has not returned
      if (!effect.ended && !all) journal_.queue().block(item);
      // Nodes are put in when nothing points at others any more.
      if (journal_.queue().blocked(item)) return false;
      const bool memory = !map_.host_visible().empty() || !adopted_.empty();
      cut_off += !effect.ended && running_.contains(effect.run) && memory;
      effects.push_back(std::move(effect));
      return true;
    });
  }
  for (DeferredSource& source : sources) {
    if (!source.bytes || !source.runs.empty()) {
      finding(format::FindingKind::kIncomplete, "host function",
              "the source of a copy that it fills is not known");
    }
    if (!source.bytes) continue;
    const WordResolver& words = source.words ? source.words->words : words_;
    auto content = take_content(source.bytes.size(), true, words, nullptr, source.bytes.reader());
    if (!content) continue;
    leave_later_targets(*content, source.first_later);
    source.copy->host_source = *std::move(content);
  }
  for (DeferredEffect& effect : effects) {
    leave_to_copies(effect);
    const bool mixed = std::ranges::any_of(effect.changes, [&](const HostEffects::Change& change) {
      return effect.given.contains(change.allocation) || effect.was_read_before(change) ||
             effect.rewritten.contains({change.allocation, change.offset_bytes / kHostBlockBytes});
    });
    if (mixed) {
      finding(
          format::FindingKind::kIncomplete, "host function",
          "it wrote memory side by side with work that was given it, too: which of them wrote or "
          "read what is not known");
    }
    write_effect(effect);
  }
  for (size_t i = 0; i < deferred_begins_.size(); ++i) {  // what they lead to may add some
    if (!std::exchange(deferred_begins_[i].written, false)) continue;
    const KeptBytes bytes = deferred_begins_[i].bytes;
    auto content = take_content(bytes.size(), true, words_, nullptr, bytes.reader());
    if (content) deferred_begins_[i].begin->initial = *std::move(content);
  }
  {
    const std::lock_guard lock(ran_mutex_);
    if (deferred_effects_.empty()) deferred_begins_.clear();
  }
  filling_ = Filling::kNothing;
  if (cut_off != 0) {
    finding(format::FindingKind::kIncomplete, "host function",
            "it has not ended: what it writes is not known");
  }
}

}  // namespace gfxgraph::recorder
