#include "format/ranges/range_parameters.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "format/ranges/argument_words.h"
#include "format/ranges/content_bytes.h"
#include "format/walk.h"

namespace gfxgraph::ranges {
namespace {

// What a work does, in the stream or in a graph.
using ActionView =
    std::variant<std::monostate, const format::Launch*, const format::Copy*, const format::Memset*>;

template <typename Variant>
ActionView view(const Variant& action) {
  if (const auto* launch = std::get_if<format::Launch>(&action)) return launch;
  if (const auto* copy = std::get_if<format::Copy>(&action)) return copy;
  if (const auto* set = std::get_if<format::Memset>(&action)) return set;
  return std::monostate();  // for {}, g++ 14 warns of an uninitialised pointer
}

void compare_bytes(Transfer& transfer, const format::Content& one, const format::Content& other) {
  if (transfer.bytes == Bytes::kUnknown) return;
  const std::optional<bool> equal = equal_bytes(one, other);
  if (!equal) {
    transfer.bytes = Bytes::kUnknown;
  } else if (!*equal) {
    transfer.bytes = Bytes::kChange;
  }
}

bool is_pinned(const format::AllocationKind* kind) {
  return kind != nullptr && (*kind == format::AllocationKind::kHostPinned ||
                             *kind == format::AllocationKind::kHostRegistered);
}

}  // namespace

bool is_work(const format::Action& action) {
  return std::holds_alternative<format::Launch>(action) ||
         std::holds_alternative<format::Copy>(action) ||
         std::holds_alternative<format::Memset>(action) ||
         std::holds_alternative<format::HostFunction>(action) ||
         std::holds_alternative<format::GraphLaunch>(action);
}

std::vector<uint64_t> works_of(const format::Trace& trace, const IterationSpan& span) {
  std::vector<uint64_t> works;
  for (uint64_t event = span.first_event; event < span.end_event; ++event) {
    if (is_work(trace.events()[event].action)) works.push_back(event);
  }
  return works;
}

namespace {

class Comparer {
 public:
  // `listed_left` counts what may still be listed.
  Comparer(const format::Trace& trace, AllocationIdentity& memory, RangeComparison& result,
           uint64_t& listed_left)
      : trace_(trace),
        memory_(memory),
        result_(result),
        spans_(result.iterations),
        listed_left_(listed_left) {}

  void run() {
    std::vector<std::vector<uint64_t>> works(spans_.size());  // events, by iteration
    for (size_t i = 0; i < spans_.size(); ++i) {
      for (uint64_t event = spans_[i].first_event; event < spans_[i].end_event; ++event) {
        if (is_work(trace_.events()[event].action)) works[i].push_back(event);
      }
    }
    result_.works = works[0].size();
    for (const auto& one : works) {
      if (one.size() != result_.works) return give_up();
    }
    std::vector<uint64_t> events(spans_.size());
    for (uint64_t work = 0; work < result_.works && result_.not_compared.empty(); ++work) {
      for (size_t i = 0; i < spans_.size(); ++i) events[i] = works[i][work];
      place_ = {};
      place_.work = work;
      place_.event = events[0];
      compare_work(events);
    }
    if (!result_.not_compared.empty()) return;
    collect_writes();
    name_parameters();
  }

 private:
  void give_up() {
    result_.parameters.clear();
    result_.inputs.clear();
    result_.outputs.clear();
    result_.constant_places = 0;
    result_.unlisted_places = result_.unlisted_transfers = 0;
    result_.not_compared = "their work differs although their shapes are equal";
  }

  void compare_work(const std::vector<uint64_t>& events) {
    const auto& first = trace_.events()[events[0]].action;
    if (std::holds_alternative<format::GraphLaunch>(first)) return compare_graphs(events);
    std::vector<ActionView> actions;
    actions.reserve(events.size());
    for (const uint64_t event : events) {
      const format::Action& action = trace_.events()[event].action;
      if (action.index() != first.index()) return give_up();
      actions.push_back(view(action));
    }
    compare_actions(actions);
  }

  void compare_graphs(const std::vector<uint64_t>& events) {
    std::vector<const format::Graph*> graphs;
    bool one_graph = true;
    for (const uint64_t event : events) {
      const auto* launch = std::get_if<format::GraphLaunch>(&trace_.events()[event].action);
      const format::Graph* const graph =
          launch == nullptr ? nullptr : format::graph_of(trace_, *launch);
      if (graph == nullptr) return give_up();
      graphs.push_back(graph);
      if (graphs.back()->nodes.size() != graphs[0]->nodes.size()) return give_up();
      one_graph = one_graph && graphs.back() == graphs[0];
    }
    // In one graph, only what its copies transfer can differ.
    if (one_graph) return compare_one_graph(*graphs[0]);
    std::vector<ActionView> actions(graphs.size());
    for (uint32_t node = 0; node < graphs[0]->nodes.size() && result_.not_compared.empty();
         ++node) {
      for (size_t i = 0; i < graphs.size(); ++i) actions[i] = view(graphs[i]->nodes[node].action);
      place_.node = node;
      compare_actions(actions);
    }
  }

  void compare_one_graph(const format::Graph& graph) {
    const auto [found, added] = graph_places_.try_emplace(graph.id, 0);
    const uint64_t before = result_.constant_places;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
      const ActionView action = view(graph.nodes[node].action);
      place_.node = node;
      if (const auto* copy = std::get_if<const format::Copy*>(&action)) {
        transfer(std::vector<const format::Copy*>(spans_.size(), *copy));
      }
      if (!added) continue;
      // As if there were one iteration: counts its places.
      compare_actions({action}, false);
    }
    if (added) {
      found->second = result_.constant_places - before;
    } else {
      result_.constant_places += found->second;
    }
  }

  template <typename Action>
  static std::vector<const Action*> all_of(const std::vector<ActionView>& actions) {
    std::vector<const Action*> result;
    for (const ActionView& action : actions) {
      const auto* one = std::get_if<const Action*>(&action);
      if (one == nullptr) return {};
      result.push_back(*one);
    }
    return result;
  }

  void compare_actions(const std::vector<ActionView>& actions, bool transfers = true) {
    for (const ActionView& action : actions) {
      if (action.index() != actions[0].index()) return give_up();
    }
    if (const auto launches = all_of<format::Launch>(actions); !launches.empty()) {
      compare_launches(launches);
    } else if (const auto copies = all_of<format::Copy>(actions); !copies.empty()) {
      compare_copies(copies);
      if (transfers) transfer(copies);
    } else if (const auto sets = all_of<format::Memset>(actions); !sets.empty()) {
      compare_memsets(sets);
    }
  }

  // ---- places -----------------------------------------------------------------------------------

  ParameterValue memory_value(size_t iteration, format::AllocationId allocation, int64_t offset) {
    if (allocation == 0) return {};
    return {memory_.key(allocation, spans_[iteration]), offset};
  }

  // `value(i)` of each iteration, at place_ with this kind and size.
  template <typename Value>
  void compare_place(size_t count, PlaceKind kind, const Value& value) {
    const ParameterValue first = value(0);
    size_t i = 1;
    while (i < count && value(i) == first) ++i;
    if (i >= count) {
      ++result_.constant_places;
      return;
    }
    std::vector<ParameterValue> values(count);
    for (size_t n = 0; n < count; ++n) values[n] = value(n);
    Place place = place_;
    place.kind = kind;
    if (kind == PlaceKind::kArgument) narrow(place, values);
    add(place, std::move(values));
  }

  // A number of 8 bytes of which one half is always the same: two fields of a struct passed by
  // value. A high half that only extends the low one's sign belongs to a wide integer.
  static void narrow(Place& place, std::vector<ParameterValue>& values) {
    if (place.size_bytes != 8) return;
    const auto low = [](const ParameterValue& value) {
      return static_cast<int64_t>(static_cast<int32_t>(static_cast<uint64_t>(value.number)));
    };
    bool same_low = true, same_high = true, wide = true;
    for (const ParameterValue& value : values) {
      if (value.memory != 0) return;
      same_low = same_low && low(value) == low(values[0]);
      same_high = same_high && value.number >> 32 == values[0].number >> 32;
      wide = wide && value.number >> 32 == 0;
    }
    if (wide || same_low == same_high) return;
    for (ParameterValue& value : values) {
      value.number = same_low ? value.number >> 32 : low(value);
    }
    place.size_bytes = 4;
    if (same_low) place.offset_bytes += 4;
  }

  bool take_listed(uint64_t count, uint64_t& unlisted) {
    if (listed_left_ < count) {
      ++unlisted;
      return false;
    }
    listed_left_ -= count;
    return true;
  }

  void add(const Place& place, std::vector<ParameterValue> values) {
    uint64_t hash = 0;
    for (const ParameterValue& value : values) {
      hash = mix(mix(hash ^ process_secret() ^ value.memory) ^ static_cast<uint64_t>(value.number));
    }
    const auto [begin, end] = by_values_.equal_range(hash);
    for (auto entry = begin; entry != end; ++entry) {
      Parameter& parameter = result_.parameters[entry->second];
      if (parameter.values != values) continue;
      if (!take_listed(1, result_.unlisted_places)) return;
      parameter.places.push_back(place);
      return;
    }
    if (!take_listed(1 + values.size() / kValuesPerListed, result_.unlisted_places)) return;
    by_values_.emplace(hash, result_.parameters.size());
    Parameter& parameter = result_.parameters.emplace_back();
    parameter.match = match_pattern(values, place.size_bytes);
    parameter.values = std::move(values);
    parameter.places.push_back(place);
  }

  void compare_number(size_t count, PlaceKind kind, const auto& number) {
    compare_place(count, kind, [&](size_t i) {
      return ParameterValue{0, static_cast<int64_t>(uint64_t{number(i)})};
    });
  }

  void compare_launches(const std::vector<const format::Launch*>& launches) {
    const size_t count = launches.size();
    place_.kernel = launches[0]->kernel;
    place_.memset = false;
    for (const format::Launch* launch : launches) {
      if (launch->kernel != place_.kernel) return give_up();
    }
    place_.size_bytes = 4;
    place_.argument = kNone;
    place_.offset_bytes = 0;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const auto kind = [&](PlaceKind first) {
        return static_cast<PlaceKind>(static_cast<unsigned>(first) + axis);
      };
      compare_number(count, kind(PlaceKind::kGridX),
                     [&](size_t i) { return launches[i]->grid[axis]; });
      compare_number(count, kind(PlaceKind::kRemainderX),
                     [&](size_t i) { return launches[i]->grid_remainder[axis]; });
      compare_number(count, kind(PlaceKind::kBlockX),
                     [&](size_t i) { return launches[i]->block[axis]; });
    }
    compare_number(count, PlaceKind::kDynamicLds,
                   [&](size_t i) { return launches[i]->dynamic_lds_bytes; });
    for (const ArgumentWord& word : argument_words(trace_, launches)) {
      place_.argument = word.argument;
      place_.offset_bytes = word.offset_bytes;
      place_.size_bytes = word.size_bytes;
      compare_place(count, PlaceKind::kArgument, [&](size_t i) {
        const format::Relocation* target = relocation_at(*launches[i], word);
        if (target != nullptr) return memory_value(i, target->allocation, target->addend);
        return ParameterValue{0, word_number(*launches[i], word)};
      });
    }
  }

  void compare_copies(const std::vector<const format::Copy*>& copies) {
    const size_t count = copies.size();
    begin_numbers(false);
    compare_place(count, PlaceKind::kSource, [&](size_t i) {
      return memory_value(i, copies[i]->source.allocation,
                          static_cast<int64_t>(copies[i]->source.offset_bytes));
    });
    compare_place(count, PlaceKind::kDestination, [&](size_t i) {
      return memory_value(i, copies[i]->destination.allocation,
                          static_cast<int64_t>(copies[i]->destination.offset_bytes));
    });
    const auto compare = [&](PlaceKind kind, const auto& field) {
      compare_number(count, kind, [&](size_t i) { return field(*copies[i]); });
    };
    using format::Copy;
    compare(PlaceKind::kWidth, [](const Copy& copy) { return copy.width_bytes; });
    compare(PlaceKind::kHeight, [](const Copy& copy) { return copy.height; });
    compare(PlaceKind::kDepth, [](const Copy& copy) { return copy.depth; });
    compare(PlaceKind::kSourcePitch, [](const Copy& copy) { return copy.source.pitch_bytes; });
    compare(PlaceKind::kSourceSlice, [](const Copy& copy) { return copy.source.slice_bytes; });
    compare(PlaceKind::kDestinationPitch,
            [](const Copy& copy) { return copy.destination.pitch_bytes; });
    compare(PlaceKind::kDestinationSlice,
            [](const Copy& copy) { return copy.destination.slice_bytes; });
  }

  void compare_memsets(const std::vector<const format::Memset*>& sets) {
    const size_t count = sets.size();
    begin_numbers(true);
    compare_place(count, PlaceKind::kDestination, [&](size_t i) {
      return memory_value(i, sets[i]->allocation, static_cast<int64_t>(sets[i]->offset_bytes));
    });
    const auto compare = [&](PlaceKind kind, const auto& field) {
      compare_number(count, kind, [&](size_t i) { return field(*sets[i]); });
    };
    using format::Memset;
    compare(PlaceKind::kMemsetValue, [](const Memset& set) { return set.value; });
    compare(PlaceKind::kWidth, [](const Memset& set) { return set.width_elements; });
    compare(PlaceKind::kHeight, [](const Memset& set) { return set.height; });
    compare(PlaceKind::kDepth, [](const Memset& set) { return set.depth; });
    compare(PlaceKind::kDestinationPitch, [](const Memset& set) { return set.pitch_bytes; });
    compare(PlaceKind::kDestinationSlice, [](const Memset& set) { return set.slice_bytes; });
  }

  void begin_numbers(bool memset) {
    place_.kernel = 0;
    place_.argument = kNone;
    place_.offset_bytes = 0;
    place_.size_bytes = 8;
    place_.memset = memset;
  }

  // ---- inputs and outputs -----------------------------------------------------------------------

  static uint64_t size_of(const format::Copy& copy) {
    return copy.width_bytes * copy.height * copy.depth;
  }

  void transfer(const std::vector<const format::Copy*>& copies) {
    const format::Copy& first = *copies[0];
    const bool from_plain = first.source.allocation == 0;
    const bool to_plain = first.destination.allocation == 0;
    const bool from_host = from_plain || is_pinned(memory_.kind(first.source.allocation));
    const bool to_host = to_plain || is_pinned(memory_.kind(first.destination.allocation));
    if (from_host == to_host) return;  // both on the host: does not concern the device
    if (!take_listed(1, result_.unlisted_transfers)) return;
    Transfer transfer;
    const bool in_copy = from_host && from_plain;
    transfer.pinned = from_host ? !from_plain || first.source_is_pinned : !to_plain;
    transfer.work = place_.work;
    transfer.event = place_.event;
    transfer.node = place_.node;
    transfer.iterations = copies.size();
    transfer.size_bytes = size_of(first);
    // For a copy to the host, the result is what the program received.
    const auto content = [&](const format::Copy& copy) -> const format::Content& {
      return from_host ? copy.host_source : copy.host_result;
    };
    const bool known =
        (in_copy || !transfer.pinned) && content(first).size_bytes == transfer.size_bytes;
    transfer.bytes = known ? Bytes::kConstant : Bytes::kUnknown;
    std::vector<ParameterValue> ends;
    for (size_t i = 0; i < copies.size(); ++i) {
      const format::CopyEnd& end = from_host ? copies[i]->destination : copies[i]->source;
      ends.push_back(memory_value(i, end.allocation, static_cast<int64_t>(end.offset_bytes)));
      transfer.size_changes = transfer.size_changes || size_of(*copies[i]) != transfer.size_bytes;
      compare_bytes(transfer, content(first), content(*copies[i]));
    }
    transfer.memory = ends[0];
    transfer.memory_match = match_pattern(ends, 8);
    (from_host ? result_.inputs : result_.outputs).push_back(transfer);
  }

  struct Write {
    format::AllocationId allocation = 0;
    uint64_t offset_bytes = 0;
    const format::Content* content = nullptr;
  };

  // Includes host memory that starts again in a recorded range with other bytes than it ended with:
  // the recorder saw no writes between ranges.
  std::optional<Write> write_of(const format::Action& action) const {
    if (const auto* write = std::get_if<format::HostWrite>(&action)) {
      return Write{write->allocation, write->offset_bytes, &write->content};
    }
    const auto* begin = std::get_if<format::AllocationBegin>(&action);
    if (begin == nullptr || !memory_.changed_meanwhile(begin->id)) return std::nullopt;
    if (!is_pinned(&begin->kind) && begin->kind != format::AllocationKind::kManaged) {
      return std::nullopt;
    }
    return Write{begin->id, 0, &begin->initial};
  }

  // The shape has no positions of writes. Writes to one place are compared in order.
  void collect_writes() {
    using Target = std::tuple<MemoryKey, uint64_t, uint64_t>;  // with the count of earlier writes
    std::map<Target, std::pair<Transfer, const format::Content*>> writes;
    for (const IterationSpan& span : spans_) {
      std::map<std::pair<MemoryKey, uint64_t>, uint64_t> before;
      for (uint64_t event = span.first_event; event < span.end_event; ++event) {
        const std::optional<Write> write = write_of(trace_.events()[event].action);
        if (!write) continue;
        const MemoryKey key = memory_.key(write->allocation, span);
        const uint64_t turn = before[{key, write->offset_bytes}]++;
        const auto [found, added] = writes.try_emplace({key, write->offset_bytes, turn});
        auto& [transfer, content] = found->second;
        ++transfer.iterations;
        if (added) {
          transfer.host_write = true;
          transfer.work = turn;
          transfer.event = event;
          transfer.size_bytes = write->content->size_bytes;
          transfer.memory = {key, static_cast<int64_t>(write->offset_bytes)};
          transfer.bytes = Bytes::kConstant;
          content = write->content;
        }
        transfer.size_changes |= write->content->size_bytes != transfer.size_bytes;
        compare_bytes(transfer, *content, *write->content);
      }
    }
    const size_t copies = result_.inputs.size();
    for (auto& [target, entry] : writes) {
      // The recorder stores changes only: an iteration without the write left the bytes unchanged,
      // even if another iteration in between wrote them.
      if (take_listed(1, result_.unlisted_transfers)) result_.inputs.push_back(entry.first);
    }
    std::ranges::sort(result_.inputs.begin() + static_cast<ptrdiff_t>(copies), result_.inputs.end(),
                      {}, &Transfer::event);
  }

  // ---- names ------------------------------------------------------------------------------------

  void name_parameters() {
    for (Parameter& parameter : result_.parameters) {
      std::map<std::string_view, size_t> names;
      for (const Place& place : parameter.places) {
        if (place.argument == kNone) continue;
        const std::string& name = trace_.kernels()[place.kernel - 1].arguments[place.argument].name;
        if (!name.empty()) ++names[name];
      }
      const auto most =
          std::ranges::max_element(names, {}, [](const auto& entry) { return entry.second; });
      parameter.name =
          most != names.end() ? std::string(most->first) : place_text(trace_, parameter.places[0]);
    }
    std::ranges::stable_sort(result_.parameters, std::greater<>(),
                             [](const Parameter& parameter) { return parameter.places.size(); });
  }

  const format::Trace& trace_;
  AllocationIdentity& memory_;
  RangeComparison& result_;
  const std::vector<IterationSpan>& spans_;
  uint64_t& listed_left_;
  Place place_;                                                      // the place being compared
  std::unordered_multimap<uint64_t, size_t, SeededHash> by_values_;  // in result_.parameters
  std::unordered_map<format::GraphId, uint64_t, SeededHash> graph_places_;  // constant ones
};

}  // namespace

std::vector<IterationGroup> group_iterations(const std::vector<RangeSummary>& ranges) {
  std::vector<IterationGroup> groups;
  std::map<std::pair<std::string_view, uint32_t>, size_t> index;
  for (const RangeSummary& range : ranges) {
    if (!range.ended) continue;
    const auto [found, added] = index.try_emplace({range.name, range.shape}, groups.size());
    if (added) groups.push_back({range.name, range.shape, {}});
    std::vector<IterationSpan>& spans = groups[found->second].iterations;
    if (!spans.empty() && range.first_event < spans.back().end_event) continue;
    spans.push_back({range.first_event, range.end_event, range.ordinal});
  }
  return groups;
}

RangeComparisons compare_iterations(const format::Trace& trace,
                                    const std::vector<IterationGroup>& groups,
                                    uint64_t most_listed) {
  RangeComparisons result(trace);
  const auto nodes_of = [&](const format::Event& event) -> uint64_t {
    const auto* launch = std::get_if<format::GraphLaunch>(&event.action);
    const format::Graph* const graph =
        launch == nullptr ? nullptr : format::graph_of(trace, *launch);
    return graph == nullptr ? 0 : graph->nodes.size();
  };
  // Of the first n events, with the nodes that they launch.
  std::vector<uint64_t> cost(1, 0);
  cost.reserve(trace.events().size() + 1);
  for (const format::Event& event : trace.events()) {
    cost.push_back(cost.back() + 1 + nodes_of(event));
  }
  uint64_t left = kMostCompared * cost.back();
  uint64_t listed_left = most_listed;
  for (const IterationGroup& group : groups) {
    if (group.iterations.size() < 2) continue;
    RangeComparison& comparison = result.comparisons.emplace_back();
    comparison.name = group.name;
    comparison.shape = group.shape;
    comparison.iterations = group.iterations;
    uint64_t needed = 0;
    for (const IterationSpan& span : group.iterations) {
      needed += cost[span.end_event] - cost[span.first_event];
    }
    if (needed > left) {
      comparison.not_compared = "ranges are nested too deeply";
      continue;
    }
    left -= needed;
    Comparer(trace, result.memory, comparison, listed_left).run();
  }
  return result;
}

}  // namespace gfxgraph::ranges
