#include "replayer/production/safety/output_digest.h"

#include <cstring>

#include "format/container/container.h"

namespace gfxgraph::replayer {

Result<void> OutputDigest::add(const Run& run) {
  const std::vector<Tensor>& tensors = work_.settings().tensors;
  uint64_t needed = sizeof(uint64_t);
  for (const Tensor& tensor : tensors) needed += tensor.is_output ? run.size * tensor.row_bytes : 0;
  bytes_.resize(needed);
  const Value before = value();
  std::memcpy(bytes_.data(), &before.hash, sizeof before.hash);
  uint64_t at = sizeof(uint64_t);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].is_output) continue;
    const uint64_t bytes = run.size * tensors[i].row_bytes;
    GFXGRAPH_TRY(work_.copy(bytes_.data() + at, run.memory[i], bytes, run.stream, tensors[i].name));
    at += bytes;
  }
  GFXGRAPH_TRY(work_.library().wait_for(run.stream));
  const uint64_t hash = format::hash64(bytes_);
  const std::lock_guard lock(mutex_);
  value_ = {hash, before.runs + 1};
  return {};
}

}  // namespace gfxgraph::replayer
