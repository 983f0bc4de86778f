#include "recorder/work/stream_values.h"

#include <algorithm>
#include <utility>

namespace gfxgraph::recorder {

// Not `nor` (3): what the manual says of it and what runtimes do differ.
std::optional<bool> ends_wait(const RawValueWait& wait, uint64_t now) {
  const uint64_t seen = now & wait.mask;
  switch (wait.condition) {
    case 0: return seen >= wait.value;
    case 1: return seen == wait.value;
    case 2: return (seen & wait.value) != 0;
    default: return std::nullopt;
  }
}

void StreamValues::write(StreamValue value) {
  lose(value.allocation, value.begin, value.end);
  values_.push_back(std::move(value));
}

void StreamValues::lose(format::AllocationId allocation, uint64_t begin, uint64_t end) {
  std::erase_if(values_, [&](const StreamValue& one) {
    return one.allocation == allocation && one.begin < end && begin < one.end;
  });
}

const StreamValue* StreamValues::find(format::AllocationId allocation, uint64_t begin,
                                      uint64_t end) const {
  const auto found = std::ranges::find_if(values_, [&](const StreamValue& one) {
    return one.allocation == allocation && one.begin == begin && one.end == end;
  });
  return found == values_.end() ? nullptr : &*found;
}

}  // namespace gfxgraph::recorder
