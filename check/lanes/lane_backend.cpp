// The engine with the lane observer, once per host instruction set.
#include "check/lanes/lane_observer.inl"
#include "emulator/isa/backend.inl"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(check::LaneObserver, kLaneBackend)
}  // namespace gfxgraph::emulator
