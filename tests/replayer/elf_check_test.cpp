#include "replayer/elf_check.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "test_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

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
  EXPECT_FALSE(accepted(with<uint16_t>(offsetof(Elf64_Ehdr, e_phnum), 2)));
  EXPECT_FALSE(accepted(with<uint16_t>(offsetof(Elf64_Ehdr, e_shnum), 3)));
  const size_t segment = sizeof(Elf64_Ehdr);
  EXPECT_FALSE(accepted(with<uint64_t>(segment + offsetof(Elf64_Phdr, p_filesz), 1000)));
  EXPECT_FALSE(accepted(with<uint64_t>(segment + offsetof(Elf64_Phdr, p_offset), UINT64_MAX)));
}

TEST(ElfCheck, TellsVariablesFromCode) {
  std::vector<uint8_t> elf = smallest_code_object();
  EXPECT_FALSE(has_variables(std::as_bytes(std::span(elf))));
  Elf64_Ehdr header = {};
  std::memcpy(&header, elf.data(), sizeof(header));
  header.e_shoff = elf.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  std::memcpy(elf.data(), &header, sizeof(header));
  elf.resize(elf.size() + sizeof(Elf64_Shdr));
  const auto variables = [&](uint32_t type, uint64_t flags, uint64_t size) {
    Elf64_Shdr section = {};
    section.sh_type = type;
    section.sh_flags = flags;
    section.sh_size = size;
    std::memcpy(elf.data() + header.e_shoff, &section, sizeof(section));
    EXPECT_TRUE(accepted(elf));
    return has_variables(std::as_bytes(std::span(elf)));
  };
  EXPECT_TRUE(variables(SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 4));
  EXPECT_TRUE(variables(SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 4));
  EXPECT_FALSE(variables(SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0));
  EXPECT_FALSE(variables(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 4));
  EXPECT_FALSE(variables(SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, 16));
}

// The golden traces carry text where a code object belongs: an error, not the runtime's crash.
TEST(ElfCheck, RejectsText) {
  const std::string text =
      "this is long enough for an ELF header, but it is only a line of text.....";
  EXPECT_FALSE(accepted({text.begin(), text.end()}));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
