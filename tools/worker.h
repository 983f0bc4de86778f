// The worker process of a command that reads an untrusted file (base/process/sandbox.h).
#pragma once

#include "base/process/sandbox.h"

namespace CLI {
class App;
}

namespace gfxgraph::tools {

// --no-sandbox.
void add_sandbox_option(CLI::App& app, bool& without);

// sandbox::enter(), unless `without`: -1: go on, in the worker. Otherwise the code to end with.
// Call it after enforce() of tools/read_limits.h, so that the parent, too, keeps the time limit.
int enter_sandbox(const char* command, bool without, const sandbox::Access& access);

// A limit for a worker that executes launches with this budget (--max-memory), which counts the
// memory of the trace but not what the emulator keeps about it.
uint64_t data_limit(uint64_t budget_bytes);

}  // namespace gfxgraph::tools
