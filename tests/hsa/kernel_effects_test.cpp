// What gfxgraph-replay finds in the code of kernels: their function in the ELF, and its effects.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "emulator/decode/memory_effects.h"
#include "replayer/code/elf_check.h"
#include "tests/hsa/code_file.h"

namespace gfxgraph::hsa_test {
namespace {

std::optional<uint32_t> effects(const std::vector<std::byte>& elf, std::string_view kernel) {
  if (!replayer::check_code_object(elf)) return {};
  const auto code = replayer::find_kernel_code(elf, kernel);
  if (!code) return {};
  std::vector<uint32_t> words(code->bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), code->bytes.data(), words.size() * sizeof(uint32_t));
  return emulator::memory_effects(words, code->address);
}

TEST(KernelEffects, AreThoseOfItsInstructions) {
  using namespace emulator::memory_effect;  // NOLINT: its bits
  std::vector<std::byte> elf = device_elf("loader_kernels.co");
  EXPECT_EQ(effects(elf, "empty_kernel"), 0u);
  EXPECT_EQ(effects(elf, "fill"), kStores);
  EXPECT_EQ(effects(elf, "count_up"), kAtomics);
  EXPECT_EQ(effects(elf, "take_numbers"), kAtomics | kReturningAtomics);
  EXPECT_EQ(effects(elf, "add_floats"), kAtomics | kFloatAtomics);
  EXPECT_EQ(effects(elf, "jump"), kOther);
  EXPECT_EQ(effects(elf, "none"), std::nullopt);
  EXPECT_EQ(effects(elf, "fil"), std::nullopt);
  elf.resize(elf.size() / 2);
  EXPECT_EQ(effects(elf, "fill"), std::nullopt);
}

TEST(KernelEffects, CodeThatCannotBeDecodedMayDoAnything) {
  const std::vector<uint32_t> code = {0xbf800000, 0xffffffff};  // s_nop 0
  EXPECT_EQ(emulator::memory_effects(code, 0), emulator::memory_effect::kOther);
  EXPECT_EQ(emulator::memory_effects(std::span(code).first(1), 0), 0u);
}

}  // namespace
}  // namespace gfxgraph::hsa_test
