// Applies events other than launches to the written-byte state, and reports host reads.
#pragma once

#include <unordered_map>

#include "base/result.h"
#include "format/trace.h"
#include "lanecheck/init_check.h"

namespace gfxgraph::lanecheck {

class InitEvents {
 public:
  explicit InitEvents(InitCheck& check) : check_(check) {}

  // `launch`: index of the last launch; `trace_event`: of the copy. Returns whether a copy added a
  // finding. Copies and memsets must be within their buffers.
  Result<void> apply(const format::AllocationBegin& begin);
  Result<void> apply(const format::AllocationEnd& end);
  Result<void> apply(const format::HostWrite& write);
  Result<bool> apply(const format::Copy& copy, uint64_t launch, uint64_t trace_event);
  Result<void> apply(const format::Memset& memset);

 private:
  uint64_t address_of(format::AllocationId id) const {
    const auto found = addresses_.find(id);
    return found == addresses_.end() ? 0 : found->second;
  }

  InitCheck& check_;
  // Addresses of device memory; 0 for memory that the host may write at any time.
  std::unordered_map<format::AllocationId, uint64_t> addresses_;
};

}  // namespace gfxgraph::lanecheck
