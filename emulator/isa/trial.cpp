// The engine for the steps of a proof (closure.h): every access goes to TrialMemory.
#include "emulator/isa/backend.inl"
#include "emulator/trial_memory.h"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(TrialMemory, kTrialBackend)
}  // namespace gfxgraph::emulator
