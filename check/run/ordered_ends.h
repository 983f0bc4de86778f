// Traces of older recorders have the end of a buffer behind the beginning of the next one at the
// same addresses, if one thread was inside the call that frees while another one already had the
// memory. At no time did both exist: here the end comes before that beginning.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// Immutable.
class OrderedEnds {
 public:
  // `trace` must outlive this.
  explicit OrderedEnds(const format::Trace& trace);

  // Visits what takes place at event `index`: ends that were moved to it, then the event, unless it
  // was moved itself. Stops at the first error.
  template <typename Visit>
  Result<void> visit(uint64_t index, const Visit& visit) const {
    if (!before_.empty()) [[unlikely]] {
      if (const auto found = before_.find(index); found != before_.end())
        for (const format::Event* const end : found->second) GFXGRAPH_TRY(visit(*end));
      if (moved_.contains(index)) return {};
    }
    return visit(trace_.events()[index]);
  }

 private:
  const format::Trace& trace_;
  std::unordered_map<uint64_t, std::vector<const format::Event*>> before_;
  std::unordered_set<uint64_t> moved_;
  std::deque<format::Event> missing_;  // ends that a trace lacks because it was cut off
};

}  // namespace gfxgraph::check
