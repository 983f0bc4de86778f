// Which test covers a vector ALU mnemonic: for the coverage rule and docs/isa-coverage.md.
#pragma once

#include <string>

namespace gfxgraph::emulator::spec {

// The test's name, or null for a mnemonic that no test runs.
const char* how_tested(const std::string& mnemonic);

// "exact", or how far a result may be from the exact value.
std::string accuracy(const std::string& mnemonic);

}  // namespace gfxgraph::emulator::spec
