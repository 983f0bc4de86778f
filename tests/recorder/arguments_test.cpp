#include "recorder/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace gfxgraph::recorder {
namespace {

using format::Argument;
using format::ArgumentKind;
using format::Relocation;
using format::RelocationSource;

constexpr uint64_t kBase = 0x7f0000001000;

// pointer at 0, int at 8, struct of 24 bytes at 16, 8-byte scalar at 40, two ints at 48 and 52, LDS
// pointer at 56, hidden at 64.
format::Kernel kernel() {
  format::Kernel made;
  made.name = "k";
  made.explicit_size_bytes = 60;
  made.kernarg_size_bytes = 72;
  made.arguments = {
      {"p", "global_buffer", ArgumentKind::kGlobalBuffer, 0, 8},
      {"n", "by_value", ArgumentKind::kByValue, 8, 4},
      {"s", "by_value", ArgumentKind::kByValue, 16, 24},
      {"x", "by_value", ArgumentKind::kByValue, 40, 8},
      {"low", "by_value", ArgumentKind::kByValue, 48, 4},
      {"high", "by_value", ArgumentKind::kByValue, 52, 4},
      {"lds", "dynamic_shared_pointer", ArgumentKind::kDynamicSharedPointer, 56, 4},
      {"", "hidden_global_offset_x", ArgumentKind::kHidden, 64, 8},
  };
  return made;
}

AllocationMap map_with(uint64_t size = 0x100) {
  AllocationMap map;
  auto made = std::make_shared<Allocation>();
  made->id = 4;
  made->address = kBase;
  made->size_bytes = size;
  (void)map.insert(made);
  return map;
}

std::vector<uint8_t> kernarg_with(size_t offset, uint64_t value) {
  std::vector<uint8_t> bytes(60);
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
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
  const std::vector<uint8_t> kernarg = kernarg_from_params(kernel(), params);
  ASSERT_EQ(kernarg.size(), 60u);
  uint64_t word = 0;
  std::memcpy(&word, &kernarg[8], 8);
  EXPECT_EQ(word, 0xffffffffu) << "4 bytes of n, 4 bytes of padding";
  std::memcpy(&word, &kernarg[32], 8);
  EXPECT_EQ(word, 3u);
  std::memcpy(&word, &kernarg[48], 8);
  EXPECT_EQ(word, 0x600000005u);
  EXPECT_EQ(kernarg_from_params(kernel(), nullptr), std::vector<uint8_t>(60));
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
  const auto first = kernarg_from_extra(kernel(), usual);
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)[8], 0xee);
  EXPECT_EQ((*first)[12], 0) << "padding is not an argument";
  EXPECT_EQ(*kernarg_from_extra(kernel(), turned), *first);
  EXPECT_EQ(*kernarg_from_extra(kernel(), null_end), *first);
}

TEST(Arguments, ShortExtraLeavesTheRestZero) {
  std::vector<uint8_t> buffer(10, 0xee);
  size_t size = buffer.size();
  void* extra[] = {reinterpret_cast<void*>(1), buffer.data(), reinterpret_cast<void*>(2), &size,
                   reinterpret_cast<void*>(3)};
  const auto kernarg = kernarg_from_extra(kernel(), extra);
  ASSERT_TRUE(kernarg);
  EXPECT_EQ((*kernarg)[9], 0xee);
  EXPECT_EQ((*kernarg)[10], 0);
  EXPECT_EQ((*kernarg)[59], 0);
}

TEST(Arguments, ExtraWithUnknownKeyOrWithoutEndIsRefused) {
  void* unknown[] = {reinterpret_cast<void*>(9), nullptr, reinterpret_cast<void*>(3)};
  EXPECT_EQ(kernarg_from_extra(kernel(), unknown).error().status, Status::kUnsupported);
  std::vector<void*> endless(64, reinterpret_cast<void*>(1));
  EXPECT_EQ(kernarg_from_extra(kernel(), endless.data()).error().status, Status::kInvalidArgument);
}

TEST(Arguments, ExtraWithoutMetadataKeepsEverything) {
  format::Kernel bare;
  std::vector<uint8_t> buffer(20, 0xab);
  size_t size = buffer.size();
  void* extra[] = {reinterpret_cast<void*>(1), buffer.data(), reinterpret_cast<void*>(2), &size,
                   reinterpret_cast<void*>(3)};
  EXPECT_EQ(*kernarg_from_extra(bare, extra), buffer);
}

TEST(Arguments, TypedPointers) {
  const AllocationMap map = map_with();
  const auto found = find_kernarg_relocations(kernel(), kernarg_with(0, kBase + 3), map);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].allocation, 4u);
  EXPECT_EQ(found[0].addend, 3u);
  EXPECT_EQ(found[0].source, RelocationSource::kTyped);
  EXPECT_FALSE(found[0].ambiguous) << "the type says that it is a pointer";
}

TEST(Arguments, SentinelsAreNotRelocated) {
  const AllocationMap map = map_with();
  for (const uint64_t value : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, kBase - 1, kBase + 0x101}) {
    EXPECT_TRUE(find_kernarg_relocations(kernel(), kernarg_with(0, value), map).empty()) << value;
  }
}

TEST(Arguments, PointersInStructs) {
  const AllocationMap map = map_with();
  for (const size_t offset : {16, 24, 32}) {
    const auto found = find_kernarg_relocations(kernel(), kernarg_with(offset, kBase + 8), map);
    ASSERT_EQ(found.size(), 1u) << offset;
    EXPECT_EQ(found[0].offset_bytes, offset);
    EXPECT_EQ(found[0].source, RelocationSource::kMatched);
    EXPECT_FALSE(found[0].ambiguous);
  }
}

TEST(Arguments, WhatOnlyItsValueMakesAPointerIsAmbiguous) {
  const AllocationMap map = map_with();
  struct Case {
    size_t offset;
    uint64_t value;
    const char* why;
  };
  for (const Case& c :
       {Case{40, kBase, "an 8-byte scalar"}, Case{20, kBase, "in a struct, not 8-byte aligned"},
        Case{48, kBase, "two 4-byte arguments"}, Case{24, kBase + 2, "unaligned target"},
        Case{24, kBase + 0x100, "one past the end"}}) {
    const auto found = find_kernarg_relocations(kernel(), kernarg_with(c.offset, c.value), map);
    ASSERT_EQ(found.size(), 1u) << c.why;
    EXPECT_EQ(found[0].offset_bytes, c.offset) << c.why;
    EXPECT_TRUE(found[0].ambiguous) << c.why;
  }
}

TEST(Arguments, LdsOffsetsAndHalvesOfPointersAreNeverAddresses) {
  AllocationMap map;
  auto low = std::make_shared<Allocation>();
  low->id = 1;
  low->address = 0x10;  // where an LDS offset could point
  low->size_bytes = 0x100;
  (void)map.insert(low);
  std::vector<uint8_t> kernarg(60);
  kernarg[56] = 0x20;
  for (const Relocation& r : find_kernarg_relocations(kernel(), kernarg, map)) {
    EXPECT_NE(r.offset_bytes, 56u);
  }
}

TEST(Arguments, MemoryWords) {
  const AllocationMap map = map_with();
  std::vector<uint64_t> words = {0, kBase, 1, kBase + 0x100, kBase + 1, kBase + 0x101};
  const auto found = find_memory_relocations(std::as_bytes(std::span(words)), map);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].offset_bytes, 8u);
  EXPECT_FALSE(found[0].ambiguous);
  EXPECT_EQ(found[1].offset_bytes, 24u);
  EXPECT_TRUE(found[1].ambiguous);
  EXPECT_EQ(found[2].offset_bytes, 32u);
  EXPECT_TRUE(found[2].ambiguous);
  EXPECT_TRUE(find_memory_relocations({}, map).empty());
  EXPECT_TRUE(find_memory_relocations(std::as_bytes(std::span(words)), AllocationMap{}).empty());
}

TEST(Arguments, PlacesAreNamed) {
  EXPECT_EQ(describe_kernarg_offset(kernel(), 24), "argument 2 's' at byte 8 of kernel k");
  EXPECT_EQ(describe_kernarg_offset(kernel(), 40), "argument 3 'x' of kernel k");
  EXPECT_EQ(describe_kernarg_offset(kernel(), 12), "kernarg byte 12 of kernel k");
}

}  // namespace
}  // namespace gfxgraph::recorder
