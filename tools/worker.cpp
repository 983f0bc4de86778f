#include "tools/worker.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/file/file.h"

namespace gfxgraph::tools {

void add_sandbox_option(CLI::App& app, bool& without) {
  app.add_flag("--no-sandbox", without,
               "read the file in this process, not in a confined one (docs/security.md)");
}

int enter_sandbox(const char* command, bool without, const sandbox::Access& access) {
  return without ? -1 : sandbox::enter(command, access);
}

uint64_t data_limit(uint64_t budget_bytes) {
  // The budget counts buffers and their shadows. What it does not count: registers of resident
  // waves, tables of code, findings, the parsed trace, and what the allocator has not given back.
  constexpr uint64_t kFactor = 4, kRest = uint64_t{4} << 30;
  const uint64_t most = physical_memory_bytes();
  const uint64_t budget = budget_bytes != 0 ? budget_bytes : most / 2;
  return std::min(budget, most) * kFactor + kRest;
}

}  // namespace gfxgraph::tools
