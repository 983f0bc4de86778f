// Images and samplers by HSA's own calls: what descriptors say, copies, and what is refused.
#include <hsa/hsa_ext_image.h>

#include <numeric>
#include <vector>

#include "check/memory/image_words.h"
#include "emulator/isa/memory/image.h"
#include "tests/hsa/agent_fixture.h"
#include "tests/hsa/newer_calls.h"

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

// The newer calls make what the older ones make; a mipmap is refused.
TEST_F(ImageTest, DescriptorsWithMipLevels) {
  ImageDescriptorV2 descriptor{{HSA_EXT_IMAGE_GEOMETRY_2D, 60, 9, 0, 0, kBytes4}, 1};
  const hsa_ext_image_t twin = make(descriptor.plain);
  hsa_ext_image_data_info_t info{}, plain{};
  ASSERT_EQ(hsa_ext_image_data_get_info(gpu_, &descriptor.plain, HSA_ACCESS_PERMISSION_RW, &plain),
            HSA_STATUS_SUCCESS);
  void* const memory = allocate<std::byte>(device_pool(), plain.size);
  for (const size_t levels : {0, 1}) {
    descriptor.mip_levels = levels;
    ASSERT_EQ(
        newer_hsa_ext_image_data_get_info_v2(gpu_, &descriptor, HSA_ACCESS_PERMISSION_RW, &info),
        HSA_STATUS_SUCCESS);
    EXPECT_EQ(info.size, plain.size);
    EXPECT_EQ(info.alignment, plain.alignment);
    hsa_ext_image_t image{};
    ASSERT_EQ(
        newer_hsa_ext_image_create_v2(gpu_, &descriptor, memory, HSA_ACCESS_PERMISSION_RW, &image),
        HSA_STATUS_SUCCESS);
    emulator::Image made, expected;
    ASSERT_EQ(emulator::read_image(reinterpret_cast<const uint32_t*>(image.handle), made), nullptr);
    ASSERT_EQ(emulator::read_image(reinterpret_cast<const uint32_t*>(twin.handle), expected),
              nullptr);
    EXPECT_EQ(made.width, expected.width);
    EXPECT_EQ(made.height, expected.height);
    EXPECT_EQ(made.row_bytes, expected.row_bytes);
    EXPECT_EQ(made.base, reinterpret_cast<uint64_t>(memory));
    EXPECT_EQ(newer_hsa_ext_image_destroy_v2(gpu_, image), HSA_STATUS_SUCCESS);
    EXPECT_EQ(newer_hsa_ext_image_destroy_v2(gpu_, image), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
  descriptor.mip_levels = 2;
  hsa_ext_image_t image{};
  EXPECT_EQ(static_cast<uint32_t>(newer_hsa_ext_image_create_v2(gpu_, &descriptor, memory,
                                                                HSA_ACCESS_PERMISSION_RW, &image)),
            uint32_t{HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED});
  EXPECT_EQ(static_cast<uint32_t>(newer_hsa_ext_image_data_get_info_v2(
                gpu_, &descriptor, HSA_ACCESS_PERMISSION_RW, &info)),
            uint32_t{HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED});
  EXPECT_EQ(newer_hsa_ext_image_create_v2(gpu_, nullptr, memory, HSA_ACCESS_PERMISSION_RW, &image),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_ext_image_destroy(gpu_, twin);
  hsa_amd_memory_pool_free(memory);
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

// A check of a trace makes the words again that the agent gave HIP.
class WordsTest : public ImageTest {
 protected:
  static constexpr int32_t kHip5 = 50221153;

  static std::vector<uint32_t> words_at(uint64_t handle, size_t count) {
    const auto* const words = reinterpret_cast<const uint32_t*>(handle);
    return {words, words + count};
  }
  void* memory(size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(hsa_amd_memory_pool_allocate(device_pool(), bytes, 0, &memory), HSA_STATUS_SUCCESS);
    return memory;
  }
  // Of the image, and of the sampler behind it.
  static void expect_words(const format::AllocationBegin& begin, const check::ImageSource& source,
                           hsa_ext_image_t image, hsa_ext_sampler_t sampler = {}) {
    std::vector<uint32_t> expected = words_at(image.handle, 12);
    if (sampler.handle != 0) {
      const std::vector<uint32_t> more = words_at(sampler.handle, 8);
      expected.insert(expected.end(), more.begin(), more.end());
    }
    const auto words = check::image_words(begin, source, kHip5);
    ASSERT_TRUE(words) << words.error().message;
    EXPECT_EQ(*words, expected);
  }
};

struct Texels {
  uint8_t bits;
  unsigned components;
  format::TexelKind kind;
  hsa_ext_image_channel_type_t element, fraction;
};
using format::TexelKind;
constexpr Texels kTexels[] = {
    {8, 1, TexelKind::kUnsigned, HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8,
     HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8},
    {8, 4, TexelKind::kSigned, HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8,
     HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8},
    {16, 2, TexelKind::kUnsigned, HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16,
     HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16},
    {16, 1, TexelKind::kSigned, HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16,
     HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16},
    {16, 4, TexelKind::kFloat, HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT,
     HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT},
    {32, 4, TexelKind::kUnsigned, HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32,
     HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32},
    {32, 1, TexelKind::kSigned, HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32,
     HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32},
    {32, 2, TexelKind::kFloat, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT},
};
format::TexelFormat format_of(const Texels& texels) {
  format::TexelFormat format;
  for (unsigned n = 0; n < texels.components; ++n) format.bits[n] = texels.bits;
  format.kind = texels.kind;
  return format;
}
hsa_ext_image_format_t format_of(const Texels& texels, bool fraction) {
  return {fraction ? texels.fraction : texels.element,
          texels.components == 1   ? HSA_EXT_IMAGE_CHANNEL_ORDER_R
          : texels.components == 2 ? HSA_EXT_IMAGE_CHANNEL_ORDER_RG
                                   : HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA};
}
format::AllocationBegin begin_of(format::AllocationKind kind, const format::ImageObject& object) {
  format::AllocationBegin begin;
  begin.kind = kind;
  begin.object = std::make_shared<const format::ImageObject>(object);
  return begin;
}

TEST_F(WordsTest, OfArrays) {
  struct Case {
    uint32_t height, depth, flags;
    hsa_ext_image_geometry_t geometry;
  };
  constexpr Case kCases[] = {{0, 0, 0, HSA_EXT_IMAGE_GEOMETRY_1D},
                             {7, 0, 0, HSA_EXT_IMAGE_GEOMETRY_2D},
                             {7, 3, 0, HSA_EXT_IMAGE_GEOMETRY_3D},
                             {0, 5, 1, HSA_EXT_IMAGE_GEOMETRY_1DA},
                             {7, 5, 1, HSA_EXT_IMAGE_GEOMETRY_2DA}};
  void* const texels = memory(1 << 20);
  for (const Case& shape : kCases) {
    for (const Texels& one : kTexels) {
      for (const bool fraction : {false, true}) {
        format::ArrayShape array;
        array.width = 99;
        array.height = shape.height;
        array.depth = shape.depth;
        array.flags = shape.flags;
        array.format = format_of(one);
        const hsa_ext_image_descriptor_t descriptor{
            shape.geometry, 99, shape.height, shape.depth, shape.depth, format_of(one, fraction)};
        hsa_ext_image_t image{};
        ASSERT_EQ(hsa_ext_image_create(gpu_, &descriptor, texels, HSA_ACCESS_PERMISSION_RW, &image),
                  HSA_STATUS_SUCCESS);
        const check::ImageSource source{reinterpret_cast<uint64_t>(texels), &array};
        const hsa_ext_sampler_descriptor_t point{HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED,
                                                 HSA_EXT_SAMPLER_FILTER_MODE_NEAREST,
                                                 HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE};
        hsa_ext_sampler_t sampler{};
        ASSERT_EQ(hsa_ext_sampler_create(gpu_, &point, &sampler), HSA_STATUS_SUCCESS);
        format::ImageObject object;
        if (!fraction)
          expect_words(begin_of(format::AllocationKind::kSurface, object), source, image);
        object.read_mode = fraction;
        object.address_mode = {1, 1, 1};
        expect_words(begin_of(format::AllocationKind::kTexture, object), source, image, sampler);
      }
    }
  }
}

TEST_F(WordsTest, OfMemory) {
  void* const texels = memory(1 << 20);
  const hsa_ext_sampler_descriptor_t linear{HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED,
                                            HSA_EXT_SAMPLER_FILTER_MODE_LINEAR,
                                            HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED};
  hsa_ext_sampler_t sampler{};
  ASSERT_EQ(hsa_ext_sampler_create(gpu_, &linear, &sampler), HSA_STATUS_SUCCESS);
  for (const Texels& one : kTexels) {
    format::ImageObject object;
    object.format = format_of(one);
    object.offset_bytes = 512;
    object.normalized = 1;
    object.filter = 1;
    const check::ImageSource source{reinterpret_cast<uint64_t>(texels), nullptr};
    auto* const data = static_cast<std::byte*>(texels) + 512;
    hsa_ext_image_t image{};
    const uint32_t bytes = object.format.bytes();
    const hsa_ext_image_descriptor_t buffer{HSA_EXT_IMAGE_GEOMETRY_1DB, 1000, 0, 0, 0,
                                            format_of(one, false)};
    ASSERT_EQ(hsa_ext_image_create(gpu_, &buffer, data, HSA_ACCESS_PERMISSION_RW, &image),
              HSA_STATUS_SUCCESS);
    object.resource = format::ImageResource::kLinear;
    object.size_bytes = uint64_t{1000} * bytes + bytes - 1;  // a part of a texel does not count
    expect_words(begin_of(format::AllocationKind::kTexture, object), source, image, sampler);

    const hsa_ext_image_descriptor_t rows{HSA_EXT_IMAGE_GEOMETRY_2D, 33, 9, 0, 0,
                                          format_of(one, true)};
    ASSERT_EQ(hsa_ext_image_create_with_layout(gpu_, &rows, data, HSA_ACCESS_PERMISSION_RW,
                                               HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, 1024, 0, &image),
              HSA_STATUS_SUCCESS);
    object.resource = format::ImageResource::kPitched;
    object.size_bytes = 0;
    object.width = 33;
    object.height = 9;
    object.pitch_bytes = 1024;
    object.read_mode = 1;
    expect_words(begin_of(format::AllocationKind::kTexture, object), source, image, sampler);
  }
}

// HIP's modes to HSA's: wrap and mirror need normalized coordinates.
TEST_F(WordsTest, OfSamplers) {
  constexpr hsa_ext_sampler_addressing_mode_t kModes[] = {
      HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT, HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE,
      HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT,
      HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER};
  void* const texels = memory(1 << 16);
  const hsa_ext_image_descriptor_t descriptor{HSA_EXT_IMAGE_GEOMETRY_2D, 8, 8, 0, 0, kBytes4};
  hsa_ext_image_t image{};
  ASSERT_EQ(hsa_ext_image_create(gpu_, &descriptor, texels, HSA_ACCESS_PERMISSION_RW, &image),
            HSA_STATUS_SUCCESS);
  format::ArrayShape array;
  array.width = array.height = 8;
  array.format = {{8, 8, 8, 8}, TexelKind::kUnsigned};
  for (uint8_t mode = 0; mode < 4; ++mode) {
    for (const bool normalized : {false, true}) {
      for (const bool linear : {false, true}) {
        const bool folds = !normalized && (mode == 0 || mode == 2);
        const hsa_ext_sampler_descriptor_t wanted{
            normalized ? HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED
                       : HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED,
            linear ? HSA_EXT_SAMPLER_FILTER_MODE_LINEAR : HSA_EXT_SAMPLER_FILTER_MODE_NEAREST,
            kModes[folds ? 1 : mode]};
        hsa_ext_sampler_t sampler{};
        ASSERT_EQ(hsa_ext_sampler_create(gpu_, &wanted, &sampler), HSA_STATUS_SUCCESS);
        format::ImageObject object;
        object.address_mode = {mode, 3, 0};  // HIP 5 looks at the first one
        object.normalized = normalized;
        object.filter = linear;
        expect_words(begin_of(format::AllocationKind::kTexture, object),
                     {reinterpret_cast<uint64_t>(texels), &array}, image, sampler);
      }
    }
  }
}

}  // namespace
}  // namespace gfxgraph::hsa_test
