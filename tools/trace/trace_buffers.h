// The memory of the recorded program, with its names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/read/reader.h"

namespace gfxgraph::tools {

// The source of a name.
enum class NameSource : uint8_t { kUnnamed, kGiven, kSymbol, kCallSite };
// "", "given", "symbol", "call site".
const char* name_source_name(NameSource source);

struct BufferSummary {
  const format::AllocationBegin* begin = nullptr;
  // As the program named it last; else the symbol of a variable, or format::made_name().
  std::string name;
  NameSource name_source = NameSource::kUnnamed;
  std::string used_by;  // place_text() of the first argument that holds its address; may be empty
  uint64_t first_event = 0;
  uint64_t end_event = 0;  // where its life, or what the trace says of it, ends; else their number
  uint64_t launches = 0;   // that got its address as an argument, graph nodes at each launch
};

// In the order in which they began.
std::vector<BufferSummary> summarize_buffers(const format::Trace& trace);

}  // namespace gfxgraph::tools
