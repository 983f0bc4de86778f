// The same kernels compiled for wave32 and for wave64 against the host; and lane exchange, masks
// and faults where the two differ.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "tests/emulator/kernels/wave_items.h"
#include "tests/emulator/test_device.h"

namespace gfxgraph::emulator {
namespace {

using testing::Shape;
using testing::TestDevice;

struct Variant {
  unsigned size;
  const char* level;
};

class WaveSizeTest : public ::testing::TestWithParam<Variant> {
 public:
  static std::string name(const Variant& v) { return std::to_string(v.size) + "_" + v.level; }

 protected:
  void SetUp() override {
    ASSERT_EQ(device_.load(GFXGRAPH_KERNEL_DIR "/waves_" + name(GetParam()) + ".co"), "");
  }
  template <typename... Args>
  void launch(const std::string& kernel, const Shape& shape, Args... args) {
    const auto result = device_.launch(kernel, shape, args...);
    ASSERT_TRUE(result) << result.error().to_string();
    waves_ = result->waves;
  }
  TestDevice device_;
  uint64_t waves_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Size, WaveSizeTest,
                         ::testing::Values(Variant{32, "O0"}, Variant{32, "O2"}, Variant{64, "O0"},
                                           Variant{64, "O2"}),
                         [](const auto& i) { return "Wave" + WaveSizeTest::name(i.param); });

// S_SUBVECTOR_LOOP_BEGIN and END: halves without active lanes take no pass.
TEST_P(WaveSizeTest, SubvectorLoopsTakeAPassForEachHalf) {
  auto* out = device_.array<uint32_t>(64);
  const Shape shape = {.grid = {64, 1, 1}, .block = {64, 1, 1}};
  if (GetParam().size == 32) {
    const auto result = device_.launch("subvectors", shape, out, 0u, 64u);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, FaultKind::kUnsupported);
    return;
  }
  for (const auto& [from, to] : {std::pair{0u, 64u}, {0u, 20u}, {40u, 64u}, {10u, 40u}, {7u, 7u}}) {
    launch("subvectors", shape, out, from, to);
    for (unsigned l = 0; l < 64; ++l) {
      const bool active = l >= from && l < to;
      const unsigned pass = l < 32 ? 1 : from < 32 ? 2 : 1;
      EXPECT_EQ(out[l], active ? pass : 0) << l << " of " << from << ".." << to;
    }
  }
}

// llvm.amdgcn.global.load.lds, as newer compilers emit it: the offset moves both addresses.
TEST_P(WaveSizeTest, GlobalLoadsToLds) {
  auto* in = device_.array<uint32_t>(128);
  auto* out = device_.array<uint32_t>(128);
  for (unsigned n = 0; n < 128; ++n) in[n] = 1000 + n;
  launch("load_to_lds", {.grid = {96, 1, 1}, .block = {96, 1, 1}}, in, out, GetParam().size);
  for (unsigned n = 0; n < 128; ++n) {
    const bool loaded = n >= 4 && n < 100 && (n - 4) % 3 != 0;
    EXPECT_EQ(out[n], loaded ? 1000 + n : 7) << n;
  }
}

TEST_P(WaveSizeTest, ItemsComputeWhatTheHostComputes) {
  constexpr unsigned kCount = 1000;
  auto* in = device_.array<uint64_t>(64);
  auto* narrow = device_.array<uint32_t>(3 * kCount);
  auto* wide = device_.array<uint64_t>(kCount);
  auto* floats = device_.array<double>(kCount);
  std::mt19937_64 random(5);
  for (int k = 0; k < 64; ++k) in[k] = random() >> (k % 40);
  launch("items", {.grid = {1056, 1, 1}, .block = {96, 1, 1}}, in, narrow, wide, floats, kCount);
  EXPECT_EQ(waves_, 11u * (GetParam().size == 64 ? 2 : 3));
  for (unsigned id = 0; id < kCount; ++id) {
    ASSERT_EQ(narrow[3 * id], item_collatz(id)) << id;
    ASSERT_EQ(narrow[3 * id + 1], item_private(id, in)) << id;
    ASSERT_EQ(narrow[3 * id + 2], item_switch(id, static_cast<uint32_t>(in[id % 64]))) << id;
    ASSERT_EQ(wide[id], item_wide(id, in)) << id;
    // Multiplications and additions may be contracted by one compiler and not by the other.
    const double expected = item_float(id, in);
    ASSERT_NEAR(floats[id], expected, std::abs(expected) * 1e-6) << id;
  }
}

TEST_P(WaveSizeTest, WorkgroupsReduceAndCount) {
  constexpr unsigned kGroups = 7, kItems = 160 * kGroups;
  auto* in = device_.array<unsigned>(kItems);
  auto* sums = device_.array<unsigned>(kGroups);
  auto* bins = device_.array<unsigned>(9);
  auto* order = device_.array<unsigned>(kItems);
  unsigned expected[8] = {};
  for (unsigned k = 0; k < kItems; ++k) {
    in[k] = k * 2654435761u;
    ++expected[in[k] & 7];
  }
  launch("reduce", {.grid = {kItems, 1, 1}, .block = {160, 1, 1}}, in, sums, bins, order);
  for (unsigned g = 0; g < kGroups; ++g) {
    unsigned sum = 0;
    for (unsigned k = 0; k < 160; ++k) sum += in[g * 160 + k];
    EXPECT_EQ(sums[g], sum);
  }
  for (unsigned b = 0; b < 8; ++b) EXPECT_EQ(bins[b], expected[b]);
  std::sort(order, order + kItems);
  for (unsigned k = 0; k < kItems; ++k) ASSERT_EQ(order[k], k);
}

TEST_P(WaveSizeTest, FlatPointersIntoThreeApertures) {
  auto* global = device_.array<unsigned>(64);
  auto* out = device_.array<unsigned>(64);
  launch("apertures", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, global, out);
  for (unsigned t = 0; t < 64; ++t) {
    unsigned own[4] = {t, 1, 2, 3};
    unsigned shared = 100 + t, other = 200 + t;
    unsigned* p = t % 3 == 1 ? &shared : t % 3 == 2 ? &other : &own[t % 4];
    *p = *p * 3 + t;
    EXPECT_EQ(out[t], own[0] + own[1] + own[2] + own[3] + 1000 * shared + 1000000 * other) << t;
  }
}

TEST_P(WaveSizeTest, LanesExchangeInTheirHalves) {
  const unsigned size = GetParam().size;
  auto* in = device_.array<unsigned>(64);
  auto* out = device_.array<unsigned>(18 * 64);
  for (unsigned k = 0; k < 64; ++k) in[k] = 1000 + k * k;
  const auto below = [](uint32_t mask, unsigned lane) {
    return static_cast<unsigned>(std::popcount(lane >= 32 ? mask : mask & ((1u << lane) - 1)));
  };
  for (const unsigned limit : {0u, 10u, 40u}) {
    launch("lanes", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, in, out, limit);
    for (unsigned t = 0; t < 64; ++t) {
      SCOPED_TRACE(::testing::Message() << "limit " << limit << " item " << t);
      const auto got = [&](unsigned n) { return out[n * 64 + t]; };
      const unsigned wave = t / size * size, half = t / 32 * 32, lane = t - wave;
      EXPECT_EQ(got(0), lane);
      EXPECT_EQ(got(1),
                5 + below(0x12345678, lane) + (lane < 32 ? 0 : below(0x0ff0ff0f, lane - 32)));
      EXPECT_EQ(got(2), in[wave]);
      EXPECT_EQ(got(3), in[wave + 45 % size]);
      EXPECT_EQ(got(4), t % 16 == 0 ? 7 : in[t - 1]);
      const bool written = (9 >> (lane / 16) & 1) != 0 && (5 >> (t % 16 / 4) & 1) != 0;
      EXPECT_EQ(got(5), written ? in[(t & ~7u) + 7 - t % 8] : 7);
      EXPECT_EQ(got(6), in[(t & ~7u) + (0x053977u >> (3 * (t & 7)) & 7)]);
      const auto chosen = static_cast<unsigned>(0x0123456789abcdefull >> (4 * (t % 16)) & 15);
      EXPECT_EQ(got(7), in[(t & ~15u) + chosen]);
      EXPECT_EQ(got(8), in[((t ^ 16) & ~15u) + chosen]);
      EXPECT_EQ(got(9), in[t ^ 31]);
      EXPECT_EQ(got(10), in[half + (t * 5 + 3) % 32]);
      EXPECT_EQ(out[11 * 64 + half + (t * 5 + 3) % 32], in[t]);
      EXPECT_EQ(got(17), 50 + 64 - limit);
      if (t < limit) {
        for (unsigned n = 12; n < 17; ++n) EXPECT_EQ(got(n), 0u);
        continue;
      }
      EXPECT_EQ(got(12), in[std::max(limit, wave)] + std::max(limit, wave));
      uint64_t odd = 0;
      for (unsigned l = 0; l < size; ++l)
        if (wave + l >= limit && (in[wave + l] & 1) != 0) odd |= uint64_t{1} << l;
      EXPECT_EQ(got(13), static_cast<unsigned>(odd));
      EXPECT_EQ(got(14), static_cast<unsigned>(odd >> 32));
      const unsigned before = wave > limit ? wave - limit : 0;
      EXPECT_EQ(got(15), 50 + before);
      const unsigned from = half + (t - 2) % 32;
      EXPECT_EQ(got(16), from >= limit ? in[from] : 0);
    }
  }
}

TEST_P(WaveSizeTest, FaultsNameTheLaneOfTheWave) {
  auto* out = device_.array<unsigned>(64);
  const auto result = device_.launch("faults", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, out);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, FaultKind::kMemory);
  EXPECT_EQ(result.error().address, 16u);
  EXPECT_EQ(result.error().lane, GetParam().size == 64 ? 37 : 5);
  EXPECT_EQ(result.error().wave, GetParam().size == 64 ? 0u : 1u);
  EXPECT_NE(result.error().mnemonic.find("store_dword"), std::string::npos);
}

}  // namespace
}  // namespace gfxgraph::emulator
