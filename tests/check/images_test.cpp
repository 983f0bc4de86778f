// Arrays, textures and surfaces of a trace: layouts, what kernels read and write through handles,
// and what is refused.
#include <gmock/gmock.h>

#include <numeric>

#include "check/memory/array_layout.h"
#include "check/memory/image_words.h"
#include "tests/check/trace_builder.h"

namespace gfxgraph::check {
namespace {

constexpr uint32_t kWidth = 13, kHeight = 8;  // an odd width, and the rows of the kernels

format::ArrayShape shape_of(uint32_t width, uint32_t height, uint32_t depth, uint8_t bits) {
  format::ArrayShape shape;
  shape.width = width;
  shape.height = height;
  shape.depth = depth;
  shape.format = {{bits, 0, 0, 0}, format::TexelKind::kUnsigned};
  return shape;
}

std::vector<uint32_t> numbers(size_t count, uint32_t first = 1) {
  std::vector<uint32_t> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

TEST(ArrayLayout, RowsHaveThePitchOfImages) {
  for (const uint8_t bits : {uint8_t{8}, uint8_t{16}, uint8_t{32}}) {
    for (const uint32_t width : {1U, 13U, 63U, 64U, 65U, 257U, 1023U}) {
      const auto layout = ArrayLayout::of(shape_of(width, 3, 2, bits));
      ASSERT_TRUE(layout);
      EXPECT_EQ(layout->pitch_bytes % 256, 0U);
      EXPECT_GE(layout->pitch_bytes, layout->row_bytes);
      EXPECT_LT(layout->pitch_bytes, layout->row_bytes + 256);
      EXPECT_EQ(layout->linear_bytes(), uint64_t{width} * bits / 8 * 6);
      // Both ways.
      std::vector<std::byte> memory(layout->bytes(), std::byte{0xee});
      std::vector<std::byte> linear(layout->linear_bytes());
      for (size_t at = 0; at < linear.size(); ++at) {
        linear[at] = static_cast<std::byte>(at * 7 % 251);
        memory[layout->offset(at)] = linear[at];
      }
      for (const size_t size : {linear.size(), linear.size() / 2, size_t{1}, size_t{0}}) {
        std::vector<std::byte> packed(size);
        layout->pack(memory, packed);
        EXPECT_TRUE(std::equal(packed.begin(), packed.end(), linear.begin())) << width;
      }
    }
  }
}

TEST(ArrayLayout, RefusesWhatFitsIntoNoMemory) {
  EXPECT_FALSE(ArrayLayout::of(shape_of(1, 1U << 31, 1U << 31, 8)));
  const auto thin = ArrayLayout::of(shape_of(1, 1U << 31, 0, 8));
  ASSERT_TRUE(thin);
  EXPECT_EQ(thin->bytes(), uint64_t{1} << 39);
}

// What kernels see ------------------------------------------------------------------------------

// `report` has compared this many buffers, all equal to the recording.
void expect_equal(const Report& report, uint64_t buffers) {
  EXPECT_EQ(report.buffers_compared, buffers);
  EXPECT_EQ(report.buffers_equal, buffers) << render_text(report, "t");
  EXPECT_THAT(report.findings, testing::IsEmpty()) << render_text(report, "t");
}

// load_rows, of texels without gaps: columns behind the last one are read as 0.
std::vector<uint32_t> loaded(const std::vector<uint32_t>& texels) {
  std::vector<uint32_t> result(16 * kHeight);
  for (uint32_t y = 0; y < kHeight; ++y)
    for (uint32_t x = 0; x < kWidth; ++x) result[y * 16 + x] = texels[y * kWidth + x];
  return result;
}

TEST(Images, ASurfaceReadsWhatTheArrayHolds) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder t("images.bundle");
  const std::vector<uint32_t> texels = numbers(kWidth * kHeight);
  const auto array = t.array(kWidth, kHeight, texels);
  const auto to = t.buffer(16 * kHeight * 4, 0, 0xff);
  t.launch("load_rows", kHeight, 16, {to, t.surface(array)});
  t.expect(to, loaded(texels));
  t.expect(array, texels);
  expect_equal(t.check(), 2);
}

TEST(Images, ASurfaceWritesTheArray) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder t("images.bundle");
  const auto array = t.array(kWidth, kHeight, numbers(kWidth * kHeight));
  std::vector<uint32_t> values = numbers(16, 100);
  const auto from = t.buffer_of(values);
  t.launch("store_rows", kHeight, 16, {from, t.surface(array)});
  std::vector<uint32_t> written;
  for (uint32_t y = 0; y < kHeight; ++y)
    written.insert(written.end(), values.begin(), values.begin() + kWidth);
  t.expect(array, written);
  expect_equal(t.check(), 1);
}

TEST(Images, ADifferenceIsSeen) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder t("images.bundle");
  std::vector<uint32_t> texels = numbers(kWidth * kHeight);
  const auto array = t.array(kWidth, kHeight, texels);
  t.launch("load_rows", kHeight, 16, {t.buffer(4096), t.surface(array)});
  texels.back() ^= 1;
  t.expect(array, texels);
  const Report report = t.check();
  EXPECT_EQ(report.buffers_equal + 1, report.buffers_compared);
  EXPECT_THAT(report.notes, testing::Contains(testing::HasSubstr("first: array #1")));
}

// A texture of memory in rows, and one of an array, have the same first words.
TEST(Images, TexturesOfArraysAndOfRows) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder t("images.bundle");
  const std::vector<uint32_t> texels = numbers(kWidth * kHeight);
  std::vector<uint32_t> rows(kHeight * 64);
  for (uint32_t y = 0; y < kHeight; ++y)
    std::copy_n(texels.begin() + y * kWidth, kWidth, rows.begin() + y * 64);
  const auto pitched = t.buffer_of(rows);
  const auto array = t.array(kWidth, kHeight, texels);
  format::ImageObject of_rows;
  of_rows.resource = format::ImageResource::kPitched;
  of_rows.allocation = pitched.id;
  of_rows.format = {{32, 0, 0, 0}, format::TexelKind::kSigned};
  of_rows.width = kWidth;
  of_rows.height = kHeight;
  of_rows.pitch_bytes = 256;
  format::ImageObject of_array;
  of_array.allocation = array.id;
  const auto one = t.buffer(16 * kHeight * 4, 0, 0xff), two = t.buffer(16 * kHeight * 4, 0, 0xff);
  t.launch("load_rows", kHeight, 16, {one, t.texture(of_rows)});
  t.launch("load_rows", kHeight, 16, {two, t.texture(of_array)});
  t.expect(one, loaded(texels));
  t.expect(two, loaded(texels));
  expect_equal(t.check(), 2);
}

TEST(Images, CopiesOfParts) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder t("images.bundle");
  const format::ArrayShape shape = shape_of(5, 4, 3, 32);
  std::vector<uint32_t> one = numbers(60), two = numbers(60, 1000);
  const auto from = t.array(shape, one), to = t.array(shape, two);
  const auto out = t.buffer(2 * 2 * 2 * 4);
  const auto at = [](uint64_t x, uint64_t y, uint64_t z) { return (z * 20 + y * 5 + x) * 4; };
  // A box from one array to the other one, and from there to packed memory.
  format::Copy copy;
  copy.source = {from.id, at(1, 2, 1), 20, 80};
  copy.destination = {to.id, at(3, 0, 0), 20, 80};
  copy.width_bytes = 8;
  copy.height = copy.depth = 2;
  t.add(copy);
  copy.source = copy.destination;
  copy.destination = {out.id, 0, 8, 16};
  t.add(copy);
  std::vector<uint32_t> box;
  for (uint64_t z = 0; z < 2; ++z)
    for (uint64_t y = 0; y < 2; ++y)
      for (uint64_t x = 0; x < 2; ++x) {
        box.push_back(one[at(1 + x, 2 + y, 1 + z) / 4]);
        two[at(3 + x, y, z) / 4] = box.back();
      }
  t.expect(out, box);
  t.expect(to, two);
  t.expect(from, one);
  expect_equal(t.check(), 3);
}

TEST(Images, WhatCannotBeDescribedIsNotRun) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder t("images.bundle");
  const auto array = t.array(kWidth, kHeight, numbers(kWidth * kHeight));
  format::ImageObject object;
  object.allocation = array.id;
  const auto fine = t.texture(object);
  object.srgb = 1;
  const auto strange = t.texture(object);
  const auto to = t.buffer(4096);
  const auto launch = [&](const TraceBuilder::Buffer& handle) {
    format::Launch one = t.make_launch("load_rows", kHeight, 16, {to, handle});
    one.relocations = {{0, to.id, 0}, {8, handle.id, 0}};
    t.add(one);
  };
  launch(strange);
  launch(fine);
  const Result<Report> report = t.try_check();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->failed_launches, 1U);
  EXPECT_EQ(report->failed[0].launch, 0U);
  EXPECT_EQ(report->failed[0].reason,
            "it is passed texture or surface #3, which the check does not support: sRGB");
}

// A handle in memory may be read by any later launch.
TEST(Images, WhatCannotBeDescribedInMemoryStopsLaterLaunches) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder t("images.bundle");
  const auto array = t.array(kWidth, kHeight, numbers(kWidth * kHeight));
  format::ImageObject object;
  object.allocation = array.id;
  const auto fine = t.texture(object);
  object.has_view = true;
  const auto strange = t.texture(object);
  const auto to = t.buffer(4096);
  t.launch("load_rows", kHeight, 16, {to, fine});
  const auto table = t.buffer(8);
  format::Copy copy;
  copy.destination.allocation = table.id;
  copy.width_bytes = 8;
  copy.host_source = t.content(
      {static_cast<uint32_t>(strange.address), static_cast<uint32_t>(strange.address >> 32)});
  copy.host_source.relocations = {{0, strange.id, 0}};
  t.add(copy);
  t.launch("load_rows", kHeight, 16, {to, fine});
  const Result<Report> report = t.try_check();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->failed_launches, 1U);
  EXPECT_EQ(report->failed[0].launch, 1U);
  EXPECT_THAT(report->failed[0].reason, testing::StartsWith("memory holds texture or surface #3"));
}

// What is refused ---------------------------------------------------------------------------------

class Refused : public testing::Test {
 protected:
  Refused() {
    shape_ = shape_of(kWidth, kHeight, 0, 32);
    begin_.kind = format::AllocationKind::kTexture;
  }
  std::string words() {
    begin_.object = std::make_shared<const format::ImageObject>(object_);
    const auto words = image_words(begin_, {0x7f0000000000, &shape_}, version_);
    if (words) {
      EXPECT_EQ(words->size() * 4, begin_.kind == format::AllocationKind::kTexture ? 80U : 48U);
    }
    return words ? "" : words.error().message;
  }
  format::AllocationBegin begin_;
  format::ImageObject object_;
  format::ArrayShape shape_;
  int32_t version_ = 50221153;
};

TEST_F(Refused, ByName) {
  EXPECT_EQ(words(), "");
  object_.has_view = true;
  EXPECT_EQ(words(), "a view of its resource");
  object_ = {};
  object_.address_mode = {3, 3, 3};
  EXPECT_EQ(words(), "");
  object_.border[2] = 0.5f;
  EXPECT_EQ(words(), "a border that is not 0");
  object_.address_mode = {1, 1, 1};
  EXPECT_EQ(words(), "");
  object_.max_anisotropy = 4;
  EXPECT_EQ(words(), "an anisotropic filter");
  object_ = {};
  shape_.flags = 4;
  EXPECT_EQ(words(), "a cube map");
  shape_ = shape_of(16385, 1, 0, 32);
  EXPECT_EQ(words(), "an image of this size");
  shape_ = shape_of(8, 0, 8, 32);
  EXPECT_EQ(words(), "an array of these dimensions");
  shape_.flags = 1;
  EXPECT_EQ(words(), "");
}

// HIP 5 and 6 give all axes the mode of the first one.
TEST_F(Refused, AddressModesByVersion) {
  object_.normalized = 1;
  object_.address_mode = {0, 2, 0};
  for (const int32_t version : {50221153, 60443484, 70253211}) {
    version_ = version;
    EXPECT_EQ(words(), "") << version;
  }
  version_ = 70051831;
  EXPECT_EQ(words(), "address modes that differ, which this version of HIP may not tell apart");
  // One that the array does not have.
  object_.address_mode = {2, 2, 0};
  EXPECT_EQ(words(), "");
}

}  // namespace
}  // namespace gfxgraph::check
