// Short texts for the work that a program gives a device: labels of graph nodes, timeline entries.
#pragma once

#include <string>

#include "format/read/reader.h"
#include "tools/trace/event_json.h"

namespace gfxgraph::tools {

// "saxpy(float*, int) 4x1x1", "copy #3 -> host (64 bytes)", "memset #3", "host function NAME".
std::string work_text(EventJson& events, const format::Launch& launch);
std::string work_text(EventJson& events, const format::Copy& copy);
std::string work_text(EventJson& events, const format::Memset& set);
std::string work_text(EventJson& events, const format::HostFunction& function);
std::string node_text(EventJson& events, const format::GraphNode& node);

}  // namespace gfxgraph::tools
