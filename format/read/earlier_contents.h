// The previous contents of newly allocated memory. A runtime reuses addresses without clearing
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "format/read/reader.h"

namespace gfxgraph::format {

// `trace` must outlive this, with its events loaded. Thread-safe.
class EarlierContents {
 public:
  explicit EarlierContents(const Trace& trace);
  // The last bytes that the addresses of an allocation of this size held before it began; zero
  // where the trace does not store them. Fails if a blob cannot be read.
  Result<std::vector<std::byte>> before(AllocationId id, uint64_t size_bytes) const;

 private:
  struct Life {
    uint64_t address = 0;
    uint64_t begin = 0;  // sequence number of its AllocationBegin
  };
  struct End {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t event = 0;
    const Content* post = nullptr;
  };
  const Trace& trace_;
  std::unordered_map<AllocationId, Life> lives_;
  std::vector<End> ends_;  // of freed allocations
};

}  // namespace gfxgraph::format
