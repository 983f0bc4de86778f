// For files in emulator/isa/ only: what they share within one host instruction set.
#pragma once

#include "emulator/inst.h"
#include "emulator/wave.h"

#ifndef GFXGRAPH_ISA
#error "compile this file with gfxgraph_isa_sources()"
#endif

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

Handler bind_scalar(Inst& inst);          // kSop*
extern const VectorBinder kVectorBinder;  // kVop*: isa/vector.cpp

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
