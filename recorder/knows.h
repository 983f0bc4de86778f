// What the host knows when a HIP call has returned hipSuccess: a column of hip_calls.inc.
#pragma once

#include <cstdint>

namespace gfxgraph::recorder {

enum class Knows : uint8_t { NOTHING, STREAM, EVENT, DEVICE, BY_ARGUMENT, STREAMS };

}  // namespace gfxgraph::recorder
