// Source lines from DWARF 2-5 through LLVM's DWARF reader.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "codeobj/code_object.h"
#include "codeobj/elf_image_internal.h"

namespace gfxgraph::codeobj::internal {

// Thread-safe. Nothing is parsed before the first find().
class SourceLines {
 public:
  SourceLines();
  ~SourceLines();
  // `image` is used in this call only; its bytes must outlive this object.
  std::optional<SourceLocation> find(const ElfImage& image, uint64_t address) const;

 private:
  struct State;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<State> state_;
};

}  // namespace gfxgraph::codeobj::internal
