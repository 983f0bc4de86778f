#include "replayer/memory/memory_source.h"

#include <fmt/format.h>

#include "replayer/abi/hsa_library.h"

namespace gfxgraph::replayer {

MemorySource::MemorySource(std::shared_ptr<const HipLibrary> library, const Allocator& allocator)
    : library_(std::move(library)),
      allocator_(allocator),
      agent_zero_(reinterpret_cast<AgentZeroFunction>(loaded_hsa_function(kAgentZeroFunction))) {}

MemorySource::~MemorySource() {
  if (stream_ != nullptr) library_->table().hipStreamDestroy(stream_);
}

hip::Error MemorySource::ready() const noexcept {
  const std::lock_guard lock(opening_);
  if (stream_ != nullptr) return hip::kSuccess;
  return library_->table().hipStreamCreateWithFlags(&stream_, hip::kStreamNonBlocking);
}

hip::Error MemorySource::move(void* destination, const void* source, size_t bytes,
                              int kind) const noexcept {
  const HipTable& hip = library_->table();
  if (const hip::Error opened = ready(); opened != hip::kSuccess) return opened;
  const hip::Error code = hip.hipMemcpyAsync(destination, source, bytes, kind, stream_);
  return code != hip::kSuccess ? code : hip.hipStreamSynchronize(stream_);
}

hip::Error MemorySource::move(const hip::Memcpy3dParams& box) const noexcept {
  const HipTable& hip = library_->table();
  if (const hip::Error opened = ready(); opened != hip::kSuccess) return opened;
  const hip::Error code = hip.hipMemcpy3DAsync(&box, stream_);
  return code != hip::kSuccess ? code : hip.hipStreamSynchronize(stream_);
}

Result<void> MemorySource::copy(void* destination, const void* source, size_t bytes, int kind,
                                std::string_view what) const {
  return library_->check(move(destination, source, bytes, kind), what);
}

Result<void> MemorySource::fill(void* destination, uint8_t value, size_t bytes,
                                std::string_view what) const {
  GFXGRAPH_TRY(library_->check(ready(), "stream for the memory of the replay"));
  return library_->check(library_->table().hipMemsetAsync(destination, value, bytes, stream_),
                         what);
}

bool MemorySource::zero(void* destination, size_t bytes) const {
  // An earlier fill may be on its way.
  return agent_zero_ != nullptr && synchronize() && agent_zero_(destination, bytes);
}

Result<void> MemorySource::synchronize() const {
  {
    const std::lock_guard lock(opening_);
    if (stream_ == nullptr) return {};  // it had no work
  }
  return library_->check(library_->table().hipStreamSynchronize(stream_), "hipStreamSynchronize");
}

Result<void*> MemorySource::allocate(MemoryKind kind, size_t bytes, unsigned flags,
                                     std::string_view what) const {
  const HipTable& hip = library_->table();
  void* pointer = nullptr;
  if (allocator_.allocate != nullptr) {
    GFXGRAPH_TRY(library_->check(
        allocator_.allocate(allocator_.context, &pointer, bytes, static_cast<int>(kind)), what));
    if (pointer != nullptr) return pointer;
    return fail(Status::kOutOfMemory,
                fmt::format("{}: the caller's allocator returned null", what));
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
