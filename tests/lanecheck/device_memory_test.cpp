#include "lanecheck/device_memory.h"

#include <gmock/gmock.h>

namespace gfxgraph::lanecheck {
namespace {

format::AllocationBegin allocation(uint32_t id, uint64_t address, uint64_t size,
                                   uint64_t mapped = 0) {
  format::AllocationBegin begin;
  begin.id = id;
  begin.recorded_address = address;
  begin.size_bytes = size;
  begin.mapped_bytes = mapped;
  return begin;
}

TEST(DeviceMemory, NamesTheNearestBuffer) {
  DeviceMemory memory({});
  ASSERT_TRUE(memory.begin(allocation(1, 0x10000, 100)));
  ASSERT_TRUE(memory.begin(allocation(2, 0x20000, 100)));
  EXPECT_EQ(memory.nearest(0x10000 + 164, 4)->allocation, 1U);
  EXPECT_EQ(memory.nearest(0x10000 + 164, 4)->distance_bytes, 64);
  EXPECT_EQ(memory.nearest(0x1fff0, 4)->allocation, 2U);
  EXPECT_EQ(memory.nearest(0x1fff0, 4)->distance_bytes, -16);
  EXPECT_EQ(memory.owner(0x10000 + 164), "buffer #1");  // slack
  EXPECT_EQ(memory.owner(0x12000), "");
}

TEST(DeviceMemory, SlackReachesToThePageEndOrTheNextBuffer) {
  DeviceMemory memory({});
  ASSERT_TRUE(memory.begin(allocation(1, 0x10000, 100)));
  EXPECT_EQ(memory.map().snapshot()->find(0x10fff)->tag, 1U);
  EXPECT_EQ(memory.map().snapshot()->find(0x11000), nullptr);
  ASSERT_TRUE(memory.begin(allocation(2, 0x10100, 100)));
  EXPECT_EQ(memory.map().snapshot()->find(0x100ff)->tag, 1U);
  EXPECT_EQ(memory.map().snapshot()->find(0x10100)->tag, 2U);
  memory.end(2);
  EXPECT_EQ(memory.map().snapshot()->find(0x10100), nullptr);
  EXPECT_EQ(memory.bytes(2, 0, 1).error().status, Status::kCorrupt);
}

TEST(DeviceMemory, KeepsBytesWhenSlackShrinks) {
  DeviceMemory memory({});
  ASSERT_TRUE(memory.begin(allocation(1, 0x10000, 100)));
  (*memory.bytes(1, 0, 100))[99] = std::byte{42};
  ASSERT_TRUE(memory.begin(allocation(2, 0x10080, 100)));
  EXPECT_EQ((*memory.bytes(1, 99, 1))[0], std::byte{42});
  EXPECT_EQ(memory.map().snapshot()->find(0x10000)->host[99], std::byte{42});
}

TEST(DeviceMemory, RejectsOverlapsAndWrongRanges) {
  DeviceMemory memory({});
  ASSERT_TRUE(memory.begin(allocation(1, 0x10000, 0x2000)));
  EXPECT_FALSE(memory.begin(allocation(2, 0x11000, 0x100)));
  EXPECT_FALSE(memory.begin(allocation(3, ~uint64_t{0} - 10, 100)));
  EXPECT_FALSE(memory.bytes(1, 0x1fff, 2));
  EXPECT_FALSE(memory.bytes_from(1, 0x2001));
  EXPECT_TRUE(memory.bytes(1, 0x2000, 0));
}

TEST(DeviceMemory, ItsOwnRangesAvoidRecordedOnes) {
  std::vector<format::Event> events(1);
  events[0].action = allocation(1, 0x100000001000, 0x1000);
  DeviceMemory memory(events);
  const auto own = memory.add_own(4096, emulator::RegionKind::kKernarg, "arguments");
  ASSERT_TRUE(own);
  EXPECT_GT(*own, 0x100000002000U);
  ASSERT_TRUE(memory.begin(std::get<format::AllocationBegin>(events[0].action)));
  // Own ranges are never "the nearest buffer".
  EXPECT_EQ(memory.nearest(*own + 5000, 4)->allocation, 1U);
}

}  // namespace
}  // namespace gfxgraph::lanecheck
