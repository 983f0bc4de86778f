#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "check/report/report.h"

namespace gfxgraph::check {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(uint64_t value) { return fmt::format("{:#x}", value); }

Json source_json(const codeobj::SourceLocation& source) {
  return {{"file", source.file},
          {"line", source.line},
          {"column", source.column},
          {"function", source.function}};
}

Json nearest_json(const NearestBuffer& nearest) {
  return {{"name", nearest.name},
          {"allocation", nearest.allocation},
          {"address", hex(nearest.address)},
          {"size_bytes", nearest.size_bytes},
          {"mapped_bytes", nearest.mapped_bytes},
          {"distance_bytes", nearest.distance_bytes},
          {"freed", nearest.freed}};
}

Json finding_json(const Finding& finding, const FindingCalls& calls, const FindingPlace& place) {
  const ClassText& text = class_text(finding.finding_class);
  Json json = {{"class", text.code},
               {"name", text.name},
               {"tool", tool_name(text.tool)},
               {"severity", severity_name(finding.severity)},
               {"summary", text.summary},
               {"kernel", finding.kernel},
               {"pc", hex(finding.code_address)},
               {"kernel_offset_bytes", finding.kernel_offset},
               {"mnemonic", finding.mnemonic},
               {"events", finding.events},
               {"lanes_total", finding.lanes_total},
               {"launches", finding.launches}};
  json["first"] = {{"launch", finding.launch},
                   {"event", finding.event_sequence},
                   {"workgroup", finding.workgroup},
                   {"wave", finding.wave},
                   {"lanes", lane_ranges(finding.lanes)},
                   {"exec", hex(finding.exec)},
                   {"address", hex(finding.address)},
                   {"address_class", finding.address_class},
                   {"access_bytes", finding.access_bytes},
                   {"write", finding.write}};
  if (!calls.launched_by.empty()) json["first"]["launched_by"] = calls.launched_by;
  if (finding.source) json["source"] = source_json(*finding.source);
  json["inline_stack"] = Json::array();
  for (const codeobj::SourceLocation& frame : place.inline_stack)
    json["inline_stack"].push_back(source_json(frame));
  if (finding.nearest) json["nearest"] = nearest_json(*finding.nearest);
  if (!calls.allocated_by.empty()) json["nearest"]["allocated_by"] = calls.allocated_by;
  if (finding.written_by != 0) json["address_written_at_bytes"] = finding.written_by;
  if (!finding.detail.empty()) json["detail"] = finding.detail;
  json["fix"] = text.fix;
  json["places"] = Json::array();
  for (const Finding::Place& one : finding.places) {
    json["places"].push_back({{"pc", hex(one.code_address)},
                              {"kernel_offset_bytes", one.kernel_offset},
                              {"mnemonic", one.mnemonic},
                              {"events", one.events}});
  }
  json["disassembly"] = Json::array();
  for (const CodeLine& line : place.code) {
    Json& one = json["disassembly"].emplace_back(
        Json{{"pc", hex(line.code_address)}, {"instruction", line.text}});
    if (line.role == CodeLine::Role::kFinding) one["role"] = "finding";
    if (line.role == CodeLine::Role::kAddress) one["role"] = "address";
  }
  if (!finding.suppressed_by.empty()) json["suppressed_by"] = finding.suppressed_by;
  return json;
}

Json perf_json(const PerfTable& table) {
  Json lines = Json::array(), kernels = Json::array();
  for (const PerfLine& line : table.lines) {
    lines.push_back({{"kernel", line.kernel},
                     {"file", line.file},
                     {"line", line.line},
                     {"pc", hex(line.code_address)},
                     {"unit", line.lds ? "bank_passes" : "cache_lines"},
                     {"instructions", line.instructions},
                     {"executions", line.executions},
                     {"lanes", line.lanes},
                     {"count", line.units},
                     {"least", line.least}});
  }
  for (const PerfKernel& kernel : table.kernels) {
    kernels.push_back({{"kernel", kernel.kernel},
                       {"launches", kernel.launches},
                       {"wave_lanes", kernel.wave_lanes},
                       {"block_items", kernel.block_items},
                       {"idle_lanes", kernel.idle_lanes},
                       {"vgprs", kernel.vgprs},
                       {"lds_bytes", kernel.lds_bytes},
                       {"waves_fit", kernel.waves_fit},
                       {"limit", kernel.limit}});
  }
  return {{"lines", std::move(lines)}, {"kernels", std::move(kernels)}};
}

Json counts_json(const ExecutionCounts& counts) {
  return {{"instructions", counts.instructions},
          {"instructions_executed", counts.executed},
          {"branch_ways", counts.ways},
          {"branch_ways_taken", counts.ways_taken},
          {"lanes", counts.lanes},
          {"lanes_executed", counts.lanes_executed}};
}

Json execution_json(const Report& report) {
  const std::vector<uint64_t> findings = report.findings_of_executed();
  Json kernels = Json::array();
  for (size_t n = 0; n < report.execution.kernels.size(); ++n) {
    const ExecutedKernel& kernel = report.execution.kernels[n];
    Json lines = Json::array();
    for (const ExecutedLine& line : kernel.lines) {
      Json& one = lines.emplace_back(
          Json{{"file", line.file}, {"line", line.line}, {"executions", line.executions}});
      one.update(counts_json(line.counts));
    }
    Json& one =
        kernels.emplace_back(Json{{"kernel", kernel.kernel}, {"launches", kernel.launches}});
    one.update(counts_json(kernel.counts));
    one["unknown_calls"] = kernel.unknown_calls;
    one["incomplete"] = kernel.incomplete;
    one["findings"] = findings[n];
    one["verdict"] = verdict_of(kernel, report.tool_list(), findings[n]);
    one["lines"] = std::move(lines);
  }
  return {{"stopped", report.execution.stopped}, {"kernels", std::move(kernels)}};
}

Json json_of(const Report& report, const std::string& trace_name) {
  Json json;
  json["schema"] = "gfxgraph-check/1";
  json["trace"] = trace_name;
  json["launches"] = report.launches;
  json["wave_instructions"] = report.wave_instructions;
  json["errors"] = report.count(Severity::kError);
  json["warnings"] = report.count(Severity::kWarning);
  json["notes_count"] = report.count(Severity::kNote);
  json["suppressed"] = report.count_suppressed();
  json["tools"] = Json::array();
  for (size_t n = 0; n < kTools; ++n)
    if (report.tools[n]) json["tools"].push_back(tool_name(static_cast<Tool>(n)));
  json["buffers"] = {{"compared", report.buffers_compared}, {"equal", report.buffers_equal}};
  json["empty_exec_scalar_loads"] = report.empty_exec_scalar_loads;
  json["findings"] = Json::array();
  for (size_t n = 0; n < report.findings.size(); ++n) {
    const FindingCalls calls = n < report.calls.size() ? report.calls[n] : FindingCalls();
    const FindingPlace place = n < report.places.size() ? report.places[n] : FindingPlace();
    json["findings"].push_back(finding_json(report.findings[n], calls, place));
  }
  if (report.perf.made) json["perf"] = perf_json(report.perf);
  if (report.execution.made) json["coverage"] = execution_json(report);
  json["not_checked"] = Json::array();
  for (const FailedLaunch& failed : report.failed) {
    json["not_checked"].push_back({{"launch", failed.launch},
                                   {"event", failed.event_sequence},
                                   {"kernel", failed.kernel},
                                   {"reason", failed.reason}});
  }
  json["not_checked_count"] =
      report.failed_launches + (report.stopped ? report.stopped->launches : 0);
  if (report.stopped) {
    json["stopped"] = {{"event", report.stopped->event_sequence},
                       {"launches", report.stopped->launches},
                       {"reason", report.stopped->reason}};
  }
  json["kernels"] = Json::array();
  for (const KernelTotals& kernel : report.kernels) {
    json["kernels"].push_back({{"kernel", kernel.kernel},
                               {"launches", kernel.launches},
                               {"wave_instructions", kernel.wave_instructions},
                               {"dropped_lanes", kernel.dropped_lanes}});
  }
  json["notes"] = report.notes;
  for (const std::string& note : report.emulator_notes) json["notes"].push_back(note);
  return json;
}

std::string text_of(const Json& json) {
  // Names come from a file: bytes that are not UTF-8 are replaced, without an exception.
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string render_json(const Report& report, const std::string& trace_name) {
  return text_of(json_of(report, trace_name));
}

std::string render_json(const std::vector<TraceReport>& traces) {
  if (traces.size() == 1 && traces.front().report)
    return render_json(*traces.front().report, traces.front().name);
  uint64_t unchecked = 0, errors = 0, warnings = 0, notes = 0, suppressed = 0;
  Json each = Json::array();
  for (const TraceReport& trace : traces) {
    if (!trace.report) {
      each.push_back({{"trace", trace.name}, {"error", trace.error}});
      ++unchecked;
      continue;
    }
    each.push_back(json_of(*trace.report, trace.name));
    errors += trace.report->count(Severity::kError);
    warnings += trace.report->count(Severity::kWarning);
    notes += trace.report->count(Severity::kNote);
    suppressed += trace.report->count_suppressed();
  }
  return text_of({{"schema", "gfxgraph-check-traces/1"},
                  {"errors", errors},
                  {"warnings", warnings},
                  {"notes_count", notes},
                  {"suppressed", suppressed},
                  {"not_checked_traces", unchecked},
                  {"traces", std::move(each)}});
}

}  // namespace gfxgraph::check
