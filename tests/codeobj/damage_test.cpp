// A small real object, cut at every byte and with every byte changed: an error or a harmless
// result, never a crash. Source lines are asked for as well, because DWARF is parsed late.
#include "codeobj/dwarf/inline_stack.h"
#include "tests/codeobj/test_objects.h"

namespace gfxgraph::codeobj {
namespace {

// Enough work on the result that a bad range would be touched (and seen by a sanitizer).
uint64_t use(std::span<const std::byte> bytes) {
  const Result<std::shared_ptr<const CodeObject>> object = CodeObject::parse(bytes);
  if (!object) {
    EXPECT_FALSE(object.error().message.empty());
    return 0;
  }
  uint64_t sum = (*object)->load_size_bytes() + (*object)->relocations().size();
  for (const Kernel& kernel : (*object)->kernels()) {
    sum += kernel.explicit_size_bytes();
    for (const SourceLocation& frame : inline_stack(**object, kernel.entry_address + 0x6c))
      sum += frame.line + frame.file.size() + frame.function.size();
    const Kernel* const at = (*object)->kernel_at(kernel.entry_address);
    sum += at == nullptr ? 0 : at->name.size();
  }
  return sum;
}

class Damage : public testing::TestWithParam<const char*> {};

TEST_P(Damage, TruncationIsAlwaysAnError) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, GetParam());
  for (size_t size = 0; size < bytes.size(); ++size) {
    // An exact allocation, so that the sanitizer sees the first byte past the end.
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(CodeObject::parse(cut)) << size;
  }
}

TEST_P(Damage, ChangedBytesNeverCrash) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, GetParam());
  Bytes changed = bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const unsigned mask : {0xffU, 0x80U >> (i % 8)}) {
      changed[i] = bytes[i] ^ std::byte(mask);
      use(changed);
    }
    changed[i] = bytes[i];
  }
  EXPECT_NE(use(bytes), 0U);
}

// Every DWARF section ends early, at every third byte: its header's sh_size, ELF64 layout.
TEST_P(Damage, ShortDebugSectionsNeverCrash) {
  GFXGRAPH_OBJECT_OR_SKIP(bytes, GetParam());
  const auto headers = read_at<uint64_t>(bytes, 0x28);
  const auto count = read_at<uint16_t>(bytes, 0x3c);
  const auto names_index = read_at<uint16_t>(bytes, 0x3e);
  const auto names = read_at<uint64_t>(bytes, headers + names_index * 64u + 0x18);
  size_t cut_sections = 0;
  for (unsigned n = 0; n < count; ++n) {
    const size_t header = headers + n * 64u;
    const char* const name =
        reinterpret_cast<const char*>(bytes.data()) + names + read_at<uint32_t>(bytes, header);
    if (!std::string_view(name).starts_with(".debug_")) continue;
    ++cut_sections;
    Bytes changed = bytes;
    for (uint64_t size = 0; size < read_at<uint64_t>(bytes, header + 0x20); size += 3) {
      write_at(changed, header + 0x20, size);
      use(changed);
    }
  }
  EXPECT_EQ(cut_sections == 0, std::string_view(GetParam()) == "unsized.elf");
}

INSTANTIATE_TEST_SUITE_P(Objects, Damage,
                         testing::Values("v5_dwarf4.elf", "v5_dwarf5.elf", "unsized.elf"));

}  // namespace
}  // namespace gfxgraph::codeobj
