// Device memory filled with the patterns of memsets, for runtimes whose memset nodes or small fills
// are broken (base/hip_quirks.inc, kMemsetNodeOverwritten and kSmallFillOverruns).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/result.h"
#include "replayer/memory/memory_source.h"

namespace gfxgraph::replayer {

struct PatternBuffer {
  void* pointer = nullptr;  // device memory
  uint64_t size_bytes = 0;  // whole elements
};

// Owns the buffers; outlives the graphs that read them, and is outlived by their source. Not
// thread-safe.
class PatternBuffers {
 public:
  PatternBuffers() = default;
  ~PatternBuffers();
  PatternBuffers(const PatternBuffers&) = delete;
  PatternBuffers& operator=(const PatternBuffers&) = delete;

  // The buffer with the pattern of a memset, made by the first call. Valid as long as this object.
  Result<const PatternBuffer*> get(const MemorySource& source, uint32_t element_bytes,
                                   uint32_t value);

 private:
  const MemorySource* source_ = nullptr;
  std::map<std::pair<uint32_t, uint32_t>, PatternBuffer> buffers_;  // by element size and value
};

}  // namespace gfxgraph::replayer
