// The instructions around a finding, and which of them compute its address.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "codeobj/code_object.h"
#include "lanecheck/check.h"

namespace gfxgraph::lanecheck {

// Decodes each function once. Not thread-safe.
class CodeWindows {
 public:
  CodeWindows();
  ~CodeWindows();
  // The instruction at an ELF virtual address, kBefore in front of it and kAfter behind it, all in
  // the function that contains it. Before these, the instructions that compute its address and are
  // at most kFarthest in front of it: those of the straight-line code, from the last place that a
  // branch leads to. Empty if there is no such instruction.
  static constexpr size_t kBefore = 6, kAfter = 2, kFarthest = 64;
  std::vector<CodeLine> around(const codeobj::CodeObject& object, uint64_t address);

 private:
  struct Function;
  const Function* function_of(const codeobj::CodeObject& object, uint64_t address);

  // By object and first address.
  std::map<std::pair<const codeobj::CodeObject*, uint64_t>, std::unique_ptr<const Function>>
      functions_;
};

}  // namespace gfxgraph::lanecheck
