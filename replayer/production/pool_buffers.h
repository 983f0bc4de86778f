// One buffer in device memory for each tensor of a pool, beneath its cap.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replayer/production/decode/host_values.h"
#include "replayer/production/measure/stopwatch.h"
#include "replayer/production/pool_work.h"

namespace gfxgraph::replayer {

struct Run {
  uint64_t size = 0;
  void* const* memory = nullptr;  // of the caller, for each tensor
  hip::Stream stream = nullptr;
  bool timed = false;
  const DecodeValues* decode = nullptr;  // of a decode pool; `memory` then lacks its last two
  Stopwatch watch{};                     // since the call began
};

class PoolBuffers {
 public:
  PoolBuffers(PoolWork& work, uint64_t rows) : work_(work), rows_(rows) {}
  ~PoolBuffers() { release(); }
  PoolBuffers(const PoolBuffers&) = delete;
  PoolBuffers& operator=(const PoolBuffers&) = delete;

  // All of them, or none.
  std::optional<Refusal> allocate();
  // No work may use them any more.
  void release() noexcept;
  bool empty() const { return memory_.empty(); }
  uint64_t bytes() const { return bytes_; }
  void* const* memory() const { return memory_.data(); }

  // On a stream, in its order: the run's rows with zeros behind them; its rows back; zeros.
  Result<void> copy_in(const Run& run) const;
  Result<void> copy_out(const Run& run) const;
  Result<void> make_zero(hip::Stream stream) const;

 private:
  PoolWork& work_;
  const uint64_t rows_;
  std::vector<void*> memory_;
  uint64_t bytes_ = 0;
};

}  // namespace gfxgraph::replayer
