#include "pointers/word_resolver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <random>
#include <span>

#include "tests/recorder/argument_kinds.h"

namespace gfxgraph::pointers {
namespace {

using format::AllocationKind;
using format::Argument;
using format::ArgumentKind;
using format::Relocation;
using format::RelocationSource;
using recorder::kBase;
using recorder::kernel_of_all_kinds;

void add(TargetMap& map, uint32_t id, uint64_t address, uint64_t size,
         AllocationKind kind = AllocationKind::kDevice, uint64_t host = 0) {
  auto made = std::make_shared<Target>();
  made->id = id;
  made->kind = kind;
  made->address = address;
  made->host_address = host;
  made->size_bytes = size;
  (void)map.insert(made);
}

TargetMap map_with(uint64_t size = 0x100) {
  TargetMap map;
  add(map, 4, kBase, size);
  return map;
}

std::vector<uint8_t> kernarg_with(size_t offset, uint64_t value) {
  std::vector<uint8_t> bytes(60);
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

struct Resolved {
  std::vector<Relocation> found;
  uint32_t unknown = WordResolver::kNone;
  uint32_t near = WordResolver::kNone;
  bool special = false;
};

Resolved resolve(const TargetMap& map, size_t offset, uint64_t value,
                 const format::Kernel& of = kernel_of_all_kinds()) {
  Resolved result;
  const WordResolver::Doubts doubts =
      WordResolver(map).arguments(kernarg_slots(of), kernarg_with(offset, value), result.found);
  result.unknown = doubts.unknown;
  result.near = doubts.near;
  result.special = doubts.special;
  return result;
}

std::vector<Relocation> in_memory(const TargetMap& map, const std::vector<uint64_t>& words) {
  return WordResolver(map).memory(std::as_bytes(std::span(words)));
}

TEST(WordResolver, TypedPointers) {
  const Resolved result = resolve(map_with(), 0, kBase + 3);
  ASSERT_EQ(result.found.size(), 1u);
  EXPECT_EQ(result.found[0].allocation, 4u);
  EXPECT_EQ(result.found[0].addend, 3);
  EXPECT_EQ(result.found[0].source, RelocationSource::kTyped);
  EXPECT_FALSE(result.found[0].ambiguous) << "the type says that it is a pointer";
  EXPECT_FALSE(result.found[0].outside);
}

// Who asks looks at the words only then.
TEST(WordResolver, SpecialIsWhateverIsNotPlain) {
  TargetMap map = map_with();
  Target& target = *map.find(kBase);
  EXPECT_TRUE(resolve(map, 0, kBase).special) << "the trace does not have it yet";
  target.begun = true;
  EXPECT_FALSE(resolve(map, 0, kBase).special);
  EXPECT_FALSE(resolve(map, 16, kBase).special);
  EXPECT_FALSE(resolve(map, 0, 0).special);
  EXPECT_FALSE(resolve(map, 40, 12345).special) << "a number";
  EXPECT_TRUE(resolve(map, 40, kBase).special) << "ambiguous";
  EXPECT_TRUE(resolve(map, 16, kBase + 1).special) << "ambiguous";
  EXPECT_TRUE(resolve(map, 0, kBase - 64).special) << "outside";
  EXPECT_TRUE(resolve(map, 0, kBase | uint64_t{1} << 60).special) << "tagged";
  target.kept = true;
  EXPECT_TRUE(resolve(map, 0, kBase).special);
  target.kept = false;
  target.holds_values = true;
  EXPECT_TRUE(resolve(map, 16, kBase).special);
  target.holds_values = false;
  target.host_address = kBase;
  EXPECT_TRUE(resolve(map, 0, kBase).special);
}

TEST(WordResolver, SentinelsAreValues) {
  const TargetMap map = map_with();
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{1}, uint64_t{65535}, ~uint64_t{0}, ~uint64_t{7}, uint64_t{1} << 63}) {
    const Resolved result = resolve(map, 0, value);
    EXPECT_TRUE(result.found.empty()) << value;
    EXPECT_EQ(result.unknown, WordResolver::kNone) << value;
  }
}

TEST(WordResolver, TypedPointersOutsideKeepASignedAddend) {
  TargetMap map = map_with();
  for (const int64_t addend : {-1, -2048, -(1 << 20), 0x101, 0x100 + (1 << 20)}) {
    const Resolved result = resolve(map, 0, kBase + static_cast<uint64_t>(addend));
    ASSERT_EQ(result.found.size(), 1u) << addend;
    EXPECT_EQ(result.found[0].allocation, 4u);
    EXPECT_EQ(result.found[0].addend, addend);
    EXPECT_EQ(result.found[0].source, RelocationSource::kTyped);
    EXPECT_TRUE(result.found[0].outside);
    EXPECT_FALSE(result.found[0].ambiguous);
  }
  // The nearest one, whichever side it is on.
  add(map, 5, kBase + 0x1000, 0x100);
  EXPECT_EQ(resolve(map, 0, kBase + 0x7ff).found[0].allocation, 4u);
  EXPECT_EQ(resolve(map, 0, kBase + 0x900).found[0].addend, -0x700);
}

TEST(WordResolver, TypedPointersThatNothingExplainsAreUnknown) {
  TargetMap map = map_with();
  EXPECT_EQ(resolve(map, 0, kBase - 2 * format::kOutsideMostBytes).unknown, 0u);
  EXPECT_EQ(resolve(map, 0, kBase - 4).unknown, WordResolver::kNone);
  // Pinned memory and device memory cannot be moved by one distance.
  add(map, 5, kBase + 0x1000, 0x100, AllocationKind::kHostPinned, kBase + 0x1000);
  EXPECT_EQ(resolve(map, 0, kBase - 4).unknown, 0u);
  EXPECT_TRUE(resolve(map, 0, kBase - 4).found.empty());
  EXPECT_EQ(resolve(TargetMap{}, 0, kBase).unknown, 0u);
}

// Of a graph's node, which is launched when there is other memory.
TEST(WordResolver, WordsLeadWhereTheyDidWhenTheyWereGiven) {
  const std::vector<KernargSlot> slots = kernarg_slots(kernel_of_all_kinds());
  for (const int64_t addend : {-0x800, 8, 0x100, 0x1000}) {
    SCOPED_TRACE(addend);
    TargetMap map = map_with();
    const std::vector<uint8_t> kernarg = kernarg_with(0, kBase + static_cast<uint64_t>(addend));
    std::vector<Relocation> given;
    WordResolver(map).arguments(slots, kernarg, given);
    ASSERT_EQ(given.size(), 1u);
    const auto again = [&] {
      std::vector<Relocation> found;
      const auto doubts = WordResolver(map).arguments(slots, kernarg, found, given);
      EXPECT_EQ(doubts.unknown, WordResolver::kNone);
      EXPECT_EQ(found.size(), 1u);
      return found.empty() ? Relocation{} : found[0];
    };
    if (addend != 8) {  // what comes to lie there while the first one lives
      add(map, 5, kBase - 0x1000, 0x1000);
      add(map, 6, kBase + 0x100, 0x1000);
      EXPECT_EQ(again().allocation, 4u);
      EXPECT_EQ(again().addend, addend);
      (void)map.remove(kBase - 0x1000);
      (void)map.remove(kBase + 0x100);
    }
    (void)map.remove(kBase);
    add(map, 7, kBase + 0x10000, 0x100);  // near, but not there
    EXPECT_EQ(again().allocation, 4u) << "what was freed";
    EXPECT_EQ(again().addend, addend);
    add(map, 8, kBase - 0x1000, 0x3000);
    EXPECT_EQ(again().allocation, 8u) << "the program has other memory there now";
    EXPECT_FALSE(again().outside);
  }
}

TEST(WordResolver, TypedPointersToFreedMemoryLeadThere) {
  TargetMap map;
  add(map, 1, kBase, 0x100);
  add(map, 2, kBase + (uint64_t{1} << 40), 0x100);
  (void)map.remove(kBase);
  const Resolved result = resolve(map, 0, kBase + 8);
  ASSERT_EQ(result.found.size(), 1u);
  EXPECT_EQ(result.found[0].allocation, 1u);
  EXPECT_EQ(result.found[0].addend, 8);
}

TEST(WordResolver, PointersInStructs) {
  const TargetMap map = map_with();
  for (const size_t offset : {16, 24, 32}) {
    const auto found = resolve(map, offset, kBase + 8).found;
    ASSERT_EQ(found.size(), 1u) << offset;
    EXPECT_EQ(found[0].offset_bytes, offset);
    EXPECT_EQ(found[0].source, RelocationSource::kMatched);
    EXPECT_FALSE(found[0].ambiguous);
  }
}

// A struct's pointer may be biased like a typed one; a number may look like that. It is kept, and
// said.
TEST(WordResolver, FieldsNearAnAllocationAreDoubted) {
  const TargetMap map = map_with();
  for (const uint64_t value : {kBase - 8192, kBase + 0x104, kBase - (uint64_t{1} << 29)}) {
    const Resolved result = resolve(map, 24, value);
    EXPECT_TRUE(result.found.empty()) << value;
    EXPECT_EQ(result.near, 24u) << value;
    EXPECT_EQ(result.unknown, WordResolver::kNone);
  }
  for (const uint64_t value : {uint64_t{0}, uint64_t{5}, kBase - 8191, kBase - (uint64_t{1} << 31),
                               UINT64_MAX, kBase | uint64_t{1} << 50, kBase + 4}) {
    EXPECT_EQ(resolve(map, 24, value).near, WordResolver::kNone) << value;
  }
  EXPECT_EQ(resolve(map, 40, kBase - 8192).near, WordResolver::kNone) << "a plain number";
}

TEST(WordResolver, WordsOfMemoryNearAnAllocationAreDoubted) {
  const TargetMap map = map_with();
  const WordResolver resolver(map);
  const auto near = [&](uint64_t offset, uint64_t value) {
    std::vector<std::byte> bytes(64);
    std::memcpy(&bytes[offset], &value, sizeof(value));
    MemoryWords words(resolver);
    words.add(bytes);
    if (!words.near()) return false;
    EXPECT_EQ(words.near()->offset_bytes, offset);
    EXPECT_EQ(words.near()->value, value);
    EXPECT_TRUE(words.take().empty());
    return true;
  };
  for (const uint64_t value : {kBase - 8, kBase + 0x104, kBase + (uint64_t{1} << 29)}) {
    EXPECT_TRUE(near(24, value)) << value;
    EXPECT_FALSE(near(20, value)) << value << " is not aligned";
  }
  for (const uint64_t value : {uint64_t{0}, uint64_t{5}, kBase - 7, kBase + (uint64_t{1} << 31),
                               UINT64_MAX, (kBase - 8) | uint64_t{1} << 50, kBase + 4}) {
    EXPECT_FALSE(near(24, value)) << value;
  }
}

TEST(WordResolver, ArgumentsNamedLikeAnAddressArePointers) {
  format::Kernel tensile = kernel_of_all_kinds();
  for (const char* name : {"AddressA", "in_ptr0", "baseAddr", "dPointer"}) {
    tensile.arguments[3].name = name;
    const auto found = resolve(map_with(), 40, kBase, tensile).found;
    ASSERT_EQ(found.size(), 1u) << name;
    EXPECT_FALSE(found[0].ambiguous) << name;
  }
}

TEST(WordResolver, TensilesAddressesAreTyped) {
  format::Kernel tensile = kernel_of_all_kinds();
  tensile.arguments[3].name = "AddressA";
  EXPECT_EQ(resolve(map_with(), 40, kBase, tensile).found.at(0).source, RelocationSource::kMatched)
      << "any kernel";
  tensile.name = "Cijk_Ailk_Bjlk_SB_MT128x128x8";
  const auto found = resolve(map_with(), 40, kBase, tensile).found;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].source, RelocationSource::kTyped);
  EXPECT_FALSE(found[0].ambiguous);
  EXPECT_TRUE(resolve(map_with(), 40, 0, tensile).found.empty()) << "no tensor";
  tensile.arguments[3].name = "OffsetA";
  EXPECT_EQ(resolve(map_with(), 40, kBase, tensile).found.at(0).source, RelocationSource::kMatched);
}

TEST(WordResolver, WhatOnlyItsValueMakesAPointerIsAmbiguous) {
  const TargetMap map = map_with();
  struct Case {
    size_t offset;
    uint64_t value;
    const char* why;
  };
  for (const Case& c :
       {Case{40, kBase, "an 8-byte scalar"}, Case{20, kBase, "in a struct, not 8-byte aligned"},
        Case{48, kBase, "two 4-byte arguments"}, Case{24, kBase + 2, "unaligned target"},
        Case{24, kBase + 0x100, "one past the end"}}) {
    const auto found = resolve(map, c.offset, c.value).found;
    ASSERT_EQ(found.size(), 1u) << c.why;
    EXPECT_EQ(found[0].offset_bytes, c.offset) << c.why;
    EXPECT_TRUE(found[0].ambiguous) << c.why;
  }
}

TEST(WordResolver, LdsOffsetsAndHalvesOfPointersAreNeverAddresses) {
  TargetMap map;
  add(map, 1, 0x10, 0x100);  // where an LDS offset could point
  std::vector<uint8_t> kernarg(60);
  kernarg[56] = 0x20;
  std::vector<Relocation> found;
  (void)WordResolver(map).arguments(kernarg_slots(kernel_of_all_kinds()), kernarg, found);
  for (const Relocation& r : found) EXPECT_NE(r.offset_bytes, 56u);
}

TEST(WordResolver, TablesInMemoryArePointers) {
  const TargetMap map = map_with();
  const auto found =
      in_memory(map, {kBase, kBase + 8, 0, kBase + 0x10, 1, 2, 3, 4, 5, 6, 7, 8, 9, kBase + 0x20});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_FALSE(found[0].ambiguous);
  EXPECT_FALSE(found[1].ambiguous);
  EXPECT_FALSE(found[2].ambiguous) << "the field of a struct";
  EXPECT_EQ(found[3].offset_bytes, 104u);
  EXPECT_TRUE(found[3].ambiguous) << "no other within 64 bytes";
}

// Heaps are full of such words. The end of an array is one, too.
TEST(WordResolver, HostAddressesOfRegisteredMemoryInMemoryAreAmbiguous) {
  TargetMap map;
  const uint64_t host = 0x5550'0000'1000;
  add(map, 4, kBase, 0x100, AllocationKind::kHostRegistered, host);
  const auto found =
      in_memory(map, {host + 8, host + 0x10, kBase + 4, host + 0x100, host + 0x101, 1, 2});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].addend, 8);
  EXPECT_EQ(found[1].addend, 0x10);
  EXPECT_EQ(found[2].addend, 4);
  EXPECT_EQ(found[3].addend, 0x100);
  for (const Relocation& word : found) {
    EXPECT_EQ(word.allocation, 4u);
    EXPECT_TRUE(word.ambiguous);
  }
  (void)map.remove(kBase);
  EXPECT_EQ(map.find_alias(host), nullptr);
}

// Wherever memory is cut into pieces, the words are the same.
TEST(WordResolver, PiecesOfMemoryHoldWhatTheWholeHolds) {
  const TargetMap map = map_with();
  const WordResolver words(map);
  const std::vector<uint64_t> memory = {1,
                                        (kBase + 8) << 32 | 3,
                                        (kBase + 8) >> 32,
                                        kBase,
                                        5,
                                        kBase << 32 | 7,
                                        kBase >> 32,
                                        kBase + 24,
                                        9,
                                        kBase + 1};
  for (const size_t cut_short : {0, 4, 6}) {
    const auto bytes = std::as_bytes(std::span(memory)).first(memory.size() * 8 - cut_short);
    const std::vector<Relocation> whole = words.memory(bytes);
    ASSERT_GE(whole.size(), 4u);
    for (size_t piece = 8; piece <= bytes.size(); piece += 8) {
      MemoryWords in_pieces(words);
      for (size_t at = 0; at < bytes.size(); at += piece) {
        in_pieces.add(bytes.subspan(at, std::min(piece, bytes.size() - at)));
      }
      const std::vector<Relocation> found = in_pieces.take();
      ASSERT_EQ(found.size(), whole.size()) << piece;
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].offset_bytes, whole[i].offset_bytes) << piece;
        EXPECT_EQ(found[i].addend, whole[i].addend) << piece;
        EXPECT_EQ(found[i].ambiguous, whole[i].ambiguous) << piece;
        uint64_t held = 0;
        std::memcpy(&held, bytes.data() + found[i].offset_bytes, sizeof(held));
        EXPECT_EQ(in_pieces.held(found[i].offset_bytes), held) << piece;
      }
    }
  }
}

// Large pieces are passed over in blocks, small ones are not.
TEST(WordResolver, BlocksThatArePassedOverHoldNoAddress) {
  const TargetMap map = map_with();
  const WordResolver words(map);
  std::mt19937_64 random(1);
  std::vector<uint64_t> memory(4096);
  for (uint64_t& word : memory) {
    word = random();
    if (random() % 32 == 0) word = kBase + random() % 0x100;
    if (random() % 64 == 0) word = word << 32 | (random() >> 32);
    if (random() % 64 == 0) word = random() << 48 | kBase;
    if (random() % 64 == 0) word = random() % 65536;
  }
  const auto bytes = std::as_bytes(std::span(memory));
  MemoryWords in_pieces(words);
  for (size_t at = 0; at < bytes.size(); at += 8) in_pieces.add(bytes.subspan(at, 8));
  const std::vector<Relocation> one_by_one = in_pieces.take();
  const std::vector<Relocation> whole = words.memory(bytes);
  EXPECT_GT(whole.size(), 100u);
  ASSERT_EQ(whole.size(), one_by_one.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i].offset_bytes, one_by_one[i].offset_bytes);
    EXPECT_EQ(whole[i].addend, one_by_one[i].addend);
  }
}

TEST(WordResolver, TwoNumbersThatSpellAnAddressAreAmbiguous) {
  const TargetMap map = map_with();
  const auto found = in_memory(map, {0x800000007, kBase + 16, 0xa00000009, 1});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].ambiguous);
  EXPECT_TRUE(in_memory(map, {}).empty());
  EXPECT_TRUE(in_memory(TargetMap{}, {kBase}).empty());
}

TEST(WordResolver, MemoryIsSearchedAtEveryByte) {
  const TargetMap map = map_with();
  const uint64_t pointer = kBase + 8;
  for (size_t offset = 0; offset + 8 <= 300; ++offset) {
    std::vector<std::byte> bytes(300, std::byte{0x5a});
    std::memcpy(&bytes[offset], &pointer, sizeof(pointer));
    const auto found = WordResolver(map).memory(bytes);
    ASSERT_EQ(found.size(), 1u) << offset;
    EXPECT_EQ(found[0].offset_bytes, offset);
    EXPECT_EQ(found[0].addend, 8);
    EXPECT_TRUE(found[0].ambiguous) << "alone, or at no multiple of 8";
  }
}

// The scan leaves out most bytes at once: against one that looks at each.
TEST(WordResolver, RandomMemoryAgreesWithAScanOfEachByte) {
  std::mt19937_64 random(2);
  TargetMap map;
  add(map, 1, kBase, 0x100);
  add(map, 2, 0x5500000000, 0x100);  // bits 40 to 47 are 0
  add(map, 3, 0x12ff00000000 - 0x80, 0x100);
  const std::array<uint64_t, 5> starts = {kBase, 0x5500000000, 0x12ff00000000 - 0x80,
                                          kBase | uint64_t{7} << 48, 0x7f00};
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bytes(random() % 400);
    const int dense = round % 3;  // zeros, bytes that addresses are made of, any
    for (std::byte& byte : bytes) {
      constexpr std::array<uint8_t, 6> kParts = {0, 0, 0x7f, 0x12, 0xff, 0x55};
      if (dense == 1) byte = std::byte{kParts[random() % kParts.size()]};
      if (dense == 2) byte = static_cast<std::byte>(random());
    }
    for (int i = 0; i < 8 && bytes.size() >= 8; ++i) {
      const uint64_t value = starts[random() % starts.size()] + random() % 0x80 * (random() % 2);
      std::memcpy(&bytes[random() % (bytes.size() - 7)], &value, sizeof(value));
    }
    std::map<size_t, int> expected;  // the alignment
    for (size_t offset = 0; offset + 8 <= bytes.size(); ++offset) {
      uint64_t value = 0;
      std::memcpy(&value, &bytes[offset], sizeof(value));
      const bool tagged = value >> 48 != 0 && offset % 8 == 0 && value % 256 == 0 &&
                          map.find_begin(value & 0xffffffffffff) != nullptr;
      if (!tagged && map.find(value) == nullptr) continue;
      const int alignment = std::min(std::countr_zero(offset), 3);
      auto over = expected.upper_bound(offset >= 8 ? offset - 8 : 0);
      if (offset < 8) over = expected.begin();
      if (std::any_of(over, expected.end(),
                      [&](const auto& one) { return one.second >= alignment; }))
        continue;
      expected.erase(over, expected.end());
      expected.emplace(offset, alignment);
    }
    std::vector<size_t> offsets;
    for (const Relocation& one : WordResolver(map).memory(bytes)) {
      offsets.push_back(one.offset_bytes);
    }
    std::vector<size_t> all;
    for (const auto& [offset, alignment] : expected) all.push_back(offset);
    ASSERT_EQ(offsets, all) << "round " << round;
  }
}

TEST(WordResolver, TheAlignedOneOfTwoThatOverlapCounts) {
  TargetMap map;
  add(map, 1, 0x100000001000, 0x100);
  add(map, 2, 0x100000000000, 0x1000);  // upper half of one, lower half of the next
  const auto found = in_memory(map, {0x0000100000001000, 0x0000000000001000, 0x100000001000});
  for (const Relocation& r : found) EXPECT_EQ(r.offset_bytes % 8, 0u) << r.offset_bytes;
  EXPECT_EQ(found.size(), 2u);
}

TEST(WordResolver, TaggedPointersAreAmbiguous) {
  const TargetMap map = map_with();
  const auto found = in_memory(
      map, {kBase | 3, kBase | uint64_t{0x5a} << 56, (kBase + 0x100) | uint64_t{0x5a} << 56});
  ASSERT_EQ(found.size(), 2u) << "an upper tag counts at an allocation's first byte only";
  EXPECT_EQ(found[0].addend, 3);
  EXPECT_FALSE(found[0].outside);
  EXPECT_TRUE(found[0].ambiguous);
  EXPECT_EQ(found[1].addend, int64_t{0x5a} << 56);
  EXPECT_TRUE(found[1].outside);
  EXPECT_TRUE(found[1].ambiguous);
}

TEST(WordResolver, AddressesOfCodeAreRelocatedWithAVariableOfIt) {
  TargetMap map;
  add(map, 7, 0x200000003000, 64, AllocationKind::kModuleGlobal);
  WordResolver words(map);
  const int module = 0;
  words.add_code({&module, 0x200000000000, 0x200000004000, 7, 0x200000003000, 64});
  const std::vector<uint64_t> table = {0x200000001100, 0x200000001200, 0x200000003008,
                                       0x200000004000, 0x200000001201, 0x200000003040};
  auto found = words.memory(std::as_bytes(std::span(table)));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[3].addend, 64);
  EXPECT_FALSE(found[3].outside) << "the variable's end";
  EXPECT_EQ(found[0].allocation, 7u);
  EXPECT_EQ(found[0].addend, 0x1100 - 0x3000);
  EXPECT_TRUE(found[0].outside);
  EXPECT_FALSE(found[0].ambiguous);
  EXPECT_FALSE(found[2].outside) << "the variable itself";
  const auto as_argument =
      words.arguments(kernarg_slots(kernel_of_all_kinds()), kernarg_with(0, table[0]), found);
  EXPECT_EQ(as_argument.unknown, WordResolver::kNone);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].source, RelocationSource::kMatched);
  EXPECT_EQ(found[0].addend, 0x1100 - 0x3000);
  words.remove_code(&module);
  EXPECT_EQ(words.memory(std::as_bytes(std::span(table))).size(), 2u) << "the variable alone";
}

// Random allocations and words against a search of every allocation.
TEST(WordResolver, RandomWordsAgreeWithALinearSearch) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    TargetMap map;
    std::vector<std::shared_ptr<Target>> live;
    uint64_t at = kBase;
    for (uint32_t id = 1; id <= 1 + random() % 12; ++id) {
      at += 256 * (random() % 3 == 0 ? 0 : 1 + random() % 600);
      const uint64_t size = 1 + random() % 4096;
      add(map, id, at, size);
      live.push_back(map.find_begin(at));
      at += (size + 255) / 256 * 256;
    }
    for (int i = 0; i < 100; ++i) {
      const uint64_t word = kBase - 300000 + random() % (at - kBase + 600000);
      const Target* inside = nullptr;
      const Target* nearest = nullptr;
      for (const auto& one : live) {
        const uint64_t end = one->address + one->size_bytes;
        if (word >= one->address && word < end) inside = one.get();
        if (inside == nullptr && word == end && map.find_begin(end) == nullptr) inside = one.get();
        if (nearest == nullptr || one->distance(word) < nearest->distance(word))
          nearest = one.get();
      }
      const auto found = resolve(map, 0, word).found;
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0].outside, inside == nullptr);
      const Target& target =
          *map.find_begin(live[found[0].allocation - 1]->address);  // ids are in order of address
      EXPECT_EQ(target.address + static_cast<uint64_t>(found[0].addend), word);
      EXPECT_EQ(target.distance(word), inside == nullptr ? nearest->distance(word) : 0);
      const auto memory = in_memory(map, {word});
      EXPECT_EQ(memory.size(), inside == nullptr ? 0u : 1u);
    }
  }
}

}  // namespace
}  // namespace gfxgraph::pointers
