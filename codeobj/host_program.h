// A host program or library: maps instruction addresses to functions and source lines. Only the
// .cpp file uses LLVM.
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
  std::string symbol;  // mangled; empty: no function contains the address
  uint64_t address = 0;
  bool unique = false;  // no other function of the file has this symbol
};

// Immutable after open(); all methods are thread-safe. Keeps the file mapped during its lifetime.
class HostProgram {
 public:
  static Result<std::shared_ptr<const HostProgram>> open(const std::filesystem::path& path);
  virtual ~HostProgram() = default;

  // The GNU build id in hexadecimal; without one, "xxh3-" and a hash of the file. "": the file has
  // no build id and is larger than kMostHashedBytes.
  virtual std::string identity() const = 0;
  // The functions that contain these ELF virtual addresses, one result per address. Searches
  // .symtab, or .dynsym in a stripped file. Reads the whole table.
  virtual std::vector<HostFunction> functions_at(std::span<const uint64_t> addresses) const = 0;
  // See CodeObject::source_location().
  virtual std::optional<SourceLocation> source_location(uint64_t address) const = 0;
};

inline constexpr uint64_t kMostHashedBytes = UINT64_C(64) << 20;

}  // namespace gfxgraph::codeobj
