#include "replayer/elf_check.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>

#include "base/checked.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint16_t kMachineAmdgpu = 224;  // EM_AMDGPU

// Unaligned: a blob begins anywhere in the mapped file.
template <typename Header>
Header load(std::span<const std::byte> bytes, uint64_t offset) {
  Header header;
  std::memcpy(&header, bytes.data() + offset, sizeof(header));
  return header;
}

tl::unexpected<Error> refuse(const std::string& what) {
  return fail(Status::kCorrupt, "not a code object: " + what);
}

}  // namespace

Result<void> check_code_object(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) {
    return refuse(fmt::format("{} bytes are no ELF header", bytes.size()));
  }
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return refuse("no ELF magic number");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return refuse("not a 64-bit little-endian ELF");
  }
  if (header.e_machine != kMachineAmdgpu) {
    return refuse(fmt::format("ELF machine {} is not AMDGPU", header.e_machine));
  }
  if (header.e_phnum == 0 || header.e_phentsize != sizeof(Elf64_Phdr) ||
      !range_fits(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), bytes.size())) {
    return refuse("its program headers lie outside");
  }
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = load<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!range_fits(segment.p_offset, segment.p_filesz, bytes.size())) {
      return refuse(fmt::format("segment {} lies outside", i));
    }
  }
  if (header.e_shnum == 0) return {};
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum ||
      !range_fits(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), bytes.size())) {
    return refuse("its section headers lie outside");
  }
  for (uint16_t i = 0; i < header.e_shnum; ++i) {
    const auto section = load<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    if (!range_fits(section.sh_offset, section.sh_size, bytes.size())) {
      return refuse(fmt::format("section {} lies outside", i));
    }
  }
  return {};
}

bool has_variables(std::span<const std::byte> bytes) {
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  for (uint16_t i = 0; i < header.e_shnum; ++i) {
    const auto section = load<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_PROGBITS && section.sh_type != SHT_NOBITS) continue;
    if ((section.sh_flags & SHF_ALLOC) != 0 && (section.sh_flags & SHF_WRITE) != 0 &&
        section.sh_size != 0)
      return true;
  }
  return false;
}

}  // namespace gfxgraph::replayer
