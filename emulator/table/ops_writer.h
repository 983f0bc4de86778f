// Writes ops.inc, the per-mnemonic table behind Op and OpInfo, from the probed rows.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace gfxgraph::emulator::table {

// One legal (encoding, opcode) pair.
struct Row {
  std::string encoding;
  unsigned opcode = 0;
  std::string mnemonic;
  std::array<std::string, 5> operands;  // shapes in assembler order: "V2", "S1", "I", "N", "_"
  std::string flags;
};

void write_ops(const std::vector<Row>& rows, std::FILE* out);

}  // namespace gfxgraph::emulator::table
