// Which launches may use a texture or surface: a check has no descriptors to give them, and runs
// none of these.
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
  void see(const format::AllocationBegin& begin);
  void see(const format::HostWrite& write) { look(write.content.relocations); }
  void see(const format::Copy& copy) { look(copy.host_source.relocations); }
  // Why the launch cannot be run; nothing: it can. A handle in memory may be read by any kernel.
  std::optional<std::string> refuses(const format::Launch& launch) const;

 private:
  void look(const std::vector<format::Relocation>& words);
  const format::AllocationId* first_of(const std::vector<format::Relocation>& words) const;

  std::unordered_set<format::AllocationId, SeededHash> objects_;
  format::AllocationId in_memory_ = 0;  // that memory has had the handle of
};

}  // namespace gfxgraph::lanecheck
