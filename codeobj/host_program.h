// A program or library of the host: which function and which source line hold an instruction. LLVM
// is used in the .cpp file only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace gfxgraph::codeobj {

struct HostFunction {
  std::string symbol;  // mangled; empty: none holds the address
  uint64_t address = 0;
  bool unique = false;  // no other function of the file has this symbol
};

// Immutable after open(); all methods are thread-safe. Keeps the file mapped while it lives.
class HostProgram {
 public:
  static Result<std::shared_ptr<const HostProgram>> open(const std::filesystem::path& path);
  virtual ~HostProgram() = default;

  // The GNU build id in hexadecimal; without one "xxh3-" and a hash of the file. "": it has no
  // build id and is larger than kMostHashedBytes.
  virtual std::string identity() const = 0;
  // The functions of .symtab, of a stripped file of .dynsym, that hold these ELF virtual addresses;
  // as many as addresses. Reads the whole table.
  virtual std::vector<HostFunction> functions_at(std::span<const uint64_t> addresses) const = 0;
  // As CodeObject::source_location().
  virtual std::optional<SourceLocation> source_location(uint64_t address) const = 0;
};

inline constexpr uint64_t kMostHashedBytes = UINT64_C(64) << 20;

}  // namespace gfxgraph::codeobj
