#include "check/report/perf_table.h"

#include <fmt/format.h>

#include "base/cli/print.h"
#include "base/demangle.h"

namespace gfxgraph::check {
namespace {

constexpr size_t kMostRows = 50;

std::string times(uint64_t units, uint64_t least) {
  return least == 0
             ? "-"
             : fmt::format("{:.1f}", static_cast<double>(units) / static_cast<double>(least));
}

}  // namespace

std::string render_text(const PerfTable& table) {
  std::string out = "  beyond      count      least  times  accesses  what   kernel, line\n";
  size_t rows = 0;
  for (const PerfLine& line : table.lines) {
    if (line.units == line.least || rows++ == kMostRows) break;
    const std::string place = line.line != 0 ? fmt::format("{}:{}", line.file, line.line)
                                             : fmt::format("pc {:#x}", line.code_address);
    out += fmt::format("{:8}  {:9}  {:9}  {:>5}  {:8}  {:5}  ", line.units - line.least, line.units,
                       line.least, times(line.units, line.least), line.executions,
                       line.lds ? "banks" : "lines");
    out += format_printable("{}, {}\n", short_function_name(demangle(line.kernel), 60), place);
  }
  if (rows == 0) out += "  every access touches the least lines, and no banks conflict\n";
  out += "  waves  limit      registers     LDS  block  idle  launches  kernel\n";
  for (size_t n = 0; n < table.kernels.size() && n < kMostRows; ++n) {
    const PerfKernel& kernel = table.kernels[n];
    out += fmt::format("  {:2}/16  {:9}  {:9}  {:6}  {:5}  {:4}  {:8}  ", kernel.waves_fit,
                       kernel.limit, kernel.vgprs, kernel.lds_bytes, kernel.block_items,
                       kernel.idle_lanes, kernel.launches);
    out += format_printable("{}\n", short_function_name(demangle(kernel.kernel), 60));
  }
  return out;
}

}  // namespace gfxgraph::check
