#include "tools/info/ranges_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/amount.h"
#include "base/cli/print.h"
#include "base/cli/text_table.h"
#include "tools/cli.h"
#include "tools/trace/trace_summary.h"

namespace gfxgraph::tools {

using namespace ranges;
namespace {

using Json = nlohmann::ordered_json;

// The limit for each list in the text.
constexpr size_t kMostParameters = 20;
constexpr size_t kMostPlaces = 4;
constexpr size_t kMostTransfers = 12;
constexpr size_t kMostValues = 4;
constexpr size_t kMostRangeName = 60;

std::string memory_text(const AllocationIdentity& memory, const ParameterValue& value) {
  const auto offset = static_cast<uint64_t>(value.number);
  const std::string at = value.number == 0  ? ""
                         : value.number < 0 ? fmt::format(" - {}", 0 - offset)
                                            : fmt::format(" + {}", offset);
  if (const RemadeAllocation* remade = memory.remade(value.memory)) {
    return fmt::format("own allocation {} ({}){}", remade->ordinal,
                       format_bytes(remade->size_bytes), at);
  }
  return fmt::format("allocation {}{}", value.memory, at);
}

std::string value_text(const AllocationIdentity& memory, const ParameterValue& value) {
  return value.memory == 0 ? std::to_string(value.number) : memory_text(memory, value);
}

std::string pattern_text(const PatternMatch& match, size_t iterations) {
  switch (match.pattern) {
    case Pattern::kStep:
      return fmt::format("step {}{}", step_text(match.step),
                         iterations == 2 ? " (2 iterations)" : "");
    case Pattern::kSwap: return fmt::format("swap of {}", match.period);
    default: return pattern_name(match.pattern);
  }
}

std::string values_text(const AllocationIdentity& memory,
                        const std::vector<ParameterValue>& values) {
  std::string text;
  for (size_t i = 0; i < std::min(values.size(), kMostValues); ++i) {
    text += (i == 0 ? "" : ", ") + value_text(memory, values[i]);
  }
  return text + (values.size() > kMostValues ? ", ..." : "");
}

// Places of one kernel's argument are one entry with a count, in the order of their first use.
std::string places_text(const format::Trace& trace, const std::vector<Place>& places) {
  struct Entry {
    std::string text;
    uint64_t work = 0;
    uint64_t count = 0;
  };
  std::vector<Entry> entries;
  std::unordered_map<std::string, size_t> index;
  for (const Place& place : places) {
    const auto [found, added] = index.try_emplace(place_text(trace, place), entries.size());
    if (added) entries.push_back({found->first, place.work, 0});
    ++entries[found->second].count;
  }
  std::string text;
  for (size_t i = 0; i < std::min(entries.size(), kMostPlaces); ++i) {
    const Entry& entry = entries[i];
    text += i == 0 ? "" : "; ";
    text += entry.count == 1 ? fmt::format("{} (work {})", entry.text, entry.work)
                             : fmt::format("{} x {}", entry.count, entry.text);
  }
  if (entries.size() > kMostPlaces) {
    text += fmt::format("; and {} more", entries.size() - kMostPlaces);
  }
  return text;
}

std::string clipped(std::string_view name) {
  return name.size() <= kMostRangeName ? std::string(name)
                                       : std::string(name.substr(0, kMostRangeName)) + "...";
}

// "decode#0 to #11", "period 1".
std::string iterations_text(const RangeComparison& comparison) {
  if (comparison.shape == 0) return comparison.name;
  return fmt::format("{}#{} to #{}", clipped(comparison.name),
                     comparison.iterations.front().ordinal, comparison.iterations.back().ordinal);
}

void print_parameters(const format::Trace& trace, const AllocationIdentity& memory,
                      const RangeComparison& comparison) {
  print("  parameters: {}; constant: {}\n", comparison.parameters.size(),
        counted(comparison.constant_places, "place"));
  for (size_t i = 0; i < std::min(comparison.parameters.size(), kMostParameters); ++i) {
    const Parameter& parameter = comparison.parameters[i];
    print("    {}: {}, used by {}: {}\n", clipped(parameter.name),
          pattern_text(parameter.match, parameter.values.size()),
          counted(parameter.places.size(), "place"), values_text(memory, parameter.values));
    print("      in {}\n", places_text(trace, parameter.places));
  }
  if (comparison.parameters.size() > kMostParameters) {
    print("    and {} more: --json lists them\n", comparison.parameters.size() - kMostParameters);
  }
  if (comparison.unlisted_places != 0) {
    print("    beyond the limit, and different: {}\n",
          counted(comparison.unlisted_places, "place"));
  }
}

const char* bytes_text(Bytes bytes) {
  switch (bytes) {
    case Bytes::kConstant: return "the same bytes";
    case Bytes::kChange: return "other bytes";
    case Bytes::kUnknown: return "bytes not in the trace";
  }
  return "";
}

void print_transfers(const char* title, const AllocationIdentity& memory,
                     const RangeComparison& comparison, const std::vector<Transfer>& transfers,
                     bool input) {
  print("  {}: {}\n", title, transfers.empty() ? "none" : std::to_string(transfers.size()));
  for (size_t i = 0; i < std::min(transfers.size(), kMostTransfers); ++i) {
    const Transfer& transfer = transfers[i];
    const std::string what = transfer.host_write ? "host write"
                             : transfer.pinned   ? "copy, pinned"
                                                 : "copy";
    const std::string each = transfer.iterations == comparison.iterations.size()
                                 ? "each time"
                                 : fmt::format("{} times", transfer.iterations);
    const std::string moves =
        transfer.memory_match.pattern == Pattern::kConstant
            ? ""
            : " (" + pattern_text(transfer.memory_match, transfer.iterations) + ")";
    print("    {}: {} {} {}{}, {} {}{}\n", what, format_bytes(transfer.size_bytes),
          input ? "to" : "from", memory_text(memory, transfer.memory), moves, each,
          bytes_text(transfer.bytes), transfer.size_changes ? ", the size changes" : "");
  }
  if (transfers.size() > kMostTransfers) {
    print("    and {} more: --json lists them\n", transfers.size() - kMostTransfers);
  }
}

void print_comparison(const format::Trace& trace, const AllocationIdentity& memory,
                      const RangeComparison& comparison) {
  print("\n{}: {}", iterations_text(comparison),
        counted(comparison.iterations.size(), "iteration"));
  if (comparison.shape != 0) print(" of shape {}", comparison.shape);
  if (!comparison.not_compared.empty()) {
    print(", not compared: {}\n", comparison.not_compared);
    return;
  }
  print(" with {} work{} each\n", comparison.works, comparison.works == 1 ? "" : "s");
  print_parameters(trace, memory, comparison);
  print_transfers("inputs", memory, comparison, comparison.inputs, true);
  print_transfers("outputs", memory, comparison, comparison.outputs, false);
  if (comparison.unlisted_transfers != 0) {
    print("  and {} inputs and outputs beyond the limit\n", comparison.unlisted_transfers);
  }
}

void print_table(const std::vector<RangeSummary>& ranges) {
  std::set<std::string_view> names;
  for (const RangeSummary& range : ranges) names.insert(range.name);
  if (ranges.empty()) {
    print("\nranges: none\n");
    return;
  }
  console::heading(fmt::format("ranges: {} with {}", ranges.size(), counted(names.size(), "name")));
  const auto rows = [&](const TextTable::Visit& visit) {
    for (const RangeSummary& range : ranges) {
      visit({printable(fmt::format("{}#{}", range.name, range.ordinal)),
             fmt::format("{}..{}", range.first_event, range.end_event),
             fmt::format("{}", range.thread), fmt::format("{}", range.launches),
             fmt::format("{}", range.graph_launches), fmt::format("{}", range.copies),
             fmt::format("{}", range.memsets), fmt::format("{}", range.host_writes),
             fmt::format("{}", range.synchronizations),
             fmt::format("{:.3f}", static_cast<double>(range.span_ns) / 1e6),
             fmt::format(" {}{}", range.shape, range.ended ? "" : "  (not ended)")});
    }
  };
  const TextTable table({{.name = "range", .shorten = true, .least = 24},
                         {.name = "events", .right = true, .least = 15},
                         {.name = "thread", .right = true, .least = 6},
                         {.name = "launches", .right = true, .least = 8},
                         {.name = "graphs", .right = true, .least = 6},
                         {.name = "copies", .right = true, .least = 6},
                         {.name = "sets", .right = true, .least = 5},
                         {.name = "writes", .right = true, .least = 7},
                         {.name = "waits", .right = true, .least = 6},
                         {.name = "host ms", .right = true, .least = 10},
                         {.name = " shape"}},
                        rows, terminal_columns(stdout), 2, 1);
  write_text(stdout, table.heading() + "\n");
  rows([&](const TextRow& row) { write_text(stdout, table.line(row) + "\n"); });
}

void print_periods(const TraceSteps& steps) {
  if (steps.periods.empty()) {
    if (steps.ranges.empty()) print("\nperiods: none\n");
    return;
  }
  console::heading(fmt::format("periods: {}{}", steps.periods.size(),
                               steps.ranges.empty() ? "" : " outside of the ranges"));
  size_t number = 0;
  for (const Period& period : steps.periods) {
    print("  period {}: launches {} to {} (events {} to {}) are {} times {}", ++number,
          period.first_launch, period.last_launch, period.first_event, period.last_event,
          period.repeats, counted(period.launches, "launch"));
    if (period.works != period.launches) {
      print(" and {}", counted(period.works - period.launches, "other operation"));
    }
    print(
        "\n    of a whole recording: gfxgraph-record --launches {}:{} records the first, "
        "gfxgraph-replay --range period#{} replays it\n",
        period.first_kernel, period.first_kernel + period.kernels, number);
  }
}

// ---- JSON ---------------------------------------------------------------------------------------

Json range_json(const RangeSummary& range) {
  return {{"name", range.name},
          {"ordinal", range.ordinal},
          {"thread", range.thread},
          {"first_event", range.first_event},
          {"end_event", range.end_event},
          {"ended", range.ended},
          {"span_ns", range.span_ns},
          {"launches", range.launches},
          {"graph_launches", range.graph_launches},
          {"copies", range.copies},
          {"copy_bytes", range.copy_bytes},
          {"memsets", range.memsets},
          {"host_functions", range.host_functions},
          {"host_writes", range.host_writes},
          {"synchronizations", range.synchronizations},
          {"allocations", range.allocations},
          {"shape", range.shape}};
}

Json memory_json(const AllocationIdentity& memory, const ParameterValue& value) {
  if (const RemadeAllocation* remade = memory.remade(value.memory)) {
    return {{"own_allocation", remade->ordinal},
            {"size_bytes", remade->size_bytes},
            {"offset_bytes", value.number}};
  }
  return {{"allocation", value.memory}, {"offset_bytes", value.number}};
}

Json value_json(const AllocationIdentity& memory, const ParameterValue& value) {
  return value.memory == 0 ? Json(value.number) : memory_json(memory, value);
}

Json match_json(const PatternMatch& match) {
  Json json = {{"pattern", pattern_name(match.pattern)}};
  if (match.pattern == Pattern::kStep) json["step"] = match.step;
  if (match.pattern == Pattern::kSwap) json["period"] = match.period;
  return json;
}

Json place_json(const format::Trace& trace, const Place& place) {
  Json json = {{"work", place.work}, {"event", place.event}};
  if (place.node != kNone) json["node"] = place.node;
  if (place.kernel != 0) json["kernel"] = place.kernel;
  json["kind"] = place_kind_name(place.kind);
  if (place.kind == PlaceKind::kArgument) {
    if (place.argument != kNone) json["argument"] = place.argument;
    json["offset_bytes"] = place.offset_bytes;
    json["size_bytes"] = place.size_bytes;
  }
  json["text"] = place_text(trace, place);
  return json;
}

void print_parameter_json(JsonStream& json, const format::Trace& trace,
                          const AllocationIdentity& memory, const Parameter& parameter) {
  json.field("name", parameter.name);
  const Json match = match_json(parameter.match);
  for (const auto& [name, value] : match.items()) json.field(name.c_str(), value);
  json.list("values", parameter.values.size(),
            [&](size_t n) { return value_json(memory, parameter.values[n]); });
  json.list("places", parameter.places.size(),
            [&](size_t n) { return place_json(trace, parameter.places[n]); });
}

Json transfer_json(const AllocationIdentity& memory, const Transfer& transfer) {
  static constexpr const char* kBytes[] = {"constant", "change", "unknown"};
  Json json = {{"kind", transfer.host_write ? "host_write" : "copy"}};
  if (!transfer.host_write) {
    json["host_memory"] = transfer.pinned ? "pinned" : "pageable";
    json["work"] = transfer.work;
  }
  json["event"] = transfer.event;
  if (transfer.node != kNone) json["node"] = transfer.node;
  json["iterations"] = transfer.iterations;
  json["size_bytes"] = transfer.size_bytes;
  json["size_changes"] = transfer.size_changes;
  json["device"] = memory_json(memory, transfer.memory);
  if (!transfer.host_write) json["device"].update(match_json(transfer.memory_match));
  json["bytes"] = kBytes[static_cast<size_t>(transfer.bytes)];
  return json;
}

Json span_json(const IterationSpan& span) {
  return {
      {"ordinal", span.ordinal}, {"first_event", span.first_event}, {"end_event", span.end_event}};
}

void print_comparison_json(JsonStream& json, const format::Trace& trace,
                           const AllocationIdentity& memory, const RangeComparison& comparison) {
  json.field("name", comparison.name);
  json.field("kind", comparison.shape == 0 ? "period" : "range");
  if (comparison.shape != 0) json.field("shape", comparison.shape);
  json.list("iterations", comparison.iterations.size(),
            [&](size_t n) { return span_json(comparison.iterations[n]); });
  json.field("not_compared", comparison.not_compared);
  if (!comparison.not_compared.empty()) return;
  json.field("works", comparison.works);
  json.field("constant_places", comparison.constant_places);
  json.objects("parameters", comparison.parameters.size(), [&](JsonStream& fields, size_t n) {
    print_parameter_json(fields, trace, memory, comparison.parameters[n]);
  });
  json.field("unlisted_places", comparison.unlisted_places);
  json.list("inputs", comparison.inputs.size(),
            [&](size_t n) { return transfer_json(memory, comparison.inputs[n]); });
  json.list("outputs", comparison.outputs.size(),
            [&](size_t n) { return transfer_json(memory, comparison.outputs[n]); });
  json.field("unlisted_transfers", comparison.unlisted_transfers);
}

Json period_json(const Period& period) {
  return {{"repeats", period.repeats},           {"works", period.works},
          {"launches", period.launches},         {"first_launch", period.first_launch},
          {"last_launch", period.last_launch},   {"kernels", period.kernels},
          {"first_kernel", period.first_kernel}, {"first_event", period.first_event},
          {"last_event", period.last_event}};
}

std::vector<IterationGroup> all_groups(const std::vector<RangeSummary>& ranges,
                                       const std::vector<Period>& periods) {
  std::vector<IterationGroup> groups = group_iterations(ranges);
  std::ranges::move(group_periods(periods), std::back_inserter(groups));
  return groups;
}

}  // namespace

TraceSteps::TraceSteps(const format::Trace& trace)
    : ranges(summarize_ranges(trace)),
      periods(find_periods(trace)),
      compared(compare_iterations(trace, all_groups(ranges, periods))) {}

void print_range_count(const std::vector<RangeSummary>& ranges) {
  if (ranges.empty()) return;
  std::set<std::string_view> names;
  for (const RangeSummary& range : ranges) names.insert(range.name);
  print("\nranges: {} with {} name{}; --ranges lists them\n", ranges.size(), names.size(),
        names.size() == 1 ? "" : "s");
}

void print_steps(const format::Trace& trace, const TraceSteps& steps) {
  print_table(steps.ranges);
  print_periods(steps);
  for (const RangeComparison& comparison : steps.compared.comparisons) {
    print_comparison(trace, steps.compared.memory, comparison);
  }
}

void print_ranges_json(JsonStream& json, const std::vector<RangeSummary>& ranges) {
  json.list("ranges", ranges.size(), [&](size_t n) { return range_json(ranges[n]); });
}

void print_steps_json(JsonStream& json, const format::Trace& trace, const TraceSteps& steps) {
  json.list("periods", steps.periods.size(),
            [&](size_t n) { return period_json(steps.periods[n]); });
  const auto& comparisons = steps.compared.comparisons;
  json.objects("iterations", comparisons.size(), [&](JsonStream& fields, size_t n) {
    print_comparison_json(fields, trace, steps.compared.memory, comparisons[n]);
  });
}

std::string step_text(int64_t step) { return fmt::format("{:+}", step); }

}  // namespace gfxgraph::tools
