// What the host of the recorded program wrote into memory that kernels see, ready to be written
// again between the operations of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "replayer/memory/memory.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// Host writes that a kernel may have made instead (format::HostWrite::in_doubt), in the last run.
struct DoubtfulWrites {
  size_t made = 0;           // the bytes were already there: this replay's kernels write them
  size_t given = 0;          // they did not: taken from the recording as the program's
  uint32_t first_given = 0;  // index into Program::host_writes()
};

// In the order of Program::host_writes(), whose indices it takes. Not thread-safe.
class HostWrites {
 public:
  Result<void> prepare(const Program& program, Memory& memory);
  // The caller has synchronised. By the order of the indices.
  void apply(uint32_t first, uint32_t count) noexcept;
  // Memory is as it was before the first run.
  void restored() noexcept { runs_ = 0; }
  // Bytes of the caller, as many as recorded.
  void set(uint32_t index, std::span<const std::byte> bytes) noexcept;
  void follow(const Move& move, const Program& program) noexcept;
  // Of the last run.
  const DoubtfulWrites& doubtful() const { return doubtful_; }

 private:
  struct Prepared {
    uint8_t* destination = nullptr;
    std::vector<std::byte> bytes;  // relocated
    bool in_doubt = false;
    bool given = false;  // by the caller
    bool made = false;   // by a kernel, as a run from the recorded memory has shown
  };
  void apply_one(uint32_t index) noexcept;

  std::vector<Prepared> writes_;
  DoubtfulWrites doubtful_;
  uint64_t runs_ = 0;  // that made host writes, since memory was restored
};

}  // namespace gfxgraph::replayer
