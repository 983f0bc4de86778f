// What a command may take that reads a file of a stranger. Unlike the budget of `gfxgraph check`,
// which ends a check with a report, these hold for the whole process, whatever part of it works.
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
};

// --max-seconds.
void add_time_limit(CLI::App& app, ReadLimits& limits);
// --max-seconds and --max-memory.
void add_read_limits(CLI::App& app, ReadLimits& limits);

// From now on, for the process: when the time is over, it writes a line to stderr and ends with
// kExitDataLost; what needs more memory gets std::bad_alloc. `command` is a literal.
void enforce_time(const char* command, double seconds);
void enforce(const char* command, const ReadLimits& limits);

}  // namespace gfxgraph::tools
