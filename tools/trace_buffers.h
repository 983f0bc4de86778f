// The memory of the recorded program, with the names that it has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/reader.h"

namespace gfxgraph::tools {

struct BufferSummary {
  const format::AllocationBegin* begin = nullptr;
  std::string name;  // as the program named it last; else the symbol of a variable; may be empty
  uint64_t first_event = 0;
  uint64_t end_event = 0;  // where its life, or what the trace says of it, ends; else their number
  uint64_t launches = 0;   // that got its address as an argument, graph nodes at each launch
};

// In the order in which they began.
std::vector<BufferSummary> summarize_buffers(const format::Trace& trace);

}  // namespace gfxgraph::tools
