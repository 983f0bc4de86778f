// Allocations that must keep their distances. A typed pointer outside of every allocation
// (`x - 2048`, which the kernel indexes by at least 2048) was made from one of those around it, and
// the trace does not tell from which. If all of them move together, the pointer stays right.
#pragma once

#include <string>
#include <vector>

#include "format/trace.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

struct RigidGroup {
  std::vector<format::AllocationId> members;  // at least two, by recorded address
  std::string reason;                         // the first launch that passes such a pointer
};

// Groups share no member.
std::vector<RigidGroup> rigid_groups(const Program& program);

}  // namespace gfxgraph::replayer
