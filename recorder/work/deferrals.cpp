#include "recorder/work/deferrals.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace gfxgraph::recorder {
namespace {

// Removes from the function's changes the bytes that copies and memsets wrote while it ran.
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

// Whether a concurrent copy may have read the bytes that the change replaced.
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

bool DeferredEffect::changed_what_was_given() const {
  return std::ranges::any_of(changes, [&](const HostEffects::Change& change) {
    return given.contains(change.allocation);
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

// The nodes that have ended when the runtime calls the function early: a launch returns after its
// copies to memory that HIP does not know (malloc, stack), and what these follow.
std::vector<bool> Deferrals::nodes_done(const std::vector<format::GraphNode>& nodes,
                                        const std::vector<bool>& before) {
  std::vector<bool> done(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto* copy = std::get_if<format::Copy>(&nodes[i].action);
    if (!before[i] || copy == nullptr || !is_plain(copy->destination.allocation)) continue;
    if (!facts_.direct) {
      finding(format::FindingKind::kIncomplete, "hipGraphLaunch",
              "launched again, with AMD_DIRECT_DISPATCH=0, a graph with a host function behind a "
              "copy to plain host memory: this runtime calls the function before the copy "
              "(docs/runtime-quirks.md, kHostNodeCalledEarly); record without AMD_DIRECT_DISPATCH");
      return done;
    }
    const std::vector<bool> with = nodes_before(nodes, i);
    for (size_t node = 0; node <= i; ++node) done[node] = done[node] || with[node];
  }
  return done;
}

bool Deferrals::is_plain(format::AllocationId id) const {
  const Allocation* const allocation = allocations_.by_id(id);
  return allocation != nullptr && allocation->plain_host;
}

// The memory of the nodes that may run concurrently with the function: written by, or given to
// them.
std::vector<Flight> Deferrals::nodes_beside(const std::vector<format::GraphNode>& nodes,
                                            size_t function, bool early) {
  std::vector<bool> before = nodes_before(nodes, function);
  if (early) before = nodes_done(nodes, before);
  std::vector<bool> after(nodes.size());
  after[function] = true;
  std::vector<Flight> found;
  const auto given = [&](format::AllocationId id) {
    found.push_back({.allocation = id, .kernel = true, .named = true});
  };
  if (early) {
    for (const Flight& flight : flights_.all()) {
      if (!facts_.direct || !is_plain(flight.allocation)) given(flight.allocation);
    }
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const uint32_t earlier : nodes[i].dependencies) after[i] = after[i] || after[earlier];
    if (after[i] || before[i]) continue;
    if (const auto* copy = std::get_if<format::Copy>(&nodes[i].action)) {
      found.push_back(flight_of(*copy));
      if (early) given(copy->destination.allocation);
      if (early) given(copy->source.allocation);
    } else if (const auto* set = std::get_if<format::Memset>(&nodes[i].action)) {
      found.push_back(flight_of(*set));
      if (early) given(set->allocation);
    } else if (const auto* launch = std::get_if<format::Launch>(&nodes[i].action)) {
      for (const format::Relocation& word : launch->relocations) given(word.allocation);
      for (const std::shared_ptr<Allocation>& allocation : allocations_.map().host_visible()) {
        if (allocation->in_memory) given(allocation->id);
      }
    }
  }
  return found;
}

void Deferrals::defer_effect(uint64_t run, format::Graph& graph, size_t ordinal, bool early) {
  size_t function = 0;
  for (size_t count = 0; function < graph.nodes.size(); ++function) {
    if (std::holds_alternative<format::HostFunction>(graph.nodes[function].action) &&
        count++ == ordinal) {
      break;
    }
  }
  if (function == graph.nodes.size()) return;
  deferred_.defer_effect(run, graph, ordinal, nodes_beside(graph.nodes, function, early), early);
}

// Drops relocations to memory that was allocated after the function began: in the trace it does not
// exist yet at the function's place.
void Deferrals::leave_later_targets(format::Content& content, format::AllocationId first_later) {
  const size_t left = std::erase_if(content.relocations, [&](const format::Relocation& word) {
    return word.allocation >= first_later;
  });
  if (left == 0) return;
  finding(format::FindingKind::kNote, "host function",
          "it stored an address of memory that was allocated while it ran: the word keeps its "
          "recorded value");
}

// One copy for each run of adjacent changes.
std::vector<format::Copy> Deferrals::copies_of(const DeferredEffect& effect,
                                               const format::Copy& pattern) {
  const std::vector<HostEffects::Change>& changes = effect.changes;
  const WordResolver& words = effect.words ? effect.words->words : allocations_.words();
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
    auto content = contents_.take_content(end_of(run.back()) - change.offset_bytes, true, words,
                                          nullptr, read);
    if (!content) continue;  // note_lost_bytes() reports this
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

void Deferrals::write_effect(DeferredEffect& effect) {
  std::erase_if(effect.changes, [&](const HostEffects::Change& change) {
    if (change.allocation < effect.first_later) return false;
    contents_.write_into_beginning(change);
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
  // The function depends on its copies, so its successors follow them as well.
  std::vector<format::GraphNode> inserted;
  inserted.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    inserted.push_back({std::move(copies[i]), function->dependencies});
  }
  for (uint32_t i = 0; i < count; ++i) function->dependencies.push_back(place + i);
  nodes.insert(function, std::make_move_iterator(inserted.begin()),
               std::make_move_iterator(inserted.end()));
}

void Deferrals::resolve(bool all) {
  traced_.filling(Filling::kContent);
  journal_.queue().unblock();
  if (all) deferred_.sources_in_flight().end();
  late_reads_.resolve(all);
  late_reads_.hold_back(journal_.queue());
  DeferredData::Known known = deferred_.take_known(journal_.queue(), all);
  for (const DeferredSource& source : known.sources) {
    if (!source.bytes || !source.runs.empty()) {
      finding(format::FindingKind::kIncomplete, "host function",
              "the source of a copy that it fills is not known");
    }
    if (!source.bytes) continue;
    const WordResolver& words = source.words ? source.words->words : allocations_.words();
    auto content =
        contents_.take_content(source.bytes.size(), true, words, nullptr, source.bytes.reader());
    if (!content) continue;
    leave_later_targets(*content, source.first_later);
    source.copy->host_source = *std::move(content);
  }
  for (DeferredEffect& effect : known.effects) {
    // The program ordered the function behind these copies, so bytes of both are not the copies'.
    const bool overtook = effect.early && effect.changed_what_was_given();
    if (overtook) {
      finding(format::FindingKind::kIncomplete, "host function",
              "this runtime called it without waiting for the nodes before it "
              "(docs/runtime-quirks.md, kHostNodeCalledEarly), and it wrote memory that these were "
              "given: the order of their accesses is unknown; instantiate the graph for each "
              "launch, or record with a newer HIP");
    }
    leave_to_copies(effect);
    const bool mixed = effect.changed_what_was_given() ||
                       std::ranges::any_of(effect.changes, [&](const HostEffects::Change& change) {
                         const uint64_t block = change.offset_bytes / kHostBlockBytes;
                         return effect.was_read_before(change) ||
                                effect.rewritten.contains({change.allocation, block});
                       });
    if (mixed && !overtook) {
      finding(format::FindingKind::kIncomplete, "host function",
              "it wrote memory concurrently with other work that was given this memory; the order "
              "of their accesses is unknown");
    }
    write_effect(effect);
  }
  contents_.resolve_beginnings();
  traced_.filling(Filling::kNothing);
  if (known.cut_off != 0) {
    finding(format::FindingKind::kIncomplete, "host function",
            "it has not ended; its writes are unknown");
  }
}

}  // namespace gfxgraph::recorder
