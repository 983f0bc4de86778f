#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lanecheck/check.h"

namespace gfxgraph::lanecheck {
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

Json finding_json(const Finding& finding, const FindingCalls& calls) {
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
  if (finding.nearest) json["nearest"] = nearest_json(*finding.nearest);
  if (!calls.allocated_by.empty()) json["nearest"]["allocated_by"] = calls.allocated_by;
  if (finding.written_by != 0) json["address_written_at_bytes"] = finding.written_by;
  if (!finding.detail.empty()) json["detail"] = finding.detail;
  json["fix"] = text.fix;
  json["places"] = Json::array();
  for (const Finding::Place& place : finding.places) {
    json["places"].push_back({{"pc", hex(place.code_address)},
                              {"kernel_offset_bytes", place.kernel_offset},
                              {"mnemonic", place.mnemonic},
                              {"events", place.events}});
  }
  if (!finding.suppressed_by.empty()) json["suppressed_by"] = finding.suppressed_by;
  return json;
}

}  // namespace

std::string render_json(const Report& report, const std::string& trace_name) {
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
    json["findings"].push_back(finding_json(report.findings[n], calls));
  }
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
  // Names come from a file: bytes that are no UTF-8 are replaced, not thrown over.
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace gfxgraph::lanecheck
