#include "codeobj/image.h"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "base/checked.h"
#include "codeobj/code_object.h"

namespace gfxgraph::codeobj {
namespace {

Result<uint64_t> elf_bytes(const std::byte* image, uint64_t readable) {
  Elf64_Ehdr header;
  if (readable < sizeof(header))
    return fail(Status::kTruncated, "module image: no room for an ELF header");
  std::memcpy(&header, image, sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64)
    return fail(Status::kUnsupported, "module image: 32-bit ELF");
  uint64_t end = sizeof(header);
  const auto cover = [&](uint64_t offset, uint64_t size) {
    const auto sum = checked_add(offset, size);
    end = std::max(end, sum.value_or(~uint64_t{0}));
  };
  cover(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize);
  cover(header.e_phoff, uint64_t{header.e_phnum} * header.e_phentsize);
  if (end > readable)
    return fail(Status::kTruncated, "module image: ELF tables beyond readable memory");
  for (uint32_t i = 0; i < header.e_shnum && header.e_shentsize >= sizeof(Elf64_Shdr); ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + uint64_t{i} * header.e_shentsize,
                sizeof(section));
    if (section.sh_type != SHT_NOBITS) cover(section.sh_offset, section.sh_size);
  }
  for (uint32_t i = 0; i < header.e_phnum && header.e_phentsize >= sizeof(Elf64_Phdr); ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image + header.e_phoff + uint64_t{i} * header.e_phentsize,
                sizeof(segment));
    cover(segment.p_offset, segment.p_filesz);
  }
  if (end > readable)
    return fail(Status::kTruncated, "module image: ELF contents beyond readable memory");
  return end;
}

}  // namespace

Result<uint64_t> image_size(const std::byte* image, uint64_t readable_bytes) {
  if (readable_bytes >= SELFMAG && std::memcmp(image, ELFMAG, SELFMAG) == 0)
    return elf_bytes(image, readable_bytes);
  return bundle_size(image, readable_bytes);
}

std::optional<uint64_t> readable_bytes_at(const void* address) {
  const uint64_t start = reinterpret_cast<uint64_t>(address);
  uint64_t end = start;
  // "self" is empty once main() has left by pthread_exit.
  std::ifstream maps("/proc/thread-self/maps");
  if (!maps) return std::nullopt;
  for (std::string line; std::getline(maps, line);) {
    uint64_t low = 0;
    uint64_t high = 0;
    char read = '-';
    if (std::sscanf(line.c_str(), "%lx-%lx %c", &low, &high, &read) != 3 || read != 'r') continue;
    if (low <= end && end < high) end = high;
  }
  return end - start;
}

}  // namespace gfxgraph::codeobj
