// Image formats in the numbers of HSA's image extension, and what device code finds at the handles
// of images and samplers. Shared by the agent, which makes them, and by checks of traces, which
// make them again.
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/isa/memory/image.h"

namespace gfxgraph::emulator {

// hsa_ext_image_channel_type_t and hsa_ext_image_channel_order_t.
struct ChannelFormat {
  uint32_t type = 0;
  uint32_t order = 0;
};
// R, RG or RGBA with as many bits in each. Nothing for other numbers of components, or of bits.
std::optional<ChannelFormat> channel_format(unsigned components, unsigned bits,
                                            NumberFormat number);

struct HardwareFormat {
  uint32_t id = 0;      // buffer_format()
  uint32_t select = 0;  // DST_SEL_X..W, 3 bits each
};
// Nothing for packed, 24-bit, sRGB and depth-stencil formats, and those with three components.
std::optional<HardwareFormat> hardware_format(const ChannelFormat& format);

// An image, or a buffer that image instructions do not access (geometry 1DB): `width` elements from
// `base` on.
struct MadeImage {
  // Elements of a buffer.
  static constexpr uint32_t kMostElements = 1u << 27;

  Image image;
  bool buffer = false;

  // Sets the format of the image.
  void set_format(const HardwareFormat& format);
  // Whether descriptors have room for its sizes.
  bool size_fits() const;
  // The rows of an image in memory of its own. Its size must fit, its format be set.
  void set_rows();
  // Those of an image in memory with such rows. False: no such image can be described.
  bool set_row_pitch(uint64_t bytes);
  uint64_t base_alignment() const { return buffer ? image.format.bytes : Image::kAlignment; }
  // From the first to the last texel.
  uint64_t used_bytes() const;
};

// HIP copies so many words of an image, and of a sampler.
inline constexpr unsigned kImageHandleWords = 12;
inline constexpr unsigned kSamplerHandleWords = 8;
// The resource, with the format and the width behind it, as ROCr has them.
void write_image_handle(const MadeImage& made, const ChannelFormat& format,
                        uint32_t (&words)[kImageHandleWords]);

}  // namespace gfxgraph::emulator
