// What an instruction decides on its operands' bits: scalar bitwise instructions and branches,
// whose results may be defined although an operand is not wholly.
#pragma once

#include <cstdint>

#include "emulator/decode/inst.h"

namespace gfxgraph::check {

// result = f(a, b) bit by bit: which one, and whether an operand is inverted.
struct Bitwise {
  enum class Kind : uint8_t { kAnd, kOr, kXor };
  Kind kind = Kind::kXor;
  bool invert_a = false;
  bool invert_b = false;
  unsigned dwords = 1;
  bool saves_exec = false;  // the second operand is EXEC, and EXEC the result
};
Bitwise bitwise(emulator::Op op);  // of an instruction that is_bitwise()
inline bool is_bitwise(const emulator::Inst& inst) {
  return emulator::op_info(inst.op).logic != emulator::Logic::kNone;
}

// Branches on SCC or VCC, or writes EXEC where a comparison holds.
bool is_branch(const emulator::Inst& inst);

}  // namespace gfxgraph::check
