#include "replayer/memory_source.h"

#include <fmt/format.h>

namespace gfxgraph::replayer {

Result<void*> MemorySource::allocate(MemoryKind kind, size_t bytes, unsigned flags,
                                     std::string_view what) const {
  const HipTable& hip = library_->table();
  void* pointer = nullptr;
  if (allocator_.allocate != nullptr) {
    GFXGRAPH_TRY(library_->check(
        allocator_.allocate(allocator_.context, &pointer, bytes, static_cast<int>(kind)), what));
    if (pointer != nullptr) return pointer;
    return fail(Status::kOutOfMemory, fmt::format("{}: the caller's allocator gave nothing", what));
  }
  hip::Error code = hip::kSuccess;
  switch (kind) {
    case MemoryKind::kDevice: code = hip.hipMalloc(&pointer, bytes); break;
    case MemoryKind::kPinned: code = hip.hipHostMalloc(&pointer, bytes, flags); break;
    case MemoryKind::kManaged:
      if (hip.hipMallocManaged == nullptr) {
        return fail(Status::kUnsupported, fmt::format("{}: the runtime {} lacks hipMallocManaged",
                                                      what, library_->path()));
      }
      code = hip.hipMallocManaged(&pointer, bytes, flags == 0 ? hip::kMemAttachGlobal : flags);
      break;
  }
  GFXGRAPH_TRY(library_->check(code, what));
  return pointer;
}

void MemorySource::release(MemoryKind kind, void* pointer) const noexcept {
  const HipTable& hip = library_->table();
  if (pointer == nullptr) return;
  if (allocator_.allocate != nullptr) {
    allocator_.release(allocator_.context, pointer);
  } else if (kind == MemoryKind::kPinned) {
    hip.hipHostFree(pointer);
  } else {
    hip.hipFree(pointer);
  }
}

}  // namespace gfxgraph::replayer
