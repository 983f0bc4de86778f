// Code that ends where it must not, and dispatches of absurd sizes: words put into memory by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "emulator/engine/context.h"
#include "tests/emulator/test_device.h"

namespace gfxgraph::emulator {
namespace {

using ::testing::HasSubstr;
using testing::TestDevice;

constexpr uint32_t kNop = 0xbf800000, kEnd = 0xbf810000, kCodeEnd = 0xbf9f0000;
constexpr uint32_t kBranch = 0xbf820000;      // and a signed number of dwords
constexpr uint32_t kSetpc = 0xbe802000;       // s_setpc_b64 s[0:1]
constexpr uint32_t kFirstOfTwo = 0xf4040000;  // s_load_dwordx2 s[0:1], s[0:1], without its offset
constexpr size_t kBytes = 4096;

class RawCode : public ::testing::Test {
 protected:
  void SetUp() override {
    memory_ = device_.allocate(kBytes, RegionKind::kCode, "raw code");
    dispatch_.kernel_object = reinterpret_cast<uint64_t>(memory_);
    ASSERT_TRUE(device_.engine().add_raw_code(dispatch_.kernel_object, kBytes));
    dispatch_.workgroup_size = {32, 1, 1};
    dispatch_.grid_size = {32, 1, 1};
    // Code begins 256 bytes after the descriptor; wave32, float mode as compilers set it.
    const uint32_t rsrc1 = 0xf0u << 12 | 1u << 21 | 1u << 23;
    const uint16_t properties = 1 << 10;
    put(16, int64_t{256});
    put(48, rsrc1);
    put(56, properties);
  }
  template <typename T>
  void put(size_t offset, T value) {
    std::memcpy(memory_ + offset, &value, sizeof(value));
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }
  void code(size_t offset, std::initializer_list<uint32_t> words) {
    put(16, static_cast<int64_t>(offset));
    for (const uint32_t word : words) {
      put(offset, word);
      offset += 4;
    }
  }
  Fault fault() {
    const auto result = device_.engine().run(dispatch_);
    EXPECT_FALSE(result) << "it ended";
    return result ? Fault() : result.error();
  }
  // The fault of code that is no good at `pc`, an offset.
  void expect_illegal(uint64_t pc, const char* why) {
    const Fault f = fault();
    EXPECT_EQ(f.kind, FaultKind::kIllegal);
    EXPECT_EQ(f.pc, reinterpret_cast<uint64_t>(memory_) + pc) << f.to_string();
    EXPECT_THAT(f.to_string(), HasSubstr(why));
  }
  void expect_bad(const char* why) {
    const Fault f = fault();
    EXPECT_EQ(f.kind, FaultKind::kBadDispatch) << f.to_string();
    EXPECT_THAT(f.to_string(), HasSubstr(why));
  }

  // Waves that only wait are not given up.
  static EngineOptions patient() {
    EngineOptions options;
    options.give_up = [](const BlockedDispatch&) { return false; };
    return options;
  }
  TestDevice device_{patient()};
  std::byte* memory_ = nullptr;
  Dispatch dispatch_;
};

// EXECZ and VCCZ of wave64 are of all 64 lanes: as operands, in STATUS and for branches.
TEST_F(RawCode, MasksOfWave64AreZeroOnlyIfBothHalvesAre) {
  constexpr uint32_t kMov = 0xbe800300, kLiteral = 255, kVccz = 251, kExecz = 252;
  constexpr uint32_t kVccLo = 106, kExecLo = 126;
  constexpr uint32_t kDiffers = 0xbf070000;  // s_cmp_lg_u32
  constexpr uint32_t kZero = 0x80;           // the constant 0; 1 is the next one
  constexpr uint32_t kStatus = 0xb9000000 | 2;
  const auto branch = [](uint32_t op, uint32_t words) { return 0xbf800000 | op << 16 | words; };
  put(56, uint16_t{0});  // wave64
  dispatch_.workgroup_size = {64, 1, 1};
  dispatch_.grid_size = {64, 1, 1};
  size_t at = 256;
  for (const uint32_t low : {0u, 5u}) {
    for (const uint32_t high : {0u, 1u, 0x80000000u}) {
      const uint32_t zero = low == 0 && high == 0 ? 1 : 0;
      // Branches that must be taken jump over one word, that the wave must not reach.
      code(at, {kMov | kExecLo << 16 | kLiteral,
                low,  //
                kMov | (kExecLo + 1) << 16 | kLiteral,
                high,  //
                kMov | kVccLo << 16 | kLiteral,
                low,  //
                kMov | (kVccLo + 1) << 16 | kLiteral,
                high,  //
                kMov | kExecz,
                kDiffers | (kZero + zero) << 8,
                branch(4, 1),
                kCodeEnd,  //
                kMov | kVccz,
                kDiffers | (kZero + zero) << 8,
                branch(4, 1),
                kCodeEnd,  //
                kStatus | 9 << 6,
                kDiffers | (kZero + zero) << 8,
                branch(4, 1),
                kCodeEnd,  //
                kStatus | 10 << 6,
                kDiffers | (kZero + zero) << 8,
                branch(4, 1),
                kCodeEnd,  //
                branch(zero != 0 ? 8 : 9, 1),
                kCodeEnd,
                branch(zero != 0 ? 9 : 8, 1),
                kEnd,  //
                kCodeEnd});
      const auto result = device_.engine().run(dispatch_);
      EXPECT_TRUE(result) << low << " " << high << ": " << result.error().to_string();
      code(at + 128,
           {kMov | kVccLo << 16 | kLiteral, low, kMov | (kVccLo + 1) << 16 | kLiteral, high,  //
            branch(zero != 0 ? 6 : 7, 1), kCodeEnd,                                           //
            branch(zero != 0 ? 7 : 6, 1), kEnd, kCodeEnd});
      const auto by_vcc = device_.engine().run(dispatch_);
      EXPECT_TRUE(by_vcc) << low << " " << high << ": " << by_vcc.error().to_string();
      at += 256;
    }
  }
}

TEST_F(RawCode, Ends) {
  code(256, {kNop, kEnd});
  EXPECT_TRUE(device_.engine().run(dispatch_));
}

TEST_F(RawCode, RunsOffTheEndOfItsMemory) {
  code(kBytes - 4, {kNop});
  expect_illegal(kBytes, "pc 0x");
}

TEST_F(RawCode, RunsIntoPadding) {
  code(256, {kNop});  // zeros follow
  expect_illegal(260, "these bytes are not a gfx1030 instruction");
  code(512, {kNop, kCodeEnd});
  expect_illegal(516, "execution ran off the end of code");
}

TEST_F(RawCode, ASwapWithWhatCannotBeWritten) {
  for (const uint32_t source : {0u, 90u, 128u, 255u}) {
    code(256 + source * 8, {0x7e00ca00 | source, kEnd, kEnd});  // v_swap_b32 v0, ...
    const Fault f = fault();
    EXPECT_EQ(f.kind, FaultKind::kUnsupported);
    EXPECT_THAT(f.to_string(), HasSubstr("a swap with a source that is not a VGPR"));
  }
}

// The number is that of M0 plus the offset; an engine has 64 of them.
TEST_F(RawCode, AGwsResourceThatDoesNotExist) {
  constexpr uint32_t kMovM0 = 0xbe800300 | 124 << 16 | 255;
  constexpr uint32_t kGwsInit = 0xd8000000 | 25 << 18 | 1 << 17;  // ds_gws_init, gds
  code(256, {kMovM0, 1 << 16, kGwsInit | 62, 0, kEnd});
  EXPECT_TRUE(device_.engine().run(dispatch_)) << "resource 63";
  code(512, {kMovM0, 1 << 16, kGwsInit | 63, 0, kEnd});
  const Fault f = fault();
  EXPECT_EQ(f.kind, FaultKind::kUnsupported);
  EXPECT_THAT(f.to_string(), HasSubstr("a GWS resource number above 63"));
}

TEST_F(RawCode, AnInstructionIsCutOff) {
  code(kBytes - 4, {kFirstOfTwo});
  expect_illegal(kBytes - 4, "the instruction reaches past the end of its code");
}

TEST_F(RawCode, LeavesItsMemory) {
  code(256, {kBranch | 0x7fff});
  expect_illegal(256, "jump to an address outside of code");
  code(512, {kSetpc});
  expect_illegal(512, "jump to an address outside of code");
}

TEST_F(RawCode, TheEntryIsNoPlaceForCode) {
  code(256, {kEnd});
  put(16, int64_t{1} << 40);
  expect_bad("kernel_code_entry_byte_offset 1099511627776 is not a valid code entry");
  put(16, int64_t{258});
  expect_bad("kernel_code_entry_byte_offset 258 is not a valid code entry");
}

TEST_F(RawCode, AbsurdSizes) {
  code(256, {kEnd});
  const Dispatch good = dispatch_;
  dispatch_.grid_size = {~0u, ~0u, ~0u};
  dispatch_.workgroup_size = {1, 1, 1};
  expect_bad("more than 2^64 workgroups");
  dispatch_ = good;
  dispatch_.workgroup_size = {65535, 65535, 65535};
  expect_bad("a workgroup of 281462092005375 work items");
  dispatch_ = good;
  dispatch_.group_segment_bytes = ~0u;
  expect_bad("4294967295 bytes of LDS");
  dispatch_ = good;
  dispatch_.private_segment_bytes = ~0u;
  expect_bad("4294967295 bytes of scratch per work item");
  dispatch_ = good;
  put(0, uint32_t{65537});  // the descriptor's group_segment_fixed_size
  expect_bad("65537 bytes of LDS");
  put(0, uint32_t{0});
  put(56, static_cast<uint16_t>(1 << 10 | 8));  // kernarg pointer, without room for it
  expect_bad("enables 2 user SGPRs (kernel_code_properties), but USER_SGPR_COUNT is 0");
  put(12, uint32_t{1});
  expect_bad("reserved byte 12");
}

TEST_F(RawCode, SaysWhoseSizeItIs) {
  code(256, {kEnd});
  dispatch_.group_segment_bytes = 65537;
  expect_bad("65537 bytes of LDS (the packet's group_segment_size); gfx1030 has 65536");
  put(0, uint32_t{65538});
  expect_bad("65538 bytes of LDS (the descriptor's group_segment_fixed_size)");
  put(0, uint32_t{0});
  dispatch_.group_segment_bytes = 0;
  dispatch_.private_segment_bytes = 1 << 21;
  expect_bad("(the packet's private_segment_size); at most 1048576 are supported");
}

TEST_F(RawCode, DescriptorsThatAreNotModelledAreRefusedByName) {
  code(256, {kEnd});
  uint32_t rsrc1 = 0;
  std::memcpy(&rsrc1, memory_ + 48, sizeof(rsrc1));
  put(48, rsrc1 | 1u << 26);
  expect_bad("FP16_OVFL");
  put(48, rsrc1 | 63);
  expect_bad("GRANULATED_WORKITEM_VGPR_COUNT allocates 512 VGPRs");
  put(48, rsrc1);
  put(52, uint32_t{1} << 24);
  expect_bad("ENABLE_EXCEPTION_");
  put(52, uint32_t{17} << 1);
  expect_bad("USER_SGPR_COUNT is 17");
  put(52, uint32_t{0});
  put(44, uint32_t{1});
  expect_bad("SHARED_VGPR_COUNT");
  put(44, uint32_t{0});
  EXPECT_TRUE(device_.engine().run(dispatch_));
}

// A target in s[0:1].
class JumpsOut : public RawCode {
 protected:
  void SetUp() override {
    RawCode::SetUp();
    put(52, uint32_t{2} << 1);                    // two user SGPRs
    put(56, static_cast<uint16_t>(1 << 10 | 8));  // with the kernarg segment's address
    code(256, {kSetpc});
  }
  Fault jump_to(uint64_t target) {
    dispatch_.kernarg_address = target;
    const Fault f = fault();
    EXPECT_EQ(f.kind, FaultKind::kIllegal) << f.to_string();
    EXPECT_EQ(f.pc, address() + 256);
    EXPECT_EQ(f.address, target);
    EXPECT_THAT(f.to_string(), HasSubstr("jump to an address outside of code"));
    return f;
  }
};

TEST_F(JumpsOut, IntoMemoryThatIsNoCode) {
  for (const RegionKind kind : {RegionKind::kDevice, RegionKind::kHost, RegionKind::kKernarg,
                                RegionKind::kCode, RegionKind::kSystem}) {
    std::byte* const data = device_.allocate(8192, kind, "data");
    for (size_t n = 0; n < 8192; n += 4) std::memcpy(data + n, &kEnd, sizeof(kEnd));
    const Fault f = jump_to(reinterpret_cast<uint64_t>(data) + 64);
    EXPECT_THAT(f.to_string(), HasSubstr("into \"data\" + 64"));
  }
}

TEST_F(JumpsOut, IntoNothingAndBesideCode) {
  EXPECT_THAT(jump_to(0x1000).to_string(), HasSubstr("not mapped"));
  jump_to(address() + kBytes);
  jump_to(address() - 4);
  jump_to(address() + 258);  // no instruction begins there
  jump_to(kScratchWindow);
  jump_to(UINT64_MAX - 3);
}

TEST_F(JumpsOut, IntoMemoryThatWasFreed) {
  std::byte* const other = device_.allocate(kBytes, RegionKind::kCode, "other");
  const auto begin = reinterpret_cast<uint64_t>(other);
  std::memcpy(other, &kEnd, sizeof(kEnd));
  ASSERT_TRUE(device_.engine().add_raw_code(begin, kBytes));
  dispatch_.kernarg_address = begin;
  EXPECT_TRUE(device_.engine().run(dispatch_));
  device_.engine().remove_code(begin);
  EXPECT_THAT(jump_to(begin).to_string(), HasSubstr("into \"other\" + 0"));
  device_.memory().remove_all(begin, kBytes);
  EXPECT_THAT(jump_to(begin).to_string(), HasSubstr("not mapped"));
}

// The same address, and other code: of the same size, smaller, larger.
TEST_F(RawCode, CodeAtAnAddressOfEarlierCodeIsDecodedAnew) {
  for (const uint64_t size : {uint64_t{kBytes}, uint64_t{512}, uint64_t{kBytes}}) {
    code(256, {kNop, kEnd});
    EXPECT_TRUE(device_.engine().run(dispatch_));
    device_.engine().remove_code(address());
    expect_bad("is not a valid code entry");
    ASSERT_TRUE(device_.engine().add_raw_code(address(), size));
    code(256, {kNop, kCodeEnd});
    expect_illegal(260, "execution ran off the end of code");
    device_.engine().remove_code(address());
    ASSERT_TRUE(device_.engine().add_raw_code(address(), size));
  }
}

TEST_F(RawCode, KernelsCannotChangeCode) {
  put(52, uint32_t{2} << 1);
  put(56, static_cast<uint16_t>(1 << 10 | 8));
  dispatch_.kernarg_address = address() + 512;
  code(256, {0x7e000280,                      // v_mov_b32 v0, 0
             0xdc708000, 0x00000000, kEnd});  // global_store_dword v0, v0, s[0:1]
  const Fault f = fault();
  EXPECT_EQ(f.kind, FaultKind::kMemory) << f.to_string();
  EXPECT_TRUE(f.write);
  EXPECT_EQ(f.address, address() + 512);
  EXPECT_THAT(f.to_string(), HasSubstr("is in code, which kernels cannot change"));
}

// Decodings live as long as a wave may stand in them.
TEST_F(RawCode, CodeGoesWhileAWaveStandsInIt) {
  code(256, {kNop, kBranch | 0xfffe});  // back to the s_nop
  std::thread other([&] {
    for (int n = 0; n < 200; ++n) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      device_.engine().remove_code(address());
      EXPECT_TRUE(device_.engine().add_raw_code(address(), kBytes));
    }
    device_.engine().stop();
  });
  EXPECT_EQ(fault().kind, FaultKind::kStopped);
  other.join();
}

TEST(RawCodeBudget, DecodedCodeIsTakenFromItAndGivenBack) {
  std::atomic<int64_t> taken{0};
  std::atomic<int64_t> most{INT64_MAX};
  EngineOptions options;
  options.take_code = [&](uint64_t bytes) {
    if (taken + static_cast<int64_t>(bytes) > most) return false;
    taken += static_cast<int64_t>(bytes);
    return true;
  };
  options.give_code = [&](uint64_t bytes) { taken -= static_cast<int64_t>(bytes); };
  constexpr uint64_t kLong = 1 << 20;
  TestDevice device(options);
  std::byte* const memory = device.allocate(kLong, RegionKind::kCode, "much code");
  for (size_t n = 0; n < kLong; n += 4) std::memcpy(memory + n, &kNop, sizeof(kNop));
  std::memcpy(memory + kLong - 4, &kEnd, sizeof(kEnd));
  std::memset(memory, 0, 256);
  const int64_t entry = 256;
  const uint32_t rsrc1 = 0xf0u << 12 | 1u << 21 | 1u << 23;
  const uint16_t properties = 1 << 10;
  std::memcpy(memory + 16, &entry, sizeof(entry));
  std::memcpy(memory + 48, &rsrc1, sizeof(rsrc1));
  std::memcpy(memory + 56, &properties, sizeof(properties));
  const auto begin = reinterpret_cast<uint64_t>(memory);
  ASSERT_TRUE(device.engine().add_raw_code(begin, kLong));
  Dispatch dispatch;
  dispatch.kernel_object = begin;
  dispatch.workgroup_size = {32, 1, 1};
  dispatch.grid_size = {32, 1, 1};
  ASSERT_TRUE(device.engine().run(dispatch));
  EXPECT_GT(taken, int64_t{kLong} / 4 * 64);  // a slot of 64 bytes for each dword
  device.engine().remove_code(begin);
  EXPECT_EQ(taken, 0);
  ASSERT_TRUE(device.engine().add_raw_code(begin, kLong));
  most = 1 << 20;
  const auto result = device.engine().run(dispatch);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, FaultKind::kOutOfMemory);
  EXPECT_LE(taken, most);
}

// Behind the last segment with code there is other memory, whose bytes are no code.
TEST(CodeObjects, EndWithTheirCode) {
  TestDevice device;
  if (!device.load(GFXGRAPH_KERNEL_DIR "/engine_O2.co").empty()) GTEST_SKIP();
  const codeobj::Kernel& kernel = device.code().kernels()[0];
  uint64_t end = 0;
  for (const codeobj::Segment& segment : device.code().segments()) {
    if (!segment.executable) continue;
    auto* const words = reinterpret_cast<uint32_t*>(device.load_address() + segment.address);
    std::fill_n(words, segment.memory_bytes / 4, kNop);
    end = segment.address + segment.memory_bytes;
    words[segment.memory_bytes / 4] = 0xffffffff;
  }
  const auto result = device.engine().run(device.dispatch(
      kernel, {.grid = {32, 1, 1}, .block = {32, 1, 1}}, std::vector<std::byte>(256)));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code_address, end);
  EXPECT_THAT(result.error().to_string(), HasSubstr("execution ran off the end of code"));
}

}  // namespace
}  // namespace gfxgraph::emulator
