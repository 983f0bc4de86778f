// The engine with the lane observer, once per host instruction set.
#include "emulator/isa/backend.inl"
#include "lanecheck/lane_observer.inl"

namespace gfxgraph::emulator {
GFXGRAPH_DEFINE_BACKEND(lanecheck::LaneObserver, kLaneBackend)
}  // namespace gfxgraph::emulator
