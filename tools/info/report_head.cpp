#include "tools/info/report_head.h"

#include "base/amount.h"
#include "base/cli/print.h"
#include "base/demangle.h"

namespace gfxgraph::tools {

std::string short_kernel_name(const format::Trace& trace, format::KernelId kernel) {
  constexpr size_t kMostName = 60;
  if (kernel == 0 || kernel > trace.kernels().size()) return {};
  return short_function_name(demangle(trace.kernels()[kernel - 1].name), kMostName);
}

std::string head_text(const std::string& name, uint64_t launches, uint64_t others,
                      std::string_view what) {
  return format_printable("{}: {}, {} ({})", name, counted(launches, "launch"),
                          counted(others, "other operation"), what);
}

}  // namespace gfxgraph::tools
