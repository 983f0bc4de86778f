// The image extension: descriptors of images and samplers in device-visible memory, and copies
// between images and memory. All images are linear (emulator/isa/image.h), also those with the
// opaque layout.
#pragma once

#include <cstddef>
#include <span>

namespace gfxgraph::hsa {

// hsa_ext_images_1_pfn_t, and hsa_ext_sampler_create_v2 after it, as in newer headers.
std::span<const std::byte> image_extension_table();

}  // namespace gfxgraph::hsa
