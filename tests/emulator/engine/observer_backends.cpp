#include "emulator/isa/backend.inl"
#include "tests/emulator/engine/observers.h"

namespace gfxgraph::emulator::testing {
GFXGRAPH_DEFINE_BACKEND(Recorder, kRecorder)
GFXGRAPH_DEFINE_BACKEND(Definedness, kDefinedness)
}  // namespace gfxgraph::emulator::testing
