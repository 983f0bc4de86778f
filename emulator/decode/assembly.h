// The text of an instruction, for people.
#pragma once

#include <string>

#include "emulator/decode/inst.h"

namespace gfxgraph::emulator {

// "v_add_co_u32 v3, vcc_lo, s2, v1": as llvm-objdump 19 prints it, but without the suffixes of
// encodings (_e32, _e64, _sdwa, _dpp), with numbers for messages, swizzles and buffer formats, with
// 0x0 for a scalar load's offset of zero, and with the mnemonic only for image, export and
// interpolation instructions. `wave64`: lane masks are register pairs.
std::string assembly(const Inst& inst, bool wave64);

}  // namespace gfxgraph::emulator
