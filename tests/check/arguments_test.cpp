#include "check/launch/arguments.h"

#include <gmock/gmock.h>

#include <cstring>

namespace gfxgraph::check {
namespace {

template <typename T>
T at(std::span<const std::byte> bytes, size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

format::Argument hidden(const char* kind, uint32_t offset, uint32_t size) {
  return {"", kind, format::ArgumentKind::kHidden, offset, size};
}

format::Launch partial_launch() {
  format::Launch launch;
  launch.kernel = 1;
  launch.grid = {4, 2, 1};
  launch.block = {64, 2, 1};
  launch.grid_remainder = {10, 0, 0};
  launch.kernarg = {1, 2, 3, 4, 5, 6, 7, 8};
  return launch;
}

TEST(Arguments, HiddenOnesAreFilledAsTheRuntimeDoes) {
  format::Kernel kernel;
  kernel.name = "k";
  kernel.kernarg_size_bytes = 64;
  kernel.explicit_size_bytes = 8;
  kernel.arguments = {{"p", "global_buffer", format::ArgumentKind::kGlobalBuffer, 0, 8},
                      hidden("hidden_block_count_x", 8, 4),
                      hidden("hidden_block_count_y", 12, 4),
                      hidden("hidden_group_size_x", 16, 2),
                      hidden("hidden_remainder_x", 18, 2),
                      hidden("hidden_remainder_y", 20, 2),
                      hidden("hidden_grid_dims", 22, 2),
                      hidden("hidden_global_offset_x", 24, 8),
                      hidden("hidden_queue_ptr", 32, 8),
                      hidden("hidden_dynamic_lds_size", 40, 4),
                      hidden("hidden_none", 48, 8)};
  HiddenValues values;
  values.queue_address = 0x1234;
  values.dynamic_lds_bytes = 99;
  const auto segment = kernarg_segment(kernel, partial_launch(), values);
  ASSERT_TRUE(segment) << segment.error().message;
  ASSERT_EQ(segment->size(), 64U);
  EXPECT_EQ(at<uint64_t>(*segment, 0), 0x0807060504030201U);
  EXPECT_EQ(at<uint32_t>(*segment, 8), 3U);  // whole workgroups only
  EXPECT_EQ(at<uint32_t>(*segment, 12), 2U);
  EXPECT_EQ(at<uint16_t>(*segment, 16), 64U);
  EXPECT_EQ(at<uint16_t>(*segment, 18), 10U);
  EXPECT_EQ(at<uint16_t>(*segment, 20), 0U);
  EXPECT_EQ(at<uint16_t>(*segment, 22), 3U);
  EXPECT_EQ(at<uint64_t>(*segment, 32), 0x1234U);
  EXPECT_EQ(at<uint32_t>(*segment, 40), 99U);
}

TEST(Arguments, OnlyACooperativeLaunchHasAGridToSynchronise) {
  format::Kernel kernel;
  kernel.kernarg_size_bytes = 16;
  kernel.arguments = {hidden("hidden_multigrid_sync_arg", 8, 8)};
  format::Launch launch = partial_launch();
  EXPECT_EQ(at<uint64_t>(*kernarg_segment(kernel, launch, {}), 8), 0U);
  launch.cooperative = true;
  EXPECT_EQ(at<uint64_t>(*kernarg_segment(kernel, launch, {}), 8), 1U);
}

TEST(Arguments, UnknownHiddenOnesAreRefusedByName) {
  format::Kernel kernel;
  kernel.kernarg_size_bytes = 16;
  kernel.arguments = {hidden("hidden_moon_phase", 8, 8)};
  const auto segment = kernarg_segment(kernel, partial_launch(), {});
  ASSERT_FALSE(segment);
  EXPECT_EQ(segment.error().status, Status::kUnsupported);
  EXPECT_THAT(segment.error().message, testing::HasSubstr("hidden_moon_phase"));
}

TEST(Arguments, HiddenOnesOutsideTheSegmentAreRefused) {
  format::Kernel kernel;
  kernel.kernarg_size_bytes = 16;
  kernel.arguments = {hidden("hidden_queue_ptr", 12, 8)};
  EXPECT_EQ(kernarg_segment(kernel, partial_launch(), {}).error().status, Status::kCorrupt);
}

TEST(Arguments, ShapeCountsWorkItems) {
  const auto shape = launch_shape(partial_launch());
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->grid_items[0], 3 * 64U + 10);
  EXPECT_EQ(shape->grid_items[1], 4U);
  format::Launch large = partial_launch();
  large.grid[0] = UINT32_MAX;
  EXPECT_EQ(launch_shape(large).error().status, Status::kInvalidArgument);
}

TEST(Arguments, PacketHoldsTheShape) {
  std::vector<std::byte> packet(kPacketBytes, std::byte{0xff});
  PacketValues values;
  values.kernel_object = 0x1000;
  values.kernarg_address = 0x2000;
  values.group_segment_bytes = 512;
  write_packet(packet, *launch_shape(partial_launch()), values);
  EXPECT_EQ(at<uint16_t>(packet, 4), 64U);
  EXPECT_EQ(at<uint16_t>(packet, 6), 2U);
  EXPECT_EQ(at<uint32_t>(packet, 12), 202U);
  EXPECT_EQ(at<uint32_t>(packet, 28), 512U);
  EXPECT_EQ(at<uint64_t>(packet, 32), 0x1000U);
  EXPECT_EQ(at<uint64_t>(packet, 40), 0x2000U);
  EXPECT_EQ(at<uint64_t>(packet, 56), 0U);
}

}  // namespace
}  // namespace gfxgraph::check
