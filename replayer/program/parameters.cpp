#include "replayer/program/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "format/ranges/trace_periods.h"

namespace gfxgraph::replayer {
namespace {

constexpr size_t kMostNamed = 10;

std::string known_ranges(std::span<const ranges::RangeSummary> all) {
  if (all.empty()) return "the trace has no ranges (gfxgraph info --ranges, docs/ranges.md)";
  std::string text = "the trace has";
  for (size_t i = 0; i < std::min(all.size(), kMostNamed); ++i) {
    text += fmt::format("{} {}#{}", i == 0 ? "" : ",", all[i].name, all[i].ordinal);
  }
  if (all.size() > kMostNamed) text += fmt::format(" and {} more", all.size() - kMostNamed);
  return text;
}

// Operations are in the order of their events, those of one graph launch in the order of its nodes.
const Operation* find_operation(const Program& program, uint64_t event, uint32_t node) {
  const auto& all = program.operations();
  const int32_t wanted = node == ranges::kNone ? -1 : static_cast<int32_t>(node);
  auto found = std::ranges::lower_bound(all, event, {}, &Operation::sequence);
  while (found != all.end() && found->sequence == event && found->graph_node < wanted) ++found;
  const bool same = found != all.end() && found->sequence == event && found->graph_node == wanted;
  return same ? &*found : nullptr;
}

// One for each repetition. Of shape 0, which no range has.
std::vector<ranges::RangeSummary> repetitions(const std::vector<ranges::Period>& periods) {
  std::vector<ranges::RangeSummary> all;
  for (size_t i = 0; i < periods.size(); ++i) {
    for (const ranges::IterationSpan& span : periods[i].iterations) {
      ranges::RangeSummary& one = all.emplace_back();
      one.name = fmt::format("period#{}", i + 1);
      one.ordinal = span.ordinal;
      one.first_event = span.first_event;
      one.end_event = span.end_event;
      one.ended = true;
    }
  }
  return all;
}

// Whether several ranges have this name.
Result<bool> begins_again(const format::Trace& trace, const std::string& name) {
  uint32_t count = 0;
  const auto look = [&](const format::Event& event) -> Result<void> {
    const auto* const marker = std::get_if<format::Marker>(&event.action);
    const bool begins = marker != nullptr && marker->kind == format::MarkerKind::kRangeBegin;
    count += begins && marker->text == name ? 1 : 0;
    return {};
  };
  GFXGRAPH_TRY(trace.visit_events(format::kinds_of<format::Marker>(), look));
  return count > 1;
}

// The iterations that are compared with the range.
std::vector<ranges::IterationGroup> group_of(const format::Trace& trace,
                                             const ranges::RangeSummary& range) {
  const bool period = range.shape == 0;
  std::vector<ranges::IterationGroup> groups =
      period ? ranges::group_periods(ranges::find_periods(trace))
             : ranges::group_iterations(ranges::summarize_ranges(trace));
  std::erase_if(groups, [&](const ranges::IterationGroup& group) {
    if (!period) return group.name != range.name || group.shape != range.shape;
    return std::ranges::find(group.iterations, range.first_event,
                             &ranges::IterationSpan::first_event) == group.iterations.end();
  });
  return groups;
}

}  // namespace

Result<std::vector<ranges::RangeSummary>> ranges_of(const format::Trace& trace) {
  bool any = false;
  const auto look = [&](const format::Event& event) -> Result<void> {
    const auto* const marker = std::get_if<format::Marker>(&event.action);
    any = any || (marker != nullptr && marker->kind == format::MarkerKind::kRangeBegin);
    return {};
  };
  GFXGRAPH_TRY(trace.visit_events(format::kinds_of<format::Marker>(), look));
  if (!any) return std::vector<ranges::RangeSummary>();
  return ranges::summarize_ranges(trace);
}

Result<size_t> find_range(std::span<const ranges::RangeSummary> all, std::string_view text) {
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == text) return i;
  }
  if (const size_t hash = text.rfind('#'); hash != std::string_view::npos) {
    uint64_t ordinal = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + hash + 1, end, ordinal);
    for (size_t i = 0; i < all.size(); ++i) {
      if (error != std::errc() || rest != end || hash + 1 == text.size()) break;
      if (all[i].name == text.substr(0, hash) && all[i].ordinal == ordinal) return i;
    }
  }
  return fail(Status::kNotFound, fmt::format("no range {}: {}", text, known_ranges(all)));
}

Result<ranges::RangeSummary> find_range_or_period(const format::Trace& trace,
                                                  std::string_view text) {
  GFXGRAPH_TRY(trace.load_events());
  const std::vector<ranges::RangeSummary> all = ranges::summarize_ranges(trace);
  Result<size_t> at = find_range(all, text);
  if (at) return all[*at];
  const std::vector<ranges::Period> periods = ranges::find_periods(trace);
  const std::vector<ranges::RangeSummary> repeated = repetitions(periods);
  if (const Result<size_t> found = find_range(repeated, text); found) return repeated[*found];
  for (size_t i = 0; i < periods.size(); ++i) {
    at.error().message += fmt::format("{} period#{}, {} times {} launches", i == 0 ? ";" : ",",
                                      i + 1, periods[i].repeats, periods[i].launches);
  }
  if (periods.empty()) at.error().message += "; no period was found";
  at.error().message += "; gfxgraph-record --launches N:M records any launches";
  return tl::unexpected<Error>(std::move(at).error());
}

PlaceValue StepParameter::value(uint64_t n) const {
  PlaceValue result = values[iteration];
  if (match.pattern == ranges::Pattern::kStep) {
    result.number = static_cast<int64_t>(static_cast<uint64_t>(result.number) +
                                         n * static_cast<uint64_t>(match.step));
  } else if (match.pattern == ranges::Pattern::kSwap) {
    result = values[(iteration + n) % match.period];
  }
  return result;
}

Result<std::vector<StepParameter>> find_parameters(const Program& program,
                                                   const ranges::RangeSummary& range) {
  const format::Trace& trace = program.trace();
  std::vector<StepParameter> result;
  if (range.shape != 0) {
    GFXGRAPH_ASSIGN_OR_RETURN(const bool again, begins_again(trace, range.name));
    if (!again) return result;  // a step that was captured once, say
  }
  GFXGRAPH_TRY(trace.load_events());
  ranges::RangeComparisons compared = ranges::compare_iterations(trace, group_of(trace, range));
  if (compared.comparisons.empty() || !compared.comparisons[0].not_compared.empty()) return result;
  const ranges::RangeComparison& comparison = compared.comparisons[0];
  const auto own = std::ranges::find(comparison.iterations, range.first_event,
                                     &ranges::IterationSpan::first_event);
  if (own == comparison.iterations.end()) return result;

  std::unordered_map<ranges::MemoryKey, format::AllocationId> memory;
  for (const AllocationInfo& info : program.allocations()) {
    if (program.holds(info))
      memory.emplace(compared.memory.key(info.begin->id, *own), info.begin->id);
  }
  const std::vector<uint64_t> works = ranges::works_of(trace, *own);
  for (const ranges::Parameter& parameter : comparison.parameters) {
    StepParameter& one = result.emplace_back();
    one.name = parameter.name;
    one.match = parameter.match;
    one.iteration = static_cast<size_t>(own - comparison.iterations.begin());
    for (const ranges::ParameterValue& value : parameter.values) {
      const auto found = memory.find(value.memory);
      const bool elsewhere = value.memory != 0 && found == memory.end();
      one.values.push_back({elsewhere           ? UINT32_MAX
                            : value.memory == 0 ? 0
                                                : found->second,
                            value.number});
    }
    for (const ranges::Place& place : parameter.places) {
      const Operation* const operation = find_operation(program, works[place.work], place.node);
      if (operation == nullptr) continue;  // it has no effect, like an empty graph node
      one.targets.push_back({static_cast<uint32_t>(operation - program.operations().data()),
                             place.kind, place.offset_bytes, place.size_bytes});
    }
  }
  return result;
}

}  // namespace gfxgraph::replayer
