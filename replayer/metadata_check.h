// The metadata note of a code object (MessagePack; AMDGPUUsage, "Code Object Metadata"). HIP
// runtimes believe its counts, and copy arguments to where it says.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace gfxgraph::replayer {

// Ok when the note is exactly one map, nothing in it is longer than the note, and each kernel's
// arguments lie inside its kernarg segment; else kCorrupt with what is wrong. Takes time and memory
// in proportion to the note.
Result<void> check_metadata(std::span<const std::byte> note);

}  // namespace gfxgraph::replayer
