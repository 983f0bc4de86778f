// What each scalar ALU instruction computes, written a second time as plain C++ from the RDNA2 ISA
// guide.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace gfxgraph::emulator::spec {

// Operands as the instruction reads them: 32-bit ones zero-extended; SOPK: `b` is the immediate's
// 16 bits.
struct ScalarState {
  uint64_t a = 0, b = 0;
  uint64_t d = 0;  // the destination, before and after
  uint64_t exec = 0;
  bool scc = false;
};

struct ScalarSpec {
  unsigned dst = 1, src0 = 1, src1 = 0;  // dwords
  std::function<void(ScalarState&)> run;
};
const std::map<std::string, ScalarSpec>& scalar_specs();

// Which test runs a scalar mnemonic, or null.
const char* how_scalar_tested(const std::string& mnemonic);
// Instructions that change nothing a program can see, and an immediate that is valid for them.
const std::map<std::string, uint32_t>& scalar_hints();

}  // namespace gfxgraph::emulator::spec
