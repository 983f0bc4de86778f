// The engine with the observer of racecheck and initcheck, once per host instruction set.
#include "check/deep/deep_observer.inl"
#include "emulator/isa/backend.inl"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(check::DeepObserver, kDeepBackend)
}  // namespace gfxgraph::emulator
