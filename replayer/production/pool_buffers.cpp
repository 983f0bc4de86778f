#include "replayer/production/pool_buffers.h"

#include <fmt/format.h>

#include <utility>

namespace gfxgraph::replayer {

std::optional<Refusal> PoolBuffers::allocate() {
  const PoolSettings& settings = work_.settings();
  memory_.reserve(settings.tensors.size());
  const uint64_t needed = settings.row_bytes * rows_;
  const auto room = work_.allocating();
  if (const std::optional<std::string> full = work_.reserve(needed)) {
    return Refusal{GFXGRAPH_FALL_CAP,
                   fmt::format("bucket {} needs {} bytes of device memory, and {}, or leave the "
                               "bucket out",
                               rows_, needed, *full)};
  }
  bytes_ = needed;
  for (const Tensor& tensor : settings.tensors) {
    Result<void*> memory = work_.allocate(tensor.row_bytes * rows_);
    if (!memory) {
      release();
      return Refusal{GFXGRAPH_FALL_ALLOCATION,
                     fmt::format("bucket {}, {} bytes for {}: {}", rows_, tensor.row_bytes * rows_,
                                 tensor.name, memory.error().message),
                     hip::is_capture_error(memory.error().hip_error)};
    }
    memory_.push_back(*memory);
  }
  return std::nullopt;
}

void PoolBuffers::release() noexcept {
  for (void* const memory : memory_) work_.free(memory);
  memory_.clear();
  work_.release(std::exchange(bytes_, 0));
}

Result<void> PoolBuffers::copy_in(const Run& run) const {
  const std::vector<Tensor>& tensors = work_.settings().tensors;
  const HipTable& hip = work_.library().table();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].is_input) continue;
    const uint64_t bytes = run.size * tensors[i].row_bytes;
    const uint64_t rest = (rows_ - run.size) * tensors[i].row_bytes;
    hip::Error code =
        hip.hipMemcpyAsync(memory_[i], run.memory[i], bytes, hip::kCopyDefault, run.stream);
    if (code == hip::kSuccess && rest != 0) {
      code = hip.hipMemsetAsync(static_cast<uint8_t*>(memory_[i]) + bytes, 0, rest, run.stream);
    }
    if (code != hip::kSuccess) [[unlikely]] {
      return work_.library().check(
          code, fmt::format("{} rows of {} into bucket {}", run.size, tensors[i].name, rows_));
    }
  }
  return {};
}

Result<void> PoolBuffers::copy_out(const Run& run) const {
  const std::vector<Tensor>& tensors = work_.settings().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].is_output) continue;
    const hip::Error code = work_.library().table().hipMemcpyAsync(
        run.memory[i], memory_[i], run.size * tensors[i].row_bytes, hip::kCopyDefault, run.stream);
    if (code != hip::kSuccess) [[unlikely]] {
      return work_.library().check(
          code, fmt::format("{} rows of {} out of bucket {}", run.size, tensors[i].name, rows_));
    }
  }
  return {};
}

Result<void> PoolBuffers::make_zero(hip::Stream stream) const {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const uint64_t bytes = work_.settings().tensors[i].row_bytes * rows_;
    GFXGRAPH_TRY(work_.library().check(
        work_.library().table().hipMemsetAsync(memory_[i], 0, bytes, stream), "hipMemsetAsync"));
  }
  return {};
}

}  // namespace gfxgraph::replayer
