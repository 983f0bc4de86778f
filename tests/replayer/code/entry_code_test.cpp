// Entry code: what is written where, and which kernels get none. Whether it runs is shown by
// e2e_changing_values.
#include "replayer/code/entry_code.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <span>

#include "replayer/code/own_code.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kObject = 0x7f12'3456'7800;
constexpr size_t kEntryOffset = 16, kRegisters1 = 48, kProperties = 56, kPreload = 58;

template <typename Value>
Value get(std::span<const std::byte> bytes, size_t at) {
  Value value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

template <typename Value>
KernelDescriptor with(KernelDescriptor descriptor, size_t at, Value value) {
  std::memcpy(descriptor.bytes.data() + at, &value, sizeof(value));
  return descriptor;
}

// Its waves begin with the address of their arguments in s[0:1].
KernelDescriptor some_kernel(const std::string& architecture) {
  const auto kernel = find_descriptor(own_code(architecture), "gfxgraph_copy").value();
  const int before = 0x7;
  return with(kernel, kProperties,
              static_cast<uint16_t>(get<uint16_t>(kernel.bytes, kProperties) & ~before));
}

std::string why_not(const std::string& architecture, const KernelDescriptor& kernel) {
  const auto made = make_entry_code(architecture, kernel, kObject);
  return made ? "made" : made.error().message;
}

// Of gfx1030: the six instructions, from the entry on.
std::vector<uint32_t> words_of(std::span<const std::byte> elf) {
  const KernelDescriptor own = find_descriptor(elf, kEntryKernel).value();
  // The second segment, of code, stands in memory a page behind its place in the file.
  const uint64_t at = own.file_offset + get<uint64_t>(own.bytes, kEntryOffset) - 0x1000;
  std::vector<uint32_t> words(9);
  std::memcpy(words.data(), elf.data() + at, words.size() * sizeof(uint32_t));
  return words;
}

TEST(EntryCode, HasTheDescriptorOfTheKernelAndJumpsToIt) {
  KernelDescriptor kernel = some_kernel("gfx1030");
  kernel = with(kernel, 0, uint32_t{1234});  // LDS
  kernel = with(kernel, 4, uint32_t{96});    // scratch
  const auto elf = make_entry_code("gfx1030", kernel, kObject);
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_TRUE(check_code_object(*elf));
  const auto made = find_descriptor(*elf, kEntryKernel);
  ASSERT_TRUE(made);
  EXPECT_EQ(get<uint32_t>(made->bytes, 0), 1234u);
  EXPECT_EQ(get<uint32_t>(made->bytes, 4), 96u);
  EXPECT_EQ(get<uint32_t>(made->bytes, 8), 8u);  // arguments: an address
  for (size_t at = 44; at < 60; ++at) EXPECT_EQ(made->bytes[at], kernel.bytes[at]) << at;
  const uint64_t entry = kObject + get<uint64_t>(kernel.bytes, kEntryOffset);
  // s_load_dwordx2 vcc, s[0:1]; s_waitcnt; s_mov_b64 s[0:1], vcc; s_mov_b32 twice; s_setpc_b64 vcc.
  EXPECT_EQ(words_of(*elf),
            (std::vector<uint32_t>{0xf4041a80, 0xfa000000, 0xbf8cc07f, 0xbe80046a, 0xbeea03ff,
                                   static_cast<uint32_t>(entry), 0xbeeb03ff,
                                   static_cast<uint32_t>(entry >> 32), 0xbe80206a}));
}

// The address of the arguments stands behind the registers that the descriptor asks for before it.
TEST(EntryCode, FindsTheRegistersOfTheArguments) {
  const KernelDescriptor kernel = some_kernel("gfx1030");
  const auto plain = get<uint16_t>(kernel.bytes, kProperties);
  const std::pair<uint16_t, uint32_t> cases[] = {{1, 4}, {2, 2}, {4, 2}, {3, 6}, {7, 8}};
  for (const auto& [bits, first] : cases) {
    const auto elf = make_entry_code(
        "gfx1030", with(kernel, kProperties, static_cast<uint16_t>(plain | bits)), kObject);
    ASSERT_TRUE(elf) << elf.error().message;
    EXPECT_EQ(words_of(*elf)[0], 0xf4041a80 | first / 2) << bits;
    EXPECT_EQ(words_of(*elf)[3], 0xbe80046a | first << 16) << bits;
  }
}

TEST(EntryCode, RefusesWhatItCannotStandInFor) {
  const KernelDescriptor kernel = some_kernel("gfx1030");
  const auto plain = get<uint16_t>(kernel.bytes, kProperties);
  const auto changed = [&](int set, int clear) {
    return with(kernel, kProperties, static_cast<uint16_t>((plain | set) & ~clear));
  };
  EXPECT_EQ(why_not("gfx1030", kernel), "made");
  EXPECT_EQ(why_not("gfx1030", changed(0, 1 << 3)), "the kernel reads no arguments");
  EXPECT_EQ(why_not("gfx1030", changed(1 << 11, 0)), "the kernel's stack is dynamic");
  EXPECT_EQ(why_not("gfx1030", changed(0, 1 << 10)), "the kernel's waves have another size");
  EXPECT_EQ(why_not("gfx1030", with(kernel, kPreload, uint16_t{4})),
            "the device loads the kernel's arguments into registers");
  EXPECT_EQ(why_not("gfx701", kernel), "the library has no entry code for gfx701");
}

// Their waves have as many scalar registers as the descriptor asks for, with VCC at the end.
TEST(EntryCode, AsksForRegistersOfItsOwnOnGfx9) {
  const KernelDescriptor kernel = some_kernel("gfx90a");
  const auto registers = [](const KernelDescriptor& descriptor) {
    return get<uint32_t>(descriptor.bytes, kRegisters1) >> 6 & 0xf;
  };
  const auto elf = make_entry_code("gfx90a", kernel, kObject);
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_EQ(registers(find_descriptor(*elf, kEntryKernel).value()), registers(kernel) + 2);
  const auto all = get<uint32_t>(kernel.bytes, kRegisters1) | 0xf << 6;
  EXPECT_EQ(why_not("gfx90a", with(kernel, kRegisters1, all)),
            "the kernel uses all scalar registers");
}

TEST(EntryCode, ExistsForEveryArchitectureThatHasOwnCode) {
  for (const char* const architecture :
       {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx940", "gfx942", "gfx1010", "gfx1030", "gfx1036",
        "gfx1100", "gfx1103", "gfx1150", "gfx1200", "gfx1201"}) {
    EXPECT_EQ(why_not(architecture, some_kernel(architecture)), "made") << architecture;
    EXPECT_TRUE(check_code_object(own_code(architecture))) << architecture;
  }
}

// lld 18 and newer reserve memory behind the constants, in a section that may be written before it
// is protected.
TEST(EntryCode, OwnCodeHasNoVariables) { EXPECT_FALSE(has_variables(own_code("gfx1030"))); }

TEST(EntryCode, DescriptorsAreFoundByTheirWholeName) {
  const auto elf = own_code("gfx1030");
  EXPECT_TRUE(find_descriptor(elf, "gfxgraph_fill"));
  EXPECT_FALSE(find_descriptor(elf, "gfxgraph_fil"));
  EXPECT_FALSE(find_descriptor(elf, "gfxgraph_fill.kd"));
  EXPECT_FALSE(find_descriptor(elf, ""));
}

}  // namespace
}  // namespace gfxgraph::replayer
