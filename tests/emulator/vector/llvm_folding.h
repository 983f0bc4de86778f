// Constant expressions in LLVM's IR, folded by LLVM for gfx1030.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gfxgraph::emulator::spec {

struct Expression {
  struct Operand {
    char type;  // f d h floats, u q w integers, c a condition
    uint64_t bits;
  };
  std::string text;  // statements; $a, $b, $c are the operands, $r the name of the result
  char result = 'u';
  std::vector<Operand> operands;
};
struct Folded {
  bool known = false;  // LLVM made a constant of it, without undefined parts
  uint64_t bits = 0;
};

// In the order of the expressions. `error`: what the IR's parser says.
std::vector<Folded> fold(const std::vector<Expression>& expressions, std::string& error);

}  // namespace gfxgraph::emulator::spec
