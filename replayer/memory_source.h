// Where the memory of a session comes from: HIP, or the caller's allocator.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "replayer/hip_library.h"
#include "replayer/options.h"

namespace gfxgraph::replayer {

// Not thread-safe beyond what its allocator is.
class MemorySource {
 public:
  MemorySource(std::shared_ptr<const HipLibrary> library, const Allocator& allocator)
      : library_(std::move(library)), allocator_(allocator) {}

  const HipLibrary& library() const { return *library_; }
  // `flags`: of hipHostMalloc and hipMallocManaged; an allocator of the caller does not get them.
  // kUnsupported: HIP has no managed memory.
  Result<void*> allocate(MemoryKind kind, size_t bytes, unsigned flags,
                         std::string_view what) const;
  void release(MemoryKind kind, void* pointer) const noexcept;

 private:
  std::shared_ptr<const HipLibrary> library_;
  Allocator allocator_;
};

}  // namespace gfxgraph::replayer
