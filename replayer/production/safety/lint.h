// What differs between two captures of the same work.
#pragma once

#include <vector>

#include "base/result.h"
#include "gfxgraph/safety.h"
#include "replayer/production/pool_settings.h"

namespace gfxgraph::replayer {

// Memory that has a name for the caller.
struct NamedMemory {
  const char* name = "";
  uint64_t address = 0;
  uint64_t bytes = 0;
};

// `trace` holds two ranges: those of the captures.
Result<std::vector<gfxgraph_baked_t>> find_baked(gfxgraph_trace_t trace,
                                                 const std::vector<NamedMemory>& names);

}  // namespace gfxgraph::replayer
