// A trace as a timeline in Chrome's trace event format, which Perfetto also reads. Times are host
// times at which calls returned: a trace contains no device durations.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "format/read/reader.h"

namespace gfxgraph::tools {

// Process 1 holds the program's threads: each of their calls, and the ranges that the program
// marked. Process 2 holds its streams: their work, with arrows from the place where a HIP event was
// recorded to the streams that wait for it. Counters show the live memory.
void for_each_timeline_event(const format::Trace& trace,
                             const std::function<void(const nlohmann::ordered_json&)>& visit);

}  // namespace gfxgraph::tools
