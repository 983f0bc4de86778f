// Disassembles the instructions around a finding, and finds those that compute its address.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "check/report/report.h"
#include "codeobj/code_object.h"

namespace gfxgraph::check {

// Decodes each function once. Not thread-safe.
class CodeWindows {
 public:
  CodeWindows();
  ~CodeWindows();
  // The instruction at an ELF virtual address, with up to kBefore instructions before and kAfter
  // after it in the same function. Also the earlier ones that compute its memory address, up to
  // kFarthest instructions before it, in the straight-line code since the last branch target. Empty
  // if there is no instruction at this address.
  static constexpr size_t kBefore = 6, kAfter = 2, kFarthest = 64;
  std::vector<CodeLine> around(const codeobj::CodeObject& object, uint64_t address);

 private:
  struct Function;
  const Function* function_of(const codeobj::CodeObject& object, uint64_t address);

  // By object and start address.
  std::map<std::pair<const codeobj::CodeObject*, uint64_t>, std::unique_ptr<const Function>>
      functions_;
};

}  // namespace gfxgraph::check
