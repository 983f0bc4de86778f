#include "recorder/objects/allocation_map.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "recorder/objects/allocations.h"

namespace gfxgraph::recorder {
namespace {

std::shared_ptr<Allocation> allocation(uint32_t id, uint64_t address, uint64_t size,
                                       uint64_t host = 0) {
  auto made = std::make_shared<Allocation>();
  made->id = id;
  made->address = address;
  made->size_bytes = size;
  made->host_address = host;
  return made;
}

uint32_t id_of(const pointers::Target* found) { return found == nullptr ? 0 : found->id; }

TEST(ByteRangesTest, AgreesWithASetOfBytes) {
  std::mt19937 random(7);
  const auto number = [&](uint32_t most) { return random() % most; };
  for (int round = 0; round < 200; ++round) {
    ByteRanges ranges;
    std::set<uint64_t> bytes;
    for (int step = 0; step < 12; ++step) {
      const uint64_t begin = number(60);
      const uint64_t end = begin + number(10);  // empty ones, too
      ranges.add(begin, end);
      for (uint64_t byte = begin; byte < end; ++byte) bytes.insert(byte);
      for (uint64_t from = 0; from < 70; ++from) {
        for (const uint64_t size : {0u, 1u, 3u}) {
          const auto next = bytes.lower_bound(from);
          const bool expected = next != bytes.end() && *next < from + size;
          ASSERT_EQ(ranges.overlap(from, from + size), expected) << from << "+" << size;
        }
      }
    }
  }
}

TEST(AllocationMap, EmptyFindsNothing) {
  const AllocationMap map;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.find(~uint64_t{0}), nullptr);
  EXPECT_EQ(map.find_host(5), nullptr);
  EXPECT_GT(map.lowest(), map.highest());
}

TEST(AllocationMap, FindsByContainmentAndAllowsOnePastTheEnd) {
  AllocationMap map;
  EXPECT_TRUE(map.insert(allocation(1, 0x1000, 0x100)).empty());
  EXPECT_TRUE(map.insert(allocation(2, 0x1100, 0x100)).empty());
  EXPECT_EQ(id_of(map.find(0x0fff)), 0u);
  EXPECT_EQ(id_of(map.find(0x1000)), 1u);
  EXPECT_EQ(id_of(map.find(0x10ff)), 1u);
  EXPECT_EQ(id_of(map.find(0x1100)), 2u) << "the one that contains it, not the one that ends there";
  EXPECT_EQ(id_of(map.find(0x1200)), 2u) << "one past the end";
  EXPECT_EQ(id_of(map.find(0x1201)), 0u);
}

TEST(AllocationMap, OverlappedAllocationsAreReplaced) {
  AllocationMap map;
  (void)map.insert(allocation(1, 0x1000, 0x100));
  (void)map.insert(allocation(2, 0x2000, 0x100));
  const auto replaced = map.insert(allocation(3, 0x10f0, 0x1000));
  ASSERT_EQ(replaced.size(), 2u);
  EXPECT_EQ(replaced[0]->id, 1u);
  EXPECT_EQ(replaced[1]->id, 2u);
  EXPECT_EQ(id_of(map.find(0x10f0)), 3u);
  EXPECT_EQ(map.size(), 1u);
}

TEST(AllocationMap, HostAddressesAreApartFromDeviceAddresses) {
  AllocationMap map;
  (void)map.insert(allocation(1, 0x900000, 0x100, 0x5000));
  EXPECT_EQ(id_of(map.find(0x5000)), 0u);
  EXPECT_EQ(id_of(map.find_host(0x5000)), 1u);
  EXPECT_EQ(id_of(map.find_host(0x50ff)), 1u);
  EXPECT_EQ(id_of(map.find_host(0x5100)), 0u);
  EXPECT_EQ(map.find_begin(0x5000)->id, 1u);
  EXPECT_EQ(map.find_begin(0x900000)->id, 1u);
  EXPECT_EQ(map.find_begin(0x900001), nullptr);
  EXPECT_EQ(id_of(map.find_alias(0x50ff)), 1u);
  EXPECT_EQ(id_of(map.find_alias(0x5100)), 1u) << "one past the end";
  (void)map.insert(allocation(2, 0x901000, 0x100, 0x5100));
  (void)map.insert(allocation(3, 0x4000, 0x100, 0x4000));  // one address
  EXPECT_EQ(id_of(map.find_alias(0x5100)), 2u);
  EXPECT_EQ(id_of(map.find_alias(0x5201)), 0u);
  EXPECT_EQ(id_of(map.find_alias(0x4000)), 0u);
  ASSERT_NE(map.remove(0x5000), nullptr);
  EXPECT_EQ(id_of(map.find_alias(0x5000)), 0u);
  EXPECT_EQ(id_of(map.find_alias(0x5100)), 2u);
  ASSERT_NE(map.remove(0x5100), nullptr);
  ASSERT_NE(map.remove(0x4000), nullptr);
  EXPECT_TRUE(map.host_visible().empty());
}

TEST(AllocationMap, KnowsWhatWasRegisteredBefore) {
  AllocationMap map;
  const auto registered = [](uint32_t id, uint64_t host, uint64_t size) {
    auto made = allocation(id, 0x900000 + host, size, host);
    made->kind = format::AllocationKind::kHostRegistered;
    return made;
  };
  const auto first = registered(1, 0x5000, 0x100);
  (void)map.insert(first);
  const auto again = registered(2, 0x50f0, 0x100);
  EXPECT_FALSE(map.registered_before(*again)) << "it is there";
  (void)map.remove(0x5000);
  EXPECT_FALSE(map.registered_before(*again)) << "nothing leads there";
  first->in_memory = true;
  EXPECT_TRUE(map.registered_before(*again));
  EXPECT_FALSE(map.registered_before(*registered(3, 0x5100, 0x100)));
  EXPECT_FALSE(map.registered_before(*allocation(4, 0x905000, 0x100, 0x5000))) << "pinned";
}

TEST(AllocationMap, GenerationChangesWithEveryChange) {
  AllocationMap map;
  const uint64_t before = map.generation();
  (void)map.insert(allocation(1, 0x1000, 0x100));
  const uint64_t inserted = map.generation();
  EXPECT_NE(before, inserted);
  EXPECT_EQ(map.remove(0x2000), nullptr);
  EXPECT_EQ(map.generation(), inserted);
  EXPECT_NE(map.remove(0x1000), nullptr);
  EXPECT_NE(map.generation(), inserted);
}

TEST(AllocationMap, FreedAllocationsAreFoundUntilTheirAddressesAreUsedAgain) {
  AllocationMap map;
  (void)map.insert(allocation(1, 0x1000, 0x100));
  (void)map.remove(0x1000);
  EXPECT_EQ(id_of(map.find(0x1010)), 0u);
  EXPECT_EQ(id_of(map.find_live_or_freed(0x1010)), 1u);
  EXPECT_TRUE(map.known_upper(0));
  (void)map.insert(allocation(2, 0x1000, 0x80));
  EXPECT_EQ(id_of(map.find_live_or_freed(0x1010)), 2u);
  EXPECT_EQ(id_of(map.find_live_or_freed(0x10f0)), 1u);
  (void)map.remove(0x1000);
  EXPECT_EQ(id_of(map.find_live_or_freed(0x1010)), 2u);
}

TEST(AllocationMap, WhatIsFreedInTheMiddleOfAFreedAllocationLeavesTheRestOfIt) {
  AllocationMap map;
  (void)map.insert(allocation(1, 0x1000, 0x1000));
  (void)map.remove(0x1000);
  (void)map.insert(allocation(2, 0x1400, 0x100));
  (void)map.remove(0x1400);
  EXPECT_EQ(id_of(map.find_live_or_freed(0x13ff)), 1u);
  EXPECT_EQ(id_of(map.find_live_or_freed(0x1400)), 2u);
  EXPECT_EQ(id_of(map.find_live_or_freed(0x1500)), 1u);
  EXPECT_EQ(id_of(map.find_live_or_freed(0x2000)), 0u);
  EXPECT_EQ(map.freed_within(0x1000, 0x1400), std::vector<format::AllocationId>{1});
  EXPECT_EQ(map.freed_within(0x13ff, 0x1401), (std::vector<format::AllocationId>{1, 2}));
  EXPECT_TRUE(map.freed_within(0x2000, 0x3000).empty());
}

TEST(AllocationMap, NearestAndAllWithin) {
  AllocationMap map;
  EXPECT_EQ(map.nearest(0x1000), nullptr);
  (void)map.insert(allocation(1, 0x1000, 0x100));
  (void)map.insert(allocation(2, 0x3000, 0x100));
  EXPECT_EQ(id_of(map.nearest(0)), 1u);
  EXPECT_EQ(id_of(map.nearest(0x1fff)), 1u);
  EXPECT_EQ(id_of(map.nearest(0x2f00)), 2u);
  EXPECT_EQ(id_of(map.nearest(~uint64_t{0})), 2u);
  size_t met = 0;
  const auto count = [&](const Allocation&) { return ++met != 0; };
  EXPECT_TRUE(map.all_within(0x2000, 0xeff, count));
  EXPECT_EQ(met, 0u);
  EXPECT_TRUE(map.all_within(0x2000, 0xf00, count));
  EXPECT_EQ(met, 1u);
  EXPECT_TRUE(map.all_within(0x2000, 0x1000, count));
  EXPECT_EQ(met, 3u);
  EXPECT_FALSE(map.all_within(0x2000, 0x1000, [](const Allocation&) { return false; }));
}

TEST(AllocationMap, TheBeginOfAFreedAllocationIsNotTheEndOfItsNeighbour) {
  AllocationMap map;
  (void)map.insert(allocation(1, 0x1000, 0x100));
  (void)map.insert(allocation(2, 0x1100, 0x100));
  (void)map.remove(0x1100);
  EXPECT_EQ(id_of(map.find_live_or_freed(0x1100)), 2u);
  EXPECT_EQ(id_of(map.find_live_or_freed(0x10ff)), 1u);
  EXPECT_EQ(id_of(map.find(0x1100)), 1u) << "an argument: one past the end";
  EXPECT_EQ(id_of(map.find_live_or_freed(0x1200)), 0u);
}

TEST(AllocationsTest, TheTargetsOfWordsAreCopiedWhenTheyHaveChanged) {
  LaunchLanes lanes;
  Allocations allocations(lanes);
  allocations.insert(allocation(1, 0x1000, 0x100));
  const auto first = allocations.words_now();
  EXPECT_EQ(allocations.words_now(), first);
  allocations.insert(allocation(2, 0x2000, 0x100));
  const auto second = allocations.words_now();
  EXPECT_NE(second, first);
  EXPECT_EQ(id_of(first->map.find(0x2000)), 0u) << "it was not there then";
  EXPECT_EQ(id_of(second->map.find(0x2000)), 2u);
}

}  // namespace
}  // namespace gfxgraph::recorder
