// Executes the events of a trace in the emulator one by one, without tools, with access to device
// memory between them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "check/budget.h"
#include "check/run/budget_engine.h"
#include "check/run/execution.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// Not thread-safe; the emulator itself uses all cores.
class TraceRun final : public Listener {
 public:
  // Loads the code. `trace` must outlive the run. kUnsupported if the emulator does not support the
  // architecture of a code object.
  static Result<std::unique_ptr<TraceRun>> create(const format::Trace& trace,
                                                  const BudgetLimits& limits);

  // Executes an event. Errors name the launch and its kernel, and leave memory undefined. An
  // exhausted budget is also an error.
  Result<void> apply(const format::Event& event);
  // Executes one node of a graph, instead of the graph's launch.
  Result<void> apply(const format::GraphNode& node) { return execution_.apply(node); }

  // The first `size_bytes` bytes of a live allocation, of an array in linear order; valid until the
  // next call.
  Result<std::span<const std::byte>> bytes(format::AllocationId id, uint64_t size_bytes) {
    return execution_.events().contents(id, size_bytes, room_);
  }
  // Number of executed kernels; each kernel node of a graph counts.
  uint64_t launches() const { return execution_.launches(); }
  // Number of recorded contents (final contents, copies to the host, checkpoints) that were
  // compared with the emulator's memory, and of those that differ.
  uint64_t compared() const { return compared_ + execution_.events().comparison().compared; }
  uint64_t different() const;
  std::string first_different() const;
  const std::vector<std::string>& notes() const { return notes_; }
  // The order in which events must be applied.
  const OrderedEnds& ends() const { return execution_.ends(); }
  // Index = code object id - 1.
  const std::vector<LoadedCode>& code() const { return execution_.code(); }

 private:
  TraceRun(const format::Trace& trace, const BudgetLimits& limits);
  Result<void> allocated(const format::AllocationBegin& begin) override;
  Result<void> will_copy(const format::Copy& copy) override;
  Result<void> checkpoint(const format::Checkpoint& checkpoint) override;
  void before_run(const LaunchRun&) override { observer_.launch = next_launch_number(); }
  void compare(format::AllocationId id, const Result<std::span<const std::byte>>& bytes,
               const format::BlobId& hash, const char* what);

  Budget budget_;
  std::vector<std::string> notes_;
  BudgetOnly observer_{budget_};
  Execution execution_;
  std::unique_ptr<emulator::Engine> engine_;
  std::vector<std::byte> room_;                         // for bytes()
  std::unordered_set<format::AllocationId> unwritten_;  // allocations that began without contents
  uint64_t compared_ = 0;
  uint64_t different_ = 0;
  std::string first_different_;
};

}  // namespace gfxgraph::check
