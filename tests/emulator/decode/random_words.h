// Instructions of the rows of table/gfx1030.inc with random fields, for comparisons with LLVM.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace gfxgraph::emulator {

struct Row {
  std::string encoding;
  unsigned opcode;
  std::string mnemonic;
};
const std::vector<Row>& rows();

using Words = std::array<uint32_t, 6>;
// Many are no instruction to LLVM, which knows fields that must be zero.
Words random_words(std::mt19937& random, const Row& row);

}  // namespace gfxgraph::emulator
