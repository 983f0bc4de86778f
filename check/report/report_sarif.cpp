// SARIF 2.1.0. Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/demangle.h"
#include "check/report/report.h"

namespace gfxgraph::check {
namespace {

using Json = nlohmann::ordered_json;

// A path as a URI reference: bytes that a URI cannot contain become %xx.
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

// Viewers show these texts as paragraphs: a capital letter, and a full stop.
std::string with_stop(std::string text) {
  const bool ends = text.empty() || text.back() == '.' || text.back() == '!' || text.back() == '?';
  return ends ? text : text + '.';
}
std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return with_stop(std::move(text));
}

std::string message_of(const Finding& finding) {
  const ClassText& text = class_text(finding.finding_class);
  const std::string what = describe(finding);
  const std::string summary = what.starts_with(text.summary) ? "" : sentence(text.summary) + " ";
  return fmt::format("{}{} To fix it: {}", summary, sentence(what), sentence(text.fix));
}

Json rule_of(const ClassText& text) {
  return {{"id", text.code},
          {"name", text.name},
          {"shortDescription", {{"text", sentence(text.summary)}}},
          {"help", {{"text", sentence(text.fix)}}},
          {"defaultConfiguration", {{"level", severity_name(text.severity)}}},
          {"properties", {{"tool", tool_name(text.tool)}}}};
}

Json physical_location_of(const codeobj::SourceLocation& source) {
  Json region = {{"startLine", std::max<uint32_t>(1, source.line)}};
  if (source.column != 0) region["startColumn"] = source.column;
  return {{"artifactLocation", {{"uri", uri_of(source.file)}}}, {"region", std::move(region)}};
}

Json frame_of(const codeobj::SourceLocation& source) {
  Json location = Json::object();
  if (source.line != 0) location["physicalLocation"] = physical_location_of(source);
  if (!source.function.empty()) {
    location["logicalLocations"] =
        Json::array({{{"fullyQualifiedName", source.function}, {"kind", "function"}}});
  }
  return {{"location", std::move(location)}};
}

// The innermost frame first, as SARIF requires (3.44).
Json stack_of(const std::vector<codeobj::SourceLocation>& inline_stack) {
  Json frames = Json::array();
  for (const codeobj::SourceLocation& frame : inline_stack) frames.push_back(frame_of(frame));
  return {{"message", {{"text", "Inlined calls, innermost first."}}},
          {"frames", std::move(frames)}};
}

Json location_of(const Finding& finding) {
  Json location;
  if (finding.source) location["physicalLocation"] = physical_location_of(*finding.source);
  location["logicalLocations"] = Json::array({{{"name", demangle(finding.kernel)},
                                               {"decoratedName", finding.kernel},
                                               {"kind", "function"}}});
  return location;
}

Json result_of(const Finding& finding, const FindingPlace& place) {
  const ClassText& text = class_text(finding.finding_class);
  Json result = {{"ruleId", text.code},
                 {"ruleIndex", static_cast<size_t>(finding.finding_class)},
                 {"level", severity_name(finding.severity)},
                 {"message", {{"text", message_of(finding)}}},
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
  if (place.inline_stack.size() > 1) result["stacks"] = Json::array({stack_of(place.inline_stack)});
  if (!finding.suppressed_by.empty()) {
    result["suppressions"] =
        Json::array({{{"kind", "external"}, {"justification", finding.suppressed_by}}});
  }
  return result;
}

void append_results(const Report& report, const std::string& trace_name, Json& results) {
  for (size_t n = 0; n < report.findings.size(); ++n) {
    const FindingPlace place = n < report.places.size() ? report.places[n] : FindingPlace();
    Json result = result_of(report.findings[n], place);
    result["properties"]["trace"] = trace_name;
    results.push_back(std::move(result));
  }
}

void notify(Json& notifications, const char* level, const std::string& text) {
  notifications.push_back({{"level", level}, {"message", {{"text", with_stop(text)}}}});
}

// `lead` begins each text.
void append_notifications(const Report& report, const std::string& lead, Json& notifications) {
  for (const FailedLaunch& failed : report.failed) {
    notify(notifications, failed.finding ? "note" : "error",
           fmt::format("{}launch {} of kernel {} was not, or only partly, checked: {}", lead,
                       failed.launch, demangle(failed.kernel), failed.reason));
  }
  if (report.stopped) notify(notifications, "error", lead + report.stopped->reason);
  for (const std::string& note : report.notes) notify(notifications, "note", lead + note);
  for (const std::string& note : report.emulator_notes) notify(notifications, "note", lead + note);
}

}  // namespace

std::string render_sarif(const Report& report, const std::string& trace_name) {
  return render_sarif({TraceReport{trace_name, report, ""}});
}

// All traces are one run: they share the rules, and viewers replace the results of one run with
// those of the next.
std::string render_sarif(const std::vector<TraceReport>& traces) {
  Json rules = Json::array();
  for (const ClassText& text : kClassTexts) rules.push_back(rule_of(text));
  Json results = Json::array();
  Json notifications = Json::array();
  Json names = Json::array();
  bool successful = true;
  for (const TraceReport& trace : traces) {
    names.push_back(trace.name);
    if (!trace.report) {
      notify(notifications, "error", trace.name + " was not checked: " + trace.error);
      successful = false;
      continue;
    }
    append_results(*trace.report, trace.name, results);
    append_notifications(*trace.report, traces.size() > 1 ? trace.name + ": " : "", notifications);
    successful = successful && !trace.report->stopped && trace.report->lost_launches() == 0;
  }
  Json invocation = {{"executionSuccessful", successful},
                     {"toolExecutionNotifications", std::move(notifications)}};
  Json run;
  run["tool"] = {{"driver", {{"name", "gfxgraph check"}, {"rules", std::move(rules)}}}};
  run["invocations"] = Json::array({std::move(invocation)});
  run["columnKind"] = "utf16CodeUnits";
  run["results"] = std::move(results);
  if (traces.size() == 1)
    run["properties"] = {{"trace", traces.front().name}};
  else
    run["properties"] = {{"traces", std::move(names)}};
  const Json json = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                     {"version", "2.1.0"},
                     {"runs", Json::array({std::move(run)})}};
  // Names come from a file: bytes that are not UTF-8 are replaced, without an exception.
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace gfxgraph::check
