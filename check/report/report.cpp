#include <fmt/format.h>

#include <string>

#include "base/cli/print.h"
#include "base/demangle.h"
#include "check/report/report.h"
#include "check/report/user_line.h"

namespace gfxgraph::check {
namespace {

// "add_unclamped" for "_Z13add_unclampedPKfS0_Pfi": without parameters, which say little and fill
// lines.
std::string readable_name(const std::string& name) {
  std::string text = demangle(name);
  if (text == name) return name;
  if (text.ends_with(')')) {
    int depth = 0;
    for (size_t at = text.size(); at-- > 0;) {
      if (text[at] == ')') ++depth;
      if (text[at] == '(' && --depth == 0) {
        text.resize(at);
        break;
      }
    }
  }
  return text;
}

// Names come from a trace.
template <typename... Args>
void append(std::string& out, fmt::format_string<print_detail::Checked<Args>...> format,
            const Args&... args) {
  out += format_printable<Args...>(format, args...);
}

std::string plural(uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string launches_text(uint64_t count) {
  return fmt::format("{} launch{}", count, count == 1 ? "" : "es");
}

// Ends with a line break. Only texts of the emulator keep the breaks inside; those in names are
// escaped.
void append_message(std::string& out, const std::string& text, bool has_lines) {
  out += has_lines ? printable(Lines{text}) : printable(text);
  out += '\n';
}

std::string distance_text(const Finding& finding) {
  if (!finding.nearest) return "";
  const NearestBuffer& near = *finding.nearest;
  const std::string size = fmt::format("{} ({} bytes)", near.name, near.size_bytes);
  if (near.freed) return fmt::format(", in {} after it was freed", size);
  if (near.distance_bytes < 0) {
    if (finding.address >= near.address) {
      const uint64_t from = finding.address - near.address;
      const bool crosses = finding.access_bytes > near.size_bytes - from;
      return fmt::format("{} byte {} of {}", crosses ? ", crosses the end from" : ", at", from,
                         size);
    }
    return fmt::format(" is {} bytes before {}",
                       uint64_t{0} - static_cast<uint64_t>(near.distance_bytes), size);
  }
  if (near.distance_bytes == 0) return fmt::format(" is the first byte past {}", size);
  return fmt::format(" is {} bytes past {}", near.distance_bytes, size);
}

bool of_inactive_lanes(const Finding& finding) {
  return class_text(finding.finding_class).tool == Tool::kLanes;
}

void append_source(std::string& out, const char* how, const codeobj::SourceLocation& source) {
  append(out, "    {} ", how);
  if (source.line == 0)
    out += "an unknown line";
  else
    append(out, "{}:{}", source.file, source.line);
  if (source.line != 0 && source.column != 0) append(out, ":{}", source.column);
  if (!source.function.empty()) append(out, " in {}", source.function);
  out += '\n';
}

std::string place_text(const Finding& finding) {
  return fmt::format("launch {}, workgroup ({},{},{}) wave {}", finding.launch,
                     finding.workgroup[0], finding.workgroup[1], finding.workgroup[2],
                     finding.wave);
}

void append_code(std::string& out, const std::vector<CodeLine>& code) {
  for (const CodeLine& line : code) {
    if (!line.follows && &line != &code.front()) out += "          ...\n";
    const char mark = line.role == CodeLine::Role::kFinding   ? '>'
                      : line.role == CodeLine::Role::kAddress ? '*'
                                                              : ' ';
    append(out, "    {} {:#8x}  {}\n", mark, line.code_address, line.text);
  }
}

void render_finding(const Finding& finding, const FindingCalls& calls, const FindingPlace& place,
                    const std::string& trace_name, bool with_code, std::string& out) {
  const char* const code = class_text(finding.finding_class).code;
  if (finding.of_call()) {
    append(out, "{}: {} {}: {}: ", trace_name, severity_name(finding.severity), code,
           finding.mnemonic);
    out += describe(finding);
    out += '\n';
    if (!calls.launched_by.empty()) append(out, "    at {}\n", calls.launched_by);
    append(out, "    first in event {}; {}\n", finding.event_sequence,
           plural(finding.events, "event"));
    if (!calls.allocated_by.empty())
      append(out, "    {} allocated by {}\n", finding.nearest->name, calls.allocated_by);
    append(out, "    fix: {}\n", class_text(finding.finding_class).fix);
    return;
  }
  append(out, "{}: {} {}: kernel {}, pc {:#x} {}: ", trace_name, severity_name(finding.severity),
         code, readable_name(finding.kernel), finding.code_address, finding.mnemonic);
  out += describe(finding);
  out += '\n';
  if (finding.source) {
    append_source(out, "at", *finding.source);
    for (size_t n = user_frame(place.inline_stack) + 1; n < place.inline_stack.size(); ++n)
      append_source(out, "inlined at", place.inline_stack[n]);
  } else {
    out += "    at an unknown line: compile the kernel with -g\n";
  }
  append(out, "    first in {}; {} in {}", place_text(finding), plural(finding.events, "event"),
         launches_text(finding.launches));
  if (finding.places.size() > 1)
    append(out, ", at {} of this line", plural(finding.places.size(), "instruction"));
  out += '\n';
  if (!calls.launched_by.empty()) append(out, "    launched by {}\n", calls.launched_by);
  if (!calls.allocated_by.empty())
    append(out, "    {} allocated by {}\n", finding.nearest->name, calls.allocated_by);
  if (with_code) append_code(out, place.code);
  append(out, "    fix: {}\n", class_text(finding.finding_class).fix);
}

}  // namespace

std::string describe(const Finding& finding) {
  std::string out;
  if (finding.access_bytes == 0) {
    out = class_text(finding.finding_class).summary;
    if (!finding.detail.empty()) out += ": " + printable(Lines{finding.detail});
    return out;
  }
  if (finding.lanes != 0) {
    append(out, "lane{} {}{}, ", (finding.lanes & (finding.lanes - 1)) != 0 ? "s" : "",
           lane_ranges(finding.lanes), of_inactive_lanes(finding) ? " inactive" : "");
  }
  if (!finding.detail.empty()) append(out, "{}, ", finding.detail);
  append(out, "address {:#x}{} ({}, {} of {} bytes)", finding.address, distance_text(finding),
         finding.address_class, finding.write ? "write" : "read", finding.access_bytes);
  return out;
}

std::string render_text(const Report& report, const std::string& trace_name, bool with_code) {
  std::string out;
  for (size_t n = 0; n < report.findings.size(); ++n) {
    if (!report.findings[n].suppressed_by.empty()) continue;
    const FindingCalls calls = n < report.calls.size() ? report.calls[n] : FindingCalls();
    const FindingPlace place = n < report.places.size() ? report.places[n] : FindingPlace();
    render_finding(report.findings[n], calls, place, trace_name, with_code, out);
  }
  for (const FailedLaunch& failed : report.failed) {
    if (failed.finding) {
      append(out,
             "{}: launch {} kernel {} ended early ({} above): the rest of it was not checked\n",
             trace_name, failed.launch, readable_name(failed.kernel),
             class_text(*failed.finding).code);
      continue;
    }
    append(out, "{}: launch {} kernel {} was not checked: ", trace_name, failed.launch,
           readable_name(failed.kernel));
    append_message(out, failed.reason, failed.has_lines);
  }
  if (report.failed_launches > report.failed.size()) {
    append(out, "{}: not checked either: {}\n", trace_name,
           launches_text(report.failed_launches - report.failed.size()));
  }
  for (const std::string& note : report.notes) {
    append(out, "{}: note: ", trace_name);
    append_message(out, note, false);
  }
  for (const std::string& note : report.emulator_notes) {
    append(out, "{}: note: ", trace_name);
    append_message(out, note, true);
  }
  if (report.stopped) {
    append(out, "{}: stopped at event {}: {}; {} not checked\n", trace_name,
           report.stopped->event_sequence, report.stopped->reason,
           launches_text(report.stopped->launches));
  }
  if (const uint64_t count = report.count_suppressed(); count != 0)
    append(out, "{}: note: {} suppressed\n", trace_name, plural(count, "finding"));
  uint64_t dropped = 0;
  for (const KernelTotals& kernel : report.kernels) dropped += kernel.dropped_lanes;
  if (dropped != 0) {
    append(out, "{}: note: buffer range checks dropped {} (B1), as the kernels intend\n",
           trace_name, plural(dropped, "lane"));
  }
  if (report.perf.made) out += render_text(report.perf);
  if (report.execution.made)
    out += render_text(report.execution, report.tool_list(), report.findings_of_executed());
  const std::string ends = report.buffers_compared == 0
                               ? "no buffer was compared with the recording"
                               : fmt::format("{} of {} buffers end as recorded",
                                             report.buffers_equal, report.buffers_compared);
  append(out, "{}: {} checked, {} not, {}; {}, {}, {}; {}\n", trace_name,
         launches_text(report.launches - report.failed_launches),
         report.failed_launches + (report.stopped ? report.stopped->launches : 0),
         plural(report.wave_instructions, "wave instruction"),
         plural(report.count(Severity::kError), "error"),
         plural(report.count(Severity::kWarning), "warning"),
         plural(report.count(Severity::kNote), "note"), ends);
  return out;
}

std::string render_text(const std::vector<TraceReport>& traces, bool with_code) {
  std::string out;
  uint64_t unchecked = 0, errors = 0, warnings = 0, notes = 0;
  for (const TraceReport& trace : traces) {
    if (!trace.report) {
      append(out, "{}: not checked: ", trace.name);
      append_message(out, trace.error, false);
      ++unchecked;
      continue;
    }
    out += render_text(*trace.report, trace.name, with_code);
    errors += trace.report->count(Severity::kError);
    warnings += trace.report->count(Severity::kWarning);
    notes += trace.report->count(Severity::kNote);
  }
  if (traces.size() > 1) {
    append(out, "{} checked, {} not; {}, {}, {}\n", plural(traces.size() - unchecked, "trace"),
           unchecked, plural(errors, "error"), plural(warnings, "warning"), plural(notes, "note"));
  }
  return out;
}

}  // namespace gfxgraph::check
