// For tests that link libgfxgraph statically.
#pragma once

#include <memory>

#include "replayer/hip_library.h"

namespace gfxgraph::replayer {

// Replays created from now on use `library` instead of the process's HIP runtime; null ends that.
void use_hip_library_for_tests(std::shared_ptr<const HipLibrary> library);

}  // namespace gfxgraph::replayer
