// Prints the reports of a check, of one process or joined from several.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file/new_file.h"
#include "base/result.h"
#include "check/report/report.h"
#include "check/report/suppression.h"

namespace gfxgraph::tools {

// Opens the file before the work, which may be long; nothing for standard output.
Result<std::optional<NewFile>> open_output(const std::string& path,
                                           std::span<const std::string> inputs);
// Writes and names what open_output() opened. -1, or the exit code of a failure, which it prints.
int write_output(NewFile& file, const std::string& text);

// Of the codes of two traces, the one that names the worse result.
int worse_of(int a, int b);

struct CheckOutput {
  std::vector<check::TraceReport> traces;
  int code = 0;  // the worst one of the traces
  std::vector<check::Suppression> suppressions;
  std::vector<bool> used;  // of these; may be shorter: the others are unused
};

// `format`: "text", "json" or "sarif". `file`: where to, or standard output. `lcov`: where the
// executed lines go, or nowhere. Returns the exit code.
int print_reports(CheckOutput output, const std::string& format, bool with_code,
                  std::optional<NewFile>& file, std::optional<NewFile>& lcov);

}  // namespace gfxgraph::tools
