// The missing waits (check/waits/wait_analysis.h) of the kernels of a code object, with what a
// reader needs to find them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/waits/wait_analysis.h"
#include "codeobj/code_object.h"
#include "tools/coverage/code_image.h"
#include "tools/coverage/kernel_walk.h"

namespace gfxgraph::tools {

// A place of code. Addresses are ELF virtual addresses.
struct CodePlace {
  uint64_t pc = 0;
  std::string function;  // "" if its symbol is stripped
  std::string instruction;
  std::optional<codeobj::SourceLocation> source;
};

struct WaitFinding {
  check::MissingWait wait;
  std::string kernel;     // the first one that reaches it
  uint64_t entry = 0;     // of that
  uint64_t kernels = 1;   // that reach it: more than one if it is in a function
  CodePlace at, pending;  // the instruction that needs the wait, and the one that is under way
};

struct KernelWaits {
  uint64_t kernels = 0;  // that were analysed whole
  uint64_t instructions = 0;
  uint64_t unknown_calls = 0;  // whose functions were not analysed
  struct Incomplete {
    std::string kernel;
    std::string why;
  };
  std::vector<Incomplete> incomplete;  // analysed in part, or not at all
  std::vector<WaitFinding> findings;   // by kernel
};

// `walks`: those of walk_kernels() for the same image.
Result<KernelWaits> find_kernel_waits(const CodeImage& image, const std::vector<KernelWalk>& walks);

// "v5 is read before global_load_dword v5, v[0:1], off at 0x1234 has completed; it needs ...".
std::string wait_text(const WaitFinding& finding);

}  // namespace gfxgraph::tools
