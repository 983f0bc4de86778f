#include "recorder/launch/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/recorder/argument_kinds.h"
#include "tests/recorder/kernarg_of.h"

namespace gfxgraph::recorder {
namespace {

using format::Argument;
using format::ArgumentKind;

TEST(Arguments, AreReadInPlaceWhereHipReadsThemToo) {
  LaunchShape shape;
  EXPECT_EQ(arguments_before(shape), ArgumentsAre::kReadByHip);
  shape.block = {32, 32, 1};
  shape.grid = {1u << 20, 65535, 7};
  EXPECT_EQ(arguments_before(shape), ArgumentsAre::kReadByHip);
  const auto refused = [&](auto&& change) {
    LaunchShape other = shape;
    change(other);
    return arguments_before(other) == ArgumentsAre::kUnknown;
  };
  EXPECT_TRUE(refused([](LaunchShape& one) { one.block[2] = 2; }));
  EXPECT_TRUE(refused([](LaunchShape& one) { one.block[1] = 0; }));
  EXPECT_TRUE(refused([](LaunchShape& one) { one.grid[2] = 0; }));
  EXPECT_TRUE(refused([](LaunchShape& one) { one.grid[0] = 1u << 27; }));
  EXPECT_TRUE(refused([](LaunchShape& one) { one.dynamic_lds_bytes = 65537; }));
  EXPECT_TRUE(refused([](LaunchShape& one) { one.block = {1u << 31, 2, 1}; }));
}

TEST(Arguments, ParamsArePlacedByLayoutAndPaddingIsZero) {
  uint64_t pointer = kBase;
  int32_t n = -1;
  uint64_t structure[3] = {1, 2, 3};
  uint64_t x = 9;
  int32_t low = 5;
  int32_t high = 6;
  uint32_t lds = 64;
  void* params[] = {&pointer, &n, structure, &x, &low, &high, &lds};
  const std::vector<uint8_t> kernarg = kernarg_of(kernel_of_all_kinds(), params);
  ASSERT_EQ(kernarg.size(), 60u);
  uint64_t word = 0;
  std::memcpy(&word, &kernarg[8], 8);
  EXPECT_EQ(word, 0xffffffffu) << "4 bytes of n, 4 bytes of padding";
  std::memcpy(&word, &kernarg[32], 8);
  EXPECT_EQ(word, 3u);
  std::memcpy(&word, &kernarg[48], 8);
  EXPECT_EQ(word, 0x600000005u);
  EXPECT_EQ(kernarg_of(kernel_of_all_kinds(), nullptr), std::vector<uint8_t>(60));
}

TEST(Arguments, ExtraIsReadKeyByKey) {
  std::vector<uint8_t> buffer(60, 0xee);
  size_t size = buffer.size();
  void* const pointer_key = reinterpret_cast<void*>(1);
  void* const size_key = reinterpret_cast<void*>(2);
  void* const end_key = reinterpret_cast<void*>(3);
  void* usual[] = {pointer_key, buffer.data(), size_key, &size, end_key};
  void* turned[] = {size_key, &size, pointer_key, buffer.data(), end_key};
  void* null_end[] = {pointer_key, buffer.data(), size_key, &size, nullptr};
  const auto first = kernarg_of_extra(kernel_of_all_kinds(), usual);
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)[8], 0xee);
  EXPECT_EQ((*first)[12], 0) << "padding is not an argument";
  EXPECT_EQ(*kernarg_of_extra(kernel_of_all_kinds(), turned), *first);
  EXPECT_EQ(*kernarg_of_extra(kernel_of_all_kinds(), null_end), *first);
}

TEST(Arguments, ShortExtraLeavesTheRestZero) {
  std::vector<uint8_t> buffer(10, 0xee);
  size_t size = buffer.size();
  void* extra[] = {reinterpret_cast<void*>(1), buffer.data(), reinterpret_cast<void*>(2), &size,
                   reinterpret_cast<void*>(3)};
  const auto kernarg = kernarg_of_extra(kernel_of_all_kinds(), extra);
  ASSERT_TRUE(kernarg);
  EXPECT_EQ((*kernarg)[9], 0xee);
  EXPECT_EQ((*kernarg)[10], 0);
  EXPECT_EQ((*kernarg)[59], 0);
}

TEST(Arguments, ExtraWithUnknownKeyOrWithoutEndIsRefused) {
  void* unknown[] = {reinterpret_cast<void*>(9), nullptr, reinterpret_cast<void*>(3)};
  EXPECT_EQ(kernarg_of_extra(kernel_of_all_kinds(), unknown).error().status, Status::kUnsupported);
  std::vector<void*> endless(64, reinterpret_cast<void*>(1));
  EXPECT_EQ(kernarg_of_extra(kernel_of_all_kinds(), endless.data()).error().status,
            Status::kInvalidArgument);
}

TEST(Arguments, ExtraWithoutMetadataKeepsEverything) {
  format::Kernel bare;
  std::vector<uint8_t> buffer(20, 0xab);
  size_t size = buffer.size();
  void* extra[] = {reinterpret_cast<void*>(1), buffer.data(), reinterpret_cast<void*>(2), &size,
                   reinterpret_cast<void*>(3)};
  EXPECT_EQ(*kernarg_of_extra(bare, extra), buffer);
}

TEST(Arguments, PlacesAreNamed) {
  EXPECT_EQ(describe_argument(kernel_of_all_kinds(), 24), "argument 2 's' at byte 8");
  EXPECT_EQ(describe_argument(kernel_of_all_kinds(), 12), "kernarg byte 12");
  EXPECT_EQ(ambiguous_bit(0), 1u);
  EXPECT_EQ(ambiguous_bit(8), 4u);
  EXPECT_EQ(ambiguous_bit(252), ambiguous_bit(4096));
  EXPECT_EQ(describe_kernarg_offset(kernel_of_all_kinds(), 24),
            "argument 2 's' at byte 8 of kernel k");
  EXPECT_EQ(describe_kernarg_offset(kernel_of_all_kinds(), 40), "argument 3 'x' of kernel k");
  EXPECT_EQ(describe_kernarg_offset(kernel_of_all_kinds(), 12), "kernarg byte 12 of kernel k");
}

}  // namespace
}  // namespace gfxgraph::recorder
