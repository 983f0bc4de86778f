// Checks the metadata note of a code object (MessagePack; AMDGPUUsage, "Code Object Metadata"). HIP
// runtimes trust its counts and offsets.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace gfxgraph::replayer {

// Ok if the note is exactly one map, nothing in it is longer than the note, and each kernel's
// arguments lie inside its kernarg segment; otherwise kCorrupt with the reason. Takes time and
// memory in proportion to the note.
Result<void> check_metadata(std::span<const std::byte> note);

}  // namespace gfxgraph::replayer
