// The HSA image extension: image and sampler descriptors in device-visible memory, and copies
// between images and memory. All images have the linear layout (emulator/isa/memory/image.h),
// including those of the opaque layout.
#pragma once

#include <cstddef>
#include <span>

namespace gfxgraph::hsa {

// hsa_ext_images_1_pfn_t, followed by hsa_ext_sampler_create_v2, as in newer headers. Valid
// forever.
std::span<const std::byte> image_extension_table();

}  // namespace gfxgraph::hsa
