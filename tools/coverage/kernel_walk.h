// Determines which instructions a kernel can reach, and which of them the emulator does not
// support.
//
// The walk starts at the kernel's entry and follows branches both ways, calls, and jumps to
// addresses that scalar instructions compute from s_getpc, literals and read-only words. Where the
// target of a jump is known only when the kernel runs (function pointers), all code of the object
// counts as reachable by it. A function that restores a register from a vector lane and jumps
// through it returns (LLVM's calling convention); no compiler makes tail calls so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emulator/analysis/control_flow.h"
#include "tools/coverage/code_image.h"

namespace gfxgraph::tools {

struct KernelWalk {
  std::string name;
  uint64_t instructions = 0;                // distinct ones that can be reached
  std::map<std::string, uint64_t> missing;  // "v_foo_f32 (SDWA)" -> instructions
  // Other reasons for missing support: "float mode FP16_OVFL ...", "0x1234: no gfx1030
  // instruction".
  std::vector<std::string> problems;
  std::optional<uint64_t> swept_because;  // the jump that made all code of the object count
  std::string bad_code;                   // where execution leaves the code; "": nowhere
  emulator::RegisterJumps jumps;          // without those whose target has several values
  std::optional<uint64_t> unknown_jump;   // not a call, and its target is not known
  uint64_t unknown_calls = 0;             // instructions that call through such a register

  bool complete() const { return missing.empty() && problems.empty(); }
};

// Walks all kernels of one object, in its order.
std::vector<KernelWalk> walk_kernels(CodeImage& image);

}  // namespace gfxgraph::tools
