#include "replayer/code/elf_check.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/file.h"
#include "test_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

using namespace std::string_view_literals;
using ::testing::HasSubstr;

bool accepted(const std::vector<uint8_t>& elf) {
  return check_code_object(std::as_bytes(std::span(elf))).has_value();
}

template <typename Value>
std::vector<uint8_t> with(size_t offset, Value value) {
  std::vector<uint8_t> elf = smallest_code_object();
  std::memcpy(elf.data() + offset, &value, sizeof(value));
  return elf;
}

TEST(ElfCheck, AcceptsTheSmallest) { EXPECT_TRUE(accepted(smallest_code_object())); }

TEST(ElfCheck, RejectsEveryTruncation) {
  const std::vector<uint8_t> elf = smallest_code_object();
  for (size_t size = 0; size < elf.size(); ++size) {
    EXPECT_FALSE(accepted({elf.begin(), elf.begin() + static_cast<ptrdiff_t>(size)})) << size;
  }
}

TEST(ElfCheck, RejectsForeignElf) {
  EXPECT_FALSE(accepted(with(0, 'x')));
  EXPECT_FALSE(accepted(with<uint8_t>(EI_CLASS, ELFCLASS32)));
  EXPECT_FALSE(accepted(with<uint8_t>(EI_DATA, ELFDATA2MSB)));
  EXPECT_FALSE(accepted(with<uint16_t>(offsetof(Elf64_Ehdr, e_machine), EM_X86_64)));
}

TEST(ElfCheck, RejectsTablesAndSegmentsOutside) {
  EXPECT_FALSE(accepted(with<uint64_t>(offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 8)));
  EXPECT_FALSE(accepted(with<uint16_t>(offsetof(Elf64_Ehdr, e_phnum), 0)));
  EXPECT_FALSE(accepted(with<uint16_t>(offsetof(Elf64_Ehdr, e_phnum), 100)));
  EXPECT_FALSE(accepted(with<uint16_t>(offsetof(Elf64_Ehdr, e_shnum), 3)));
  const size_t segment = sizeof(Elf64_Ehdr);
  EXPECT_FALSE(accepted(with<uint64_t>(segment + offsetof(Elf64_Phdr, p_filesz), 1000)));
  EXPECT_FALSE(accepted(with<uint64_t>(segment + offsetof(Elf64_Phdr, p_offset), UINT64_MAX)));
}

TEST(ElfCheck, NamesVariablesButNoKernels) {
  const auto object = read_file(REPLAYER_TEST_OBJECT);
  ASSERT_TRUE(object) << object.error().message;
  ASSERT_TRUE(check_code_object(*object));
  EXPECT_THAT(variable_names(*object),
              ::testing::ElementsAreArray(
                  {"c_bias", "g_pointer", "g_table", "__hip_cuid_a4b0062b93371d68"}));
  const std::vector<uint8_t> smallest = smallest_code_object();
  EXPECT_THAT(variable_names(std::as_bytes(std::span(smallest))), ::testing::IsEmpty());
}

TEST(ElfCheck, TellsVariablesFromCode) {
  std::vector<uint8_t> elf = smallest_code_object();
  EXPECT_FALSE(has_variables(std::as_bytes(std::span(elf))));
  Elf64_Ehdr header = {};
  std::memcpy(&header, elf.data(), sizeof(header));
  const size_t added = elf.size();  // behind the section headers
  ++header.e_shnum;
  std::memcpy(elf.data(), &header, sizeof(header));
  elf.resize(elf.size() + sizeof(Elf64_Shdr));
  const auto variables = [&](uint32_t type, uint64_t flags, uint64_t size) {
    Elf64_Shdr section = {};
    section.sh_type = type;
    section.sh_flags = flags;
    section.sh_size = size;
    std::memcpy(elf.data() + added, &section, sizeof(section));
    EXPECT_TRUE(accepted(elf));
    return has_variables(std::as_bytes(std::span(elf)));
  };
  EXPECT_TRUE(variables(SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 4));
  EXPECT_TRUE(variables(SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 4));
  EXPECT_FALSE(variables(SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0));
  EXPECT_FALSE(variables(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 4));
  EXPECT_FALSE(variables(SHT_INIT_ARRAY, SHF_ALLOC | SHF_WRITE, 16));
}

// What clang made, and what a stranger may make of it.
class RealObject : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto bytes = read_file(REPLAYER_TEST_OBJECT);
    ASSERT_TRUE(bytes) << bytes.error().message;
    elf_.assign(reinterpret_cast<const uint8_t*>(bytes->data()),
                reinterpret_cast<const uint8_t*>(bytes->data()) + bytes->size());
    header_ = at<Elf64_Ehdr>(0);
  }
  template <typename Value>
  Value at(size_t offset) const {
    Value value;
    std::memcpy(&value, elf_.data() + offset, sizeof(value));
    return value;
  }
  template <typename Value>
  void put(size_t offset, const Value& value) {
    std::memcpy(elf_.data() + offset, &value, sizeof(value));
  }
  std::vector<Elf64_Phdr> loads() const {
    std::vector<Elf64_Phdr> segments;
    for (size_t n = 0; n < header_.e_phnum; ++n) {
      const auto segment = at<Elf64_Phdr>(header_.e_phoff + n * sizeof(Elf64_Phdr));
      if (segment.p_type == PT_LOAD) segments.push_back(segment);
    }
    return segments;
  }
  size_t section_offset(size_t index) const { return header_.e_shoff + index * sizeof(Elf64_Shdr); }
  size_t find_section(uint32_t type) const {
    for (size_t n = 0; n < header_.e_shnum; ++n) {
      if (at<Elf64_Shdr>(section_offset(n)).sh_type == type) return n;
    }
    ADD_FAILURE() << "no section of type " << type;
    return 0;
  }
  template <typename Change>
  std::string error_after(const Change& change) {
    const std::vector<uint8_t> before = elf_;
    change();
    const auto checked = check_code_object(std::as_bytes(std::span(elf_)));
    elf_ = before;
    return checked ? "" : checked.error().message;
  }
  size_t find(std::string_view text) const {
    const auto found = std::search(elf_.begin(), elf_.end(), text.begin(), text.end(),
                                   [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
    EXPECT_NE(found, elf_.end()) << text;
    return static_cast<size_t>(found - elf_.begin());
  }

  std::vector<uint8_t> elf_;
  Elf64_Ehdr header_ = {};
};

TEST_F(RealObject, IsAccepted) {
  EXPECT_EQ(error_after([] {}), "");
}

TEST_F(RealObject, LyingCountsOfTheMetadataAreRefused) {
  const size_t kernel = find("\xde\0\x10\xa5.args"sv);
  EXPECT_NE(error_after([&] { put<uint16_t>(kernel + 1, 0xffff); }), "");
  EXPECT_NE(error_after([&] { put<uint16_t>(kernel + 1, 0x1100); }), "");
  const size_t arguments = kernel + 9;
  EXPECT_NE(error_after([&] { put<uint16_t>(arguments + 1, 0xffff); }), "");
  EXPECT_NE(error_after([&] { put<uint32_t>(arguments, 0xffffffdd); }), "");
  const size_t kernels = find("amdhsa.kernels"sv) + 14;
  EXPECT_NE(error_after([&] { put<uint8_t>(kernels, 0x9f); }), "");
  EXPECT_NE(error_after([&] { put<uint8_t>(kernels, 0x82); }), "");
  EXPECT_NE(error_after([&] { put<uint8_t>(kernels, 0xc1); }), "");
}

TEST_F(RealObject, ArgumentsOutsideOfTheirSegmentAreRefused) {
  const size_t offset = find(".offset\x08\xa5.size\x08"sv) + 7;
  EXPECT_EQ(error_after([&] { put<uint8_t>(offset, 0x10); }), "");
  EXPECT_NE(error_after([&] { put<uint8_t>(offset, 0xff); }), "");  // -1
  const size_t segment = find(".kernarg_segment_size\xcd"sv) + 22;
  EXPECT_NE(error_after([&] { put<uint16_t>(segment, 0x0400); }), "");
}

TEST_F(RealObject, NamesOutsideOfTheirTablesAreRefused) {
  const size_t names = section_offset(header_.e_shstrndx);
  EXPECT_NE(error_after([&] { put<uint64_t>(names + offsetof(Elf64_Shdr, sh_size), 1); }), "");
  EXPECT_NE(error_after([&] { put<uint64_t>(names + offsetof(Elf64_Shdr, sh_size), 0); }), "");
  const auto table = at<Elf64_Shdr>(names);
  EXPECT_NE(error_after([&] { put<uint8_t>(table.sh_offset + table.sh_size - 1, 'x'); }), "");
  EXPECT_NE(
      error_after([&] { put<uint32_t>(names + offsetof(Elf64_Shdr, sh_type), SHT_PROGBITS); }), "");
  EXPECT_NE(error_after([&] { put<uint32_t>(section_offset(1), 0x10000); }), "");
}

TEST_F(RealObject, SymbolsOutsideAreRefused) {
  const size_t index = find_section(SHT_DYNSYM);
  const auto table = at<Elf64_Shdr>(section_offset(index));
  const size_t symbol = table.sh_offset + sizeof(Elf64_Sym);
  EXPECT_NE(error_after([&] { put<uint32_t>(symbol, 0x7fffffff); }), "");
  EXPECT_NE(error_after([&] { put<uint16_t>(symbol + offsetof(Elf64_Sym, st_shndx), 999); }), "");
  EXPECT_NE(error_after([&] {
              put<uint32_t>(section_offset(index) + offsetof(Elf64_Shdr, sh_link), 0xffff);
            }),
            "");
  EXPECT_NE(error_after([&] {
              put<uint64_t>(section_offset(index) + offsetof(Elf64_Shdr, sh_entsize), 1);
            }),
            "");
  const auto relocations = at<Elf64_Shdr>(section_offset(find_section(SHT_RELA)));
  EXPECT_NE(error_after([&] { put<uint32_t>(relocations.sh_offset + 12, 1000); }), "");
}

TEST_F(RealObject, VariablesOutsideOfEverySegmentAreRefused) {
  const auto table = at<Elf64_Shdr>(section_offset(find_section(SHT_DYNSYM)));
  int variables = 0;
  for (size_t n = table.sh_offset; n < table.sh_offset + table.sh_size; n += sizeof(Elf64_Sym)) {
    const auto symbol = at<Elf64_Sym>(n);
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || (type != STT_OBJECT && type != STT_FUNC)) continue;
    ++variables;
    const size_t value = n + offsetof(Elf64_Sym, st_value);
    EXPECT_THAT(error_after([&] { put<uint64_t>(value, 0x7f0000000000); }),
                HasSubstr("lies outside of every segment"));
    EXPECT_THAT(error_after([&] { put<uint64_t>(value, UINT64_MAX - 7); }),
                HasSubstr("lies outside of every segment"));
    EXPECT_THAT(error_after([&] { put(n + offsetof(Elf64_Sym, st_size), uint64_t{1} << 40); }),
                HasSubstr("lies outside of every segment"));
    EXPECT_THAT(error_after([&] { put<uint16_t>(n + offsetof(Elf64_Sym, st_shndx), SHN_ABS); }),
                HasSubstr("SHN_ABS"));
  }
  EXPECT_GE(variables, 2);
}

TEST_F(RealObject, RelocationsOutsideOfEverySegmentAreRefused) {
  const auto table = at<Elf64_Shdr>(section_offset(find_section(SHT_RELA)));
  ASSERT_GE(table.sh_size, sizeof(Elf64_Rela));
  const auto moved = [&](uint64_t to) {
    return error_after([&] { put<uint64_t>(table.sh_offset, to); });
  };
  for (const uint64_t to : {uint64_t{0x10000000}, UINT64_MAX, UINT64_MAX - 7, uint64_t{1} << 40})
    EXPECT_THAT(moved(to), HasSubstr("writes outside of every segment"));
  // The last bytes of a segment, one too few, and what lies between two.
  const auto segments = loads();
  ASSERT_GE(segments.size(), 2U);
  const Elf64_Phdr& last = segments.back();
  EXPECT_EQ(moved(last.p_vaddr + last.p_memsz - 8), "");
  EXPECT_NE(moved(last.p_vaddr + last.p_memsz - 7), "");
  EXPECT_NE(moved(segments[0].p_vaddr + segments[0].p_memsz), "");
  const size_t type = table.sh_offset + offsetof(Elf64_Rela, r_info);
  EXPECT_THAT(error_after([&] { put<uint32_t>(type, 99); }), HasSubstr("type 99"));
  // The same without addends: no tool makes it, the runtimes take it otherwise.
  const size_t section = section_offset(find_section(SHT_RELA));
  EXPECT_THAT(error_after([&] { put<uint32_t>(section + offsetof(Elf64_Shdr, sh_type), SHT_REL); }),
              HasSubstr("without addends"));
}

TEST_F(RealObject, SegmentsAscendAndDoNotOverlap) {
  std::vector<size_t> places;
  for (size_t n = 0; n < header_.e_phnum; ++n) {
    const size_t segment = header_.e_phoff + n * sizeof(Elf64_Phdr);
    if (at<Elf64_Phdr>(segment).p_type == PT_LOAD) places.push_back(segment);
  }
  ASSERT_GE(places.size(), 2U);
  const auto first = at<Elf64_Phdr>(places[0]);
  const auto second = at<Elf64_Phdr>(places[1]);
  EXPECT_THAT(error_after([&] { put(places[0], second), put(places[1], first); }),
              HasSubstr("overlaps or precedes"));
  EXPECT_THAT(error_after([&] {
                put(places[1] + offsetof(Elf64_Phdr, p_vaddr), first.p_vaddr + first.p_memsz - 1);
              }),
              HasSubstr("overlaps or precedes"));
}

TEST_F(RealObject, ARingInTheHashTableIsRefused) {
  const auto table = at<Elf64_Shdr>(section_offset(find_section(SHT_HASH)));
  const auto buckets = at<uint32_t>(table.sh_offset);
  const size_t chains = table.sh_offset + 8 + 4 * size_t{buckets};
  for (uint32_t symbol = 1; symbol < at<uint32_t>(table.sh_offset + 4); ++symbol) {
    EXPECT_NE(error_after([&] { put<uint32_t>(chains + 4 * size_t{symbol}, symbol); }), "");
  }
}

// Runtimes find sections by name or by type.
TEST_F(RealObject, SectionsWithTheNameOrTheTypeOfOthersAreRefused) {
  std::vector<uint32_t> names;
  for (size_t n = 1; n < header_.e_shnum; ++n)
    names.push_back(at<Elf64_Shdr>(section_offset(n)).sh_name);
  const auto strings = at<Elf64_Shdr>(section_offset(header_.e_shstrndx)).sh_offset;
  const auto text = [&](uint32_t name) {
    return std::string(reinterpret_cast<const char*>(elf_.data()) + strings + name);
  };
  const std::set<std::string> special = {".dynsym",  ".symtab", ".hash",     ".gnu.hash",
                                         ".dynamic", ".strtab", ".shstrtab", ".dynstr",
                                         ".note",    ".text",   ".rodata",   ".rela.dyn"};
  int tried = 0;
  for (size_t n = 1; n < header_.e_shnum; ++n) {
    const auto section = at<Elf64_Shdr>(section_offset(n));
    for (const uint32_t name : names) {
      if (name == section.sh_name || !special.contains(text(name))) continue;
      ++tried;
      EXPECT_NE(error_after([&] { put<uint32_t>(section_offset(n), name); }), "")
          << text(section.sh_name) << " as " << text(name);
    }
    for (const uint32_t type :
         {SHT_HASH, SHT_GNU_HASH, SHT_DYNSYM, SHT_SYMTAB, SHT_DYNAMIC, SHT_STRTAB}) {
      if (type == section.sh_type) continue;
      EXPECT_NE(error_after([&] {
                  put<uint32_t>(section_offset(n) + offsetof(Elf64_Shdr, sh_type), type);
                }),
                "")
          << text(section.sh_name) << " of type " << type;
    }
  }
  EXPECT_GT(tried, 50);
}

// HIP 5 looks for them without looking whether they are there.
TEST_F(RealObject, NoNamesOrNoStringTableIsRefused) {
  EXPECT_NE(error_after([&] { put<uint16_t>(offsetof(Elf64_Ehdr, e_shnum), 0); }), "");
  EXPECT_NE(error_after([&] { put<uint16_t>(offsetof(Elf64_Ehdr, e_shstrndx), 0); }), "");
  const size_t names = section_offset(header_.e_shstrndx);
  EXPECT_NE(error_after([&] { put<uint32_t>(names + offsetof(Elf64_Shdr, sh_type), SHT_NULL); }),
            "");
  EXPECT_THAT(error_after([&] {
                auto header = header_;
                header.e_shnum = static_cast<uint16_t>(header_.e_shnum - 1);  // the last: .strtab
                put(0, header);
              }),
              HasSubstr("string table"));
  const auto last = at<Elf64_Shdr>(section_offset(header_.e_shnum - size_t{1}));
  const size_t text = at<Elf64_Shdr>(names).sh_offset + last.sh_name;
  EXPECT_NE(error_after([&] { put<uint8_t>(text + 1, 'x'); }), "");
}

TEST_F(RealObject, HashTablesOfOtherSymbolsAreRefused) {
  for (const uint32_t type : {SHT_HASH, SHT_GNU_HASH}) {
    const size_t hash = section_offset(find_section(type));
    for (const uint32_t link : {0u, 1u, 0xffffu}) {
      if (link == find_section(SHT_DYNSYM)) continue;
      EXPECT_NE(error_after([&] { put(hash + offsetof(Elf64_Shdr, sh_link), link); }), "");
    }
  }
  // More chains than symbols.
  const size_t symbols = section_offset(find_section(SHT_DYNSYM)) + offsetof(Elf64_Shdr, sh_size);
  EXPECT_NE(error_after([&] { put<uint64_t>(symbols, 2 * sizeof(Elf64_Sym)); }), "");
  const auto gnu = at<Elf64_Shdr>(section_offset(find_section(SHT_GNU_HASH)));
  for (size_t word = 0; word < 3; ++word)
    EXPECT_NE(error_after([&] { put<uint32_t>(gnu.sh_offset + 4 * word, 0x7fffffff); }), "");
}

TEST_F(RealObject, ADynamicSegmentThatLeadsElsewhereIsRefused) {
  Elf64_Phdr dynamic = {};
  for (size_t n = 0; n < header_.e_phnum; ++n) {
    const auto segment = at<Elf64_Phdr>(header_.e_phoff + n * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_DYNAMIC) dynamic = segment;
  }
  ASSERT_NE(dynamic.p_filesz, 0U);
  int tried = 0;
  for (size_t at = dynamic.p_offset; at < dynamic.p_offset + dynamic.p_filesz;
       at += sizeof(Elf64_Dyn)) {
    const auto one = this->at<Elf64_Dyn>(at);
    if (one.d_tag == DT_NULL) {
      EXPECT_NE(error_after([&] { put<uint64_t>(at, DT_DEBUG); }), "");
      break;
    }
    if (one.d_tag == DT_RELACOUNT || one.d_tag == DT_FLAGS || one.d_tag == DT_RELA) continue;
    ++tried;
    EXPECT_NE(error_after([&] { put<uint64_t>(at + sizeof(uint64_t), uint64_t{1} << 40); }), "")
        << one.d_tag;
  }
  EXPECT_GE(tried, 6);
}

TEST_F(RealObject, NotesAndSegmentsOutsideAreRefused) {
  const auto notes = at<Elf64_Shdr>(section_offset(find_section(SHT_NOTE)));
  EXPECT_NE(error_after([&] { put<uint32_t>(notes.sh_offset, 0xfffffff0); }), "");
  EXPECT_NE(error_after([&] { put<uint32_t>(notes.sh_offset + 4, 0xffffffff); }), "");
  for (size_t n = 0; n < header_.e_phnum; ++n) {
    const size_t segment = header_.e_phoff + n * sizeof(Elf64_Phdr);
    if (at<Elf64_Phdr>(segment).p_type != PT_LOAD) continue;
    EXPECT_NE(error_after([&] {
                put<uint64_t>(segment + offsetof(Elf64_Phdr, p_memsz), uint64_t{1} << 40);
              }),
              "");
  }
}

// Whatever the bytes are, the check itself stays inside of them (the sanitizers look on).
TEST_F(RealObject, AnyByteMayBeAnything) {
  for (size_t offset = 0; offset < elf_.size(); ++offset) {
    for (const int value : {0x00, 0x7f, 0xff}) {
      (void)error_after([&] { elf_[offset] = static_cast<uint8_t>(value); });
    }
  }
}

// The golden traces carry text where a code object belongs: an error, not the runtime's crash.
TEST(ElfCheck, RejectsText) {
  const std::string text =
      "this is long enough for an ELF header, but it is only a line of text.....";
  EXPECT_FALSE(accepted({text.begin(), text.end()}));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
