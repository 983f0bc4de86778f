// Limits for a command that reads an untrusted file. Unlike the budget of `gfxgraph check`, which
// ends a check with a report, these apply to the whole process.
#pragma once

#include <cstdint>

#include "base/sanitized.h"

namespace CLI {
class App;
}

namespace gfxgraph::tools {

// The sanitizers' tables count as data, too.
inline constexpr bool kLimitsMemory = !kSanitized;

struct ReadLimits {
  double seconds = 3600;      // wall clock; 0: no limit
  uint64_t memory_bytes = 0;  // of data; 0: half of this machine's memory
  // Wave instructions, of commands that execute kernels; 0: no limit.
  uint64_t instructions = UINT64_C(100'000'000'000);
};

// --max-seconds.
void add_time_limit(CLI::App& app, ReadLimits& limits);
// --max-seconds and --max-memory.
void add_read_limits(CLI::App& app, ReadLimits& limits);
// --max-instructions, which the command itself must observe.
void add_instruction_limit(CLI::App& app, ReadLimits& limits);

// From now on, for the process: when the time limit is reached, it writes a line to stderr and ends
// with kExitDataLost; allocations above the memory limit throw std::bad_alloc. `command` is a
// literal.
void enforce_time(const char* command, double seconds);
void enforce(const char* command, const ReadLimits& limits);

}  // namespace gfxgraph::tools
