// --map: the devices that do the work of the recorded ones.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace gfxgraph::replayer {

// `text`: RECORDED:DEVICE,..., each of the trace's `recorded` devices once; devices as HIP counts
// them. The device of the session, which does the work of all: to spread it over several is refused
// by name.
Result<int> parse_device_map(std::string_view text, size_t recorded);

}  // namespace gfxgraph::replayer
