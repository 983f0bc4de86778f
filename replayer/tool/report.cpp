#include "replayer/tool/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/amount.h"
#include "base/cli/print.h"
#include "format/names.h"

namespace gfxgraph::replayer {
namespace {

using nlohmann::ordered_json;

constexpr size_t kListedDifferences = 20;

std::string difference_text(const BufferResult& buffer) {
  const std::string head =
      format_printable("buffer #{} ({}, {} bytes, recorded at {:#x})", buffer.allocation,
                       name_of(buffer.kind).key, buffer.size_bytes, buffer.recorded_address);
  if (buffer.comparison == Comparison::kUncompared)
    return format_printable("{}: not compared, {}", head, buffer.reason);
  if (buffer.behind_range)
    return format_printable("{}: differs from the whole trace at the end of the range", head);
  if (buffer.by_hash) return format_printable("{}: differs (only its hash was recorded)", head);
  return format_printable(
      "{}: {} bytes differ, the first at offset {}: expected {:#04x}, got {:#04x}", head,
      buffer.differing_bytes, buffer.first_difference, buffer.expected, buffer.got);
}

// Only what was compared is claimed.
std::string bisect_text(const ReplayFacts& facts) {
  const BisectReport& bisect = *facts.bisect;
  const char* const mode = mode_name(facts.replay->mode());
  std::string text = "bisect: no divergent operation found (buffers only)";
  if (bisect.checkpoints != 0)
    text += format_printable("; all {} checkpoints agree with the recording", bisect.checkpoints);
  if (!bisect.eager) {
    if (bisect.checkpoints == 0)
      text += "; eager mode has no reference without checkpoints: record with --checkpoints";
    return text + "\n";
  }
  const VerifyReport& eager = *bisect.eager;
  text += format_printable("; {} and eager mode leave the same bytes", mode);
  if (eager.differs()) {
    return text + format_printable(
                      ", and eager mode differs from the recording in {} and {}: record with "
                      "--checkpoints to find the launch\n",
                      counted(eager.different, "buffer"), counted(eager.copies_different, "copy"));
  }
  if (eager.identical + eager.copies_identical == 0)
    return text + ", but the trace has nothing to compare them with\n";
  return text +
         ", and what was compared of eager mode is identical with the recording: the difference "
         "did not reappear\n";
}

std::string divergence_text(const ReplayFacts& facts) {
  if (!facts.bisect) return {};
  if (!facts.bisect->divergence) return bisect_text(facts);
  const Program& program = facts.replay->instance().program();
  const Divergence& found = *facts.bisect->divergence;
  const std::string where =
      found.first_operation == found.last_operation
          ? program.describe(found.last_operation)
          : format_printable("between {} and {}", program.describe(found.first_operation),
                             program.describe(found.last_operation));
  return format_printable("diverged: {}, buffer #{} (against {})\n", where, found.allocation,
                          found.reference);
}

// "2 buffers: #1, #2 and 1 copy"
std::string places_text(const std::vector<format::AllocationId>& buffers, size_t copies) {
  std::string ids;
  for (size_t i = 0; i < buffers.size() && i < kListedDifferences; ++i)
    ids += format_printable("{}#{}", i == 0 ? " " : ", ", buffers[i]);
  if (buffers.size() > kListedDifferences) ids += ", ...";
  return format_printable("{}{} and {}", counted(buffers.size(), "buffer"), ids,
                          counted(copies, "copy"));
}

// "other addresses: 1 buffer #2 and 1 copy change with the addresses of host memory, ..."
std::string addresses_text(const ReplayFacts& facts, const AddressReport& found,
                           std::string_view whose, std::string_view also) {
  std::string text = format_printable(
      "other addresses: {} change with the addresses of {}, with one thread of the agent, too",
      places_text(found.buffers, found.copies), whose);
  if (found.operation) {
    text += format_printable(", first seen after {}",
                             facts.replay->instance().program().describe(*found.operation));
  }
  text += ": a kernel computes with an address as a number";
  text += also;
  if (facts.relocates_ambiguous) text += ", or a number was taken for an address";
  return text;
}

std::string schedule_text(const ReplayFacts& facts) {
  if (!facts.schedule) return {};
  const ScheduleReport& schedule = *facts.schedule;
  if (!schedule.failure.empty())
    return format_printable("other schedules: not compared ({})\n", schedule.failure);
  const std::string runs =
      format_printable("{} one operation after another with 1 and {} threads of the agent",
                       counted(schedule.runs, "run"), schedule.threads);
  std::vector<std::string> lines;
  if (!schedule.varying.empty() || schedule.varying_copies != 0) {
    lines.push_back(format_printable("other schedules: also different between {}: {}", runs,
                                     places_text(schedule.varying, schedule.varying_copies)));
    if (schedule.operation) {
      lines.back() += format_printable(
          ", first seen after {}: the order of its workgroups shows: {}",
          facts.replay->instance().program().describe(*schedule.operation), schedule.cause);
    }
  }
  if (!schedule.host_addresses.empty())
    lines.push_back(addresses_text(facts, schedule.host_addresses, "host memory", ""));
  if (!schedule.buffer_addresses.empty())
    lines.push_back(addresses_text(facts, schedule.buffer_addresses, "buffers",
                                   ", or a word that is an address was not moved"));
  if (lines.empty()) {
    return format_printable(
        "other schedules: {} leave the same bytes: the difference does not come from the order of "
        "workgroups, or seldom; it may come from operations that the program left unordered, which "
        "ran concurrently\n",
        runs);
  }
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text + (schedule.complete ? "; nothing else differs\n"
                                   : "; other buffers or copies differ from the recording and were "
                                     "the same in these runs: the replay is wrong, or they vary "
                                     "seldom\n");
}

std::string unwritten_text(const VerifyReport& report) {
  std::string text;
  if (report.unwritten_bytes != 0) {
    text += format_printable(
        "never written: {} in {} (buffers and copies) keep the value from before the program got "
        "the memory, not compared\n",
        counted(report.unwritten_bytes, "byte"), counted(report.unwritten_places, "place"));
  }
  if (!report.unwritten_failure.empty()) {
    text += format_printable("never written: cannot be told from other bytes ({})\n",
                             report.unwritten_failure);
  }
  return text;
}

// Counts buffers whose initial contents are not in the trace.
struct UnknownContents {
  uint64_t buffers = 0;
  uint64_t bytes = 0;
};
UnknownContents unknown_contents(const Program& program) {
  UnknownContents unknown;
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin == nullptr || info.begin->initial.stored) continue;
    ++unknown.buffers;
    unknown.bytes += info.begin->size_bytes;
  }
  return unknown;
}

std::string timing_text(const char* name, const Timing& timing) {
  return format_printable("  {:<12} median {:>12.1f}  p10 {:>12.1f}  p90 {:>12.1f}\n", name,
                          timing.median, timing.p10, timing.p90);
}

ordered_json timing_json(const Timing& timing) {
  return {{"median", timing.median},
          {"p10", timing.p10},
          {"p90", timing.p90},
          {"samples", timing.samples}};
}

void add_derived(ordered_json& entry, const FreshBytes& fresh) {
  if (fresh.derived == 0) return;
  entry["from_unwritten"] = {{"bytes", fresh.derived}, {"first", fresh.first_derived}};
}

ordered_json buffers_json(const VerifyReport& report) {
  ordered_json list = ordered_json::array();
  for (const BufferResult& buffer : report.buffers) {
    if (buffer.comparison == Comparison::kIdentical) continue;
    ordered_json entry = {{"allocation", buffer.allocation},
                          {"kind", name_of(buffer.kind).key},
                          {"size_bytes", buffer.size_bytes},
                          {"recorded_address", format_printable("{:#x}", buffer.recorded_address)}};
    if (buffer.comparison == Comparison::kUncompared) {
      entry["uncompared"] = buffer.reason;
      add_derived(entry, buffer.fresh);
    } else if (buffer.by_hash) {
      entry["by_hash"] = true;
    } else {
      entry["first_difference"] = buffer.first_difference;
      entry["differing_bytes"] = buffer.differing_bytes;
      entry["expected"] = buffer.expected;
      entry["got"] = buffer.got;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

ordered_json copies_json(const VerifyReport& report, const Program& program) {
  ordered_json list = ordered_json::array();
  for (const CopyResult& copy : report.copies) {
    if (copy.comparison == Comparison::kIdentical) continue;
    ordered_json entry = {{"at", program.describe(copy.operation)}, {"event", copy.sequence}};
    if (copy.comparison == Comparison::kUncompared) {
      entry["uncompared"] = copy.reason;
      add_derived(entry, copy.fresh);
    } else {
      entry["first_difference"] = copy.first_difference;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void add_verification(ordered_json& json, const ReplayFacts& facts) {
  json["verified"] = facts.report.has_value();
  if (!facts.report) return;
  const VerifyReport& report = *facts.report;
  json["verified_runs"] = facts.verified_runs;
  json["buffers"] = {{"total", report.buffers.size()},
                     {"identical", report.identical},
                     {"different", report.different},
                     {"uncompared", report.uncompared},
                     {"compared_with_replay", report.by_replay},
                     {"freed_by_graphs", report.gone},
                     {"not_identical", buffers_json(report)}};
  json["reported_run"] = facts.reported_run;
  json["identical"] = report.identical_throughout();
  json["host_writes_in_doubt"] = {{"made_by_kernels", report.doubtful.made},
                                  {"taken_from_recording", report.doubtful.given}};
  json["copies_to_host"] = {
      {"total", report.copies.size()},
      {"identical", report.copies_identical},
      {"different", report.copies_different},
      {"uncompared", report.copies_uncompared},
      {"not_identical", copies_json(report, facts.replay->instance().program())}};
  json["ambiguous_words_unmoved"] = report.ambiguous_words_unmoved;
  json["never_written"] = {{"bytes", report.unwritten_bytes}, {"places", report.unwritten_places}};
  if (!report.unwritten_failure.empty())
    json["never_written"]["failure"] = report.unwritten_failure;
}

void add_bisect(ordered_json& json, const ReplayFacts& facts) {
  const BisectReport& bisect = *facts.bisect;
  json["bisect"] = {{"checkpoints", bisect.checkpoints}};
  if (bisect.eager) {
    json["bisect"]["eager"] = {{"identical", bisect.eager->identical},
                               {"different", bisect.eager->different},
                               {"uncompared", bisect.eager->uncompared},
                               {"copies_different", bisect.eager->copies_different}};
  }
  if (!bisect.divergence) return;
  const Program& program = facts.replay->instance().program();
  json["divergence"] = {{"first_operation", bisect.divergence->first_operation},
                        {"last_operation", bisect.divergence->last_operation},
                        {"at", program.describe(bisect.divergence->last_operation)},
                        {"allocation", bisect.divergence->allocation},
                        {"reference", bisect.divergence->reference}};
}

void add_schedule(ordered_json& json, const ReplayFacts& facts) {
  const ScheduleReport& schedule = *facts.schedule;
  if (!schedule.failure.empty()) {
    json["nondeterminism"] = {{"checked", false}, {"reason", schedule.failure}};
    return;
  }
  json["nondeterminism"] = {{"checked", true},
                            {"threads", {1, schedule.threads}},
                            {"runs", schedule.runs},
                            {"varying_buffers", schedule.varying},
                            {"varying_copies", schedule.varying_copies},
                            {"explains_difference", differs_by_itself(facts)}};
  const auto add = [&](const char* name, const AddressReport& found) {
    if (found.empty()) return;
    ordered_json& entry = json["nondeterminism"][name];
    entry = {{"buffers", found.buffers}, {"copies", found.copies}};
    if (!found.operation) return;
    entry["first_operation"] = *found.operation;
    entry["at"] = facts.replay->instance().program().describe(*found.operation);
  };
  add("host_addresses", schedule.host_addresses);
  add("buffer_addresses", schedule.buffer_addresses);
  if (!schedule.operation) return;
  json["nondeterminism"]["first_operation"] = *schedule.operation;
  json["nondeterminism"]["at"] = facts.replay->instance().program().describe(*schedule.operation);
  json["nondeterminism"]["cause"] = schedule.cause;
}

}  // namespace

std::string version_text(int version) {
  return format_printable("{}.{}.{}", version / 10000000, version / 100000 % 100, version % 100000);
}

bool differs_by_itself(const ReplayFacts& facts) {
  if (!facts.schedule || !facts.schedule->explains) return false;
  return facts.schedule->host_addresses.empty() || !facts.relocates_ambiguous;
}

bool may_print_times(const ReplayFacts& facts) {
  return facts.report.has_value() && facts.report->identical_throughout() && facts.runs != 0;
}

std::string interruption_text(const ReplayFacts& facts) {
  return fmt::format("interrupted after {} of {}", facts.runs, counted(facts.runs_asked, "run"));
}

std::string iterations_text(const ReplayFacts& facts) {
  std::string text = format_printable("iterations: {}", facts.iterations);
  if (facts.iterations < facts.iterations_asked)
    text += format_printable(", interrupted, of {}", facts.iterations_asked);
  if (facts.replay->mode() == Mode::kGraph) {
    const GraphStatistics graph = facts.replay->graph_statistics();
    text += format_printable("; {} updated in place, {} built again",
                             counted(graph.nodes_updated, "node"),
                             counted(graph.graphs_rebuilt, "graph"));
  }
  return text + "\n";
}

namespace {

// Empty: none but the recorded order was asked for.
std::string order_text(const Step& replay) {
  if (replay.instance().session().order() == nullptr) return {};
  const OrderUse order = replay.executor().order_use();
  if (!order.proven) {
    return format_printable("order: as recorded: {}\n",
                            order.reason == nullptr
                                ? fmt::format("mode {} keeps it", mode_name(replay.mode()))
                                : order.reason);
  }
  std::string text = format_printable("order: proven, {} of {}", order.edges_needed,
                                      counted(order.edges_recorded, "recorded edge"));
  if (replay.mode() == Mode::kPackets)
    text += format_printable(", {} of {} with the barrier bit", order.barriers,
                             counted(order.packets, "packet"));
  return text + "\n";
}

}  // namespace

std::string text_report(const ReplayFacts& facts) {
  const Step& replay = *facts.replay;
  const Instance& instance = replay.instance();
  const Program& program = instance.program();
  std::string text = format_printable("{}: {}, {}; {} mode ({})\n", facts.trace_path,
                                      counted(program.launch_count(), "launch"),
                                      counted(program.operations().size(), "operation"),
                                      mode_name(replay.mode()), replay.mode_reason());
  if (replay.mode() == Mode::kGraph) {
    const GraphStatistics graph = replay.graph_statistics();
    text += format_printable("graphs: {} with {} and {}", graph.graphs,
                             counted(graph.nodes, "node"), counted(graph.edges, "edge"));
    if (graph.launches != graph.graphs)
      text += format_printable(", {} of them in a run", counted(graph.launches, "launch"));
    text += "\n";
    for (const std::string& outside : graph.outside)
      text += format_printable("outside of the graphs: {}\n", outside);
  }
  text += order_text(replay);
  const size_t moved = instance.memory().moved();
  const size_t movable = instance.memory().movable();
  text += format_printable(
      "addresses: {} of {} buffers at their recorded address, {} elsewhere ({})\n", movable - moved,
      movable, moved,
      facts.layout == Layout::kShift ? "shift layout"
                                     : "same layout: as the allocator places them");
  if (const UnknownContents unknown = unknown_contents(program); unknown.buffers != 0) {
    text += format_printable(
        "contents: {} ({}) without contents in the trace began with zeros, except words that point "
        "to other buffers\n",
        counted(unknown.buffers, "buffer"), counted(unknown.bytes, "byte"));
  }
  if (!facts.report) return text + "not verified; timings suppressed\n";

  const VerifyReport& report = *facts.report;
  text += format_printable("buffers: {} of {} identical", report.identical, report.buffers.size());
  if (report.different != 0) text += format_printable(", {} different", report.different);
  if (report.uncompared != 0) text += format_printable(", {} not compared", report.uncompared);
  if (report.gone != 0) text += format_printable("; {} of graphs were freed", report.gone);
  if (report.by_replay != 0) {
    text +=
        format_printable("; {} compared with a replay of the whole trace, which ended as recorded",
                         report.by_replay);
  }
  text += "\n";
  if (!report.copies.empty()) {
    text += format_printable("copies to the host: {} of {} identical", report.copies_identical,
                             report.copies.size());
    if (report.copies_different != 0)
      text += format_printable(", {} different", report.copies_different);
    if (report.copies_uncompared != 0)
      text += format_printable(", {} not compared", report.copies_uncompared);
    text += "\n";
  }
  if (const DoubtfulWrites& doubtful = report.doubtful; doubtful.made + doubtful.given != 0) {
    text += format_printable("host writes in doubt: {} of {} made by the replay's own kernels",
                             doubtful.made, doubtful.made + doubtful.given);
    if (doubtful.given != 0) {
      const format::HostWrite& first =
          *facts.replay->instance().program().host_writes()[doubtful.first_given];
      text += format_printable(
          "; {} taken from the recording and not compared, the first to buffer #{} at {:#x}",
          doubtful.given, first.allocation, first.offset_bytes);
    }
    text += "\n";
  }
  text += unwritten_text(report);
  size_t listed = 0;
  for (const BufferResult& buffer : report.buffers) {
    if (buffer.comparison == Comparison::kIdentical) continue;
    if (++listed > kListedDifferences) continue;
    text += "  " + difference_text(buffer) + "\n";
  }
  if (listed > kListedDifferences)
    text += format_printable("  and {} more\n", listed - kListedDifferences);
  listed = 0;
  for (const CopyResult& copy : report.copies) {
    if (copy.comparison == Comparison::kIdentical) continue;
    if (++listed > kListedDifferences) continue;
    text += copy.comparison == Comparison::kDifferent
                ? format_printable("  {}: differs first at byte {}\n",
                                   program.describe(copy.operation), copy.first_difference)
                : format_printable("  {}: not compared, {}\n", program.describe(copy.operation),
                                   copy.reason);
  }
  if (listed > kListedDifferences)
    text += format_printable("  and {} more\n", listed - kListedDifferences);
  text += divergence_text(facts);
  text += schedule_text(facts);
  if (facts.interrupted) text += interruption_text(facts) + "\n";
  if (!may_print_times(facts))
    return text + "timings suppressed: not everything was compared and identical\n";
  text +=
      format_printable("times of {} in us, on the host{}:\n", counted(facts.runs, "run"),
                       facts.emulated ? "; the device is emulated, these are no GPU times" : "");
  text += timing_text("submit", facts.measurement.submit);
  text += timing_text("end to end", facts.measurement.end_to_end);
  return text;
}

std::string json_report(const ReplayFacts& facts) {
  const Step& replay = *facts.replay;
  const Instance& instance = replay.instance();
  const Program& program = instance.program();
  ordered_json json = {{"trace", facts.trace_path},
                       {"device",
                        {{"name", instance.device().name},
                         {"arch", instance.device().arch},
                         {"emulated", facts.emulated}}},
                       {"hip",
                        {{"library", instance.library().path()},
                         {"runtime_version", instance.library().runtime_version()},
                         {"version", version_text(instance.library().runtime_version())}}},
                       {"mode", mode_name(replay.mode())},
                       {"mode_asked", mode_name(facts.mode_asked)},
                       {"mode_reason", replay.mode_reason()},
                       {"layout",
                        {{"asked", facts.layout == Layout::kShift ? "shift" : "same"},
                         {"moved", instance.memory().moved()},
                         {"movable", instance.memory().movable()}}},
                       {"launches", program.launch_count()},
                       {"operations", program.operations().size()},
                       {"buffers_without_content", unknown_contents(program).buffers},
                       {"runs", facts.runs},
                       {"runs_asked", facts.runs_asked},
                       {"iterations", facts.iterations},
                       {"iterations_asked", facts.iterations_asked}};
  if (facts.memory) {
    json["memory"] = {{"device_bytes", facts.memory->device},
                      {"device_bytes_apart", facts.memory->device_apart},
                      {"host_bytes", facts.memory->host},
                      {"packed", instance.session().options().memory == MemoryUse::kPacked}};
  }
  if (replay.mode() == Mode::kGraph) {
    const GraphStatistics graph = replay.graph_statistics();
    json["graph"] = {{"graphs", graph.graphs},
                     {"launches", graph.launches},
                     {"nodes", graph.nodes},
                     {"edges", graph.edges},
                     {"edges_before_reduction", graph.edges_before_reduction},
                     {"nodes_updated", graph.nodes_updated},
                     {"launches_apart", graph.launches_apart},
                     {"graphs_rebuilt", graph.graphs_rebuilt},
                     {"outside", graph.outside}};
  }
  if (instance.session().order() != nullptr) {
    const OrderUse order = replay.executor().order_use();
    json["order"] = {{"proven", order.proven},
                     {"reason", order.reason == nullptr ? "" : order.reason},
                     {"edges_recorded", order.edges_recorded},
                     {"edges_needed", order.edges_needed}};
    if (replay.mode() == Mode::kPackets) {
      json["order"]["packets"] = order.packets;
      json["order"]["barriers"] = order.barriers;
    }
  }
  ordered_json ambiguous = ordered_json::array();
  for (const AmbiguousWord& word : program.ambiguous_words()) {
    ambiguous.push_back({{"kernel", word.kernel},
                         {"argument", word.argument},
                         {"content", word.content},
                         {"buffer", word.buffer},
                         {"offset_bytes", word.offset_bytes},
                         {"allocation", word.allocation},
                         {"targets", word.targets},
                         {"words", word.words},
                         {"first_launch", word.first_launch},
                         {"first_event", word.first_event}});
  }
  json["ambiguous"] = std::move(ambiguous);
  add_verification(json, facts);
  if (facts.bisect) add_bisect(json, facts);
  if (facts.schedule) add_schedule(json, facts);
  if (may_print_times(facts)) {
    const LoadTimes& load = replay.load_times();
    json["times_us"] = {{"load", load.load_us},
                        {"restore", load.restore_us},
                        {"build", load.build_us},
                        {"instantiate", load.instantiate_us},
                        {"first_run", facts.first_run_us},
                        {"submit", timing_json(facts.measurement.submit)},
                        {"end_to_end", timing_json(facts.measurement.end_to_end)}};
  }
  // Names in a trace are bytes of a foreign program, not always UTF-8.
  return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace gfxgraph::replayer
