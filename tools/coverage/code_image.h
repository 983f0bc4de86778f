// A code object as it would be in memory, loaded at its own ELF addresses, with its instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "emulator/decode/inst.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::tools {

// Not thread-safe: caches decoded instructions.
class CodeImage {
 public:
  static Result<CodeImage> load(std::shared_ptr<const codeobj::CodeObject> object);

  const codeobj::CodeObject& object() const { return *object_; }
  // Whether `address` lies in bytes of an executable segment.
  bool has_code(uint64_t address) const;
  // Executable segments as memory, which must not outlive the image.
  Result<std::shared_ptr<const emulator::RegionTable>> code_regions() const;
  // kTruncated outside of code.
  emulator::DecodeStatus decode(uint64_t address, emulator::Inst& inst) const;
  // Whether the emulator supports `inst`, which decode() returned.
  bool is_executable(const emulator::Inst& inst);
  // The constant result of a load of a dword from `address`: read-only bytes, and words that only
  // the loader writes (the global offset table). Empty for variables.
  std::optional<uint32_t> constant(uint64_t address) const;

 private:
  explicit CodeImage(std::shared_ptr<const codeobj::CodeObject> object)
      : object_(std::move(object)) {}

  std::shared_ptr<const codeobj::CodeObject> object_;
  std::vector<std::byte> memory_;
  uint64_t first_ = 0;
  std::set<uint64_t> relocated_;  // addresses that relocations write
  std::vector<uint8_t> known_;    // per dword: 0 not asked yet, 1 runs, 2 does not
};

}  // namespace gfxgraph::tools
