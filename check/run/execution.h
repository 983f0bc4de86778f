// Executes the events of a trace in the emulator one by one. What is learned from that is the
// listeners' and the engine's observer's business.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "check/budget.h"
#include "check/launch/host_services.h"
#include "check/launch/launch_frame.h"
#include "check/launch/loaded_code.h"
#include "check/listener.h"
#include "check/memory/device_memory.h"
#include "check/memory/images.h"
#include "check/memory/replay_memory.h"
#include "check/run/ordered_ends.h"
#include "emulator/engine/engine.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// Not thread-safe; the emulator itself uses all cores.
class Execution {
 public:
  struct Policy {
    Taken taken = Taken::kStays;  // code whose recorded address is taken
    // What becomes of a launch that did not end well. An error ends the execution.
    std::function<Result<void>(uint64_t index, const format::Kernel& kernel, Error why)> failed;
  };

  // `trace`, `budget` and `notes` must outlive this.
  Execution(const format::Trace& trace, Budget& budget, std::vector<std::string>& notes,
            Policy policy)
      : trace_(trace),
        budget_(budget),
        notes_(notes),
        policy_(std::move(policy)),
        memory_(trace.events(), budget),
        images_(trace, memory_),
        events_(trace, memory_, images_, budget, notes),
        ends_(trace) {}
  // Borrowed.
  void add(Listener& listener) { listeners_.push_back(&listener); }
  // `options` without the functions that take and give memory. `scratch_shadow`: bytes of scratch
  // for which an observer needs one more; 0: it needs none.
  emulator::EngineOptions with_budget(emulator::EngineOptions options, uint64_t scratch_shadow = 0);
  // Loads the code. The engine runs in memory().map(), and ends before this does. `services`: the
  // host of device code, borrowed; null: a kernel that calls the host faults.
  Result<void> load(emulator::Engine& engine, HostServices* services);

  // Executes what takes place at the event with this index.
  Result<void> run_event(size_t index);
  // Executes an event, or one node of a graph in place of the graph's launch.
  Result<void> apply(const format::Event& event);
  Result<void> apply(const format::GraphNode& node);

  DeviceMemory& memory() { return memory_; }
  const Images& images() const { return images_; }
  MemoryEvents& events() { return events_; }
  const MemoryEvents& events() const { return events_; }
  // The order in which events must be applied.
  const OrderedEnds& ends() const { return ends_; }
  // Index = code object id - 1.
  const std::vector<LoadedCode>& code() const { return code_; }
  // Number of launches so far; each kernel node of a graph counts.
  uint64_t launches() const { return at_.launches; }
  uint64_t sequence() const { return at_.sequence; }  // of the current event

 private:
  template <typename Action>
  Result<void> carry_out(const Action& action);
  Result<void> carry_out(const std::monostate&) { return {}; }
  Result<void> carry_out(const format::AllocationBegin& begin);
  Result<void> carry_out(const format::Copy& recorded);
  Result<void> carry_out(const format::Launch& launch);
  Result<void> carry_out(const format::GraphLaunch& launch);
  Result<void> begin(const format::AllocationBegin& placed);
  Result<void> place_variable(const format::AllocationBegin& variable,
                              format::AllocationBegin& placed);
  bool variables_live(format::CodeObjectId code) const;
  Result<void> dispatch(uint64_t index, const format::Kernel& kernel,
                        const format::Launch& recorded);
  Result<void> can_run(const LaunchShape& shape);
  Result<void> within_budget();
  template <typename... Method, typename... Arguments>
  Result<void> tell(Result<void> (Listener::*what)(Method...), const Arguments&... arguments);

  const format::Trace& trace_;
  Budget& budget_;
  std::vector<std::string>& notes_;
  const Policy policy_;
  std::vector<Listener*> listeners_;
  DeviceMemory memory_;
  Images images_;
  MemoryEvents events_;
  OrderedEnds ends_;
  emulator::Engine* engine_ = nullptr;
  HostServices* services_ = nullptr;
  std::vector<LoadedCode> code_;
  std::unordered_map<format::CodeObjectId, std::vector<format::AllocationId>> variables_;
  LaunchFrame frame_;
  struct {
    uint64_t sequence = 0, launches = 0;
  } at_;
};

}  // namespace gfxgraph::check
