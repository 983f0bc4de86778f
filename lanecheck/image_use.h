// Finds launches that may use a texture or surface. A check has no image descriptors, so it does
// not run them.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "format/trace.h"

namespace gfxgraph::lanecheck {

class ImageUse {
 public:
  // Call for these events in trace order.
  void see(const format::AllocationBegin& begin);
  void see(const format::HostWrite& write) { look(write.content.relocations); }
  void see(const format::Copy& copy) { look(copy.host_source.relocations); }
  // Why the launch cannot run; empty: it can. Any kernel may read a handle that is in memory.
  std::optional<std::string> refuses(const format::Launch& launch) const;

 private:
  void look(const std::vector<format::Relocation>& words);
  const format::AllocationId* first_of(const std::vector<format::Relocation>& words) const;

  std::unordered_set<format::AllocationId, SeededHash> objects_;
  format::AllocationId in_memory_ = 0;  // first object whose handle was in memory; 0: none
};

}  // namespace gfxgraph::lanecheck
