#include "replayer/production/validation.h"

#include "replayer/production/numbers.h"

namespace gfxgraph::replayer {

bool Validation::prepare() {
  if (tried_) return ready_;
  std::optional<Refusal> refusal = buffers_.allocate();
  if (!refusal) refusal = before_.allocate(StateCopies::Life::kOfBucket);
  if (!refusal) refusal = after_.allocate(StateCopies::Life::kOfBucket);
  if (refusal) release();
  ready_ = !refusal;
  tried_ = !refusal || !refusal->passes;
  return ready_;
}

void Validation::release() noexcept {
  before_.release();
  after_.release();
  buffers_.release();
  tried_ = ready_ = false;
}

Result<void> Validation::begin(const PoolBuffers& step, hip::Stream stream) const {
  const std::vector<Tensor>& tensors = work_.settings().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    GFXGRAPH_TRY(work_.copy(memory()[i], step.memory()[i], rows_ * tensors[i].row_bytes, stream,
                            tensors[i].name));
  }
  return before_.save(stream);
}

Result<void> Validation::turn(hip::Stream stream) const {
  GFXGRAPH_TRY(after_.save(stream));
  return before_.put_back(stream);
}

Result<bool> Validation::compare(const Run& run, const PoolBuffers& step) {
  const PoolSettings& settings = work_.settings();
  bool equal = true;
  for (size_t i = 0; i < settings.tensors.size() && equal; ++i) {
    const Tensor& tensor = settings.tensors[i];
    if (!tensor.is_output) continue;
    GFXGRAPH_ASSIGN_OR_RETURN(equal, compare(tensor.type, step.memory()[i], memory()[i],
                                             run.size * tensor.row_bytes, run.stream));
  }
  for (size_t i = 0; i < after_.count() && equal; ++i) {
    const State& state = settings.states[i];
    GFXGRAPH_ASSIGN_OR_RETURN(
        equal, compare(state.type, after_.memory(i), state.memory, state.bytes, run.stream));
  }
  return equal;
}

Result<bool> Validation::compare(uint32_t type, const void* step, const void* function,
                                 uint64_t bytes, hip::Stream stream) {
  step_bytes_.resize(bytes);
  function_bytes_.resize(bytes);
  GFXGRAPH_TRY(work_.copy(step_bytes_.data(), step, bytes, stream, "the step's results"));
  GFXGRAPH_TRY(
      work_.copy(function_bytes_.data(), function, bytes, stream, "the function's results"));
  GFXGRAPH_TRY(work_.library().wait_for(stream));
  return are_equal(type, work_.settings().safety.tolerance[type], step_bytes_, function_bytes_);
}

}  // namespace gfxgraph::replayer
