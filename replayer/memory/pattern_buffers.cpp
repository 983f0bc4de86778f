#include "replayer/memory/pattern_buffers.h"

#include <cstddef>
#include <cstring>
#include <vector>

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kPatternBytes = 64 << 10;

}  // namespace

PatternBuffers::~PatternBuffers() {
  for (auto& [key, buffer] : buffers_) source_->release(MemoryKind::kDevice, buffer.pointer);
}

Result<const PatternBuffer*> PatternBuffers::get(const MemorySource& source, uint32_t element_bytes,
                                                 uint32_t value) {
  source_ = &source;
  PatternBuffer& buffer = buffers_[{element_bytes, value}];
  if (buffer.size_bytes != 0) return &buffer;
  const char* const what = "buffer for the pattern of a memset";
  if (buffer.pointer == nullptr) {
    GFXGRAPH_ASSIGN_OR_RETURN(buffer.pointer,
                              source.allocate(MemoryKind::kDevice, kPatternBytes, 0, what));
  }
  std::vector<std::byte> bytes(kPatternBytes);
  for (uint64_t at = 0; at < kPatternBytes; at += element_bytes)
    std::memcpy(bytes.data() + at, &value, element_bytes);
  GFXGRAPH_TRY(source.copy(buffer.pointer, bytes.data(), bytes.size(), hip::kHostToDevice,
                           "pattern of a memset"));
  buffer.size_bytes = kPatternBytes;
  return &buffer;
}

}  // namespace gfxgraph::replayer
