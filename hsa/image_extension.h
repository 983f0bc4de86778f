// The HSA image extension: image and sampler descriptors in device-visible memory, and copies
// between images and memory. All images have the linear layout (emulator/isa/image.h), including
// those of the opaque layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gfxgraph::hsa {

// Limit for images of geometry 1DB.
constexpr uint32_t kMostBufferElements = 1u << 27;

// hsa_ext_images_1_pfn_t, followed by hsa_ext_sampler_create_v2, as in newer headers. Valid
// forever.
std::span<const std::byte> image_extension_table();

}  // namespace gfxgraph::hsa
