// Shared by the files in emulator/isa/ within one host instruction set. For these files only.
#pragma once

#include "emulator/decode/inst.h"
#include "emulator/engine/wave.h"

#ifndef GFXGRAPH_ISA
#error "compile this file with gfxgraph_isa_sources()"
#endif

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

Handler bind_scalar(Inst& inst);  // kSop*
// The part of bind_scalar() that is program control; null for scalar ALU instructions.
Handler bind_scalar_control(const Inst& inst);
extern const VectorBinder kVectorBinder;  // kVop*: isa/vector.cpp

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
