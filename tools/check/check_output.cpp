#include "tools/check/check_output.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/cli/print.h"
#include "check/report/report.h"
#include "tools/cli.h"

namespace gfxgraph::tools {
namespace {

std::string render(const std::vector<check::TraceReport>& traces, const std::string& format,
                   bool with_code) {
  if (format == "json") return check::render_json(traces);
  if (format == "sarif") return check::render_sarif(traces);
  return check::render_text(traces, with_code);
}

std::string lcov_text(const std::vector<check::TraceReport>& traces) {
  std::vector<const check::ExecutionTable*> tables;
  for (const check::TraceReport& trace : traces)
    if (trace.report) tables.push_back(&trace.report->execution);
  return check::render_lcov(tables);
}

// The first line of a finding begins with "TRACE: error CODE: "; other lines of it are indented.
console::Style style_of(std::string_view line) {
  if (line.starts_with(' ')) return console::Style::kPlain;
  if (line.find(": error ") != line.npos) return console::Style::kError;
  return line.find(": warning ") != line.npos ? console::Style::kWarning : console::Style::kPlain;
}

}  // namespace

Result<std::optional<NewFile>> open_output(const std::string& path,
                                           std::span<const std::string> inputs) {
  GFXGRAPH_TRY(check_distinct(std::span(&path, 1), inputs));
  if (path.empty()) return std::nullopt;
  GFXGRAPH_ASSIGN_OR_RETURN(NewFile file, NewFile::create(path, FileUse::kReport));
  return file;
}

int write_output(NewFile& file, const std::string& text) {
  Result<void> written = file.write(std::as_bytes(std::span(text)));
  if (written) written = file.commit();
  if (!written) return report(written.error());
  wrote(file.path());
  return -1;
}

int worse_of(int a, int b) {
  constexpr int kWorstFirst[] = {kExitUnsafeLanes, kExitUsage, kExitFailed, kExitDataLost};
  for (const int code : kWorstFirst)
    if (a == code || b == code) return code;
  return kExitOk;
}

int print_reports(CheckOutput output, const std::string& format, bool with_code,
                  std::optional<NewFile>& file, std::optional<NewFile>& lcov) {
  std::vector<check::TraceReport>& traces = output.traces;
  if (traces.size() == 1 && !traces.front().report) return output.code;
  const auto last = std::find_if(traces.rbegin(), traces.rend(),
                                 [](const auto& trace) { return trace.report.has_value(); });
  if (last != traces.rend()) {
    output.used.resize(output.suppressions.size());
    check::note_unused(output.suppressions, output.used, *last->report,
                       traces.size() == 1 ? "this trace" : "these traces");
  }
  if (lcov) {
    if (const int code = write_output(*lcov, lcov_text(traces)); code >= 0) return code;
  }
  const std::string text = render(traces, format, with_code);
  if (file) {
    if (const int code = write_output(*file, text); code >= 0) return code;
  } else if (format == "text") {
    console::write_styled(stdout, text, style_of);
  } else {
    write_text(stdout, text);
  }
  return output.code;
}

}  // namespace gfxgraph::tools
