#include "lanecheck/trace_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <variant>

#include "base/demangle.h"
#include "format/writer.h"

namespace gfxgraph::lanecheck {

TraceRun::TraceRun(const format::Trace& trace, const BudgetLimits& limits)
    : trace_(trace),
      budget_(limits),
      memory_(trace.events(), budget_),
      images_(trace, memory_),
      events_(trace, memory_, images_, budget_, notes_),
      ends_(trace) {}

Result<std::unique_ptr<TraceRun>> TraceRun::create(const format::Trace& trace,
                                                   const BudgetLimits& limits) {
  std::unique_ptr<TraceRun> run(new TraceRun(trace, limits));
  GFXGRAPH_TRY(run->set_up());
  return run;
}

Result<void> TraceRun::set_up() {
  emulator::EngineOptions options;
  options.take_scratch = [this](uint64_t size_bytes) {
    return budget_.take_memory(size_bytes, "the scratch memory of a wave").has_value();
  };
  options.give_scratch = [this](uint64_t size_bytes) { budget_.give_memory(size_bytes); };
  options.take_code = [this](uint64_t size_bytes) {
    return budget_.take_memory(size_bytes, "decoded code").has_value();
  };
  options.give_code = [this](uint64_t size_bytes) { budget_.give_memory(size_bytes); };
  engine_ = create_engine(memory_.map(), options, observer_);
  observer_.engine = engine_.get();
  GFXGRAPH_ASSIGN_OR_RETURN(code_,
                            load_code(trace_, memory_, *engine_, budget_, notes_, Taken::kMoves));
  GFXGRAPH_ASSIGN_OR_RETURN(frame_, LaunchFrame::create(trace_, memory_));
  return {};
}

Result<void> TraceRun::apply(const format::Event& event) {
  sequence_ = event.sequence;
  if (!budget_.go_on()) return fail(Status::kOutOfMemory, budget_.reason());
  Result<void> done =
      std::visit([this](const auto& action) { return carry_out(action); }, event.action);
  if (!done) return with_context(std::move(done).error(), fmt::format("event {}", event.sequence));
  return {};
}

Result<void> TraceRun::apply(const format::GraphNode& node) {
  return std::visit([this](const auto& action) { return carry_out(action); }, node.action);
}

template <typename Action>
Result<void> TraceRun::carry_out(const Action& action) {
  if constexpr (requires { images_.see(action); }) images_.see(action);
  if constexpr (requires { events_.apply(action); }) return events_.apply(action);
  return {};  // streams, events, markers: the order of the events is a valid order
}

Result<void> TraceRun::carry_out(const format::AllocationBegin& begin) {
  images_.see(begin);
  if (begin.initial.unwritten) unwritten_.insert(begin.id);
  if (begin.kind != format::AllocationKind::kModuleGlobal) {
    format::AllocationBegin room;
    GFXGRAPH_ASSIGN_OR_RETURN(const auto* const here, images_.placed(begin, room));
    return events_.apply(*here);
  }
  format::AllocationBegin placed = begin;
  if (begin.host_address != 0) {  // a __managed__ variable: memory that a pointer leads to
    point_to_managed(code_, begin, memory_);
    placed.kind = format::AllocationKind::kManaged;
    return events_.apply(placed);
  }
  // Pointers to it that memory holds would lead elsewhere.
  if (global_address(code_, begin) != begin.recorded_address) {
    GFXGRAPH_TRY(move_code(
        code_, begin, [this](format::CodeObjectId code) { return globals_live(code); }, memory_,
        *engine_));
  }
  globals_[begin.code_object].push_back(begin.id);
  return events_.apply(placed);
}

bool TraceRun::globals_live(format::CodeObjectId code) const {
  const auto found = globals_.find(code);
  return found != globals_.end() &&
         std::ranges::any_of(found->second, [&](format::AllocationId id) {
           return memory_.address_of(id).has_value();
         });
}

Result<void> TraceRun::carry_out(const format::Copy& recorded) {
  images_.see(recorded);
  format::Copy room;
  const format::Copy& copy = images_.placed(recorded, room);
  const format::Content& result = copy.host_result;
  const format::BlobId hash = result.hash ? result.hash : result.blob;
  if (copy.destination.allocation == 0 && copy.source.allocation != 0 && hash &&
      result.size_bytes != 0) {
    std::vector<std::byte> rows;
    compare(copy.source.allocation, events_.taken(copy, rows), hash,
            "a copy to the host from buffer");
  }
  return events_.apply(copy);
}

Result<void> TraceRun::carry_out(const format::Checkpoint& checkpoint) {
  for (const format::Checkpoint::State& state : checkpoint.states) {
    const ArrayLayout* const array = images_.layout(state.allocation);
    const Result<std::span<std::byte>> all = memory_.bytes_from(state.allocation, 0);
    if (!all) continue;
    std::vector<std::byte> room;
    const uint64_t size = array == nullptr ? all->size() : array->linear_bytes();
    compare(state.allocation, events_.contents(state.allocation, size, room), state.hash,
            "a checkpoint of buffer");
  }
  return {};
}

void TraceRun::compare(format::AllocationId id, const Result<std::span<const std::byte>>& bytes,
                       const format::BlobId& hash, const char* what) {
  if (unwritten_.contains(id) || !bytes || bytes->empty()) return;
  ++compared_;
  if (format::hash_bytes(*bytes) == hash) return;
  if (different_++ == 0) first_different_ = fmt::format("{} #{} at event {}", what, id, sequence_);
}

uint64_t TraceRun::different() const {
  const Comparison& ends = events_.comparison();
  return different_ + ends.compared - ends.equal;
}

std::string TraceRun::first_different() const {
  if (different_ != 0) return first_different_;
  return events_.comparison().first_different + " at the end of its life";
}

Result<void> TraceRun::carry_out(const format::GraphLaunch& launch) {
  for (const format::GraphNode& node : trace_.graphs()[launch.graph - 1].nodes)
    GFXGRAPH_TRY(apply(node));
  return {};
}

Result<void> TraceRun::carry_out(const format::Launch& launch) {
  const uint64_t index = launches_++;
  const format::Kernel& kernel = trace_.kernels()[launch.kernel - 1];
  const auto run = [&]() -> Result<void> {
    if (std::optional<std::string> why = images_.refuses(launch))
      return fail(Status::kUnsupported, *std::move(why));
    GFXGRAPH_ASSIGN_OR_RETURN(const LaunchCode code, find_launch_code(code_, kernel));
    if (!code.code->loaded())
      return fail(Status::kUnsupported, "variables of other code are where its code was loaded");
    GFXGRAPH_ASSIGN_OR_RETURN(const LaunchShape shape, launch_shape(launch));
    GFXGRAPH_ASSIGN_OR_RETURN(
        const emulator::Dispatch dispatch,
        frame_.fill(index, launch, kernel, shape, *code.code, *code.kernel, nullptr));
    static std::atomic<uint64_t> launches{0};
    observer_.launch = ++launches;
    const tl::expected<emulator::RunStatistics, emulator::Fault> ran = engine_->run(dispatch);
    budget_.settle(ran ? ran->wave_instructions : UINT64_MAX);
    if (!ran && ran.error().kind == emulator::FaultKind::kOutOfMemory)
      budget_.host_is_out_of_memory();
    if (budget_.exhausted()) return fail(Status::kOutOfMemory, budget_.reason());
    if (!ran) return fail(Status::kDevice, ran.error().to_string());
    return {};
  };
  Result<void> done = run();
  if (!done) {
    return with_context(std::move(done).error(),
                        fmt::format("launch {} of {}", index, demangle(kernel.name)));
  }
  return {};
}

Result<std::span<const std::byte>> TraceRun::bytes(format::AllocationId id, uint64_t size_bytes) {
  return events_.contents(id, size_bytes, room_);
}

}  // namespace gfxgraph::lanecheck
