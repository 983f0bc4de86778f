// The engine with the observer of executed instructions, once per host instruction set.
#include "check/executed/executed_code.h"
#include "emulator/isa/backend.inl"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(check::ExecutedObserver, kExecutedBackend)
}  // namespace gfxgraph::emulator
