// Which test covers a vector ALU mnemonic: for the coverage rule and docs/isa-coverage.md.
#pragma once

#include <string>

#include "tests/emulator/vector/vector_spec.h"

namespace gfxgraph::emulator::spec {

// The tests' names; empty for a mnemonic that no test runs.
std::string how_tested(const std::string& mnemonic);

// How far a transcendental function's result may be from the exact value, in units of its last
// place; 0 for other mnemonics. transcendental_test fails beyond it.
double ulp_bound(const std::string& mnemonic);

// Whether the float mode may matter.
bool has_float_operand(const Spec& spec);

// "exact", or how far a result may be from the exact value.
std::string accuracy(const std::string& mnemonic);

}  // namespace gfxgraph::emulator::spec
