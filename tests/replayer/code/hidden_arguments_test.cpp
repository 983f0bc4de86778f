// Hidden arguments by the layouts of AMDGPUUsage, for code object versions 4 and 5.
#include "replayer/code/hidden_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

namespace gfxgraph::replayer {
namespace {

using testing::HasSubstr;

format::Kernel kernel_with(const std::vector<std::tuple<const char*, uint32_t, uint32_t>>& hidden) {
  format::Kernel kernel;
  kernel.name = "k";
  kernel.explicit_size_bytes = 16;
  kernel.kernarg_size_bytes = 16 + 256;
  for (const auto& [kind, offset, size] : hidden) {
    kernel.arguments.push_back({"", kind, format::ArgumentKind::kHidden, 16 + offset, size});
  }
  return kernel;
}

HiddenFacts facts() {
  HiddenFacts made;
  made.work_items = {1000, 7, 6};
  made.block = {256, 7, 4};
  made.dynamic_lds_bytes = 1234;
  made.queue = 0x7f0011223344;
  made.private_base = 0x20000;
  made.shared_base = 0x10000;
  return made;
}

// Offsets and sizes of the table "Code Object V5 Kernel Argument Metadata", written anew here.
TEST(HiddenArguments, OfVersion5) {
  const format::Kernel kernel = kernel_with({{"hidden_block_count_x", 0, 4},
                                             {"hidden_block_count_y", 4, 4},
                                             {"hidden_block_count_z", 8, 4},
                                             {"hidden_group_size_x", 12, 2},
                                             {"hidden_group_size_y", 14, 2},
                                             {"hidden_group_size_z", 16, 2},
                                             {"hidden_remainder_x", 18, 2},
                                             {"hidden_remainder_y", 20, 2},
                                             {"hidden_remainder_z", 22, 2},
                                             {"hidden_global_offset_x", 40, 8},
                                             {"hidden_global_offset_y", 48, 8},
                                             {"hidden_global_offset_z", 56, 8},
                                             {"hidden_grid_dims", 64, 2},
                                             {"hidden_dynamic_lds_size", 120, 4},
                                             {"hidden_private_base", 192, 4},
                                             {"hidden_shared_base", 196, 4},
                                             {"hidden_queue_ptr", 200, 8}});
  const auto fields = hidden_fields(kernel);
  ASSERT_TRUE(fields) << fields.error().message;
  std::array<std::byte, 16 + 256> kernarg{};
  kernarg.fill(std::byte{0});
  std::memset(kernarg.data(), 0xee, 16);
  write_hidden(*fields, facts(), kernarg.data());

  std::array<std::byte, 16 + 256> expected{};
  std::memset(expected.data(), 0xee, 16);
  const auto put = [&](size_t offset, auto value) {
    std::memcpy(expected.data() + 16 + offset, &value, sizeof(value));
  };
  put(0, uint32_t{3});  // whole workgroups: 1000 = 3 * 256 + 232
  put(4, uint32_t{1});
  put(8, uint32_t{1});
  put(12, uint16_t{256});
  put(14, uint16_t{7});
  put(16, uint16_t{4});
  put(18, uint16_t{232});
  put(22, uint16_t{2});
  put(64, uint16_t{3});
  put(120, uint32_t{1234});
  put(192, uint32_t{0x20000});
  put(196, uint32_t{0x10000});
  put(200, uint64_t{0x7f0011223344});
  EXPECT_EQ(kernarg, expected);
}

TEST(HiddenArguments, OfVersion4AreZero) {
  const auto fields = hidden_fields(kernel_with({{"hidden_global_offset_x", 0, 8},
                                                 {"hidden_global_offset_y", 8, 8},
                                                 {"hidden_global_offset_z", 16, 8},
                                                 {"hidden_none", 24, 8},
                                                 {"hidden_multigrid_sync_arg", 48, 8}}));
  ASSERT_TRUE(fields) << fields.error().message;
  EXPECT_TRUE(fields->empty());
}

TEST(HiddenArguments, WhatOnlyHipCanGiveIsRefused) {
  for (const auto& [kind, reason] : {std::pair{"hidden_hostcall_buffer", "calls the host"},
                                     {"hidden_printf_buffer", "printf"},
                                     {"hidden_heap_v1", "heap"},
                                     {"hidden_default_queue", "default queue"},
                                     {"hidden_completion_action", "completion action"},
                                     {"hidden_of_tomorrow", "hidden_of_tomorrow is not known"}}) {
    const auto fields = hidden_fields(kernel_with({{kind, 0, 8}}));
    ASSERT_FALSE(fields) << kind;
    EXPECT_EQ(fields.error().status, Status::kUnsupported);
    EXPECT_THAT(fields.error().message, HasSubstr(reason));
  }
}

TEST(HiddenArguments, AreNotGuessed) {
  EXPECT_THAT(hidden_fields(kernel_with({})).error().message, HasSubstr("does not describe the"));
  EXPECT_FALSE(hidden_fields(kernel_with({{"hidden_group_size_x", 0, 16}})));
  EXPECT_FALSE(hidden_fields(kernel_with({{"hidden_group_size_x", 255, 2}})));
  format::Kernel without = kernel_with({});
  without.kernarg_size_bytes = without.explicit_size_bytes + 4;  // padding
  EXPECT_TRUE(hidden_fields(without));
}

}  // namespace
}  // namespace gfxgraph::replayer
