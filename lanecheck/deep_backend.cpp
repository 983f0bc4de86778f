// The engine with the observer of racecheck and initcheck, once per host instruction set.
#include "emulator/isa/backend.inl"
#include "lanecheck/deep_observer.inl"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(lanecheck::DeepObserver, kDeepBackend)
}  // namespace gfxgraph::emulator
