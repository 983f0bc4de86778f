#include "replayer/production/safety/state_copies.h"

#include <fmt/format.h>

#include <utility>

namespace gfxgraph::replayer {

std::optional<Refusal> StateCopies::allocate(Life life) {
  const std::vector<State>& states = work_.settings().states;
  memory_.reserve(states.size());
  uint64_t needed = 0;
  for (const State& state : states) needed += state.bytes;
  const auto room = work_.allocating();
  const bool counted = life == Life::kOfBucket;
  if (const auto full = counted ? work_.reserve(needed) : work_.check_share(needed)) {
    return Refusal{
        GFXGRAPH_FALL_CAP,
        fmt::format("a copy of the states needs {} bytes of device memory, and {}", needed, *full)};
  }
  bytes_ = counted ? needed : 0;
  for (const State& state : states) {
    Result<void*> memory = work_.allocate(state.bytes);
    if (!memory) {
      release();
      return Refusal{GFXGRAPH_FALL_ALLOCATION,
                     fmt::format("a copy of {}, {} bytes: {}", state.name, state.bytes,
                                 memory.error().message),
                     hip::is_capture_error(memory.error().hip_error)};
    }
    memory_.push_back(*memory);
  }
  return std::nullopt;
}

void StateCopies::release() noexcept {
  for (void* const memory : memory_) work_.free(memory);
  memory_.clear();
  work_.release(std::exchange(bytes_, 0));
}

Result<void> StateCopies::save(hip::Stream stream) const {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const State& state = work_.settings().states[i];
    GFXGRAPH_TRY(work_.copy(memory_[i], state.memory, state.bytes, stream, state.name));
  }
  return {};
}

Result<void> StateCopies::put_back(hip::Stream stream) const {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const State& state = work_.settings().states[i];
    GFXGRAPH_TRY(work_.copy(state.memory, memory_[i], state.bytes, stream, state.name));
  }
  return {};
}

}  // namespace gfxgraph::replayer
