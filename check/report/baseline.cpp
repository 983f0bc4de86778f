#include "check/report/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace gfxgraph::check {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

uint64_t number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

bool is_known(const KnownFinding& known, const Finding& finding) {
  if (known.finding_class != finding.finding_class || known.kernel != finding.kernel) return false;
  if (!finding.source) return known.file.empty() && known.kernel_offset == finding.kernel_offset;
  return known.file == finding.source->file && known.line == finding.source->line;
}

// False: it is not the report of one trace.
bool append_findings(const Json& report, const std::string& name,
                     std::vector<KnownFinding>& result) {
  if (!report.is_object()) return false;
  const auto findings = report.find("findings");
  if (text_of(report, "schema") != "gfxgraph-check/1" || findings == report.end() ||
      !findings->is_array())
    return false;
  for (const Json& one : *findings) {
    if (!one.is_object()) continue;
    const std::optional<FindingClass> found = find_class(text_of(one, "class"));
    if (!found) continue;  // of another version
    KnownFinding known;
    known.finding_class = *found;
    known.kernel = text_of(one, "kernel");
    known.kernel_offset = number_of(one, "kernel_offset_bytes");
    if (const auto source = one.find("source"); source != one.end() && source->is_object()) {
      known.file = text_of(*source, "file");
      known.line = number_of(*source, "line");
    }
    known.report = name;
    result.push_back(std::move(known));
  }
  return true;
}

}  // namespace

Result<std::vector<KnownFinding>> parse_baseline(std::string_view text, const std::string& name) {
  const Json report = Json::parse(text, nullptr, false);
  std::vector<KnownFinding> result;
  bool is_report = report.is_object() && append_findings(report, name, result);
  if (report.is_object() && text_of(report, "schema") == "gfxgraph-check-traces/1") {
    const auto traces = report.find("traces");
    is_report = traces != report.end() && traces->is_array();
    // A trace that was not checked has no findings.
    if (is_report)
      for (const Json& trace : *traces) append_findings(trace, name, result);
  }
  if (is_report) return result;
  return fail(Status::kInvalidArgument,
              name + ": not a report of gfxgraph check --format json; write one with -o");
}

void apply_baseline(const std::vector<KnownFinding>& known, Report& report) {
  for (Finding& finding : report.findings) {
    if (!finding.suppressed_by.empty()) continue;
    const auto found = std::ranges::find_if(
        known, [&](const KnownFinding& one) { return is_known(one, finding); });
    if (found != known.end()) finding.suppressed_by = "in the baseline " + found->report;
  }
}

}  // namespace gfxgraph::check
