// Executes the events of a trace in the emulator one by one, without observers, with access to
// device memory between them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "emulator/engine/engine.h"
#include "format/reader.h"
#include "lanecheck/budget.h"
#include "lanecheck/budget_engine.h"
#include "lanecheck/device_memory.h"
#include "lanecheck/images.h"
#include "lanecheck/launch_frame.h"
#include "lanecheck/loaded_code.h"
#include "lanecheck/ordered_ends.h"
#include "lanecheck/replay_memory.h"

namespace gfxgraph::lanecheck {

// Not thread-safe; the emulator itself uses all cores.
class TraceRun {
 public:
  // Loads the code. `trace` must outlive the run. kUnsupported if the emulator does not support the
  // architecture of a code object.
  static Result<std::unique_ptr<TraceRun>> create(const format::Trace& trace,
                                                  const BudgetLimits& limits);
  TraceRun(const TraceRun&) = delete;
  TraceRun& operator=(const TraceRun&) = delete;

  // Executes an event. Errors name the launch and its kernel, and leave memory undefined. An
  // exhausted budget is also an error.
  Result<void> apply(const format::Event& event);
  // Executes one node of a graph, instead of the graph's launch.
  Result<void> apply(const format::GraphNode& node);

  // The first `size_bytes` bytes of a live allocation, of an array in linear order; valid until the
  // next call.
  Result<std::span<const std::byte>> bytes(format::AllocationId id, uint64_t size_bytes);
  // Number of executed kernels; each kernel node of a graph counts.
  uint64_t launches() const { return launches_; }
  // Number of recorded contents (final contents, copies to the host, checkpoints) that were
  // compared with the emulator's memory, and of those that differ.
  uint64_t compared() const { return compared_ + events_.comparison().compared; }
  uint64_t different() const;
  std::string first_different() const;
  const std::vector<std::string>& notes() const { return notes_; }
  // The order in which events must be applied.
  const OrderedEnds& ends() const { return ends_; }
  // Index = code object id - 1.
  const std::vector<LoadedCode>& code() const { return code_; }

 private:
  TraceRun(const format::Trace& trace, const BudgetLimits& limits);
  Result<void> set_up();
  template <typename Action>
  Result<void> carry_out(const Action& action);
  Result<void> carry_out(const std::monostate&) { return {}; }
  Result<void> carry_out(const format::AllocationBegin& begin);
  Result<void> carry_out(const format::Copy& copy);
  Result<void> carry_out(const format::Launch& launch);
  Result<void> carry_out(const format::GraphLaunch& launch);
  Result<void> carry_out(const format::Checkpoint& checkpoint);
  bool globals_live(format::CodeObjectId code) const;
  void compare(format::AllocationId id, const Result<std::span<const std::byte>>& bytes,
               const format::BlobId& hash, const char* what);

  const format::Trace& trace_;
  Budget budget_;
  DeviceMemory memory_;
  Images images_;
  std::vector<std::string> notes_;
  MemoryEvents events_;
  OrderedEnds ends_;
  BudgetOnly observer_{budget_};
  std::unique_ptr<emulator::Engine> engine_;
  std::vector<LoadedCode> code_;
  std::unordered_map<format::CodeObjectId, std::vector<format::AllocationId>> globals_;
  LaunchFrame frame_;
  std::vector<std::byte> room_;                         // for bytes()
  std::unordered_set<format::AllocationId> unwritten_;  // allocations that began without contents
  uint64_t sequence_ = 0;
  uint64_t launches_ = 0;
  uint64_t compared_ = 0;
  uint64_t different_ = 0;
  std::string first_different_;
};

}  // namespace gfxgraph::lanecheck
