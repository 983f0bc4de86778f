// Checks whether the engine can run an instruction, without running it. Thread-safe, no allocation
// except for texts.
#pragma once

#include <optional>
#include <string>

#include "codeobj/code_object.h"
#include "emulator/decode/inst.h"

namespace gfxgraph::emulator {

// Whether the engine runs this decoded instruction in this form. What only a register's content
// decides counts as executable: see is_refused_value().
bool is_executable(const Inst& inst);

// Why the engine refuses every dispatch of a kernel with this descriptor; empty when it does not.
std::string why_refused(const codeobj::KernelDescriptor& descriptor);

// Whether s_setreg_b32 would be refused for the value that it writes; without a value: whether it
// may be. False for all other instructions.
bool is_refused_value(const Inst& inst, std::optional<uint32_t> value);

// For is_executable(): hardware registers and messages that the handler would refuse.
bool is_refused_when_run(const Inst& inst);

}  // namespace gfxgraph::emulator
