// SARIF 2.1.0. Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/demangle.h"
#include "lanecheck/check.h"

namespace gfxgraph::lanecheck {
namespace {

using Json = nlohmann::ordered_json;

// A path as a URI reference: bytes that a URI cannot hold as they are become %xx.
std::string uri_of(const std::string& path) {
  constexpr std::string_view kPlain = "-._~/";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos;
    if (plain)
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json rule_of(const ClassText& text) {
  return {{"id", text.code},
          {"name", text.name},
          {"shortDescription", {{"text", text.summary}}},
          {"help", {{"text", text.fix}}},
          {"defaultConfiguration", {{"level", severity_name(text.severity)}}},
          {"properties", {{"tool", tool_name(text.tool)}}}};
}

Json location_of(const Finding& finding) {
  Json location;
  if (finding.source) {
    Json region = {{"startLine", std::max<uint32_t>(1, finding.source->line)}};
    if (finding.source->column != 0) region["startColumn"] = finding.source->column;
    location["physicalLocation"] = {{"artifactLocation", {{"uri", uri_of(finding.source->file)}}},
                                    {"region", std::move(region)}};
  }
  location["logicalLocations"] = Json::array({{{"name", demangle(finding.kernel)},
                                               {"decoratedName", finding.kernel},
                                               {"kind", "function"}}});
  return location;
}

Json result_of(const Finding& finding) {
  const ClassText& text = class_text(finding.finding_class);
  Json result = {
      {"ruleId", text.code},
      {"ruleIndex", static_cast<size_t>(finding.finding_class)},
      {"level", severity_name(finding.severity)},
      {"message",
       {{"text", fmt::format("{}: {}; fix: {}", text.summary, describe(finding), text.fix)}}},
      {"locations", Json::array({location_of(finding)})},
      {"occurrenceCount", finding.events},
      {"properties",
       {{"kernelOffsetBytes", finding.kernel_offset},
        {"mnemonic", finding.mnemonic},
        {"launches", finding.launches},
        {"firstLaunch", finding.launch},
        {"workgroup", finding.workgroup},
        {"wave", finding.wave},
        {"lanes", lane_ranges(finding.lanes)}}}};
  if (!finding.suppressed_by.empty()) {
    result["suppressions"] =
        Json::array({{{"kind", "external"}, {"justification", finding.suppressed_by}}});
  }
  return result;
}

}  // namespace

std::string render_sarif(const Report& report, const std::string& trace_name) {
  Json rules = Json::array();
  for (const ClassText& text : kClassTexts) rules.push_back(rule_of(text));
  Json results = Json::array();
  for (const Finding& finding : report.findings) results.push_back(result_of(finding));
  Json notifications = Json::array();
  const auto notify = [&](const char* level, const std::string& text) {
    notifications.push_back({{"level", level}, {"message", {{"text", text}}}});
  };
  for (const FailedLaunch& failed : report.failed) {
    notify(failed.finding ? "note" : "error",
           fmt::format("launch {} of kernel {} was not, or not wholly, checked: {}", failed.launch,
                       demangle(failed.kernel), failed.reason));
  }
  if (report.stopped) notify("error", report.stopped->reason);
  for (const std::string& note : report.notes) notify("note", note);
  for (const std::string& note : report.emulator_notes) notify("note", note);
  Json invocation = {{"executionSuccessful", !report.stopped && report.lost_launches() == 0},
                     {"toolExecutionNotifications", std::move(notifications)}};
  Json run;
  run["tool"] = {{"driver", {{"name", "gfxgraph check"}, {"rules", std::move(rules)}}}};
  run["invocations"] = Json::array({std::move(invocation)});
  run["columnKind"] = "utf16CodeUnits";
  run["results"] = std::move(results);
  run["properties"] = {{"trace", trace_name}};
  const Json json = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                     {"version", "2.1.0"},
                     {"runs", Json::array({std::move(run)})}};
  // Names come from a file: bytes that are no UTF-8 are replaced, not thrown over.
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace gfxgraph::lanecheck
