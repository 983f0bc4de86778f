#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <type_traits>
#include <unordered_map>

#include "base/checked.h"
#include "codeobj/elf_image_internal.h"

namespace gfxgraph::codeobj::internal {
namespace {

// A code object that needs more address space than any gfx1030 card has memory is damaged.
constexpr uint64_t kMaxLoadBytes = uint64_t{64} << 30;

std::string_view view(llvm::StringRef text) { return {text.data(), text.size()}; }

// The note entries of one PT_NOTE segment or SHT_NOTE section (System V gABI, "Note Section").
Result<void> add_notes(std::span<const std::byte> notes, std::string_view name, uint32_t type,
                       std::vector<std::span<const std::byte>>& result) {
  uint64_t offset = 0;
  while (notes.size() - offset >= 12) {
    const auto word = [&](uint64_t at) {
      return llvm::support::endian::read32le(notes.data() + offset + at);
    };
    const uint64_t name_bytes = word(0);
    const uint64_t descriptor_bytes = word(4);
    const uint64_t name_at = offset + 12;
    const uint64_t descriptor_at = name_at + ((name_bytes + 3) & ~uint64_t{3});
    if (!range_fits(name_at, name_bytes, notes.size()) ||
        !range_fits(descriptor_at, descriptor_bytes, notes.size())) {
      return fail(Status::kCorrupt,
                  fmt::format("elf note at byte {} of its segment: name of {} and descriptor of {} "
                              "bytes do not fit into {} bytes",
                              offset, name_bytes, descriptor_bytes, notes.size()));
    }
    const std::string_view found(reinterpret_cast<const char*>(notes.data() + name_at),
                                 name_bytes == 0 ? 0 : name_bytes - 1);
    if (found == name && word(8) == type && descriptor_bytes != 0) {
      result.push_back(notes.subspan(descriptor_at, descriptor_bytes));
    }
    offset = descriptor_at + ((descriptor_bytes + 3) & ~uint64_t{3});
    if (offset > notes.size()) break;
  }
  return {};
}

Symbol::Type symbol_type(unsigned char type) {
  switch (type) {
    case llvm::ELF::STT_NOTYPE: return Symbol::Type::kNone;
    case llvm::ELF::STT_OBJECT: return Symbol::Type::kObject;
    case llvm::ELF::STT_FUNC: return Symbol::Type::kFunction;
    default: return Symbol::Type::kOther;
  }
}

const Segment* segment_of(const std::vector<Segment>& segments, uint64_t address) {
  for (const Segment& segment : segments) {
    if (address >= segment.address && address - segment.address < segment.memory_bytes) {
      return &segment;
    }
  }
  return nullptr;
}

}  // namespace

Error corrupt(llvm::Error error, std::string_view what) {
  return Error{Status::kCorrupt, fmt::format("{}: {}", what, llvm::toString(std::move(error)))};
}

std::optional<std::span<const std::byte>> bytes_at(const std::vector<Segment>& segments,
                                                   std::span<const std::byte> file,
                                                   uint64_t address, uint64_t size) {
  const Segment* const segment = segment_of(segments, address);
  if (segment == nullptr) return std::nullopt;
  const uint64_t offset = address - segment->address;
  if (!range_fits(offset, size, segment->file_bytes)) return std::nullopt;
  return file.subspan(segment->file_offset + offset, size);
}

Result<ElfImage> ElfImage::open(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(llvm::object::ELF64LE::Ehdr)) {
    return fail(Status::kTruncated,
                fmt::format("code object: {} bytes are too few for an elf header", bytes.size()));
  }
  const llvm::StringRef text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(llvm::StringRef("\177ELF", 4))) {
    return fail(Status::kCorrupt, "code object: no elf magic at byte 0");
  }
  if (text[llvm::ELF::EI_CLASS] != llvm::ELF::ELFCLASS64 ||
      text[llvm::ELF::EI_DATA] != llvm::ELF::ELFDATA2LSB) {
    return fail(Status::kUnsupported, "code object: not a 64-bit little-endian elf file");
  }
  llvm::Expected<ElfFile> file = ElfFile::create(text);
  if (!file) return tl::unexpected<Error>(corrupt(file.takeError(), "code object"));
  return ElfImage(*file, bytes);
}

Result<std::vector<Segment>> ElfImage::segments() const {
  llvm::Expected<ElfFile::Elf_Phdr_Range> headers = file_.program_headers();
  if (!headers) return tl::unexpected<Error>(corrupt(headers.takeError(), "program headers"));
  std::vector<Segment> segments;
  uint32_t index = 0;
  for (const auto& header : *headers) {
    const uint32_t number = index++;
    if (header.p_type != llvm::ELF::PT_LOAD || header.p_memsz == 0) continue;
    if (!range_fits(header.p_offset, header.p_filesz, bytes_.size())) {
      return fail(
          Status::kTruncated,
          fmt::format("segment {}: p_offset {:#x} + p_filesz {:#x} lies outside the file of "
                      "{:#x} bytes",
                      number, uint64_t{header.p_offset}, uint64_t{header.p_filesz}, bytes_.size()));
    }
    if (header.p_filesz > header.p_memsz) {
      return fail(Status::kCorrupt,
                  fmt::format("segment {}: p_filesz is larger than p_memsz", number));
    }
    if (!range_fits(header.p_vaddr, header.p_memsz, kMaxLoadBytes)) {
      return fail(Status::kCorrupt, fmt::format("segment {}: p_vaddr {:#x} and p_memsz {:#x} reach "
                                                "past the limit of {:#x}",
                                                number, uint64_t{header.p_vaddr},
                                                uint64_t{header.p_memsz}, kMaxLoadBytes));
    }
    if (header.p_align > 1 && !std::has_single_bit(uint64_t{header.p_align})) {
      return fail(Status::kCorrupt, fmt::format("segment {}: p_align {:#x} is not a power of two",
                                                number, uint64_t{header.p_align}));
    }
    const uint64_t align = std::max<uint64_t>(1, header.p_align);
    if (header.p_filesz != 0 && (header.p_vaddr - header.p_offset) % align != 0) {
      return fail(
          Status::kCorrupt,
          fmt::format("segment {}: p_vaddr {:#x} and p_offset {:#x} differ modulo p_align {:#x}",
                      number, uint64_t{header.p_vaddr}, uint64_t{header.p_offset}, align));
    }
    Segment segment;
    segment.address = header.p_vaddr;
    segment.memory_bytes = header.p_memsz;
    segment.file_offset = header.p_offset;
    segment.file_bytes = header.p_filesz;
    segment.align_bytes = align;
    segment.writable = (header.p_flags & llvm::ELF::PF_W) != 0;
    segment.executable = (header.p_flags & llvm::ELF::PF_X) != 0;
    segments.push_back(segment);
  }
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.address < b.address; });
  for (size_t i = 1; i < segments.size(); ++i) {
    if (segments[i].address - segments[i - 1].address < segments[i - 1].memory_bytes) {
      return fail(Status::kCorrupt, fmt::format("segments at {:#x} and {:#x} (p_vaddr) overlap: "
                                                "the first one's p_memsz is {:#x}",
                                                segments[i - 1].address, segments[i].address,
                                                segments[i - 1].memory_bytes));
    }
  }
  return segments;
}

// Variables, kernels and functions must lie in a segment: loaders and HIP return load address +
// st_value unchecked. An empty symbol may stand at a segment's end.
static Result<void> check_place(const Symbol& symbol, bool placed,
                                const std::vector<Segment>& segments) {
  if (symbol.undefined ||
      (symbol.type != Symbol::Type::kObject && symbol.type != Symbol::Type::kFunction))
    return {};
  if (!placed) {
    return fail(
        Status::kCorrupt,
        fmt::format("symbol {}: SHN_ABS, st_value {:#x}: a variable or function must lie in "
                    "a segment",
                    symbol.name, symbol.address));
  }
  const bool inside = std::ranges::any_of(segments, [&](const Segment& segment) {
    return range_fits(symbol.address - segment.address, symbol.size_bytes, segment.memory_bytes);
  });
  if (inside) return {};
  return fail(Status::kCorrupt, fmt::format("symbol {}: st_value {:#x} lies outside every segment",
                                            symbol.name, symbol.address));
}

Result<std::vector<Symbol>> ElfImage::symbols(const std::vector<Segment>& segments) const {
  llvm::Expected<ElfFile::Elf_Shdr_Range> sections = file_.sections();
  if (!sections) return tl::unexpected<Error>(corrupt(sections.takeError(), "section headers"));
  const SectionHeader* table = nullptr;
  for (const SectionHeader& section : *sections) {
    if (section.sh_type == llvm::ELF::SHT_DYNSYM) table = &section;
    if (section.sh_type == llvm::ELF::SHT_SYMTAB && table == nullptr) table = &section;
  }
  std::vector<Symbol> symbols;
  if (table == nullptr) return symbols;
  auto entries = file_.symbols(table);
  if (!entries) return tl::unexpected<Error>(corrupt(entries.takeError(), "symbol table"));
  auto strings = file_.getStringTableForSymtab(*table);
  if (!strings) return tl::unexpected<Error>(corrupt(strings.takeError(), "symbol names"));
  for (const auto& entry : *entries) {
    auto name = entry.getName(*strings);
    if (!name) return tl::unexpected<Error>(corrupt(name.takeError(), "symbol name"));
    if (name->empty()) continue;
    Symbol symbol;
    symbol.name = name->str();
    symbol.address = entry.st_value;
    symbol.size_bytes = entry.st_size;
    symbol.type = symbol_type(entry.getType());
    symbol.undefined = entry.st_shndx == llvm::ELF::SHN_UNDEF;
    const bool placed = !symbol.undefined && entry.st_shndx != llvm::ELF::SHN_ABS;
    const Segment* const segment = placed ? segment_of(segments, symbol.address) : nullptr;
    symbol.constant = segment != nullptr && !segment->writable;
    if (segment != nullptr &&
        !range_fits(symbol.address - segment->address, symbol.size_bytes, segment->memory_bytes)) {
      return fail(Status::kCorrupt, fmt::format("symbol {}: st_value {:#x} + st_size {:#x} reach "
                                                "past the segment",
                                                symbol.name, symbol.address, symbol.size_bytes));
    }
    GFXGRAPH_TRY(check_place(symbol, placed, segments));
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

// Calls `visit` with each function of .symtab and its name until it returns true. Returns whether
// it did.
bool ElfImage::find_function(
    const std::function<bool(const Symbol64&, std::string_view)>& visit) const {
  llvm::Expected<ElfFile::Elf_Shdr_Range> sections = file_.sections();
  if (!sections) return (llvm::consumeError(sections.takeError()), false);
  for (const SectionHeader& section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
    auto entries = file_.symbols(&section);
    if (!entries) return (llvm::consumeError(entries.takeError()), false);
    auto strings = file_.getStringTableForSymtab(section);
    if (!strings) return (llvm::consumeError(strings.takeError()), false);
    for (const auto& entry : *entries) {
      if (entry.getType() != llvm::ELF::STT_FUNC || entry.st_shndx == llvm::ELF::SHN_UNDEF)
        continue;
      auto name = entry.getName(*strings);
      if (!name) {
        llvm::consumeError(name.takeError());
      } else if (visit(entry, view(*name))) {
        return true;
      }
    }
  }
  return false;
}

std::string ElfImage::function_at(uint64_t address) const {
  std::string found;
  find_function([&](const Symbol64& entry, std::string_view name) {
    if (address - entry.st_value >= entry.st_size) return false;
    found = name;
    return true;
  });
  return found;
}

std::optional<uint64_t> ElfImage::function_address(std::string_view name) const {
  std::optional<uint64_t> found;
  find_function([&](const Symbol64& entry, std::string_view other) {
    if (other != name) return false;
    found = entry.st_value;
    return true;
  });
  return found;
}

std::vector<HostFunction> ElfImage::host_functions_at(std::span<const uint64_t> addresses) const {
  std::vector<HostFunction> found(addresses.size());
  llvm::Expected<ElfFile::Elf_Shdr_Range> sections = file_.sections();
  if (!sections) return (llvm::consumeError(sections.takeError()), found);
  const SectionHeader* table = nullptr;
  for (const SectionHeader& section : *sections) {
    const bool full = section.sh_type == llvm::ELF::SHT_SYMTAB;
    if (full || (section.sh_type == llvm::ELF::SHT_DYNSYM && table == nullptr)) table = &section;
    if (full) break;
  }
  if (table == nullptr) return found;
  auto entries = file_.symbols(table);
  if (!entries) return (llvm::consumeError(entries.takeError()), found);
  auto strings = file_.getStringTableForSymtab(*table);
  if (!strings) return (llvm::consumeError(strings.takeError()), found);
  using Entry = std::remove_cvref_t<decltype(*entries->begin())>;
  const auto function = [](const Entry& entry) {
    return entry.getType() == llvm::ELF::STT_FUNC && entry.st_shndx != llvm::ELF::SHN_UNDEF &&
           entry.st_size != 0;
  };
  const auto local = [](const Entry& entry) { return entry.getBinding() == llvm::ELF::STB_LOCAL; };
  std::vector<size_t> order(addresses.size());  // indices into addresses, by ascending address
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return addresses[i]; });
  std::vector<const Entry*> holders(addresses.size());
  for (const Entry& entry : *entries) {
    if (!function(entry)) continue;
    auto at = std::ranges::lower_bound(order, uint64_t{entry.st_value}, {},
                                       [&](size_t i) { return addresses[i]; });
    for (; at != order.end() && addresses[*at] - entry.st_value < entry.st_size; ++at) {
      // Of several aliases, take the first that is visible to other files.
      const Entry*& holder = holders[*at];
      if (holder == nullptr || (local(*holder) && !local(entry))) holder = &entry;
    }
  }
  std::unordered_map<std::string_view, size_t> names;  // number of local functions with each name
  for (size_t i = 0; i < holders.size(); ++i) {
    if (holders[i] == nullptr) continue;
    auto name = holders[i]->getName(*strings);
    if (!name) {
      llvm::consumeError(name.takeError());
      holders[i] = nullptr;
      continue;
    }
    found[i] = {name->str(), holders[i]->st_value, true};
    if (local(*holders[i])) names[view(*name)] = 0;
  }
  if (names.empty()) return found;
  // The linker keeps one global function per name, but all local ones.
  for (const Entry& entry : *entries) {
    if (!function(entry)) continue;
    auto name = entry.getName(*strings);
    if (!name) {
      llvm::consumeError(name.takeError());
    } else if (const auto known = names.find(view(*name)); known != names.end()) {
      ++known->second;
    }
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (holders[i] != nullptr && local(*holders[i])) found[i].unique = names[found[i].symbol] == 1;
  }
  return found;
}

Result<std::vector<DynamicRelocation>> ElfImage::relocations_of(
    const SectionHeader& section) const {
  std::vector<DynamicRelocation> result;
  auto entries = file_.relas(section);
  if (!entries) return tl::unexpected<Error>(corrupt(entries.takeError(), "relocations"));
  auto table = file_.getSection(section.sh_link);
  if (!table) return tl::unexpected<Error>(corrupt(table.takeError(), "relocations: symbol table"));
  const bool has_symbols =
      (*table)->sh_type == llvm::ELF::SHT_DYNSYM || (*table)->sh_type == llvm::ELF::SHT_SYMTAB;
  llvm::StringRef strings;
  if (has_symbols) {
    auto found = file_.getStringTableForSymtab(**table);
    if (!found) return tl::unexpected<Error>(corrupt(found.takeError(), "relocations: names"));
    strings = *found;
  }
  for (const auto& entry : *entries) {
    DynamicRelocation relocation;
    relocation.address = entry.r_offset;
    relocation.type = entry.getType(false);
    relocation.addend = entry.r_addend;
    const uint32_t index = entry.getSymbol(false);
    if (index != 0) {
      if (!has_symbols) {
        return fail(Status::kCorrupt, fmt::format("relocation at {:#x}: names symbol {} but its "
                                                  "section links no symbol table",
                                                  relocation.address, index));
      }
      auto symbol = file_.getEntry<ElfFile::Elf_Sym>(**table, index);
      if (!symbol) return tl::unexpected<Error>(corrupt(symbol.takeError(), "relocation symbol"));
      auto name = (*symbol)->getName(strings);
      if (!name) return tl::unexpected<Error>(corrupt(name.takeError(), "relocation symbol name"));
      relocation.symbol = name->str();
    }
    result.push_back(std::move(relocation));
  }
  return result;
}

Result<std::vector<DynamicRelocation>> ElfImage::relocations() const {
  llvm::Expected<ElfFile::Elf_Shdr_Range> sections = file_.sections();
  if (!sections) return tl::unexpected<Error>(corrupt(sections.takeError(), "section headers"));
  std::vector<DynamicRelocation> result;
  for (const SectionHeader& section : *sections) {
    if ((section.sh_flags & llvm::ELF::SHF_ALLOC) == 0) continue;
    if (section.sh_type == llvm::ELF::SHT_REL) {
      return fail(Status::kUnsupported,
                  "dynamic relocations without addends (SHT_REL) are not used by amdgpu targets");
    }
    if (section.sh_type != llvm::ELF::SHT_RELA) continue;
    GFXGRAPH_ASSIGN_OR_RETURN(std::vector<DynamicRelocation> some, relocations_of(section));
    result.insert(result.end(), std::make_move_iterator(some.begin()),
                  std::make_move_iterator(some.end()));
  }
  return result;
}

Result<std::vector<std::span<const std::byte>>> ElfImage::notes(std::string_view name,
                                                                uint32_t type) const {
  std::vector<std::span<const std::byte>> result;
  llvm::Expected<ElfFile::Elf_Phdr_Range> headers = file_.program_headers();
  if (!headers) return tl::unexpected<Error>(corrupt(headers.takeError(), "program headers"));
  for (const auto& header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE) continue;
    if (!range_fits(header.p_offset, header.p_filesz, bytes_.size())) {
      return fail(Status::kTruncated, "note segment lies outside the file");
    }
    GFXGRAPH_TRY(add_notes(bytes_.subspan(header.p_offset, header.p_filesz), name, type, result));
  }
  if (!result.empty()) return result;
  llvm::Expected<ElfFile::Elf_Shdr_Range> sections = file_.sections();
  if (!sections) return tl::unexpected<Error>(corrupt(sections.takeError(), "section headers"));
  for (const SectionHeader& section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_NOTE) continue;
    if (!range_fits(section.sh_offset, section.sh_size, bytes_.size())) {
      return fail(Status::kTruncated, "note section lies outside the file");
    }
    GFXGRAPH_TRY(add_notes(bytes_.subspan(section.sh_offset, section.sh_size), name, type, result));
  }
  return result;
}

std::vector<ElfImage::NamedSection> ElfImage::sections_with_prefix(std::string_view prefix) const {
  std::vector<NamedSection> result;
  llvm::Expected<ElfFile::Elf_Shdr_Range> sections = file_.sections();
  if (!sections) {
    llvm::consumeError(sections.takeError());
    return result;
  }
  for (const SectionHeader& section : *sections) {
    if (section.sh_type == llvm::ELF::SHT_NOBITS) continue;
    llvm::Expected<llvm::StringRef> name = file_.getSectionName(section);
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (!view(*name).starts_with(prefix)) continue;
    if (!range_fits(section.sh_offset, section.sh_size, bytes_.size())) continue;
    result.push_back({name->str(), bytes_.subspan(section.sh_offset, section.sh_size),
                      (section.sh_flags & llvm::ELF::SHF_COMPRESSED) != 0});
  }
  return result;
}

Result<std::optional<std::span<const std::byte>>> ElfImage::section(std::string_view name) const {
  for (const NamedSection& section : sections_with_prefix(name)) {
    if (section.name == name) return section.bytes;
  }
  return std::nullopt;
}

}  // namespace gfxgraph::codeobj::internal
