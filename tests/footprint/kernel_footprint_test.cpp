// Footprints of kernels whose accesses are known: by value, and what must be unknown.
#include "footprint/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "codeobj/code_object.h"
#include "codeobj/relocate.h"

namespace gfxgraph::footprint {
namespace {

using testing::HasSubstr;

class KernelFootprintTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = std::string(FOOTPRINT_TEST_OBJECTS "/") + GetParam() + ".bundle";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "hipcc is not installed";
    const auto bytes = read_file(path, 1 << 26);
    ASSERT_TRUE(bytes);
    const auto elves = codeobj::extract_device_elves(*bytes);
    ASSERT_TRUE(elves);
    const auto parsed = codeobj::CodeObject::parse(elves->back().bytes);
    ASSERT_TRUE(parsed);
    object_ = *parsed;
    memory_.resize(object_->load_size_bytes());
    ASSERT_TRUE(codeobj::load_segments(*object_, memory_, 0,
                                       [](const std::string&) { return uint64_t{0}; }));
    emulator::Region region;
    region.address = object_->segments().front().address;
    region.requested_bytes = region.mapped_bytes = memory_.size();
    region.host = memory_.data();
    ASSERT_TRUE(map_.add(region));
    table_ = map_.snapshot();
    for (const codeobj::Segment& segment : object_->segments())
      if (!segment.writable)
        constants_.push_back({segment.address, segment.address + segment.memory_bytes});
  }

  // Pointers first, then numbers of 32 bits, as the kernels have them.
  KernelFootprint of(const std::string& name, uint32_t grid, uint32_t block,
                     const std::vector<uint32_t>& numbers, uint32_t rows = 1) {
    const codeobj::Kernel* const kernel = object_->find_kernel(name);
    if (kernel == nullptr) return {.unknown = "no kernel " + name, .uses = {}};
    std::vector<uint8_t> bytes(kernel->kernarg_size_bytes), known(bytes.size());
    std::vector<uint32_t> pointers;
    size_t number = 0;
    const auto put = [&](const codeobj::Argument& argument, uint64_t value) {
      std::memcpy(bytes.data() + argument.offset_bytes, &value, argument.size_bytes);
      std::memset(known.data() + argument.offset_bytes, 1, argument.size_bytes);
    };
    for (const codeobj::Argument& argument : kernel->arguments) {
      if (argument.value_kind == "global_buffer")
        pointers.push_back(argument.offset_bytes);
      else if (argument.value_kind == "by_value")
        put(argument, numbers.at(number++));
      else if (argument.value_kind == "hidden_group_size_x")
        put(argument, block);
      else if (argument.value_kind == "hidden_group_size_y")
        put(argument, rows);
      else if (argument.value_kind == "hidden_block_count_x")
        put(argument, grid / block);
    }
    KernelInput input;
    input.memory = table_.get();
    input.entry = kernel->entry_address;
    input.descriptor = &kernel->descriptor;
    input.kernarg = bytes;
    input.known = known;
    input.pointers = pointers;
    input.constants = constants_;
    input.grid = {grid, 4 * rows, 1};
    input.block = {block, rows, 1};
    return kernel_footprint(input);
  }
  // "w0:[0, 256)/4x4": writes of pointer 0 from bytes 0 to 256, 4 bytes every 4; "*": anywhere.
  static std::string text(const KernelFootprint& footprint) {
    if (!footprint.unknown.empty()) return "unknown: " + footprint.unknown;
    std::string all;
    for (const PointerUse& use : footprint.uses) {
      Range united_starts = use.spans.front().starts;
      uint32_t width = 0;
      bool anywhere = false;
      for (const Span& span : use.spans) {
        united_starts = united(united_starts, span.starts);
        width = std::max(width, span.width);
        anywhere = anywhere || span.anywhere();
      }
      all += std::string(all.empty() ? "" : " ") + "rwa"[static_cast<int>(use.kind)] +
             std::to_string(use.pointer);
      if (anywhere) {
        all += ":*";
        continue;
      }
      all += ":[" + std::to_string(united_starts.low) + ", " +
             std::to_string(united_starts.high + width) + ")";
    }
    return all;
  }

  std::shared_ptr<const codeobj::CodeObject> object_;
  std::vector<std::byte> memory_;
  emulator::MemoryMap map_;
  std::shared_ptr<const emulator::RegionTable> table_;
  std::vector<KernelInput::Constant> constants_;
};

TEST_P(KernelFootprintTest, ByteRangesFollowFromTheGridAndTheArguments) {
  EXPECT_EQ(text(of("copy_all", 256, 64, {})), "w0:[0, 1024) r1:[0, 1024)");
  EXPECT_EQ(text(of("copy_all", 64, 64, {})), "w0:[0, 256) r1:[0, 256)");
  EXPECT_EQ(text(of("copy_guarded", 256, 64, {200})), "w0:[0, 800) r1:[0, 800)");
  EXPECT_EQ(text(of("copy_guarded", 256, 64, {201})), "w0:[0, 804) r1:[0, 804)");
}

TEST_P(KernelFootprintTest, StridesAreKept) {
  const KernelFootprint footprint = of("odd_elements", 64, 64, {});
  EXPECT_EQ(text(footprint), "w0:[4, 512)");
  ASSERT_EQ(footprint.uses.size(), 1u);
  ASSERT_EQ(footprint.uses[0].spans.size(), 1u);
  EXPECT_EQ(footprint.uses[0].spans[0].starts, (Range{4, 508, 8}));
  EXPECT_EQ(footprint.uses[0].spans[0].width, 4u);
}

TEST_P(KernelFootprintTest, AtomicsAndSelectionsAreSeen) {
  EXPECT_EQ(text(of("count", 64, 64, {})), "a0:[0, 4) r1:[0, 256)");
  const KernelFootprint chosen = of("choose", 64, 64, {7});
  ASSERT_EQ(chosen.uses.size(), 2u) << text(chosen);
  EXPECT_EQ(chosen.uses[0].kind, AccessKind::kWrite);
  EXPECT_EQ(chosen.uses[1].kind, AccessKind::kWrite);
}

TEST_P(KernelFootprintTest, AnIndexFromMemoryMayLeadAnywhereInTheBuffer) {
  // As far as an int leads: clipped to the buffer (launch.cpp).
  EXPECT_EQ(text(of("scatter", 64, 64, {})), "w0:[-8589934592, 8589934592) r1:[0, 256)");
}

TEST_P(KernelFootprintTest, WhatMayLeadAnywhereIsUnknown) {
  EXPECT_THAT(of("follow", 64, 64, {}).unknown, HasSubstr("read from memory"));
  EXPECT_THAT(of("cross", 64, 64, {}).unknown, HasSubstr("several pointers"));
  EXPECT_NE(of("keep_pointer", 64, 64, {}).unknown, "");
  EXPECT_NE(of("write_variable", 64, 64, {}).unknown, "");
}

TEST_P(KernelFootprintTest, LanesThatGoOtherWaysAreFollowed) {
  const std::string nested = text(of("nested", 64, 64, {5}));
  EXPECT_EQ(nested, "w0:[0, 1024) r1:[0, 256)");
  const KernelFootprint loop = of("uneven_loop", 64, 64, {5});
  ASSERT_EQ(loop.unknown, "");
  ASSERT_EQ(loop.uses.size(), 2u);
  EXPECT_EQ(loop.uses[0].pointer, 0u);
  EXPECT_EQ(loop.uses[0].kind, AccessKind::kWrite);
  ASSERT_EQ(loop.uses[0].spans.size(), 1u);
  EXPECT_EQ(loop.uses[0].spans[0].starts, (Range{0, 252, 4}));
}

TEST_P(KernelFootprintTest, BoundsOfTwoAxesHold) {
  const KernelFootprint footprint = of("rows", 64, 32, {50, 6}, 2);
  ASSERT_EQ(footprint.uses.size(), 1u) << text(footprint);
  // y < 6, x < 50: 6 rows of 50.
  EXPECT_EQ(text(footprint), "w0:[0, 1200)");
}

TEST_P(KernelFootprintTest, ConstantsOfTheCodeAreNoMemoryOfOthers) {
  const KernelFootprint footprint = of("read_constant", 64, 64, {3});
  // A table with a symbol may be reached through the table of addresses, which the loader writes.
  if (footprint.unknown.empty()) {
    EXPECT_EQ(text(footprint), "w0:[0, 256)");
  }
}

INSTANTIATE_TEST_SUITE_P(Optimised, KernelFootprintTest, testing::Values("footprints"));

TEST(Ranges, AgreeWithEveryValue) {
  // Small ranges against all of their values.
  std::vector<Range> ranges;
  for (const int64_t low : {int64_t{-5}, int64_t{0}, int64_t{3}, int64_t{0xfffffff0}})
    for (const uint64_t step : {1, 2, 6})
      for (const int64_t count : {0, 1, 3})
        ranges.push_back({low, low + count * static_cast<int64_t>(step), step});
  const auto has = [](const Range& range, int64_t value, bool modulo) {
    for (const int64_t turn :
         modulo ? std::vector<int64_t>{-2, -1, 0, 1, 2} : std::vector<int64_t>{0}) {
      const int64_t at = value + turn * (int64_t{1} << 32);
      if (at >= range.low && at <= range.high &&
          static_cast<uint64_t>(at - range.low) % range.step == 0)
        return true;
    }
    return false;
  };
  const auto each = [](const Range& range, const auto& visit) {
    for (int64_t value = range.low; value <= range.high; value += static_cast<int64_t>(range.step))
      visit(value);
  };
  for (const Range& a : ranges) {
    each(a, [&](int64_t x) {
      EXPECT_TRUE(has(unsigned32(a), static_cast<uint32_t>(x), false));
      EXPECT_TRUE(has(signed32(a), static_cast<int32_t>(static_cast<uint32_t>(x)), false));
      EXPECT_TRUE(has(wrapped32(a), x, true));
      for (const uint32_t mask : {0u, 1u, 6u, 0xfffffffcu, 0xffu})
        EXPECT_TRUE(has(masked(unsigned32(a), mask), static_cast<uint32_t>(x) & mask, false));
      for (const unsigned bits : {0u, 1u, 4u})
        EXPECT_TRUE(
            has(shifted_right(unsigned32(a), bits), static_cast<uint32_t>(x) >> bits, false));
    });
    for (const Range& b : ranges) {
      const Range both = united(a, b), plus = sum(a, b), times = product(a, b);
      const Range either = either_bits(unsigned32(a), unsigned32(b));
      each(a, [&](int64_t x) {
        EXPECT_TRUE(has(both, x, false));
        each(b, [&](int64_t y) {
          EXPECT_TRUE(has(plus, x + y, false));
          EXPECT_TRUE(!bounded(times) || has(times, x * y, false));
          EXPECT_TRUE(has(either, static_cast<uint32_t>(x) | static_cast<uint32_t>(y), false));
        });
      });
    }
  }
}

}  // namespace
}  // namespace gfxgraph::footprint
