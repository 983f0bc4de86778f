// Source lines from the DWARF sections of one object.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/elf_image_internal.h"

namespace gfxgraph::codeobj::internal {

// Thread-safe. The first find() parses the sections.
class SourceLines {
 public:
  SourceLines();
  ~SourceLines();
  // The bytes of `file` must outlive this object and be the same in every call.
  std::optional<SourceLocation> find(std::span<const std::byte> file, uint64_t address) const;
  // inline_stack.h, at most that many.
  std::vector<SourceLocation> find_stack(std::span<const std::byte> file, uint64_t address,
                                         size_t most_frames) const;

 private:
  struct State;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<State> state_;
};

}  // namespace gfxgraph::codeobj::internal
