// Every relocation type of the AMDGPU ABI, and places that do not exist.
#include <gtest/gtest.h>

#include <cstring>

#include "codeobj/relocate.h"

namespace gfxgraph::codeobj {
namespace {

constexpr uint64_t kFirst = 0x1000;

// Only relocations matter here.
class OnlyRelocations final : public CodeObject {
 public:
  explicit OnlyRelocations(std::vector<DynamicRelocation> list) : list_(std::move(list)) {}
  const std::string& target() const override { return text_; }
  const std::string& gpu_arch() const override { return text_; }
  uint32_t abi_version() const override { return 2; }
  const std::vector<Kernel>& kernels() const override { return kernels_; }
  const Kernel* find_kernel(std::string_view) const override { return nullptr; }
  const Kernel* kernel_at(uint64_t) const override { return nullptr; }
  const std::vector<Segment>& segments() const override { return segments_; }
  const std::vector<Symbol>& symbols() const override { return symbols_; }
  const std::vector<DynamicRelocation>& relocations() const override { return list_; }
  std::span<const std::byte> bytes() const override { return {}; }
  uint64_t load_size_bytes() const override { return 0; }
  std::optional<SourceLocation> source_location(uint64_t) const override { return std::nullopt; }

 private:
  std::string text_;
  std::vector<Kernel> kernels_;
  std::vector<Segment> segments_ = {{.address = kFirst, .memory_bytes = 32}};
  std::vector<Symbol> symbols_;
  std::vector<DynamicRelocation> list_;
};

constexpr uint64_t kLoad = 0x7000'0000'0000;
constexpr uint64_t kSymbol = 0x1234'5678'9abc;

struct Answer {
  Status status;
  uint64_t value;
};

Answer apply(uint32_t type, uint64_t address, int64_t addend, const std::string& symbol) {
  const OnlyRelocations code(
      {{.address = address, .type = type, .addend = addend, .symbol = symbol}});
  std::byte memory[32] = {};
  const auto result = load_segments(code, memory, kLoad, [](const std::string& name) {
    return name == "known" ? std::optional<uint64_t>(kSymbol) : std::nullopt;
  });
  if (!result) return {result.error().status, 0};
  uint64_t value = 0;
  std::memcpy(&value, memory + 8, sizeof(value));
  return {Status::kOk, value};
}

uint64_t value_of(uint32_t type, int64_t addend) {
  const Answer answer = apply(type, kFirst + 8, addend, type == 13 ? "" : "known");
  EXPECT_EQ(answer.status, Status::kOk);
  return answer.value;
}

TEST(Relocate, Values) {
  const uint64_t place = kLoad + kFirst + 8;
  EXPECT_EQ(value_of(0, 5), 0u);
  EXPECT_EQ(value_of(1, 4), (kSymbol + 4) & 0xffffffff);
  EXPECT_EQ(value_of(2, 4), (kSymbol + 4) >> 32);
  EXPECT_EQ(value_of(3, -8), kSymbol - 8);
  EXPECT_EQ(value_of(4, 4), (kSymbol + 4 - place) & 0xffffffff);
  EXPECT_EQ(value_of(5, 4), kSymbol + 4 - place);
  EXPECT_EQ(value_of(6, 0), kSymbol & 0xffffffff);
  EXPECT_EQ(value_of(10, 4), (kSymbol + 4 - place) & 0xffffffff);
  EXPECT_EQ(value_of(11, 4), (kSymbol + 4 - place) >> 32);
  EXPECT_EQ(value_of(13, 0x2000), kLoad + 0x2000);
}

TEST(Relocate, Errors) {
  EXPECT_EQ(apply(3, kFirst + 8, 0, "unknown").status, Status::kNotFound);
  EXPECT_EQ(apply(3, kFirst + 8, 0, "").status, Status::kUnsupported);
  EXPECT_EQ(apply(99, kFirst + 8, 0, "known").status, Status::kUnsupported);
  EXPECT_EQ(apply(3, kFirst - 8, 0, "known").status, Status::kCorrupt);
  EXPECT_EQ(apply(3, kFirst + 25, 0, "known").status, Status::kCorrupt);
  EXPECT_EQ(apply(3, UINT64_MAX, 0, "known").status, Status::kCorrupt);
  EXPECT_EQ(apply(3, kFirst + 24, 0, "known").status, Status::kOk);
}

}  // namespace
}  // namespace gfxgraph::codeobj
