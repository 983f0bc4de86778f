// The engine with the observer of provenance and data order, once per host instruction set.
#include "emulator/isa/backend.inl"
#include "lanecheck/provenance_observer.h"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(lanecheck::ProvenanceObserver, kProvenanceBackend)
}  // namespace gfxgraph::emulator
