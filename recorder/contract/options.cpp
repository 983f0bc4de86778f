#include "recorder/contract/options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "base/process/device.h"

namespace gfxgraph::recorder {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

uint64_t number(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// One in a line.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string as_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// A program that links the library wants them; one that has it preloaded says so.
bool wants_captures() {
  const std::string asked = variable("GFXGRAPH_RECORD_IN_PROCESS");
  if (!asked.empty()) return asked == "1";
  return variable("LD_PRELOAD").find(kRecorderLibrary) == std::string::npos;
}

constexpr const char* kContentsWords[] = {"touched", "all", "none"};

// Values are single lines: whatever a path or a kernel's name holds.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text;
}

}  // namespace

Result<WhichContents> parse_contents(const std::string& word) {
  for (size_t i = 0; i < std::size(kContentsWords); ++i) {
    if (word == kContentsWords[i]) return static_cast<WhichContents>(i);
  }
  return fail(Status::kInvalidArgument, "contents '" + word + "': expected touched, all or none");
}

Options options_from_environment() {
  Options options;
  options.output = variable("GFXGRAPH_RECORD_OUTPUT");
  options.status_folder = variable("GFXGRAPH_RECORD_STATUS");
  options.denied_file = variable("GFXGRAPH_RECORD_DENIED");
  options.per_process = variable("GFXGRAPH_RECORD_PER_PROCESS") == "1";
  options.replace = variable("GFXGRAPH_RECORD_REPLACE") == "1";
  const std::string post = variable("GFXGRAPH_RECORD_POST");
  if (post == "hash") options.post = PostState::kHash;
  if (post == "none") options.post = PostState::kNone;
  options.checkpoints = variable("GFXGRAPH_RECORD_CHECKPOINTS") == "1";
  options.wait = variable("GFXGRAPH_RECORD_WAIT") == "1";
  options.ranges = lines_of(variable("GFXGRAPH_RECORD_RANGES"));
  options.launches = lines_of(variable("GFXGRAPH_RECORD_LAUNCHES"));
  options.kernels = lines_of(variable("GFXGRAPH_RECORD_KERNELS"));
  options.flight_recorder = variable("GFXGRAPH_RECORD_FLIGHT");
  options.keep_segments = variable("GFXGRAPH_RECORD_KEEP_SEGMENTS") == "1";
  options.contents =
      parse_contents(variable("GFXGRAPH_RECORD_CONTENTS")).value_or(WhichContents::kTouched);
  const std::string level = variable("GFXGRAPH_RECORD_COMPRESS");
  if (!level.empty())
    options.compression_level = static_cast<int>(std::min<uint64_t>(number(level), 19));
  options.all_targets = variable("GFXGRAPH_RECORD_ALL_TARGETS") == "1";
  options.redact = variable("GFXGRAPH_RECORD_REDACT") == "1";
  options.emulated = variable("GFXGRAPH_RECORD_EMULATED") == "1";
  options.in_process = options.output.empty() && wants_captures();
  options.end_signals = !options.output.empty();
  return options;
}

std::vector<std::string> options_to_environment(const Options& options) {
  const char* post = options.post == PostState::kFull   ? "full"
                     : options.post == PostState::kHash ? "hash"
                                                        : "none";
  return {"GFXGRAPH_RECORD_RANGES=" + as_lines(options.ranges),
          "GFXGRAPH_RECORD_LAUNCHES=" + as_lines(options.launches),
          "GFXGRAPH_RECORD_KERNELS=" + as_lines(options.kernels),
          "GFXGRAPH_RECORD_FLIGHT=" + options.flight_recorder,
          std::string("GFXGRAPH_RECORD_CONTENTS=") +
              kContentsWords[static_cast<size_t>(options.contents)],
          "GFXGRAPH_RECORD_OUTPUT=" + options.output,
          "GFXGRAPH_RECORD_STATUS=" + options.status_folder,
          "GFXGRAPH_RECORD_DENIED=" + options.denied_file,
          std::string("GFXGRAPH_RECORD_PER_PROCESS=") + (options.per_process ? "1" : "0"),
          std::string("GFXGRAPH_RECORD_REPLACE=") + (options.replace ? "1" : "0"),
          std::string("GFXGRAPH_RECORD_POST=") + post,
          std::string("GFXGRAPH_RECORD_CHECKPOINTS=") + (options.checkpoints ? "1" : "0"),
          "GFXGRAPH_RECORD_COMPRESS=" + std::to_string(options.compression_level),
          std::string("GFXGRAPH_RECORD_WAIT=") + (options.wait ? "1" : "0"),
          std::string("GFXGRAPH_RECORD_ALL_TARGETS=") + (options.all_targets ? "1" : "0"),
          std::string("GFXGRAPH_RECORD_REDACT=") + (options.redact ? "1" : "0"),
          std::string("GFXGRAPH_RECORD_EMULATED=") + (options.emulated ? "1" : "0")};
}

std::string write_report(const Report& report) {
  std::string text;
  const auto line = [&text](std::string_view key, std::string value) {
    text.append(key).append("\t").append(one_line(std::move(value))).append("\n");
  };
  line("trace", report.trace);
  line("sealed", report.sealed ? "1" : "0");
  line("launches", std::to_string(report.launches));
  line("kernels", std::to_string(report.kernels));
  line("events", std::to_string(report.events));
  line("copies", std::to_string(report.copies));
  line("allocations", std::to_string(report.allocations));
  line("graph_launches", std::to_string(report.graph_launches));
  line("typed", std::to_string(report.relocations_typed));
  line("matched", std::to_string(report.relocations_matched));
  line("ambiguous_count", std::to_string(report.relocations_ambiguous));
  for (const AmbiguousKernel& kernel : report.ambiguous_kernels) {
    line("ambiguous_kernel", kernel.name);
    for (const std::string& argument : kernel.arguments) line("ambiguous_argument", argument);
  }
  for (const std::string& text_line : report.ambiguous) line("ambiguous", text_line);
  for (const std::string& text_line : report.incomplete) line("incomplete", text_line);
  for (const std::string& text_line : report.notes) line("note", text_line);
  line("error", report.error);
  line("device", report.device);
  line("end", "1");
  return text;
}

Report parse_report(const std::string& text) {
  Report report;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, tab);
    const std::string_view value = line.substr(tab + 1);
    if (key == "trace") {  // the first line: of several reports the last one counts
      report = Report();
      report.trace = value;
    }
    if (key == "sealed") report.sealed = value == "1";
    if (key == "launches") report.launches = number(value);
    if (key == "kernels") report.kernels = number(value);
    if (key == "events") report.events = number(value);
    if (key == "copies") report.copies = number(value);
    if (key == "allocations") report.allocations = number(value);
    if (key == "graph_launches") report.graph_launches = number(value);
    if (key == "typed") report.relocations_typed = number(value);
    if (key == "matched") report.relocations_matched = number(value);
    if (key == "ambiguous_count") report.relocations_ambiguous = number(value);
    if (key == "ambiguous_kernel") report.ambiguous_kernels.push_back({std::string(value), {}});
    if (key == "ambiguous_argument" && !report.ambiguous_kernels.empty()) {
      report.ambiguous_kernels.back().arguments.emplace_back(value);
    }
    if (key == "ambiguous") report.ambiguous.emplace_back(value);
    if (key == "incomplete") report.incomplete.emplace_back(value);
    if (key == "note") report.notes.emplace_back(value);
    if (key == "error") report.error = value;
    if (key == "device") report.device = value;
    if (key == "end") report.whole = true;
  }
  return report;
}

}  // namespace gfxgraph::recorder
