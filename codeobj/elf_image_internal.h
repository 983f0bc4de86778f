// One ELF64 file with every range checked; all of codeobj/ reads bytes through it. Uses LLVM
// Object's field types and checked readers; bad input cannot abort the process.
#pragma once

#include <llvm/Object/ELF.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "codeobj/host_program.h"

namespace gfxgraph::codeobj::internal {

using ElfFile = llvm::object::ELF64LEFile;
using SectionHeader = llvm::object::ELF64LE::Shdr;

// Converts an llvm::Error to an Error and consumes it. `what` names the object being read.
Error corrupt(llvm::Error error, std::string_view what);

// A view: `bytes` must outlive it.
class ElfImage {
 public:
  // Any little-endian ELF64, host or device.
  static Result<ElfImage> open(std::span<const std::byte> bytes);

  uint16_t machine() const { return file_.getHeader().e_machine; }
  uint32_t flags() const { return file_.getHeader().e_flags; }
  uint8_t os_abi() const { return file_.getHeader().e_ident[llvm::ELF::EI_OSABI]; }
  uint8_t abi_version() const { return file_.getHeader().e_ident[llvm::ELF::EI_ABIVERSION]; }
  uint16_t type() const { return file_.getHeader().e_type; }

  // PT_LOAD segments in order of address: they do not overlap, and each lies inside the file.
  Result<std::vector<Segment>> segments() const;
  // .dynsym, else .symtab, without nameless symbols.
  Result<std::vector<Symbol>> symbols(const std::vector<Segment>& segments) const;
  // The sized function of .symtab that contains `address`; "" if there is none.
  std::string function_at(uint64_t address) const;
  std::optional<uint64_t> function_address(std::string_view name) const;
  // See HostProgram::functions_at().
  std::vector<HostFunction> host_functions_at(std::span<const uint64_t> addresses) const;
  Result<std::vector<DynamicRelocation>> relocations() const;
  // The non-empty descriptors of all notes with this name and type: from the program headers, or
  // from the sections if there are no program headers.
  Result<std::vector<std::span<const std::byte>>> notes(std::string_view name, uint32_t type) const;
  // Contents of the section with this name; nothing if there is none.
  Result<std::optional<std::span<const std::byte>>> section(std::string_view name) const;

  struct NamedSection {
    std::string name;
    std::span<const std::byte> bytes;
    bool compressed = false;
  };
  // All sections whose name starts with `prefix`, without those with damaged ranges.
  std::vector<NamedSection> sections_with_prefix(std::string_view prefix) const;

 private:
  ElfImage(ElfFile file, std::span<const std::byte> bytes) : file_(file), bytes_(bytes) {}
  Result<std::vector<DynamicRelocation>> relocations_of(const SectionHeader& section) const;
  using Symbol64 = llvm::object::ELF64LE::Sym;
  bool find_function(const std::function<bool(const Symbol64&, std::string_view)>& visit) const;

  ElfFile file_;
  std::span<const std::byte> bytes_;
};

// The file's bytes for [address, address + size); nothing if no segment's file part contains them.
std::optional<std::span<const std::byte>> bytes_at(const std::vector<Segment>& segments,
                                                   std::span<const std::byte> file,
                                                   uint64_t address, uint64_t size);

}  // namespace gfxgraph::codeobj::internal
