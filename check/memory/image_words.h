// What device code finds at the handle of a texture or surface, for what HIP was given.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::check {

// What an image is made of: an array in its layout (array_layout.h), or memory.
struct ImageSource {
  uint64_t address = 0;  // here
  const format::ArrayShape* array = nullptr;
};

// kTextureBytes or kSurfaceBytes in dwords. kUnsupported: what the emulator, or this check, cannot
// describe. HIP's versions differ: `hip_version` is Environment::hip_runtime_version.
Result<std::vector<uint32_t>> image_words(const format::AllocationBegin& object,
                                          const ImageSource& source, int32_t hip_version);

}  // namespace gfxgraph::check
