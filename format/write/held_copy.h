// Writes a trace that stays in memory to a file, which any reader takes.
#pragma once

#include "base/result.h"
#include "format/held_trace.h"
#include "format/write/writer.h"

namespace gfxgraph::format {

// `to` must be new, and is sealed. The events keep their order, so each keeps its number.
Result<void> copy_held(const HeldTrace& held, Writer& to);

}  // namespace gfxgraph::format
