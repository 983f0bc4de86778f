// What hears of a trace's execution (run/execution.h): each tool of the check, and the check
// itself.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "emulator/engine/engine.h"
#include "format/trace.h"

namespace gfxgraph::codeobj {
struct Kernel;
}

namespace gfxgraph::check {

struct LoadedCode;

// A launch in the emulator. All is borrowed until after_run() returns.
struct LaunchRun {
  uint64_t index = 0;            // among the launches of the trace; kernel nodes of graphs count
  const format::Launch& launch;  // with addresses of this run
  const LoadedCode& code;
  const codeobj::Kernel& kernel;
  const emulator::Dispatch& dispatch;
};

// Called in trace order, from the thread that executes. An error ends the execution, unless it is
// that of a launch. Allocations, copies and memsets have the offsets and addresses of this run.
class Listener {
 public:
  Listener() = default;
  virtual ~Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The event that the following calls belong to, or the node of its graph.
  virtual void next_event(uint64_t /*sequence*/) {}
  virtual void next_node(format::GraphId /*graph*/, uint32_t /*node*/) {}
  // Memory still has its bytes from before.
  virtual Result<void> will_write(const format::HostWrite&) { return {}; }
  virtual Result<void> will_copy(const format::Copy&) { return {}; }
  // Has taken place.
  virtual Result<void> allocated(const format::AllocationBegin&) { return {}; }
  virtual Result<void> freed(const format::AllocationEnd&) { return {}; }
  virtual Result<void> written(const format::HostWrite&) { return {}; }
  virtual Result<void> copied(const format::Copy&) { return {}; }
  virtual Result<void> filled(const format::Memset&) { return {}; }
  virtual Result<void> checkpoint(const format::Checkpoint&) { return {}; }
  virtual Result<void> call_fault(const format::CallFault&) { return {}; }
  // The turn of a launch, also of one that cannot run.
  virtual void next_launch(uint64_t /*index*/, const format::Launch&) {}
  virtual void before_run(const LaunchRun&) {}
  virtual void after_run(const LaunchRun&,
                         const tl::expected<emulator::RunStatistics, emulator::Fault>&) {}
};

}  // namespace gfxgraph::check
