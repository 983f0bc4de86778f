// Whole kernels through the engine: memory, LDS, scratch, atomics, control flow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "tests/emulator/test_device.h"

namespace gfxgraph::emulator {
namespace {

using ::testing::HasSubstr;
using testing::Shape;
using testing::TestDevice;

// The same tests run on unoptimised and optimised code: other instructions, same answers.
class EngineTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_EQ(device_.load(std::string(GFXGRAPH_KERNEL_DIR "/engine_") + GetParam() + ".co"), "");
  }
  template <typename... Args>
  void launch(const std::string& kernel, const Shape& shape, Args... args) {
    const auto result = device_.launch(kernel, shape, args...);
    ASSERT_TRUE(result) << result.error().to_string();
  }
  template <typename... Args>
  Fault fault(const std::string& kernel, const Shape& shape, Args... args) {
    const auto result = device_.launch(kernel, shape, args...);
    EXPECT_FALSE(result) << kernel << " did not fault";
    return result ? Fault() : result.error();
  }
  TestDevice device_;
};
INSTANTIATE_TEST_SUITE_P(Optimisation, EngineTest, ::testing::Values("O0", "O2"),
                         [](const auto& i) { return i.param; });

constexpr Shape kOneWave = {.grid = {32, 1, 1}, .block = {32, 1, 1}};

TEST_P(EngineTest, SaxpyLeavesTheTailAlone) {
  constexpr int kCount = 1000;
  auto* x = device_.array<float>(1024);
  auto* y = device_.array<float>(1024);
  for (int k = 0; k < 1024; ++k) {
    x[k] = static_cast<float>(k);
    y[k] = 3;
  }
  launch("saxpy", {.grid = {1024, 1, 1}, .block = {256, 1, 1}}, x, y, 2.0f, kCount);
  for (int k = 0; k < 1024; ++k)
    ASSERT_EQ(y[k], k < kCount ? 2.0f * static_cast<float>(k) + 3 : 3.0f) << k;
}

TEST_P(EngineTest, PartialWorkgroupsAndThreeDimensions) {
  constexpr unsigned kX = 37, kY = 5, kZ = 3;
  auto* out = device_.array<unsigned>(kX * kY * kZ + 64);
  launch("places", {.grid = {kX, kY, kZ}, .block = {16, 2, 2}}, out, kX, kY);
  for (unsigned z = 0; z < kZ; ++z)
    for (unsigned y = 0; y < kY; ++y)
      for (unsigned x = 0; x < kX; ++x)
        ASSERT_EQ(out[(z * kY + y) * kX + x], x | y << 8 | z << 16 | 1u << 24);
  EXPECT_EQ(out[kX * kY * kZ], 0u);
}

TEST_P(EngineTest, BarriersWithEndedWaves) {
  auto* out = device_.array<int>(128);
  launch("barrier_early", {.grid = {128, 1, 1}, .block = {128, 1, 1}}, out, 1);
  for (int k = 0; k < 128; ++k) EXPECT_EQ(out[k], k < 32 ? 5 : 0);
  launch("barrier_early", {.grid = {128, 1, 1}, .block = {128, 1, 1}}, out, 0);
  for (int k = 0; k < 128; ++k) EXPECT_EQ(out[k], 5);
}

TEST_P(EngineTest, LdsAcrossWaves) {
  auto* in = device_.array<int>(2048);
  auto* out = device_.array<int>(2048);
  std::iota(in, in + 2048, 0);
  launch("reverse_lds", {.grid = {2048, 1, 1}, .block = {256, 1, 1}}, in, out);
  for (int k = 0; k < 2048; ++k) ASSERT_EQ(out[k], k / 256 * 256 + 255 - k % 256);
}

TEST_P(EngineTest, DynamicLds) {
  auto* out = device_.array<int>(64);
  launch("dynamic_lds", {.grid = {64, 1, 1}, .block = {64, 1, 1}, .dynamic_lds = 16000 * 4}, out,
         16000);
  EXPECT_EQ(out[63], 3 * (16000 * 15999 / 2));
}

TEST_P(EngineTest, GlobalAtomics) {
  auto* i32 = device_.array<int>(4);
  auto* u32 = device_.array<unsigned>(8);
  auto* u64 = device_.array<unsigned long long>(3);
  auto* f32 = device_.array<float>(1);
  auto* f64 = device_.array<double>(1);
  u32[0] = 0xffffffffu;
  u32[5] = 4;
  constexpr unsigned kItems = 1024;
  launch("atomics", {.grid = {kItems, 1, 1}, .block = {128, 1, 1}}, i32, u32, u64, f32, f64);
  EXPECT_EQ(i32[0], 1024);
  EXPECT_EQ(i32[1], -2048);
  EXPECT_EQ(i32[2], -1023);
  EXPECT_EQ(i32[3], 1023);
  EXPECT_EQ(u32[0], 0xffff0000u);
  EXPECT_EQ(u32[1], 0xffffffffu);
  EXPECT_EQ(u32[2], 0u);
  EXPECT_EQ(u32[3], 77u);
  unsigned inc = 0, dec = 4;
  for (unsigned k = 0; k < kItems; ++k) {
    inc = inc >= 9 ? 0 : inc + 1;
    dec = dec == 0 || dec > 9 ? 9 : dec - 1;
  }
  EXPECT_EQ(u32[4], inc);
  EXPECT_EQ(u32[5], dec);
  EXPECT_GE(u32[6], 1000u);
  EXPECT_EQ(u32[7], 1023u);
  EXPECT_EQ(u64[0], 0x100000001ull * 1024);
  EXPECT_EQ(u64[1], 1023ull << 33);
  EXPECT_EQ(u64[2], 5u);
  EXPECT_EQ(*f32, 1024.0f);
  EXPECT_EQ(*f64, 512.0);
}

TEST_P(EngineTest, ReturnedAtomicsAreAPermutation) {
  auto* counter = device_.array<unsigned>(1);
  auto* out = device_.array<unsigned>(4096);
  launch("returned_atomics", {.grid = {4096, 1, 1}, .block = {64, 1, 1}}, counter, out);
  std::sort(out, out + 4096);
  for (unsigned k = 0; k < 4096; ++k) ASSERT_EQ(out[k], k);
}

TEST_P(EngineTest, LdsAtomics) {
  auto* out = device_.array<unsigned>(80);
  launch("lds_atomics", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, out);
  EXPECT_EQ(out[64], 64u);
  EXPECT_EQ(out[65], 0xffffffffu);
  EXPECT_EQ(out[66], 63u);
  EXPECT_EQ(out[67], 0u);
  EXPECT_EQ(out[68], 0u);
  EXPECT_EQ(out[69], 42u);
  EXPECT_EQ(out[70], 64u % 5);
  EXPECT_EQ(out[72], 64u);
  std::sort(out, out + 64);
  for (unsigned k = 0; k < 64; ++k) EXPECT_EQ(out[k], k);
}

TEST_P(EngineTest, ScratchArrays) {
  constexpr int kItems = 128, kRounds = 50;
  auto* in = device_.array<int>(kRounds);
  auto* out = device_.array<int>(kItems);
  for (int r = 0; r < kRounds; ++r) in[r] = r * 37 + 5;
  launch("scratch_array", {.grid = {kItems, 1, 1}, .block = {64, 1, 1}}, in, out, kRounds);
  for (int item = 0; item < kItems; ++item) {
    int values[64];
    for (int k = 0; k < 64; ++k) values[k] = k * item;
    for (int r = 0; r < kRounds; ++r) {
      const int at = (in[r] + item) & 63;
      values[at] += r;
      values[(at * 7) & 63] ^= values[at];
    }
    int sum = 0;
    for (int k = 0; k < 64; ++k) sum += values[k] * (k + 1);
    ASSERT_EQ(out[item], sum) << item;
  }
}

TEST_P(EngineTest, FlatPointersIntoThreeApertures) {
  auto* global = device_.allocate(4096);
  auto* out = device_.array<unsigned>(32);
  launch("flat_pointers", kOneWave, global, out);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto sum = [](unsigned by, bool touched) {
      const unsigned b0 = (1 + by) & 255, b4 = (5 + by) & 255;
      return touched ? b0 + 2 * b4 + 5 * 21 + 1000 : 1u + 2 * 5 + 5 * 7;
    };
    EXPECT_EQ(out[lane], sum(lane, true) + 2 * sum(0, false)) << lane;
  }
}

TEST_P(EngineTest, CallsRecursionAndFunctionPointers) {
  auto* out = device_.array<int>(64);
  launch("recursion", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, out);
  const int fibonacci[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (int k = 0; k < 64; ++k) EXPECT_EQ(out[k], fibonacci[k % 12]);
  launch("function_pointers", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, out);
  for (int k = 0; k < 64; ++k) EXPECT_EQ(out[k], k % 2 != 0 ? 2 * k : k * k);
}

TEST_P(EngineTest, LdsOutOfRangeReadsZero) {
  auto* out = device_.array<unsigned>(512);
  launch("lds_bounds", {.grid = {128, 1, 1}, .block = {128, 1, 1}}, out);
  for (unsigned k = 0; k < 128; ++k) {
    EXPECT_EQ(out[k * 4], k < 127 ? k + 2 : 0u) << k;
    EXPECT_EQ(out[k * 4 + 1], 0u) << k;
    EXPECT_EQ(out[k * 4 + 2], k >= 64 ? k - 64 + 1 : 0u) << k;
    EXPECT_EQ(out[k * 4 + 3], k < 16 ? k + 113 : 0u) << k;
  }
}

TEST_P(EngineTest, RawBuffersCheckEachDword) {
  auto* data = device_.array<unsigned>(1024);
  auto* out = device_.array<unsigned>(160);
  for (unsigned k = 0; k < 1024; ++k) data[k] = k + 1;
  constexpr unsigned kBytes = 100, kOffset = 8;
  launch("buffer_bounds", kOneWave, data, kBytes, kOffset, out);
  const auto read = [&](unsigned at) { return at + 4 <= kBytes ? at / 4 + 1 : 0; };
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], read(lane * 4 + 4 + kOffset)) << lane;
    for (unsigned d = 0; d < 4; ++d)
      EXPECT_EQ(out[32 + 32 * d + lane], read(lane * 4 + 4 * d + kOffset)) << lane << " " << d;
  }
  for (unsigned k = 0; k < 1024; ++k) ASSERT_EQ(data[k], k + 1) << "a store out of range was done";
  launch("buffer_bounds", kOneWave, data, 4096u, kOffset, out);
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(data[lane + 64 + 2], 0xabcdu);
  // A null resource: nothing is in range.
  launch("buffer_bounds", kOneWave, static_cast<unsigned*>(nullptr), 0u, 0u, out);
  for (unsigned k = 0; k < 160; ++k) EXPECT_EQ(out[k], 0u);
}

TEST_P(EngineTest, StructuredBuffersCheckTheIndex) {
  auto* data = device_.array<unsigned>(256);
  auto* out = device_.array<unsigned>(32);
  for (unsigned k = 0; k < 256; ++k) data[k] = k + 1;
  launch("buffer_structured", kOneWave, data, 20u, out);
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], lane < 20 ? lane * 3 + 2 + 1 : 0u);
}

TEST_P(EngineTest, LaneExchange) {
  auto* in = device_.array<unsigned>(32);
  auto* out = device_.array<unsigned>(160);
  for (unsigned k = 0; k < 32; ++k) in[k] = 100 + k;
  launch("lane_exchange", kOneWave, in, out);
  for (unsigned k = 0; k < 32; ++k) {
    EXPECT_EQ(out[k], 100 + (k + 5) % 32);
    EXPECT_EQ(out[32 + k], 100 + (k + 29) % 32);
    EXPECT_EQ(out[64 + k], 100 + (k ^ 3));
    EXPECT_EQ(out[96 + k], 100 + (k ^ 31));
    EXPECT_EQ(out[128 + k], k < 8 ? 108 + k : 0u) << k;
  }
}

TEST_P(EngineTest, WidthsAndAlignments) {
  auto* in = device_.array<unsigned char>(256);
  auto* out = device_.array<unsigned>(320);
  auto* bytes = device_.array<unsigned char>(128);
  for (int k = 0; k < 256; ++k) in[k] = static_cast<unsigned char>(k * 91 + 130);
  launch("widths", kOneWave, in, out, bytes);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned char* p = in + lane * 3;
    const unsigned* got = out + lane * 10;
    const auto u16 = [](const unsigned char* q) { return static_cast<unsigned>(q[0] | q[1] << 8); };
    EXPECT_EQ(got[0], p[0]);
    EXPECT_EQ(got[1], static_cast<unsigned>(static_cast<signed char>(p[1])));
    EXPECT_EQ(got[2], u16(p));
    EXPECT_EQ(got[3], static_cast<unsigned>(static_cast<short>(u16(p + 3))));
    EXPECT_EQ(got[4], 0x11110000u | u16(p));
    EXPECT_EQ(got[5], u16(p) << 16 | 0x4444u);
    for (int d = 0; d < 4; ++d) EXPECT_EQ(got[6 + d], u16(p + 4 * d) | u16(p + 4 * d + 2) << 16);
    EXPECT_EQ(bytes[lane], lane);
    EXPECT_EQ(bytes[64 + 2 * lane], lane);
    EXPECT_EQ(bytes[64 + 2 * lane + 1], lane);
  }
}

TEST_P(EngineTest, LoadsOverTheirOwnAddresses) {
  auto* in = device_.array<unsigned long long>(32);
  auto* out = device_.array<unsigned long long>(64);
  for (unsigned k = 0; k < 32; ++k) in[k] = 0x0102030405060708ull * (k + 1);
  launch("overlap", kOneWave, in, out);
  for (unsigned k = 0; k < 32; ++k) {
    EXPECT_EQ(out[k], in[k]);
    EXPECT_EQ(out[32 + k], in[k]);
  }
}

TEST_P(EngineTest, WavesOfSeveralWorkgroupsMeetAtAGlobalBarrier) {
  constexpr unsigned kWaves = 24;
  auto* slots = device_.array<unsigned>(kWaves);
  auto* out = device_.array<unsigned>(2 * kWaves);
  launch("gws_init", kOneWave, kWaves);
  launch("gws_meet", {.grid = {32 * kWaves, 1, 1}, .block = {64, 1, 1}}, slots, out, kWaves);
  constexpr unsigned kSum = kWaves * (kWaves + 1) / 2;
  for (unsigned k = 0; k < 2 * kWaves; ++k) EXPECT_EQ(out[k], k < kWaves ? kSum : 2 * kSum) << k;
}

TEST_P(EngineTest, WordsOf64BitsAreReadInOnePiece) {
  auto* words = device_.array<uint64_t>(32);
  auto* count = device_.array<unsigned>(1);
  std::atomic<bool> started{false};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    started = true;
    for (uint64_t value = 0; !stop.load(std::memory_order_relaxed); value = ~value) {
      __atomic_store_n(&words[0], value, __ATOMIC_RELAXED);
      __atomic_store_n(&words[16], value, __ATOMIC_RELAXED);
    }
  });
  while (!started) std::this_thread::yield();
  launch("torn", kOneWave, words, count, 100000u);
  stop = true;
  writer.join();
  EXPECT_EQ(*count, 0u);
}

TEST_P(EngineTest, ACooperativeLaunchBringsItsGridBarrier) {
  constexpr unsigned kWaves = 40;
  auto* slots = device_.array<unsigned>(kWaves);
  auto* out = device_.array<unsigned>(2 * kWaves);
  launch("gws_meet", {.grid = {32 * kWaves, 1, 1}, .block = {32, 1, 1}, .cooperative = true}, slots,
         out, kWaves);
  constexpr unsigned kSum = kWaves * (kWaves + 1) / 2;
  for (unsigned k = 0; k < 2 * kWaves; ++k) EXPECT_EQ(out[k], k < kWaves ? kSum : 2 * kSum) << k;
}

TEST_P(EngineTest, ACooperativeLaunchThatTheDeviceCannotHoldIsRefused) {
  const auto meet = [&](uint32_t groups, uint32_t lds) {
    return device_.launch(
        "gws_init",
        {.grid = {64 * groups, 1, 1}, .block = {64, 1, 1}, .dynamic_lds = lds, .cooperative = true},
        groups);
  };
  EXPECT_TRUE(meet(36 * 32, 0));
  EXPECT_TRUE(meet(36 * 2, 65536));
  const auto waves = meet(36 * 32 + 1, 0);
  ASSERT_FALSE(waves);
  EXPECT_EQ(waves.error().kind, FaultKind::kBadDispatch);
  EXPECT_NE(waves.error().to_string().find("a cooperative launch of 1153 workgroups of 2 waves"),
            std::string::npos)
      << waves.error().to_string();
  const auto lds = meet(36 * 2 + 1, 65536);
  ASSERT_FALSE(lds);
  EXPECT_NE(lds.error().to_string().find("65536 bytes of LDS; at most 72"), std::string::npos)
      << lds.error().to_string();
}

TEST_P(EngineTest, ClocksAdvanceAndRepeat) {
  auto* out = device_.array<unsigned long long>(1);
  launch("clocks", kOneWave, out);
  const auto first = out[0];
  EXPECT_GT(first, 0u);
  launch("clocks", kOneWave, out);
  EXPECT_EQ(out[0], first);
}

// ---- faults ----

TEST_P(EngineTest, MemoryFaultNamesLaneAddressAndBuffer) {
  auto* out = device_.allocate(4000, RegionKind::kDevice, "out");
  const auto address = reinterpret_cast<uint64_t>(out);
  const Fault f = fault("unguarded", {.grid = {1056, 1, 1}, .block = {32, 1, 1}}, out);
  EXPECT_EQ(f.kind, FaultKind::kMemory);
  EXPECT_EQ(f.kernel, "unguarded");
  EXPECT_EQ(f.workgroup[0], 32u);
  EXPECT_EQ(f.lane, 0);
  EXPECT_EQ(f.address, address + 4096);
  EXPECT_EQ(f.access_bytes, 4u);
  EXPECT_TRUE(f.write);
  EXPECT_THAT(f.mnemonic, HasSubstr("store_dword"));
  EXPECT_THAT(f.to_string(), HasSubstr("96 bytes past the end of \"out\""));
  EXPECT_EQ(f.pc - device_.load_address(), f.code_address);
}

TEST_P(EngineTest, OtherLanesOfAFaultingStoreAreNamedExactly) {
  // Only lane 20 on: the buffer's pages end there.
  auto* out = device_.allocate(4096, RegionKind::kDevice, "out");
  const Fault f = fault("unguarded", kOneWave, out + 4096 - 80);
  EXPECT_EQ(f.lane, 20);
}

TEST_P(EngineTest, ReadOnlyMemoryRefusesWrites) {
  std::vector<std::byte> bytes(8192);
  Region region;
  region.address = 0x100000;
  region.requested_bytes = region.mapped_bytes = 4096;
  region.host = bytes.data();
  region.read_only = true;
  region.name = "constant";
  ASSERT_TRUE(device_.memory().add(region));
  const Fault f = fault("unguarded", kOneWave, uint64_t{0x100000});
  EXPECT_EQ(f.kind, FaultKind::kMemory);
  EXPECT_THAT(f.to_string(), HasSubstr("read-only memory: \"constant\""));
  EXPECT_EQ(bytes[0], std::byte{0});
}

TEST_P(EngineTest, DeviceAddressesNeedNotBeHostAddresses) {
  std::vector<int> host(64);
  Region region;
  region.address = 0x7000'0000'0000;
  region.requested_bytes = region.mapped_bytes = 256;
  region.host = reinterpret_cast<std::byte*>(host.data());
  ASSERT_TRUE(device_.memory().add(region));
  launch("unguarded", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, region.address);
  EXPECT_TRUE(std::all_of(host.begin(), host.end(), [](int v) { return v == 7; }));
  // A removed region is gone at once.
  ASSERT_TRUE(device_.memory().remove(region.address));
  EXPECT_EQ(fault("unguarded", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, region.address).kind,
            FaultKind::kMemory);
}

TEST_P(EngineTest, Traps) {
  const Fault f = fault("traps", kOneWave);
  EXPECT_EQ(f.kind, FaultKind::kTrap);
  EXPECT_EQ(f.mnemonic, "s_trap");
}

TEST_P(EngineTest, UnsupportedInstructionsAreNamed) {
  const Fault f = fault("graphics_instruction", kOneWave, device_.array<float>(32));
  EXPECT_EQ(f.kind, FaultKind::kUnsupported);
  EXPECT_THAT(f.mnemonic, HasSubstr("v_interp_mov_f32"));
  EXPECT_GT(f.byte_count, 0u);
  EXPECT_THAT(f.to_string(), HasSubstr("graphics_instruction"));
  EXPECT_THAT(f.to_string(), HasSubstr("bytes"));
  EXPECT_EQ(fault("halts", kOneWave).kind, FaultKind::kUnsupported);
}

TEST_P(EngineTest, BytesThatAreNoInstruction) {
  const Fault f = fault("no_instruction", kOneWave);
  EXPECT_EQ(f.kind, FaultKind::kIllegal);
  EXPECT_THAT(f.to_string(), HasSubstr("00 f0 ff d7"));
}

TEST_P(EngineTest, BadDispatches) {
  auto* out = device_.array<int>(64);
  EXPECT_EQ(fault("unguarded", {.grid = {0, 1, 1}, .block = {32, 1, 1}}, out).kind,
            FaultKind::kBadDispatch);
  EXPECT_EQ(fault("unguarded", {.grid = {32, 1, 1}, .block = {32, 0, 1}}, out).kind,
            FaultKind::kBadDispatch);
  EXPECT_EQ(fault("unguarded", {.grid = {32, 1, 1}, .block = {512, 4, 1}}, out).kind,
            FaultKind::kBadDispatch);
  const Fault lds =
      fault("dynamic_lds", {.grid = {32, 1, 1}, .block = {32, 1, 1}, .dynamic_lds = 65540}, out, 4);
  EXPECT_EQ(lds.kind, FaultKind::kBadDispatch);
  EXPECT_THAT(lds.to_string(), HasSubstr("LDS"));
  Dispatch dispatch;
  dispatch.kernel_object = 0x1234;
  const auto nowhere = device_.engine().run(dispatch);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, FaultKind::kBadDispatch);
}

TEST_P(EngineTest, CodeMayBeAddedOnceAndRemoved) {
  EXPECT_FALSE(device_.engine().add_code(device_.load_address(), nullptr));
  auto* out = device_.array<int>(32);
  launch("unguarded", kOneWave, out);
  device_.engine().remove_code(device_.load_address());
  // Still memory, but no code any more.
  EXPECT_EQ(fault("unguarded", kOneWave, out).kind, FaultKind::kBadDispatch);
}

TEST_P(EngineTest, IgnoredAddressBits) {
  EngineOptions options;
  options.ignored_address_bits = uint64_t{1} << 47;
  TestDevice device(options);
  ASSERT_EQ(device.load(std::string(GFXGRAPH_KERNEL_DIR "/engine_") + GetParam() + ".co"), "");
  auto* x = device.array<float>(64);
  auto* y = device.array<float>(64);
  std::fill(x, x + 64, 2.0f);
  const auto alias = reinterpret_cast<uint64_t>(y) ^ uint64_t { 1 } << 47;
  const auto result =
      device.launch("saxpy", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, x, alias, 3.0f, 64);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(y[63], 6.0f);
}

}  // namespace
}  // namespace gfxgraph::emulator
