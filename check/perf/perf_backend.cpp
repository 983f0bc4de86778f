// The engine with the observer of --tool perf, once per host instruction set.
#include "check/perf/perf_check.h"
#include "emulator/isa/backend.inl"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(check::PerfObserver, kPerfBackend)
}  // namespace gfxgraph::emulator
