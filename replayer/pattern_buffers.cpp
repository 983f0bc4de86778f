#include "replayer/pattern_buffers.h"

#include <cstddef>
#include <cstring>
#include <vector>

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kPatternBytes = 64 << 10;

}  // namespace

PatternBuffers::~PatternBuffers() {
  for (auto& [key, buffer] : buffers_) {
    if (buffer.pointer != nullptr) hip_->hipFree(buffer.pointer);
  }
}

Result<const PatternBuffer*> PatternBuffers::get(const HipLibrary& library, uint32_t element_bytes,
                                                 uint32_t value) {
  hip_ = &library.table();
  PatternBuffer& buffer = buffers_[{element_bytes, value}];
  if (buffer.size_bytes != 0) return &buffer;
  GFXGRAPH_TRY(library.check(hip_->hipMalloc(&buffer.pointer, kPatternBytes),
                             "buffer for the pattern of a memset"));
  std::vector<std::byte> bytes(kPatternBytes);
  for (uint64_t at = 0; at < kPatternBytes; at += element_bytes)
    std::memcpy(bytes.data() + at, &value, element_bytes);
  GFXGRAPH_TRY(
      library.check(hip_->hipMemcpy(buffer.pointer, bytes.data(), bytes.size(), hip::kHostToDevice),
                    "pattern of a memset"));
  buffer.size_bytes = kPatternBytes;
  return &buffer;
}

}  // namespace gfxgraph::replayer
