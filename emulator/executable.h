// What the engine can run, told without running it. Thread-safe, no allocation but for texts.
#pragma once

#include <string>

#include "codeobj/code_object.h"
#include "emulator/inst.h"

namespace gfxgraph::emulator {

// Whether the engine runs this decoded instruction in this form. What only a register's content
// decides (s_setreg_b32 of the float mode) counts as executable.
bool is_executable(const Inst& inst);

// Why the engine refuses every dispatch of a kernel with this descriptor; empty when it does not.
std::string why_refused(const codeobj::KernelDescriptor& descriptor);

// For is_executable(): hardware registers and messages that the handler would refuse.
bool is_refused_when_run(const Inst& inst);

}  // namespace gfxgraph::emulator
