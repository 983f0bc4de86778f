// Images and samplers by HSA's own calls: what descriptors say, copies, and what is refused.
#include <hsa/hsa_ext_image.h>

#include <numeric>
#include <vector>

#include "emulator/isa/image.h"
#include "tests/hsa/agent_fixture.h"

namespace gfxgraph::hsa_test {
namespace {

class ImageTest : public AgentTest {
 protected:
  static constexpr hsa_ext_image_format_t kBytes4{HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8,
                                                  HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA};
  hsa_ext_images_1_pfn_t calls() const {
    hsa_ext_images_1_pfn_t table{};
    EXPECT_EQ(hsa_system_get_major_extension_table(HSA_EXTENSION_IMAGES, 1, sizeof(table), &table),
              HSA_STATUS_SUCCESS);
    return table;
  }
  // An image in device memory of its own.
  hsa_ext_image_t make(const hsa_ext_image_descriptor_t& descriptor) {
    hsa_ext_image_data_info_t info{};
    EXPECT_EQ(hsa_ext_image_data_get_info(gpu_, &descriptor, HSA_ACCESS_PERMISSION_RW, &info),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(info.alignment, 256u);
    void* memory = nullptr;
    EXPECT_EQ(hsa_amd_memory_pool_allocate(device_pool(), info.size, 0, &memory),
              HSA_STATUS_SUCCESS);
    hsa_ext_image_t image{};
    EXPECT_EQ(hsa_ext_image_create(gpu_, &descriptor, memory, HSA_ACCESS_PERMISSION_RW, &image),
              HSA_STATUS_SUCCESS);
    return image;
  }
};

TEST_F(ImageTest, DescribesWhatItMakes) {
  const hsa_ext_image_descriptor_t descriptor{HSA_EXT_IMAGE_GEOMETRY_3D, 100, 7, 5, 0, kBytes4};
  const hsa_ext_image_t handle = make(descriptor);
  const auto* words = reinterpret_cast<const uint32_t*>(handle.handle);
  emulator::Image image;
  ASSERT_EQ(emulator::read_image(words, image), nullptr);
  EXPECT_EQ(image.type, emulator::ImageType::k3D);
  EXPECT_EQ(image.width, 100u);
  EXPECT_EQ(image.height, 7u);
  EXPECT_EQ(image.slices, 5u);
  EXPECT_EQ(image.row_bytes, 512u);
  EXPECT_EQ(words[8], uint32_t{HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8});
  EXPECT_EQ(words[9], uint32_t{HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA});
  EXPECT_EQ(words[10], 100u);
  EXPECT_EQ(hsa_ext_image_destroy(gpu_, handle), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_ext_image_destroy(gpu_, handle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(ImageTest, CopiesRegions) {
  const hsa_ext_images_1_pfn_t call = calls();
  const hsa_ext_image_descriptor_t descriptor{HSA_EXT_IMAGE_GEOMETRY_2DA, 8, 4, 0, 3, kBytes4};
  const hsa_ext_image_t a = make(descriptor);
  const hsa_ext_image_t b = make(descriptor);
  std::vector<uint32_t> texels(8 * 4 * 3);
  std::iota(texels.begin(), texels.end(), 1);
  const hsa_ext_image_region_t all{{0, 0, 0}, {8, 4, 3}};
  ASSERT_EQ(call.hsa_ext_image_import(gpu_, texels.data(), 0, 0, a, &all), HSA_STATUS_SUCCESS);
  const uint32_t color[4] = {9, 0, 0, 0};
  ASSERT_EQ(call.hsa_ext_image_clear(gpu_, b, color, &all), HSA_STATUS_SUCCESS);
  const hsa_dim3_t from{2, 1, 2};
  const hsa_dim3_t to{0, 2, 1};
  const hsa_dim3_t range{3, 2, 1};
  ASSERT_EQ(call.hsa_ext_image_copy(gpu_, a, &from, b, &to, &range), HSA_STATUS_SUCCESS);
  std::vector<uint32_t> got(texels.size());
  ASSERT_EQ(call.hsa_ext_image_export(gpu_, b, got.data(), 0, 0, &all), HSA_STATUS_SUCCESS);
  for (uint32_t n = 0; n < got.size(); ++n) {
    const uint32_t x = n % 8, y = n / 8 % 4, layer = n / 32;
    const bool copied = layer == 1 && y >= 2 && x < 3;
    EXPECT_EQ(got[n], copied ? texels[64 + (y - 1) * 8 + x + 2] : 9u) << n;
  }
  const hsa_ext_image_region_t outside{{1, 0, 0}, {8, 4, 3}};
  EXPECT_EQ(call.hsa_ext_image_export(gpu_, b, got.data(), 0, 0, &outside),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(ImageTest, RefusesWhatItCannotDo) {
  hsa_ext_image_data_info_t info{};
  const auto asked = [&](const hsa_ext_image_descriptor_t& d) {
    return static_cast<uint32_t>(
        hsa_ext_image_data_get_info(gpu_, &d, HSA_ACCESS_PERMISSION_RO, &info));
  };
  EXPECT_EQ(asked({HSA_EXT_IMAGE_GEOMETRY_2D, 16385, 1, 0, 0, kBytes4}),
            uint32_t{HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED});
  EXPECT_EQ(asked({HSA_EXT_IMAGE_GEOMETRY_2D,
                   8,
                   8,
                   0,
                   0,
                   {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA}}),
            uint32_t{HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED});
  uint32_t mask = 1;
  const hsa_ext_image_format_t three{HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT,
                                     HSA_EXT_IMAGE_CHANNEL_ORDER_RGB};
  ASSERT_EQ(hsa_ext_image_get_capability(gpu_, HSA_EXT_IMAGE_GEOMETRY_2D, &three, &mask),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(mask, 0u);
}

TEST_F(ImageTest, Samplers) {
  const hsa_ext_sampler_descriptor_t descriptor{HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED,
                                                HSA_EXT_SAMPLER_FILTER_MODE_LINEAR,
                                                HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER};
  hsa_ext_sampler_t handle{};
  ASSERT_EQ(hsa_ext_sampler_create(gpu_, &descriptor, &handle), HSA_STATUS_SUCCESS);
  emulator::Sampler sampler;
  ASSERT_EQ(emulator::read_sampler(reinterpret_cast<const uint32_t*>(handle.handle), sampler),
            nullptr);
  EXPECT_TRUE(sampler.unnormalized);
  EXPECT_TRUE(sampler.linear);
  EXPECT_EQ(sampler.clamp[2], emulator::Clamp::kBorder);
  EXPECT_EQ(hsa_ext_sampler_destroy(gpu_, handle), HSA_STATUS_SUCCESS);
}

}  // namespace
}  // namespace gfxgraph::hsa_test
