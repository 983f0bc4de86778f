// Runs one vector instruction on the emulator's handlers as compiled for each instruction set that
// this host has.
#pragma once

#include <string>
#include <vector>

#include "emulator/decode/inst.h"
#include "tests/emulator/vector/vector_model.h"

namespace gfxgraph::emulator::spec {

struct HostIsa {
  const char* name;
  const VectorBinder* binder;
};
const std::vector<HostIsa>& host_isas();

// Decodes, binds and runs `words` on `state`. Returns what went wrong, or "".
std::string run_vector(const HostIsa& isa, const std::vector<uint32_t>& words, State& state,
                       uint32_t mode = 0x3f0);

}  // namespace gfxgraph::emulator::spec
