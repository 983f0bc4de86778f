// A trace as a timeline in Chrome's trace event format, which Perfetto reads too. Times are the
// host's, when calls returned: nothing in a trace says how long the device took.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "format/reader.h"

namespace gfxgraph::tools {

// Process 1 holds the program's threads: each call of theirs, and the ranges that the program
// marked. Process 2 holds its streams: the work that each was given, with arrows from where a
// HIP event was recorded to the streams that wait for it. Counters show the live memory.
void for_each_timeline_event(const format::Trace& trace,
                             const std::function<void(const nlohmann::ordered_json&)>& visit);

}  // namespace gfxgraph::tools
