#include "codeobj/variables.h"

#include <algorithm>

#include "codeobj/elf_image_internal.h"

namespace gfxgraph::codeobj {
namespace {

using internal::ElfFile;
using internal::SectionHeader;

struct Found {
  Variable variable;
  uint64_t next_section = 0;  // where the next section begins
};

uint64_t next_section(llvm::ArrayRef<SectionHeader> sections, const SectionHeader& section) {
  const uint64_t end = section.sh_addr + section.sh_size;
  uint64_t next = UINT64_MAX;
  for (const SectionHeader& other : sections)
    if ((other.sh_flags & llvm::ELF::SHF_ALLOC) != 0 && other.sh_addr >= end)
      next = std::min<uint64_t>(next, other.sh_addr);
  return next == UINT64_MAX ? end : next;
}

bool is_data(const SectionHeader& section) {
  constexpr uint64_t kWanted = llvm::ELF::SHF_ALLOC | llvm::ELF::SHF_WRITE;
  return (section.sh_flags & kWanted) == kWanted &&
         (section.sh_type == llvm::ELF::SHT_PROGBITS || section.sh_type == llvm::ELF::SHT_NOBITS);
}

// Returns false if the table is damaged.
bool add_variables(const ElfFile& file, const SectionHeader& table,
                   llvm::ArrayRef<SectionHeader> sections, std::vector<Found>& found) {
  auto entries = file.symbols(&table);
  if (!entries) return (llvm::consumeError(entries.takeError()), false);
  auto strings = file.getStringTableForSymtab(table);
  if (!strings) return (llvm::consumeError(strings.takeError()), false);
  for (const auto& entry : *entries) {
    if (entry.getType() != llvm::ELF::STT_OBJECT || entry.st_size == 0) continue;
    if (entry.st_shndx == llvm::ELF::SHN_UNDEF || entry.st_shndx >= sections.size()) continue;
    const SectionHeader& section = sections[entry.st_shndx];
    if (!is_data(section)) continue;
    const uint64_t into = entry.st_value - section.sh_addr;
    if (into >= section.sh_size || entry.st_size > section.sh_size - into) return false;
    auto name = entry.getName(*strings);
    if (!name) return (llvm::consumeError(name.takeError()), false);
    found.push_back(
        {{name->str(), entry.st_value, entry.st_size, 0}, next_section(sections, section)});
  }
  return true;
}

}  // namespace

std::vector<Variable> variables_of(const CodeObject& code) {
  const std::span<const std::byte> bytes = code.bytes();
  auto file = ElfFile::create({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!file) return (llvm::consumeError(file.takeError()), std::vector<Variable>());
  auto sections = file->sections();
  if (!sections) return (llvm::consumeError(sections.takeError()), std::vector<Variable>());
  std::vector<Found> found;
  for (const SectionHeader& section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
    if (!add_variables(*file, section, *sections, found)) return {};
  }
  std::ranges::sort(found, {}, [](const Found& one) { return one.variable.address; });
  std::vector<Variable> result;
  for (size_t n = 0; n < found.size(); ++n) {
    Variable variable = std::move(found[n].variable);
    const uint64_t end = variable.address + variable.size_bytes;
    // An alias of the previous variable, or a part of it.
    if (!result.empty() && variable.address < result.back().address + result.back().size_bytes)
      continue;
    uint64_t next = found[n].next_section;
    for (size_t m = n + 1; m < found.size(); ++m) {
      if (found[m].variable.address < end) continue;
      next = std::min(next, found[m].variable.address);
      break;
    }
    variable.room_bytes = next - variable.address;
    result.push_back(std::move(variable));
  }
  return result;
}

}  // namespace gfxgraph::codeobj
