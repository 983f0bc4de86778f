// What observers see, and that an access they drop is not done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "tests/emulator/engine/observers.h"
#include "tests/emulator/test_device.h"

namespace gfxgraph::emulator::testing {

GFXGRAPH_DECLARE_BACKENDS(kRecorder);
GFXGRAPH_DECLARE_BACKENDS(kDefinedness);
const Backend& recorder_backend() { return select_backend(GFXGRAPH_BACKEND_SET(kRecorder)); }
const Backend& definedness_backend() { return select_backend(GFXGRAPH_BACKEND_SET(kDefinedness)); }

namespace {

const std::string kCode = GFXGRAPH_KERNEL_DIR "/engine_O2.co";
constexpr Shape kOneWave = {.grid = {32, 1, 1}, .block = {32, 1, 1}};

EngineOptions one_thread() {
  EngineOptions options;
  options.threads = 1;
  return options;
}

TEST(Observer, SeesEveryInstructionWaveAndAccess) {
  Recorder recorder;
  TestDevice device(one_thread(), recorder_backend(), &recorder);
  ASSERT_EQ(device.load(kCode), "");
  auto* x = device.array<float>(64);
  auto* y = device.array<float>(64);
  const auto result =
      device.launch("saxpy", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, x, y, 2.0f, 40);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(recorder.kernel, "saxpy");
  EXPECT_EQ(recorder.ended.load(), 1);
  EXPECT_EQ(recorder.before_count, result->wave_instructions);
  EXPECT_EQ(recorder.after_count, result->wave_instructions);
  EXPECT_GT(recorder.decoded_count.load(), 5);
  ASSERT_EQ(recorder.waves.size(), 2u);
  EXPECT_EQ(recorder.waves[1].wave, 1u);
  EXPECT_EQ(recorder.waves[1].launched_lanes, ~0u);
  EXPECT_GE(recorder.waves[0].initialised_sgprs, 7u);
  EXPECT_EQ(recorder.waves[0].initialised_vgprs, 1u);
  EXPECT_FALSE(recorder.scalars.empty());
  ASSERT_EQ(recorder.events.size(), 6u);
  const auto& load = recorder.events[0];
  EXPECT_EQ(load.exec, ~0u);
  EXPECT_EQ(load.space, Space::kGlobal);
  EXPECT_EQ(load.kind, AccessKind::kLoad);
  EXPECT_EQ(load.bytes, 4u);
  const auto& store = recorder.events[5];
  EXPECT_EQ(store.kind, AccessKind::kStore);
  EXPECT_EQ(store.exec, 0xffu);
  EXPECT_EQ(store.launched, ~0u);
  for (unsigned l = 0; l < 8; ++l)
    EXPECT_EQ(store.address[l], reinterpret_cast<uint64_t>(y + 32 + l));
}

TEST(Observer, SeesAWave64AsTwoHalves) {
  Recorder recorder;
  TestDevice device(one_thread(), recorder_backend(), &recorder);
  ASSERT_EQ(device.load(GFXGRAPH_KERNEL_DIR "/waves_64_O2.co"), "");
  auto* in = device.array<unsigned>(64);
  auto* out = device.array<unsigned>(64 * 18);
  for (unsigned l = 0; l < 64; ++l) in[l] = 7;
  recorder.drop_from = reinterpret_cast<uint64_t>(in + 48);
  const Shape shape = {.grid = {60, 1, 1}, .block = {60, 1, 1}};
  const auto result = device.launch("lanes", shape, in, out, 0u);
  ASSERT_TRUE(result) << result.error().to_string();
  ASSERT_EQ(recorder.waves.size(), 2u);
  EXPECT_EQ(recorder.waves[0].launched_lanes | recorder.waves[1].launched_lanes, ~0u);
  EXPECT_EQ(recorder.waves[0].launched_lanes & recorder.waves[1].launched_lanes, 0x0fffffffu);
  std::vector<const Recorder::Seen*> loads;
  for (const auto& event : recorder.events)
    if (event.kind == AccessKind::kLoad && event.space == Space::kGlobal) loads.push_back(&event);
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_EQ(loads[0]->exec, ~0u);
  EXPECT_EQ(loads[1]->exec, 0x0fffffffu);
  for (unsigned l = 0; l < 28; ++l) {
    EXPECT_EQ(loads[0]->address[l], reinterpret_cast<uint64_t>(in + l));
    EXPECT_EQ(loads[1]->address[l], reinterpret_cast<uint64_t>(in + 32 + l));
  }
}

TEST(Observer, DroppedAccessesAreNotDone) {
  Recorder recorder;
  TestDevice device(one_thread(), recorder_backend(), &recorder);
  ASSERT_EQ(device.load(kCode), "");
  auto* out = device.array<int>(1024);
  recorder.drop_from = reinterpret_cast<uint64_t>(out + 40);
  const auto result = device.launch("unguarded", {.grid = {2048, 1, 1}, .block = {64, 1, 1}}, out);
  ASSERT_TRUE(result) << result.error().to_string();
  for (int k = 0; k < 1024; ++k) ASSERT_EQ(out[k], k < 40 ? 7 : 0);
  // Loads that are dropped give 0.
  auto* x = device.array<float>(64);
  auto* y = device.array<float>(64);
  std::fill(x, x + 64, 5.0f);
  std::fill(y, y + 64, 1.0f);
  const bool x_first = x < y;
  recorder.drop_from = reinterpret_cast<uint64_t>((x_first ? x : y) + 32);
  const auto saxpy = device.launch("saxpy", kOneWave, x, y, 2.0f, 32);
  ASSERT_TRUE(saxpy);
}

TEST(Observer, LdsAndBufferEvents) {
  Recorder recorder;
  TestDevice device(one_thread(), recorder_backend(), &recorder);
  ASSERT_EQ(device.load(kCode), "");
  auto* in = device.array<int>(256);
  auto* out = device.array<int>(256);
  ASSERT_TRUE(device.launch("reverse_lds", {.grid = {256, 1, 1}, .block = {256, 1, 1}}, in, out));
  int lds = 0;
  for (const auto& event : recorder.events) lds += event.space == Space::kLds;
  EXPECT_EQ(lds, 16);
  recorder.events.clear();
  auto* data = device.array<unsigned>(1024);
  auto* result = device.array<unsigned>(160);
  ASSERT_TRUE(device.launch("buffer_bounds", kOneWave, data, 100u, 8u, result));
  ASSERT_FALSE(recorder.events.empty());
  const auto& first = recorder.events[0];
  EXPECT_EQ(first.mnemonic, "buffer_load_dword");
  EXPECT_EQ(first.in_range, (1u << 22) - 1) << "offset 4 * lane + 4 + 8 < 100";
  for (unsigned l = 0; l < kLanes; ++l)
    EXPECT_EQ(first.address[l], reinterpret_cast<uint64_t>(data) + 8 + 4 + 4 * l);
}

TEST(Observer, FlatEventsAreSplitByAperture) {
  if (std::string_view(GFXGRAPH_UNOPTIMISED) != "-O0")
    GTEST_SKIP() << "this hipcc makes wrong code at -O0 (tests/CMakeLists.txt), and at "
                    "-O1 no generic pointer to scratch is left";
  Recorder recorder;
  TestDevice device(one_thread(), recorder_backend(), &recorder);
  ASSERT_EQ(device.load(GFXGRAPH_KERNEL_DIR "/engine_O0.co"), "");  // keeps its generic pointers
  auto* global = device.allocate(4096);
  auto* out = device.array<unsigned>(32);
  const auto result = device.launch("flat_pointers", kOneWave, global, out);
  ASSERT_TRUE(result) << result.error().to_string();
  uint32_t spaces = 0;
  for (const auto& event : recorder.events)
    if (event.mnemonic.rfind("flat_", 0) == 0) {
      spaces |= 1u << static_cast<unsigned>(event.space);
      EXPECT_EQ(event.exec & event.other_space, 0u);
    }
  EXPECT_EQ(spaces, 7u) << "global, LDS and scratch";
}

// Operand lists are complete: compiled code never reads a register that the lists do not show as
// written.
TEST(Observer, OperandListsDefineAllRegistersThatAreRead) {
  Definedness definedness;
  TestDevice device(one_thread(), definedness_backend(), &definedness);
  ASSERT_EQ(device.load(kCode), "");
  auto* a = device.array<unsigned>(4096);
  auto* b = device.array<unsigned>(4096);
  auto* c = device.array<unsigned>(4096);
  const Shape shape = {.grid = {128, 1, 1}, .block = {64, 1, 1}};
  ASSERT_TRUE(device.launch("saxpy", shape, a, b, 2.0f, 100));
  ASSERT_TRUE(device.launch("places", {.grid = {32, 2, 2}, .block = {16, 2, 2}}, a, 32u, 2u));
  ASSERT_TRUE(device.launch("reverse_lds", {.grid = {256, 1, 1}, .block = {256, 1, 1}}, a, b));
  ASSERT_TRUE(device.launch(
      "dynamic_lds", {.grid = {64, 1, 1}, .block = {64, 1, 1}, .dynamic_lds = 4096}, a, 1000));
  ASSERT_TRUE(device.launch("lds_atomics", {.grid = {64, 1, 1}, .block = {64, 1, 1}}, a));
  ASSERT_TRUE(device.launch("returned_atomics", shape, a, b));
  ASSERT_TRUE(device.launch("scratch_array", shape, a, b, 10));
  ASSERT_TRUE(device.launch("long_work", shape, b, c, 10u));
  ASSERT_TRUE(device.launch("widths", kOneWave, a, b, c));
  ASSERT_TRUE(device.launch("lane_exchange", kOneWave, a, b));
  for (const auto& [where, count] : definedness.undefined_reads) {
    // Compilers leave the upper half of its addend undefined when only the lower half of the result
    // is used.
    if (where.rfind("v_mad_u64_u32", 0) == 0) continue;
    ADD_FAILURE() << where << " " << count << " times";
  }
}

}  // namespace
}  // namespace gfxgraph::emulator::testing
