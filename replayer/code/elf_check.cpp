#include "replayer/code/elf_check.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "replayer/code/metadata_check.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint16_t kMachineAmdgpu = 224;  // EM_AMDGPU
// Limit for a code object in memory: the agent and HIP load it as a whole.
constexpr uint64_t kMaxLoadBytes = uint64_t{1} << 32;

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

namespace {

constexpr uint32_t kNoRelocation = 0;   // R_AMDGPU_NONE
constexpr uint32_t kNoteMetadata = 32;  // NT_AMDGPU_METADATA

// Runtimes find a section by its name, its type, or both, and crash if the two disagree. `one`: at
// most one of them, and no section of another name has the type.
struct KnownSection {
  std::string_view name;
  uint32_t type;
  bool one;
};
constexpr KnownSection kKnownSections[] = {
    {".dynsym", SHT_DYNSYM, true},    {".symtab", SHT_SYMTAB, true},
    {".hash", SHT_HASH, true},        {".gnu.hash", SHT_GNU_HASH, true},
    {".dynamic", SHT_DYNAMIC, true},  {".strtab", SHT_STRTAB, false},
    {".dynstr", SHT_STRTAB, false},   {".shstrtab", SHT_STRTAB, false},
    {".note", SHT_NOTE, false},       {".rela.dyn", SHT_RELA, false},
    {".rela.plt", SHT_RELA, false},   {".text", SHT_PROGBITS, false},
    {".rodata", SHT_PROGBITS, false}, {".data", SHT_PROGBITS, false},
    {".bss", SHT_NOBITS, false}};

// A code object whose header was checked, and its tables.
class Tables {
 public:
  explicit Tables(std::span<const std::byte> bytes)
      : bytes_(bytes), header_(load<Elf64_Ehdr>(bytes, 0)) {}

  Result<void> check() {
    for (uint16_t i = 0; i < header_.e_phnum; ++i) {
      const Elf64_Phdr segment = this->segment(i);
      if (!range_fits(segment.p_offset, segment.p_filesz, bytes_.size())) {
        return refuse(fmt::format("segment {} lies outside", i));
      }
      if (segment.p_type == PT_LOAD &&
          (segment.p_filesz > segment.p_memsz ||
           !range_fits(segment.p_vaddr, segment.p_memsz, kMaxLoadBytes))) {
        return refuse(fmt::format("segment {} of {} bytes at {:#x} cannot be loaded", i,
                                  segment.p_memsz, segment.p_vaddr));
      }
      if (segment.p_type == PT_LOAD) {
        // Required by the System V ABI: runtimes take the last one's end as the end of the image.
        if (!loaded_.empty() && segment.p_vaddr < loaded_.back().p_vaddr + loaded_.back().p_memsz) {
          return refuse(fmt::format("segment {} at {:#x} overlaps or precedes the one before it", i,
                                    segment.p_vaddr));
        }
        loaded_.push_back(segment);
      }
      if (segment.p_type == PT_NOTE) {
        GFXGRAPH_TRY(check_notes(bytes_.subspan(segment.p_offset, segment.p_filesz)));
      }
    }
    // HIP 5 takes for granted that they, their names and .strtab are there.
    if (header_.e_shnum == 0 || header_.e_shstrndx == SHN_UNDEF) {
      return refuse("it has no sections, or they have no names");
    }
    if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shstrndx >= header_.e_shnum ||
        !range_fits(header_.e_shoff, uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr),
                    bytes_.size())) {
      return refuse("its section headers lie outside");
    }
    for (uint16_t i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr one = section(i);
      if (has_bytes(one) && !range_fits(one.sh_offset, one.sh_size, bytes_.size())) {
        return refuse(fmt::format("section {} lies outside", i));
      }
    }
    for (uint16_t i = 0; i < header_.e_shnum; ++i) GFXGRAPH_TRY(check_section(i));
    GFXGRAPH_TRY(check_names_of_sections());
    for (uint16_t i = 0; i < header_.e_phnum; ++i) {
      const Elf64_Phdr one = segment(i);
      if (one.p_type == PT_DYNAMIC) GFXGRAPH_TRY(check_dynamic(one));
    }
    return {};
  }

 private:
  static bool has_bytes(const Elf64_Shdr& section) {
    return section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
  }
  static bool has_symbols(const Elf64_Shdr& section) {
    return section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB;
  }
  Elf64_Phdr segment(uint64_t index) const {
    return load<Elf64_Phdr>(bytes_, header_.e_phoff + index * sizeof(Elf64_Phdr));
  }
  // Whether this memory range belongs to one loaded segment.
  bool is_loaded(uint64_t address, uint64_t size) const {
    const auto after = std::ranges::upper_bound(loaded_, address, {}, &Elf64_Phdr::p_vaddr);
    if (after == loaded_.begin()) return false;
    const Elf64_Phdr& segment = *std::prev(after);
    return range_fits(address - segment.p_vaddr, size, segment.p_memsz);
  }
  Elf64_Shdr section(uint64_t index) const {
    return load<Elf64_Shdr>(bytes_, header_.e_shoff + index * sizeof(Elf64_Shdr));
  }

  // Requires that all names were checked.
  std::string_view name_of(const Elf64_Shdr& one) const {
    const uint64_t names = section(header_.e_shstrndx).sh_offset;
    return reinterpret_cast<const char*>(bytes_.data() + names + one.sh_name);
  }

  Result<void> check_names_of_sections() const {
    // With an index that is a string table; also if no section but unused ones has a name.
    GFXGRAPH_TRY(check_name(header_.e_shstrndx, 0, "section", 0));
    std::array<uint16_t, std::size(kKnownSections)> found = {};
    bool has_strings = false;
    for (uint16_t i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr one = section(i);
      if (one.sh_type == SHT_NULL) continue;
      const std::string_view name = name_of(one);
      for (size_t n = 0; n < found.size(); ++n) {
        const KnownSection& known = kKnownSections[n];
        const bool same_name = name == known.name;
        const bool same_type = one.sh_type == known.type;
        if (same_name != same_type && (same_name || known.one)) {
          return refuse(fmt::format("section {}: its name and its type ({}) do not belong together",
                                    i, one.sh_type));
        }
        if (same_name && found[n]++ != 0) {
          return refuse(fmt::format("section {}: a second {}", i, known.name));
        }
      }
      has_strings = has_strings || name == ".strtab";
      if (one.sh_type == SHT_STRTAB && name != ".strtab" && name != ".dynstr" &&
          name != ".shstrtab") {
        return refuse(fmt::format("section {}: a string table of another name", i));
      }
    }
    if (!has_strings) return refuse("it has no section .strtab");
    return {};
  }

  // Whether a table of the dynamic segment is the section of this type.
  Result<void> check_table(uint64_t tag, uint64_t address, uint32_t type) const {
    for (uint16_t i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr one = section(i);
      if (one.sh_type == type && one.sh_addr == address && is_loaded(address, one.sh_size))
        return {};
    }
    return refuse(fmt::format("dynamic tag {}: no such section at {:#x}", tag, address));
  }

  // Source: System V ABI, "Dynamic Section".
  Result<void> check_dynamic(const Elf64_Phdr& place) const {
    uint64_t relocations = 0, relocations_size = 0;
    const uint64_t count = place.p_filesz / sizeof(Elf64_Dyn);
    for (uint64_t n = 0; n < count; ++n) {
      const auto one = load<Elf64_Dyn>(bytes_, place.p_offset + n * sizeof(Elf64_Dyn));
      const auto tag = static_cast<uint64_t>(one.d_tag);
      const uint64_t value = one.d_un.d_val;
      switch (one.d_tag) {
        case DT_NULL:
          if (relocations_size != 0 && !is_loaded(relocations, relocations_size))
            return refuse("its dynamic relocations lie outside");
          return {};
        case DT_HASH: GFXGRAPH_TRY(check_table(tag, value, SHT_HASH)); break;
        case DT_GNU_HASH: GFXGRAPH_TRY(check_table(tag, value, SHT_GNU_HASH)); break;
        case DT_SYMTAB: GFXGRAPH_TRY(check_table(tag, value, SHT_DYNSYM)); break;
        case DT_STRTAB: GFXGRAPH_TRY(check_table(tag, value, SHT_STRTAB)); break;
        case DT_RELA: relocations = value; break;
        case DT_RELASZ: relocations_size = value; break;
        case DT_RELAENT:
          if (value != sizeof(Elf64_Rela)) return refuse("dynamic relocations of another size");
          break;
        case DT_SYMENT:
          if (value != sizeof(Elf64_Sym)) return refuse("dynamic symbols of another size");
          break;
        case DT_STRSZ:
          if (value > bytes_.size()) return refuse("its dynamic strings lie outside");
          break;
        case DT_REL:
        case DT_JMPREL:
        case DT_INIT:
        case DT_FINI:
        case DT_INIT_ARRAY:
        case DT_FINI_ARRAY: return refuse(fmt::format("dynamic tag {}", tag));
        default: break;
      }
    }
    return refuse("its dynamic segment has no end");
  }

  Result<void> check_section(uint16_t index) const {
    const Elf64_Shdr one = section(index);
    if (one.sh_type != SHT_NULL) {
      GFXGRAPH_TRY(check_name(header_.e_shstrndx, one.sh_name, "section", index));
    }
    switch (one.sh_type) {
      case SHT_SYMTAB:
      case SHT_DYNSYM: return check_symbols(index, one);
      case SHT_RELA: return check_relocations(index, one);
      case SHT_REL: return refuse(fmt::format("section {}: relocations without addends", index));
      case SHT_NOTE: return check_notes(bytes_.subspan(one.sh_offset, one.sh_size));
      case SHT_HASH: return check_hash(index, one);
      case SHT_GNU_HASH: return check_gnu_hash(index, one);
      default: return {};
    }
  }

  // A name in a string table: it must begin and end inside the table.
  Result<void> check_name(uint64_t table, uint64_t offset, const char* what, uint64_t index) const {
    if (table >= header_.e_shnum || section(table).sh_type != SHT_STRTAB) {
      return refuse(fmt::format("the name table of its {}s is not a string table", what));
    }
    const Elf64_Shdr names = section(table);
    if (names.sh_size == 0 || bytes_[names.sh_offset + names.sh_size - 1] != std::byte{0}) {
      return refuse(fmt::format("section {}: an unterminated string table", table));
    }
    if (offset < names.sh_size) return {};
    return refuse(fmt::format("the name of {} {} lies outside of its string table", what, index));
  }

  // The number of entries of a table; an error if the size does not fit such entries.
  template <typename Entry>
  Result<uint64_t> entries(uint16_t index, const Elf64_Shdr& table) const {
    if (table.sh_entsize == sizeof(Entry) && table.sh_size % sizeof(Entry) == 0) {
      return table.sh_size / sizeof(Entry);
    }
    return refuse(fmt::format("section {}: entries of {} bytes in {}", index, table.sh_entsize,
                              table.sh_size));
  }

  Result<void> check_symbols(uint16_t index, const Elf64_Shdr& table) const {
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t count, entries<Elf64_Sym>(index, table));
    for (uint64_t n = 0; n < count; ++n) {
      const auto symbol = load<Elf64_Sym>(bytes_, table.sh_offset + n * sizeof(Elf64_Sym));
      GFXGRAPH_TRY(check_name(table.sh_link, symbol.st_name, "symbol", n));
      if (symbol.st_shndx >= header_.e_shnum && symbol.st_shndx < SHN_LORESERVE) {
        return refuse(fmt::format("symbol {} is in section {}", n, symbol.st_shndx));
      }
      GFXGRAPH_TRY(check_place(n, symbol));
    }
    return {};
  }

  // Programs and replays access variables at the load address plus their value.
  Result<void> check_place(uint64_t n, const Elf64_Sym& symbol) const {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || (type != STT_OBJECT && type != STT_FUNC)) return {};
    if (symbol.st_shndx == SHN_ABS) {
      return refuse(
          fmt::format("symbol {}: a variable or function without a section (SHN_ABS)", n));
    }
    if (is_loaded(symbol.st_value, symbol.st_size)) return {};
    return refuse(fmt::format("symbol {} of {} bytes at {:#x} lies outside of every segment", n,
                              symbol.st_size, symbol.st_value));
  }

  // The number of bytes it writes; 0 for types no tool emits. Source: AMDGPUUsage, "Relocation
  // Records".
  static uint64_t relocated_bytes(uint64_t type) {
    switch (type) {
      case 1:             // R_AMDGPU_ABS32_LO
      case 2:             // R_AMDGPU_ABS32_HI
      case 4:             // R_AMDGPU_REL32
      case 6:             // R_AMDGPU_ABS32
      case 7:             // R_AMDGPU_GOTPCREL
      case 8:             // R_AMDGPU_GOTPCREL32_LO
      case 9:             // R_AMDGPU_GOTPCREL32_HI
      case 10:            // R_AMDGPU_REL32_LO
      case 11: return 4;  // R_AMDGPU_REL32_HI
      case 3:             // R_AMDGPU_ABS64
      case 5:             // R_AMDGPU_REL64
      case 13: return 8;  // R_AMDGPU_RELATIVE64
      case 14: return 2;  // R_AMDGPU_REL16
      default: return 0;
    }
  }

  Result<void> check_relocations(uint16_t index, const Elf64_Shdr& table) const {
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t count, entries<Elf64_Rela>(index, table));
    uint64_t symbols = 0;
    if (table.sh_link != 0) {
      if (table.sh_link >= header_.e_shnum || !has_symbols(section(table.sh_link))) {
        return refuse(fmt::format("section {}: no symbols in section {}", index, table.sh_link));
      }
      symbols = section(table.sh_link).sh_size / sizeof(Elf64_Sym);
    }
    for (uint64_t n = 0; n < count; ++n) {
      const auto one = load<Elf64_Rela>(bytes_, table.sh_offset + n * sizeof(Elf64_Rela));
      const uint64_t symbol = ELF64_R_SYM(one.r_info);
      if (symbol != 0 && symbol >= symbols) {
        return refuse(fmt::format("relocation {}: symbol {} of {}", n, symbol, symbols));
      }
      // The linker already applied those of a section (--emit-relocs).
      if (table.sh_info != 0 || ELF64_R_TYPE(one.r_info) == kNoRelocation) continue;
      const uint64_t size = relocated_bytes(ELF64_R_TYPE(one.r_info));
      if (size == 0) {
        return refuse(fmt::format("relocation {} of type {}", n, ELF64_R_TYPE(one.r_info)));
      }
      if (!is_loaded(one.r_offset, size)) {
        return refuse(
            fmt::format("relocation {}: {} bytes at {:#x}: it writes outside of every "
                        "segment",
                        n, size, one.r_offset));
      }
    }
    return {};
  }

  // Source: System V ABI, "Hash Table Section". A cyclic chain would be followed forever.
  Result<void> check_hash(uint16_t index, const Elf64_Shdr& table) const {
    const uint64_t words = table.sh_size / sizeof(uint32_t);
    const auto word = [&](uint64_t n) {
      return load<uint32_t>(bytes_, table.sh_offset + n * sizeof(uint32_t));
    };
    const auto wrong = [&] { return refuse(fmt::format("section {}: a wrong hash table", index)); };
    if (words < 2) return wrong();
    const uint64_t buckets = word(0);
    const uint64_t chains = word(1);
    if (2 + buckets + chains > words) return wrong();
    // A chain's numbers are those of the table's symbols.
    if (chains > symbols_of(table)) return wrong();
    uint64_t followed = 0;
    for (uint64_t n = 0; n < buckets; ++n) {
      // All chains together contain each symbol once.
      for (uint64_t at = word(2 + n); at != 0; at = word(2 + buckets + at)) {
        if (at >= chains || ++followed > chains) return wrong();
      }
    }
    return {};
  }

  // Of the dynamic symbol table that a hash table names.
  uint64_t symbols_of(const Elf64_Shdr& hash) const {
    if (hash.sh_link >= header_.e_shnum) return 0;
    const Elf64_Shdr symbols = section(hash.sh_link);
    return symbols.sh_type == SHT_DYNSYM ? symbols.sh_size / sizeof(Elf64_Sym) : 0;
  }

  // Four words (buckets, first symbol, words of the filter, shift), the filter of 64-bit words,
  // buckets, and a word for each symbol from the first on; the last one of a chain is odd.
  Result<void> check_gnu_hash(uint16_t index, const Elf64_Shdr& table) const {
    constexpr uint64_t kHead = 4;
    const auto wrong = [&] { return refuse(fmt::format("section {}: a wrong hash table", index)); };
    const uint64_t words = table.sh_size / sizeof(uint32_t);
    const auto word = [&](uint64_t n) {
      return load<uint32_t>(bytes_, table.sh_offset + n * sizeof(uint32_t));
    };
    if (words < kHead) return wrong();
    const uint64_t buckets = word(0), first = word(1), filter = word(2);
    const uint64_t symbols = symbols_of(table);
    const uint64_t begin = kHead + 2 * filter + buckets;
    if (buckets == 0 || filter == 0 || (filter & (filter - 1)) != 0 || begin > words)
      return wrong();
    // Without hashed symbols, `first` may be anything.
    const uint64_t hashed = symbols > first ? symbols - first : 0;
    if (hashed > words - begin) return wrong();
    for (uint64_t n = 0; n < buckets; ++n) {
      const uint64_t at = word(kHead + 2 * filter + n);
      if (at != 0 && (at < first || at - first >= hashed)) return wrong();
    }
    if (hashed != 0 && (word(begin + hashed - 1) & 1) == 0) return wrong();
    return {};
  }

  // Source: System V ABI, "Note Section", with the 4-byte alignment that AMD's tools use.
  Result<void> check_notes(std::span<const std::byte> notes) const {
    while (notes.size() >= sizeof(Elf64_Nhdr)) {
      const auto head = load<Elf64_Nhdr>(notes, 0);
      const uint64_t name_bytes = (uint64_t{head.n_namesz} + 3) / 4 * 4;
      const uint64_t note_bytes = (uint64_t{head.n_descsz} + 3) / 4 * 4;
      const std::span<const std::byte> rest = notes.subspan(sizeof(Elf64_Nhdr));
      // The last note may lack its padding.
      if (!range_fits(name_bytes, head.n_descsz, rest.size())) return refuse("a note lies outside");
      constexpr char kOwner[] = "AMDGPU";
      if (head.n_type == kNoteMetadata && head.n_namesz == sizeof(kOwner) &&
          std::memcmp(rest.data(), kOwner, sizeof(kOwner)) == 0) {
        GFXGRAPH_TRY(check_metadata(rest.subspan(name_bytes, head.n_descsz)));
      }
      notes = rest.subspan(std::min<uint64_t>(name_bytes + note_bytes, rest.size()));
    }
    return {};
  }

  const std::span<const std::byte> bytes_;
  const Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> loaded_;  // ascending, without overlaps
};

}  // namespace

Result<void> check_code_object(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) {
    return refuse(fmt::format("{} bytes are not an ELF header", bytes.size()));
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
  return Tables(bytes).check();
}

bool has_variables(std::span<const std::byte> bytes) {
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  // Constants, and what lld puts behind them (.relro_padding).
  const auto is_protected = [&](const Elf64_Shdr& section) {
    for (uint16_t i = 0; i < header.e_phnum; ++i) {
      const auto segment = load<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
      if (segment.p_type == PT_GNU_RELRO && section.sh_addr >= segment.p_vaddr &&
          range_fits(section.sh_addr - segment.p_vaddr, section.sh_size, segment.p_memsz))
        return true;
    }
    return false;
  };
  for (uint16_t i = 0; i < header.e_shnum; ++i) {
    const auto section = load<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_PROGBITS && section.sh_type != SHT_NOBITS) continue;
    if ((section.sh_flags & SHF_ALLOC) != 0 && (section.sh_flags & SHF_WRITE) != 0 &&
        section.sh_size != 0 && !is_protected(section))
      return true;
  }
  return false;
}

namespace {

// Calls `use` with each defined symbol of the type in a checked code object, and its name.
void each_symbol(std::span<const std::byte> bytes, unsigned type, auto&& use) {
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  const auto section = [&](uint32_t index) {
    return load<Elf64_Shdr>(bytes, header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (uint16_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_DYNSYM || table.sh_link >= header.e_shnum) continue;
    const Elf64_Shdr texts = section(table.sh_link);
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = load<Elf64_Sym>(bytes, table.sh_offset + at);
      if (ELF64_ST_TYPE(symbol.st_info) != type || symbol.st_shndx == SHN_UNDEF) continue;
      use(symbol, std::string_view(reinterpret_cast<const char*>(bytes.data()) + texts.sh_offset +
                                   symbol.st_name));
    }
  }
}

// Where the file has the bytes of an address range.
std::optional<uint64_t> file_offset(std::span<const std::byte> bytes, uint64_t address,
                                    uint64_t size) {
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = load<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        range_fits(address - segment.p_vaddr, size, segment.p_filesz))
      return segment.p_offset + (address - segment.p_vaddr);
  }
  return {};
}

constexpr std::string_view kDescriptorSuffix = ".kd";

}  // namespace

std::vector<std::string> variable_names(std::span<const std::byte> bytes) {
  std::vector<std::string> names;
  each_symbol(bytes, STT_OBJECT, [&](const Elf64_Sym&, std::string_view name) {
    if (!name.ends_with(kDescriptorSuffix)) names.emplace_back(name);
  });
  return names;
}

std::optional<KernelDescriptor> find_descriptor(std::span<const std::byte> bytes,
                                                std::string_view kernel) {
  std::optional<uint64_t> address;
  each_symbol(bytes, STT_OBJECT, [&](const Elf64_Sym& symbol, std::string_view name) {
    if (name.starts_with(kernel) && name.substr(kernel.size()) == kDescriptorSuffix)
      address = symbol.st_value;
  });
  if (!address) return {};
  const std::optional<uint64_t> offset = file_offset(bytes, *address, KernelDescriptor::kBytes);
  if (!offset) return {};
  KernelDescriptor found;
  found.file_offset = *offset;
  std::memcpy(found.bytes.data(), bytes.data() + found.file_offset, found.bytes.size());
  return found;
}

uint32_t KernelDescriptor::kernarg_bytes() const {
  constexpr size_t kOffset = 8;  // KERNARG_SIZE (AMDGPUUsage, "Kernel Descriptor")
  uint32_t size = 0;
  std::memcpy(&size, bytes.data() + kOffset, sizeof size);
  return size;
}

std::optional<KernelCode> find_kernel_code(std::span<const std::byte> bytes,
                                           std::string_view kernel) {
  std::optional<KernelCode> found;
  each_symbol(bytes, STT_FUNC, [&](const Elf64_Sym& symbol, std::string_view name) {
    if (name != kernel || symbol.st_size == 0) return;
    if (const auto offset = file_offset(bytes, symbol.st_value, symbol.st_size))
      found = KernelCode{bytes.subspan(*offset, symbol.st_size), symbol.st_value};
  });
  return found;
}

}  // namespace gfxgraph::replayer
