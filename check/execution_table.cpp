#include "check/execution_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/cli/print.h"
#include "base/demangle.h"

namespace gfxgraph::check {
namespace {

constexpr size_t kMostRanges = 12;  // of lines, in a sentence

std::string share(uint64_t part, uint64_t whole) {
  if (whole == 0 || part == whole) return "all";
  // Never "100 %" of what is not whole.
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", std::min(percent, 99.9));
}

std::string count_of(uint64_t part, uint64_t whole, const char* what) {
  if (whole == 0) return fmt::format("no {}", what);
  return fmt::format("{} of {} {}", part, whole, what);
}

// One source line of all kernels and traces.
struct LcovLine {
  uint64_t executions = 0;
  std::vector<ExecutedBranch> branches;
};
struct LcovFile {
  std::map<uint32_t, LcovLine> lines;
  std::map<std::string, std::pair<uint32_t, uint64_t>> functions;  // first line, launches
};

void add(LcovLine& to, const ExecutedLine& line) {
  to.executions = std::max(to.executions, line.executions);
  // Kernels of one template have the same branches, as far as the compiler left them.
  if (to.branches.size() < line.branches.size()) to.branches.resize(line.branches.size());
  for (size_t n = 0; n < line.branches.size(); ++n) {
    to.branches[n].jumped |= line.branches[n].jumped;
    to.branches[n].passed |= line.branches[n].passed;
  }
}

void append_file(std::string& out, const std::string& name, const LcovFile& file) {
  const auto to = std::back_inserter(out);
  out += format_printable("TN:\nSF:{}\n", name);
  uint64_t launched = 0;
  for (const auto& [function, at] : file.functions)
    out += format_printable("FN:{},{}\n", at.first, function);
  for (const auto& [function, at] : file.functions) {
    out += format_printable("FNDA:{},{}\n", at.second, function);
    launched += at.second != 0 ? 1 : 0;
  }
  fmt::format_to(to, "FNF:{}\nFNH:{}\n", file.functions.size(), launched);
  uint64_t hit = 0, ways = 0, ways_hit = 0;
  for (const auto& [number, line] : file.lines) {
    for (size_t n = 0; n < line.branches.size(); ++n) {
      const ExecutedBranch& branch = line.branches[n];
      const auto taken = [&](bool way) -> std::string {
        if (line.executions == 0) return "-";
        return way ? "1" : "0";
      };
      fmt::format_to(to, "BRDA:{},0,{},{}\n", number, 2 * n, taken(branch.jumped));
      fmt::format_to(to, "BRDA:{},0,{},{}\n", number, 2 * n + 1, taken(branch.passed));
      ways += 2;
      ways_hit += (branch.jumped ? 1u : 0u) + (branch.passed ? 1u : 0u);
    }
  }
  fmt::format_to(to, "BRF:{}\nBRH:{}\n", ways, ways_hit);
  for (const auto& [number, line] : file.lines) {
    fmt::format_to(to, "DA:{},{}\n", number, line.executions);
    hit += line.executions != 0 ? 1 : 0;
  }
  fmt::format_to(to, "LF:{}\nLH:{}\nend_of_record\n", file.lines.size(), hit);
}

}  // namespace

std::string missing_lines(const ExecutedKernel& kernel) {
  std::string text, file;
  size_t ranges = 0, lines = 0;
  for (size_t n = 0; n < kernel.lines.size(); ++n) {
    if (kernel.lines[n].counts.all()) continue;
    // The range of neighbours in this list, however far apart their numbers are: between them
    // there is no code.
    size_t last = n;
    while (last + 1 < kernel.lines.size() && kernel.lines[last + 1].file == kernel.lines[n].file &&
           !kernel.lines[last + 1].counts.all())
      ++last;
    if (++ranges <= kMostRanges) {
      if (!text.empty()) text += ", ";
      if (std::exchange(file, kernel.lines[n].file) != kernel.lines[n].file)
        text += format_printable("{}:", kernel.lines[n].file);
      text += fmt::format("{}", kernel.lines[n].line);
      if (last != n) text += fmt::format("-{}", kernel.lines[last].line);
    } else {
      lines += last - n + 1;
    }
    n = last;
  }
  if (lines != 0) text += fmt::format(" and {} more", lines);
  return text;
}

std::string verdict_of(const ExecutedKernel& kernel, const std::string& tools, uint64_t findings) {
  const ExecutionCounts& counts = kernel.counts;
  std::string text = fmt::format("{}, {}, {} of lanes",
                                 count_of(counts.executed, counts.instructions, "instructions"),
                                 count_of(counts.ways_taken, counts.ways, "ways of branches"),
                                 share(counts.lanes_executed, counts.lanes));
  text +=
      findings != 0
          ? fmt::format("; {} finding{}: nothing is excluded", findings, findings == 1 ? "" : "s")
          : fmt::format("; {} exclude{} faults of the executed instructions with this data",
                        tools.empty() ? "no tool" : tools,
                        tools.find(',') != tools.npos ? "" : "s");
  if (counts.all() && kernel.incomplete.empty() && kernel.unknown_calls == 0) return text;
  text += ", not those of the rest";
  if (const std::string lines = missing_lines(kernel); !lines.empty())
    text += fmt::format(": {}", lines);
  if (kernel.unknown_calls != 0)
    text += fmt::format("; functions called through registers are not counted ({})",
                        kernel.unknown_calls);
  if (!kernel.incomplete.empty()) text += fmt::format("; {}", kernel.incomplete);
  return text;
}

std::string render_text(const ExecutionTable& table, const std::string& tools,
                        const std::vector<uint64_t>& findings) {
  std::string out;
  for (size_t n = 0; n < table.kernels.size(); ++n) {
    out += format_printable("  executed of {}: {}\n",
                            short_function_name(demangle(table.kernels[n].kernel), 60),
                            verdict_of(table.kernels[n], tools, findings[n]));
  }
  if (!table.stopped.empty())
    out += format_printable("  not all launches ran: {}\n", table.stopped);
  return out;
}

std::string render_lcov(const std::vector<const ExecutionTable*>& tables) {
  std::map<std::string, LcovFile> files;
  for (const ExecutionTable* table : tables) {
    for (const ExecutedKernel& kernel : table->kernels) {
      const std::string name = demangle(kernel.kernel);
      for (const ExecutedLine& line : kernel.lines) {
        LcovFile& file = files[line.file];
        add(file.lines[line.line], line);
        auto& [first, launches] =
            file.functions.try_emplace(name, line.line, kernel.launches).first->second;
        first = std::min(first, line.line);
        launches = std::max(launches, kernel.launches);
      }
    }
  }
  std::string out;
  for (const auto& [name, file] : files) append_file(out, name, file);
  return out;
}

}  // namespace gfxgraph::check
