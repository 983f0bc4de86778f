#include "replayer/production/validation.h"

#include <utility>

#include "replayer/production/numbers.h"

namespace gfxgraph::replayer {

bool Validation::prepare() {
  if (!tried_) {
    ready_ = !buffers_.allocate() && allocate_states();
    if (!ready_) release();
    tried_ = true;
  }
  return ready_;
}

bool Validation::allocate_states() {
  const std::vector<State>& states = work_.settings().states;
  uint64_t needed = 0;
  for (const State& state : states) needed += 2 * state.bytes;
  states_.reserve(states.size());
  if (!work_.reserve(needed)) return false;
  state_bytes_ = needed;
  for (const State& state : states) {
    StateCopies& copies = states_.emplace_back();
    for (void** const copy : {&copies.before, &copies.after}) {
      const Result<void*> memory = work_.allocate(state.bytes);
      if (!memory) return false;
      *copy = *memory;
    }
  }
  return true;
}

void Validation::release() noexcept {
  for (const StateCopies& copies : states_) {
    work_.free(copies.before);
    work_.free(copies.after);
  }
  states_.clear();
  work_.release(std::exchange(state_bytes_, 0));
  buffers_.release();
  tried_ = ready_ = false;
}

Result<void> Validation::copy(void* to, const void* from, uint64_t bytes,
                              hip::Stream stream) const {
  return work_.library().check(
      work_.library().table().hipMemcpyAsync(to, from, bytes, hip::kCopyDefault, stream),
      "a copy for a validation");
}

Result<void> Validation::begin(const PoolBuffers& step, hip::Stream stream) const {
  const std::vector<Tensor>& tensors = work_.settings().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    GFXGRAPH_TRY(copy(memory()[i], step.memory()[i], rows_ * tensors[i].row_bytes, stream));
  for (size_t i = 0; i < states_.size(); ++i) {
    const State& state = work_.settings().states[i];
    GFXGRAPH_TRY(copy(states_[i].before, state.memory, state.bytes, stream));
  }
  return {};
}

Result<void> Validation::turn(hip::Stream stream) const {
  for (size_t i = 0; i < states_.size(); ++i) {
    const State& state = work_.settings().states[i];
    GFXGRAPH_TRY(copy(states_[i].after, state.memory, state.bytes, stream));
    GFXGRAPH_TRY(copy(state.memory, states_[i].before, state.bytes, stream));
  }
  return {};
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
  for (size_t i = 0; i < states_.size() && equal; ++i) {
    const State& state = settings.states[i];
    GFXGRAPH_ASSIGN_OR_RETURN(
        equal, compare(state.type, states_[i].after, state.memory, state.bytes, run.stream));
  }
  return equal;
}

Result<bool> Validation::compare(uint32_t type, const void* step, const void* function,
                                 uint64_t bytes, hip::Stream stream) {
  step_bytes_.resize(bytes);
  function_bytes_.resize(bytes);
  GFXGRAPH_TRY(copy(step_bytes_.data(), step, bytes, stream));
  GFXGRAPH_TRY(copy(function_bytes_.data(), function, bytes, stream));
  GFXGRAPH_TRY(work_.library().wait_for(stream));
  return are_equal(type, work_.settings().tolerance[type], step_bytes_, function_bytes_);
}

}  // namespace gfxgraph::replayer
