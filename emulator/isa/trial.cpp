// The engine for the steps of a proof (closure.h): every access goes to TrialMemory.
#include "emulator/analysis/trial_memory.h"
#include "emulator/isa/backend.inl"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(TrialMemory, kTrialBackend)
}  // namespace gfxgraph::emulator
