// The previous contents of fresh memory: the runtime reuses addresses, with the bytes that were
// there when they were freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "format/reader.h"

namespace gfxgraph::format {

// Refers to the trace, which must outlive it.
class EarlierContents {
 public:
  explicit EarlierContents(const Trace& trace);
  // For an allocation with this many bytes: the bytes that its addresses held last before it began,
  // as far as the trace has them; the rest is zero. Errors: a blob cannot be read.
  Result<std::vector<std::byte>> before(AllocationId id, uint64_t size_bytes) const;

 private:
  struct Life {
    uint64_t address = 0;
    uint64_t begin = 0;  // its event
  };
  struct End {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t event = 0;
    const Content* post = nullptr;
  };
  const Trace& trace_;
  std::unordered_map<AllocationId, Life> lives_;
  std::vector<End> ends_;  // of those that were freed
};

}  // namespace gfxgraph::format
