// Image and sampler resources of gfx10.3, and where a sample reads. Plain functions on words and
// numbers, shared with the agent, which writes the resources. Source: RDNA2 ISA guide, "Image
// Resource Descriptor" and "Sampler Descriptor".
//
// Only linear layouts with one mip level: rows of `row_bytes`, slices of whole rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/isa/memory/buffer_format.h"

namespace gfxgraph::emulator {

enum class ImageType : uint8_t { k1D = 8, k2D = 9, k3D = 10, k1DArray = 12, k2DArray = 13 };

struct Image {
  static constexpr unsigned kWords = 8;
  static constexpr uint64_t kAlignment = 256;  // of the base, and of rows, bytes
  static constexpr uint32_t kMostWidth = 16384, kMostHeight = 16384, kMostSlices = 8192;

  uint64_t base = 0;  // device address
  ImageType type = ImageType::k2D;
  uint32_t width = 1;
  uint32_t height = 1;
  uint32_t slices = 1;  // the depth of a 3D image, the layers of an array
  uint64_t row_bytes = 0;
  uint32_t format_id = 0;
  BufferFormat format;
  uint32_t select = 0;  // DST_SEL_X..W, 3 bits each

  uint64_t slice_bytes() const { return row_bytes * height; }
  uint64_t address(uint32_t x, uint32_t y, uint32_t slice) const {
    return base + slice * slice_bytes() + y * row_bytes + uint64_t{x} * format.bytes;
  }
};

// Bytes of a row of which the resource does not have the pitch.
uint64_t image_row_bytes(uint32_t width, const BufferFormat& format);
// Null, or why the emulator cannot access the image (static text).
const char* read_image(const uint32_t* words, Image& image);
// `image` is within the limits, its base aligned; row_bytes is kept for 1D and 2D images and is
// image_row_bytes() of the others.
void write_image(const Image& image, uint32_t (&words)[Image::kWords]);

// The components in memory from those of a store: each is the first one that DST_SEL would read it
// into.
void unselect_components(uint32_t select, const uint32_t (&from)[4], uint32_t (&to)[4]);

enum class Clamp : uint8_t { kWrap = 0, kMirror = 1, kEdge = 2, kBorder = 6 };

struct Sampler {
  static constexpr unsigned kWords = 4;
  Clamp clamp[3] = {Clamp::kEdge, Clamp::kEdge, Clamp::kEdge};
  bool unnormalized = false;
  bool linear = false;
  uint32_t border = 0;  // 0: transparent black, 1: opaque black, 2: opaque white
};
const char* read_sampler(const uint32_t* words, Sampler& sampler);
void write_sampler(const Sampler& sampler, uint32_t (&words)[Sampler::kWords]);

// The texels along one axis that a sample reads, and the share of the second one. The hardware
// rounds to 8 bits of a texel's fraction, for a point filter too. That one: one texel, share 0.
struct AxisTexels {
  uint32_t index[2];
  bool outside[2];  // the border
  float share;
};
AxisTexels axis_texels(float coordinate, uint32_t size, Clamp clamp, bool unnormalized,
                       bool linear);
// The layer of an array: rounded to nearest even, within the array.
uint32_t layer_of(float coordinate, uint32_t layers);

}  // namespace gfxgraph::emulator
