// The engine without an observer.
#include "emulator/isa/backend.inl"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(NullObserver, kPlainBackend)
}  // namespace gfxgraph::emulator
