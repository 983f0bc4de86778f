#include "check/run/trace_run.h"

#include <fmt/format.h>

#include <utility>

#include "base/demangle.h"
#include "format/write/writer.h"

namespace gfxgraph::check {

TraceRun::TraceRun(const format::Trace& trace, const BudgetLimits& limits)
    : budget_(limits),
      execution_(
          trace, budget_, notes_,
          {.taken = Taken::kMoves,
           .failed = [](uint64_t index, const format::Kernel& kernel, Error why) -> Result<void> {
             return with_context(std::move(why),
                                 fmt::format("launch {} of {}", index, demangle(kernel.name)));
           }}) {
  execution_.add(*this);
}

Result<std::unique_ptr<TraceRun>> TraceRun::create(const format::Trace& trace,
                                                   const BudgetLimits& limits) {
  std::unique_ptr<TraceRun> run(new TraceRun(trace, limits));
  Execution& execution = run->execution_;
  run->engine_ = create_engine(execution.memory().map(), execution.with_budget({}), run->observer_);
  run->observer_.engine = run->engine_.get();
  GFXGRAPH_TRY(execution.load(*run->engine_, nullptr));
  return run;
}

Result<void> TraceRun::apply(const format::Event& event) {
  Result<void> done = execution_.apply(event);
  if (done || budget_.exhausted()) return done;
  return with_context(std::move(done).error(), fmt::format("event {}", event.sequence));
}

Result<void> TraceRun::allocated(const format::AllocationBegin& begin) {
  if (begin.initial.unwritten) unwritten_.insert(begin.id);
  return {};
}

Result<void> TraceRun::will_copy(const format::Copy& copy) {
  const format::Content& result = copy.host_result;
  const format::BlobId hash = result.hash ? result.hash : result.blob;
  if (copy.destination.allocation != 0 || copy.source.allocation == 0 || !hash ||
      result.size_bytes == 0)
    return {};
  std::vector<std::byte> rows;
  compare(copy.source.allocation, execution_.events().taken(copy, rows), hash,
          "a copy to the host from buffer");
  return {};
}

Result<void> TraceRun::checkpoint(const format::Checkpoint& checkpoint) {
  for (const format::Checkpoint::State& state : checkpoint.states) {
    const ArrayLayout* const array = execution_.images().layout(state.allocation);
    const Result<std::span<std::byte>> all = execution_.memory().bytes_from(state.allocation, 0);
    if (!all) continue;
    std::vector<std::byte> room;
    const uint64_t size = array == nullptr ? all->size() : array->linear_bytes();
    compare(state.allocation, execution_.events().contents(state.allocation, size, room),
            state.hash, "a checkpoint of buffer");
  }
  return {};
}

void TraceRun::compare(format::AllocationId id, const Result<std::span<const std::byte>>& bytes,
                       const format::BlobId& hash, const char* what) {
  if (unwritten_.contains(id) || !bytes || bytes->empty()) return;
  ++compared_;
  if (format::hash_bytes(*bytes) == hash) return;
  if (different_++ == 0)
    first_different_ = fmt::format("{} #{} at event {}", what, id, execution_.sequence());
}

uint64_t TraceRun::different() const {
  const Comparison& ends = execution_.events().comparison();
  return different_ + ends.compared - ends.equal;
}

std::string TraceRun::first_different() const {
  if (different_ != 0) return first_different_;
  return execution_.events().comparison().first_different + " at the end of its life";
}

}  // namespace gfxgraph::check
