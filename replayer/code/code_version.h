// The producer and target of a code object, to compare with the HIP runtime's limits.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace gfxgraph::replayer {

// kUnsupported, naming both versions, if this runtime is known not to load the code object, which
// check_code_object() has accepted (base/hip_quirks.inc, kCodeObjectV6Refused).
Result<void> check_code_version(std::span<const std::byte> elf, int runtime_version);

}  // namespace gfxgraph::replayer
