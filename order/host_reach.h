// Which work may tell the host something while it runs, through memory that the host can poll: a
// kernel that was given the address of such memory, or may find it in other memory; a small value
// that is stored there (hipStreamWriteValue32 and 64 are such a memset and copy). What such work
// follows has ended when the host sees it.
#pragma once

#include <vector>

#include "format/read/reader.h"
#include "format/trace.h"

namespace gfxgraph::order {

// Not thread-safe; concurrent calls of const methods are. First everything of the trace is added.
class HostReach {
 public:
  void add(const format::AllocationBegin& begin);
  void add(const format::HostWrite& write) { add_memory(write.content.relocations); }
  void add(const format::Copy& copy) { add_memory(copy.host_source.relocations); }
  // Of a graph that the trace launches.
  void add(const format::Graph& graph);
  // Pointers that may lie in memory. They may lead to allocations that begin later.
  void add_memory(const std::vector<format::Relocation>& relocations);

  bool is_host_memory(format::AllocationId id) const { return id < host_.size() && host_[id]; }
  bool leads_to_host(const std::vector<format::Relocation>& relocations) const;
  // Memory has a pointer to host memory: any kernel may follow it.
  bool by_memory() const;
  bool raises_flag(const format::Memset& memset) const { return is_host_memory(memset.allocation); }
  bool raises_flag(const format::Copy& copy) const;

 private:
  std::vector<bool> host_;     // by allocation
  std::vector<bool> pointed_;  // by allocation: memory has a pointer to it
};

// With everything of a trace, whose events must be loaded.
HostReach host_reach_of(const format::Trace& trace);

}  // namespace gfxgraph::order
