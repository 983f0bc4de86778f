// The engine with the observer of provenance and data order, once per host instruction set.
#include "check/provenance/provenance_observer.h"
#include "emulator/isa/backend.inl"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(check::ProvenanceObserver, kProvenanceBackend)
}  // namespace gfxgraph::emulator
