#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>

#include "lanecheck/check.h"

namespace gfxgraph::lanecheck {
namespace {

struct ClassText {
  const char* name;
  const char* summary;
  const char* hint;
};
constexpr ClassText kClasses[] = {
#define GFXGRAPH_CLASS(enumerator, name, summary, hint) {name, summary, hint},
#include "lanecheck/classes.inc"
#undef GFXGRAPH_CLASS
};
static_assert(std::size(kClasses) == kFindingClasses);

const ClassText& text_of(FindingClass finding_class) {
  return kClasses[static_cast<size_t>(finding_class)];
}

// "add_unclamped" for "_Z13add_unclampedPKfS0_Pfi": without parameters, which say little and fill
// lines.
std::string readable_name(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || !demangled) return name;
  std::string text = demangled.get();
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

std::string plural(uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string launches_text(uint64_t count) {
  return fmt::format("{} launch{}", count, count == 1 ? "" : "es");
}

std::string distance_text(const Finding& finding) {
  if (!finding.nearest) return "";
  const NearestBuffer& near = *finding.nearest;
  const std::string size = fmt::format("{} ({} bytes)", near.name, near.size_bytes);
  if (near.freed) return fmt::format(", in {} after it was freed", size);
  if (near.distance_bytes < 0) {
    if (finding.address >= near.address) {
      // Starts inside and crosses the end.
      return fmt::format(", {} bytes before the end of {}", -near.distance_bytes, size);
    }
    return fmt::format(" is {} bytes before {}", -near.distance_bytes, size);
  }
  if (near.distance_bytes == 0) return fmt::format(" is the first byte past {}", size);
  return fmt::format(" is {} bytes past {}", near.distance_bytes, size);
}

bool masked_class(FindingClass finding_class) { return finding_class >= FindingClass::kW1; }

std::string place_text(const Finding& finding) {
  return fmt::format("launch {}, workgroup ({},{},{}) wave {}", finding.launch,
                     finding.workgroup[0], finding.workgroup[1], finding.workgroup[2],
                     finding.wave);
}

void render_finding(const Finding& finding, const std::string& trace_name, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{}: {} {}: kernel {}, pc {:#x} {}: ", trace_name,
                 severity_name(finding.severity), class_name(finding.finding_class),
                 readable_name(finding.kernel), finding.code_address, finding.mnemonic);
  if (finding.lanes != 0) {
    fmt::format_to(to, "lane{} {}{}, ", (finding.lanes & (finding.lanes - 1)) != 0 ? "s" : "",
                   lane_ranges(finding.lanes),
                   masked_class(finding.finding_class) ? " inactive" : "");
  } else if (!finding.detail.empty()) {
    fmt::format_to(to, "{}, ", finding.detail);
  }
  fmt::format_to(to, "address {:#x}{} ({}, {} of {} bytes)\n", finding.address,
                 distance_text(finding), finding.address_class, finding.write ? "write" : "read",
                 finding.access_bytes);
  if (finding.source) {
    fmt::format_to(to, "    at {}:{}", finding.source->file, finding.source->line);
    if (!finding.source->function.empty()) fmt::format_to(to, " in {}", finding.source->function);
    out += '\n';
  } else {
    out += "    at an unknown line: compile the kernel with -g\n";
  }
  fmt::format_to(to, "    first in {}; {} in {}\n", place_text(finding),
                 plural(finding.events, "event"), launches_text(finding.launches));
  fmt::format_to(to, "    fix: {}\n", fix_hint(finding.finding_class));
}

}  // namespace

const char* class_name(FindingClass finding_class) noexcept { return text_of(finding_class).name; }
const char* class_summary(FindingClass finding_class) noexcept {
  return text_of(finding_class).summary;
}
const char* fix_hint(FindingClass finding_class) noexcept { return text_of(finding_class).hint; }

const char* severity_name(Severity severity) noexcept {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "note";
}

std::string lane_ranges(uint64_t lanes) {
  std::string text;
  for (unsigned first = 0; first < 64;) {
    if ((lanes >> first & 1) == 0) {
      ++first;
      continue;
    }
    unsigned last = first;
    while (last + 1 < 64 && (lanes >> (last + 1) & 1) != 0) ++last;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    first = last + 1;
  }
  return text;
}

std::string render_text(const Report& report, const std::string& trace_name) {
  std::string out;
  for (const Finding& finding : report.findings) render_finding(finding, trace_name, out);
  for (const FailedLaunch& failed : report.failed) {
    fmt::format_to(std::back_inserter(out), "{}: launch {} kernel {} was not checked: {}\n",
                   trace_name, failed.launch, readable_name(failed.kernel), failed.reason);
  }
  for (const std::string& note : report.notes) {
    fmt::format_to(std::back_inserter(out), "{}: note: {}\n", trace_name, note);
  }
  uint64_t dropped = 0;
  for (const KernelTotals& kernel : report.kernels) dropped += kernel.dropped_lanes;
  if (dropped != 0) {
    fmt::format_to(std::back_inserter(out),
                   "{}: note: {} were dropped by buffer range checks (B1), as the kernels intend\n",
                   trace_name, plural(dropped, "lane"));
  }
  fmt::format_to(std::back_inserter(out),
                 "{}: {} checked, {} not, {}; {}, {}, {}; {} of {} buffers end as recorded\n",
                 trace_name, launches_text(report.launches - report.failed.size()),
                 report.failed.size(), plural(report.wave_instructions, "wave instruction"),
                 plural(report.count(Severity::kError), "error"),
                 plural(report.count(Severity::kWarning), "warning"),
                 plural(report.count(Severity::kNote), "note"), report.buffers_equal,
                 report.buffers_compared);
  return out;
}

}  // namespace gfxgraph::lanecheck
