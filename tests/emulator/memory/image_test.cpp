// Image instructions: resources, coordinates, whole instructions with cases by hand, and what is
// refused.
#include "emulator/isa/memory/image.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "emulator/decode/image_operands.h"
#include "tests/emulator/row_host.h"

namespace gfxgraph::emulator {
namespace {

using testing::bits;
using testing::opcode_of;
using testing::row_backends;
using testing::RowHost;

float number(uint32_t word) { return std::bit_cast<float>(word); }

constexpr uint32_t kIdentity = 4u | 5u << 3 | 6u << 6 | 7u << 9;

TEST(ImageResource, ReadsWhatItWrites) {
  for (const ImageType type :
       {ImageType::k1D, ImageType::k2D, ImageType::k3D, ImageType::k1DArray, ImageType::k2DArray}) {
    const bool flat = type == ImageType::k1D || type == ImageType::k1DArray;
    const bool single = type == ImageType::k1D || type == ImageType::k2D;
    Image image;
    image.base = 0x8123456789ab00;
    image.base &= 0xffffffffff00;
    image.type = type;
    image.width = 12345;
    image.height = flat ? 1 : 16384;
    image.slices = single ? 1 : 8192;
    image.format_id = buffer_format_id(4, 8, NumberFormat::kUnorm);
    image.format = buffer_format(image.format_id);
    image.select = kIdentity;
    image.row_bytes = single ? 12352 * 4 : image_row_bytes(image.width, image.format);
    uint32_t words[Image::kWords];
    write_image(image, words);
    Image again;
    ASSERT_EQ(read_image(words, again), nullptr);
    EXPECT_EQ(again.base, image.base);
    EXPECT_EQ(again.type, type);
    EXPECT_EQ(again.width, image.width);
    EXPECT_EQ(again.height, image.height);
    EXPECT_EQ(again.slices, image.slices);
    EXPECT_EQ(again.row_bytes, image.row_bytes);
    EXPECT_EQ(again.format_id, image.format_id);
    EXPECT_EQ(again.select, image.select);
    words[3] |= 9u << 20;
    EXPECT_STREQ(read_image(words, again), "an image that is not linear");
  }
  uint32_t none[Image::kWords] = {};
  Image image;
  EXPECT_NE(read_image(none, image), nullptr);
}

TEST(ImageResource, FormatNumbers) {
  EXPECT_EQ(buffer_format_id(1, 8, NumberFormat::kUnorm), 1u);
  EXPECT_EQ(buffer_format_id(1, 32, NumberFormat::kFloat), 22u);
  EXPECT_EQ(buffer_format_id(4, 32, NumberFormat::kFloat), 77u);
  EXPECT_EQ(buffer_format_id(2, 16, NumberFormat::kSint), 28u);
  EXPECT_EQ(buffer_format_id(1, 32, NumberFormat::kUnorm), 0u);
  EXPECT_EQ(buffer_format_id(1, 8, NumberFormat::kFloat), 0u);
}

TEST(ImageCoordinates, FoldAndBlend) {
  const auto point = [](float at, Clamp clamp, bool plain = false) {
    const AxisTexels t = axis_texels(at, 4, clamp, plain, false);
    return t.outside[0] ? -1 : static_cast<int>(t.index[0]);
  };
  EXPECT_EQ(point(0.3f, Clamp::kEdge), 1);
  EXPECT_EQ(point(1.5f, Clamp::kEdge), 3);
  EXPECT_EQ(point(-0.1f, Clamp::kEdge), 0);
  EXPECT_EQ(point(1.3f, Clamp::kWrap), 1);
  EXPECT_EQ(point(-0.1f, Clamp::kWrap), 3);
  EXPECT_EQ(point(1.3f, Clamp::kMirror), 2);
  EXPECT_EQ(point(-0.1f, Clamp::kMirror), 0);
  EXPECT_EQ(point(1.0f, Clamp::kBorder), -1);
  EXPECT_EQ(point(-0.01f, Clamp::kBorder), -1);
  EXPECT_EQ(point(5.0f, Clamp::kWrap, true), 3);    // no wrapping without normalized coordinates
  EXPECT_EQ(point(1.999f, Clamp::kEdge, true), 2);  // 8 bits of a fraction
  EXPECT_EQ(point(number(0x7fc00000), Clamp::kEdge), 0);
  EXPECT_EQ(point(number(0x7f800000), Clamp::kEdge), 3);
  const AxisTexels t = axis_texels(1.75f, 4, Clamp::kEdge, true, true);
  EXPECT_EQ(t.index[0], 1u);
  EXPECT_EQ(t.index[1], 2u);
  EXPECT_EQ(t.share, 0.25f);
  const AxisTexels edge = axis_texels(0.0f, 4, Clamp::kBorder, true, true);
  EXPECT_TRUE(edge.outside[0]);
  EXPECT_FALSE(edge.outside[1]);
  EXPECT_EQ(layer_of(1.5f, 4), 2u);
  EXPECT_EQ(layer_of(2.5f, 4), 2u);
  EXPECT_EQ(layer_of(9.0f, 4), 3u);
  EXPECT_EQ(layer_of(-1.0f, 4), 0u);
}

// An image in s8..s15 (16 x 4 texels and 2 slices of 1 KiB), a sampler in s16..s19; coordinates
// from v2 on, data from v20 on.
class ImageInstruction : public ::testing::Test {
 protected:
  // At an aligned place of the host's memory.
  static uint8_t* texels(RowHost& host) {
    return host.memory() + (256 - host.memory_address() % 256) % 256;
  }
  static void resource(RowHost& host, ImageType type, uint32_t format_id) {
    Image image;
    image.base = reinterpret_cast<uint64_t>(texels(host));
    image.type = type;
    image.width = 16;
    image.height = 4;
    image.slices = type == ImageType::k2D ? 1 : 2;
    image.format_id = format_id;
    image.format = buffer_format(format_id);
    image.select = image.format.components == 1 ? 4u | 1u << 9 : kIdentity;
    image.row_bytes = 256;
    uint32_t words[Image::kWords];
    write_image(image, words);
    std::memcpy(&host.wave().sgpr[8], words, sizeof(words));
    for (unsigned n = 0; n < 2048 / 4; ++n) {
      const float value = static_cast<float>(n / 64 * 100 + n % 64);  // 100 * row + column
      std::memcpy(texels(host) + 4 * n, &value, 4);
    }
  }
  static void sampler(RowHost& host, bool linear, Clamp clamp) {
    Sampler s;
    for (Clamp& c : s.clamp) c = clamp;
    s.linear = linear;
    s.unnormalized = true;
    uint32_t words[Sampler::kWords];
    write_sampler(s, words);
    std::memcpy(&host.wave().sgpr[16], words, sizeof(words));
  }
  static std::vector<uint32_t> mimg(const std::string& name, ImageDim dim, uint32_t dmask,
                                    uint32_t more = 0) {
    return {0xf0000000u | opcode_of("MIMG", name) << 18 | static_cast<uint32_t>(dim) << 3 |
                dmask << 8 | more,
            2u | 20u << 8 | 2u << 16 | 4u << 21};
  }
  static void set(RowHost& host, unsigned vgpr, uint32_t value) {
    for (uint32_t& lane : host.wave().vgpr[vgpr].lane) lane = value;
  }
  static void set(RowHost& host, unsigned vgpr, float value) { set(host, vgpr, bits(value)); }
  static float result(RowHost& host, unsigned n, unsigned lane = 3) {
    return number(host.wave().vgpr[20 + n].lane[lane]);
  }
};
constexpr uint32_t kFloat1 = 22;

TEST_F(ImageInstruction, LoadsAndStores) {
  for (const Backend* backend : row_backends()) {
    RowHost host;
    Wave& w = host.wave();
    resource(host, ImageType::k3D, kFloat1);
    w.set_exec(~4u);
    for (unsigned l = 0; l < kLanes; ++l) w.vgpr[2].lane[l] = l;
    set(host, 3, 2u);
    set(host, 4, 1u);
    set(host, 20, 77.0f);
    set(host, 21, 78.0f);
    ASSERT_EQ(host.run(*backend, mimg("image_load", ImageDim::k3D, 9)), "");
    EXPECT_EQ(result(host, 0, 3), 603.0f);
    EXPECT_EQ(result(host, 1, 3), 1.0f);   // the fourth component of a format with one
    EXPECT_EQ(result(host, 0, 2), 77.0f);  // not active
    EXPECT_EQ(result(host, 0, 16), 0.0f);  // behind the row
    EXPECT_EQ(result(host, 1, 16), 0.0f);
    // A mip level other than 0 does not exist.
    set(host, 5, 1u);
    ASSERT_EQ(host.run(*backend, mimg("image_load_mip", ImageDim::k3D, 1)), "");
    EXPECT_EQ(result(host, 0, 3), 0.0f);
    set(host, 5, 0u);
    ASSERT_EQ(host.run(*backend, mimg("image_load_mip", ImageDim::k3D, 1)), "");
    EXPECT_EQ(result(host, 0, 3), 603.0f);
    for (unsigned l = 0; l < kLanes; ++l)
      w.vgpr[20].lane[l] = bits(1000.0f + static_cast<float>(l));
    ASSERT_EQ(host.run(*backend, mimg("image_store", ImageDim::k3D, 1)), "");
    float row[64];
    std::memcpy(row, texels(host) + 6 * 256, sizeof(row));
    EXPECT_EQ(row[3], 1003.0f);
    EXPECT_EQ(row[2], 602.0f);
    EXPECT_EQ(row[16], 616.0f);  // outside of the image: dropped
    ASSERT_EQ(host.run(*backend, mimg("image_store_mip", ImageDim::k3D, 1)), "");
    // Addresses of their own: x in v9, y in v3, z in v4.
    set(host, 9, 7u);
    set(host, 2, 99u);
    std::vector<uint32_t> words = mimg("image_load", ImageDim::k3D, 1, 1u << 1);
    words[1] = (words[1] & ~255u) | 9;
    words.push_back(3 | 4 << 8);
    ASSERT_EQ(host.run(*backend, words), "");
    EXPECT_EQ(result(host, 0, 3), 1007.0f);
  }
}

TEST_F(ImageInstruction, SamplesAndFilters) {
  for (const Backend* backend : row_backends()) {
    RowHost host;
    resource(host, ImageType::k2D, kFloat1);
    sampler(host, false, Clamp::kEdge);
    set(host, 2, 5.5f);
    set(host, 3, -3.0f);
    for (const char* name : {"image_sample", "image_sample_lz"}) {
      ASSERT_EQ(host.run(*backend, mimg(name, ImageDim::k2D, 15)), "");
      EXPECT_EQ(result(host, 0), 5.0f);
      EXPECT_EQ(result(host, 1), 0.0f);
      EXPECT_EQ(result(host, 3), 1.0f);
    }
    sampler(host, true, Clamp::kBorder);
    set(host, 2, 5.75f);
    set(host, 3, 2.0f);
    ASSERT_EQ(host.run(*backend, mimg("image_sample_lz", ImageDim::k2D, 1)), "");
    EXPECT_EQ(result(host, 0), 155.25f);
    set(host, 4, 3.0f);  // a level of detail that there is not
    ASSERT_EQ(host.run(*backend, mimg("image_sample_l", ImageDim::k2D, 1)), "");
    EXPECT_EQ(result(host, 0), 155.25f);
    set(host, 3, 0.0f);  // half of it is border
    ASSERT_EQ(host.run(*backend, mimg("image_sample_lz", ImageDim::k2D, 1)), "");
    EXPECT_EQ(result(host, 0), 2.625f);
    // Four derivatives, then the coordinates.
    for (unsigned v = 2; v < 6; ++v) set(host, v, 1.0f);
    set(host, 6, 5.75f);
    set(host, 7, 2.0f);
    ASSERT_EQ(host.run(*backend, mimg("image_sample_d", ImageDim::k2D, 1)), "");
    EXPECT_EQ(result(host, 0), 155.25f);
    // The derivatives along x and y of the screen in a register each.
    set(host, 4, 5.75f);
    set(host, 5, 2.0f);
    std::vector<uint32_t> packed = mimg("image_sample_d_g16", ImageDim::k2D, 1);
    packed[0] = (packed[0] & ~(255u << 18)) |
                (opcode_of("MIMG", "image_sample_d_g16") & 127) << 18 |
                opcode_of("MIMG", "image_sample_d_g16") >> 7;
    ASSERT_EQ(host.run(*backend, packed), "");
    EXPECT_EQ(result(host, 0), 155.25f);
    // As two halves of a register.
    std::vector<uint32_t> halves = mimg("image_sample_d", ImageDim::k2D, 9);
    halves[1] |= 1u << 31;
    ASSERT_EQ(host.run(*backend, halves), "");
    EXPECT_EQ(host.wave().vgpr[20].lane[3], 0x58dau | 0x3c00u << 16);
  }
}

TEST_F(ImageInstruction, Layers) {
  for (const Backend* backend : row_backends()) {
    RowHost host;
    resource(host, ImageType::k2DArray, kFloat1);
    sampler(host, true, Clamp::kEdge);
    set(host, 2, 5.75f);
    set(host, 3, 2.0f);
    set(host, 4, 0.75f);  // the second layer; layers are not blended
    ASSERT_EQ(host.run(*backend, mimg("image_sample_lz", ImageDim::k2DArray, 1)), "");
    EXPECT_EQ(result(host, 0), 555.25f);
  }
}

TEST_F(ImageInstruction, Gathers) {
  for (const Backend* backend : row_backends()) {
    RowHost host;
    resource(host, ImageType::k2D, kFloat1);
    sampler(host, false, Clamp::kEdge);
    set(host, 2, 6.0f);
    set(host, 3, 2.0f);
    for (const char* name : {"image_gather4", "image_gather4_l", "image_gather4_lz"}) {
      ASSERT_EQ(host.run(*backend, mimg(name, ImageDim::k2D, 1)), "");
      EXPECT_EQ(result(host, 0), 205.0f);
      EXPECT_EQ(result(host, 1), 206.0f);
      EXPECT_EQ(result(host, 2), 106.0f);
      EXPECT_EQ(result(host, 3), 105.0f);
    }
  }
}

TEST_F(ImageInstruction, Size) {
  for (const Backend* backend : row_backends()) {
    RowHost host;
    resource(host, ImageType::k3D, kFloat1);
    ASSERT_EQ(host.run(*backend, mimg("image_get_resinfo", ImageDim::k3D, 15)), "");
    const uint32_t want[4] = {16, 4, 2, 1};
    for (unsigned n = 0; n < 4; ++n) EXPECT_EQ(host.wave().vgpr[20 + n].lane[3], want[n]);
  }
}

TEST_F(ImageInstruction, RefusesByName) {
  const Backend& backend = *row_backends().front();
  RowHost host;
  resource(host, ImageType::k2D, 20);  // 32_UINT
  sampler(host, true, Clamp::kEdge);
  EXPECT_EQ(host.run(backend, mimg("image_sample_lz", ImageDim::k2D, 1)),
            "fault: a linear filter on an image of integers");
  EXPECT_EQ(host.run(backend, mimg("image_sample_lz", ImageDim::k3D, 1)),
            "fault: a sample whose dimension is not that of its image");
  host.wave().sgpr[11] |= 1u << 16;
  EXPECT_EQ(host.run(backend, mimg("image_load", ImageDim::k2D, 1)),
            "fault: an image with mip levels");
  Inst inst;
  const auto bound = [&](const std::vector<uint32_t>& words) {
    EXPECT_EQ(decode(words.data(), words.size(), 0, inst), DecodeStatus::kOk);
    return backend.bind(inst) != nullptr;
  };
  EXPECT_TRUE(bound(mimg("image_load", ImageDim::k2D, 1)));
  EXPECT_FALSE(bound(mimg("image_load", ImageDim::kCube, 1)));
  EXPECT_FALSE(bound(mimg("image_load", ImageDim::k2D, 1, 1u << 16)));  // TFE
  EXPECT_FALSE(bound(mimg("image_atomic_add", ImageDim::k2D, 1)));
  EXPECT_FALSE(bound(mimg("image_sample_c_lz", ImageDim::k2D, 1)));
}

}  // namespace
}  // namespace gfxgraph::emulator
