// What events other than launches do to device memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/reader.h"
#include "lanecheck/device_memory.h"

namespace gfxgraph::lanecheck {

// How the bytes at the end of buffers' lives compare with the recorded ones.
struct Comparison {
  uint64_t compared = 0;
  uint64_t equal = 0;
  std::string first_different;
};

class MemoryEvents {
 public:
  MemoryEvents(const format::Trace& trace, DeviceMemory& memory, std::vector<std::string>& notes)
      : trace_(trace), memory_(memory), notes_(notes) {}

  Result<void> apply(const format::AllocationBegin& action);
  Result<void> apply(const format::AllocationEnd& action);
  Result<void> apply(const format::HostWrite& action);
  Result<void> apply(const format::Copy& action);
  Result<void> apply(const format::Memset& action);

  const Comparison& comparison() const { return comparison_; }

 private:
  Result<void> write(format::AllocationId id, uint64_t offset, const format::Content& content,
                     const char* what);

  const format::Trace& trace_;
  DeviceMemory& memory_;
  std::vector<std::string>& notes_;
  Comparison comparison_;
  uint64_t unknown_contents_ = 0;
};

}  // namespace gfxgraph::lanecheck
