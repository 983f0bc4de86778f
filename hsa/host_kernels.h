// Kernels that the host carries out in place of a device that executes nothing: HIP's own fills and
// copies, so that memory holds what the program copied, and those of the replay library
// (scripts/make-own-code).
#pragma once

#include "base/result.h"
#include "codeobj/code_object.h"
#include "emulator/engine/engine.h"

namespace gfxgraph::hsa {

// Does nothing for a kernel of the program. kUnsupported: a kernel of HIP that the host does not
// know; kInvalidArgument: its arguments lead out of the memory of the device. Thread-safe.
Result<void> run_on_host(const codeobj::Kernel& kernel, const emulator::Dispatch& dispatch);

}  // namespace gfxgraph::hsa
