// Who is told when the program gives memory or code back: steps that were captured in this process
// work with it.
#pragma once

namespace gfxgraph::recorder {

struct Allocation;
struct ModuleEntry;

class Departures {
 public:
  // With the recorder's lock.
  virtual void left(const Allocation& allocation) noexcept = 0;
  virtual void left(const ModuleEntry& module) noexcept = 0;

 protected:
  ~Departures() = default;
};

}  // namespace gfxgraph::recorder
