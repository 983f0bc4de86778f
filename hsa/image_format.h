// Converts HSA image formats to gfx10 format numbers and component selections.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_image.h>

#include <cstdint>
#include <optional>

namespace gfxgraph::hsa {

struct HardwareFormat {
  uint32_t id = 0;      // emulator::buffer_format()
  uint32_t select = 0;  // DST_SEL_X..W, 3 bits each
};
// Empty for unsupported formats: packed, 24-bit, sRGB, depth-stencil, and those with three
// components.
std::optional<HardwareFormat> hardware_format(const hsa_ext_image_format_t& format);

}  // namespace gfxgraph::hsa
