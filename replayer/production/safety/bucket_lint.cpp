// Bucket::lint: the part of a bucket that captures its work twice.
#include <fmt/format.h>

#include "replayer/production/bucket.h"

namespace gfxgraph::replayer {

Result<std::vector<gfxgraph_baked_t>> Bucket::lint(hip::Stream stream, const Vary& vary,
                                                   const StateCopies& states,
                                                   int32_t& work_status) {
  const std::lock_guard lock(mutex_);
  const auto in_turn = work_.lock_states();
  RunResult result;
  if (!has_memory_) GFXGRAPH_TRY(find_memory(stream, result));
  if (buffers_.empty())
    return fail(Status::kOutOfMemory, fmt::format("bucket {} has no buffers: {}", shape_.size,
                                                  reason(work_.settings().ways.first)));
  GFXGRAPH_TRY(order_.follow(stream));
  GFXGRAPH_TRY(buffers_.make_zero(stream));
  GFXGRAPH_TRY(states.save(stream));
  const Result<OwnedTrace> trace = capture_twice(stream, vary, work_status);
  GFXGRAPH_TRY(states.put_back(stream));
  if (!trace) return tl::unexpected<Error>(trace.error());
  return find_baked(trace->get(), named_memory());
}

Result<OwnedTrace> Bucket::capture_twice(hip::Stream stream, const Vary& vary,
                                         int32_t& work_status) {
  const gfxgraph_call_t call =
      work_.describe(shape_.size, shape_.max_length, buffers_.memory(), stream, false);
  const auto prepare = [&](uint32_t which) -> Result<void> {
    if (vary.call == nullptr) return {};
    work_status = vary.call(vary.context, which, &call);
    if (work_status == 0) return {};
    return fail(
        static_cast<Status>(work_status),
        fmt::format("the lint's function returned {} before capture {}", work_status, which));
  };
  const auto submit = [&]() -> Result<void> {
    RunResult result;
    const Result<void> submitted = call_work(stream, true, result);
    work_status = result.work_status;
    return submitted;
  };
  GFXGRAPH_TRY(prepare(0));
  GFXGRAPH_ASSIGN_OR_RETURN(OwnedCapture capture,
                            CapturedStep::begin(stream, work_.settings().ways.capture_ms));
  GFXGRAPH_TRY(submit());
  GFXGRAPH_TRY(called(gfxgraph_capture_pause(capture.get())));
  GFXGRAPH_TRY(prepare(1));
  GFXGRAPH_TRY(called(gfxgraph_capture_resume(capture.get())));
  GFXGRAPH_TRY(submit());
  gfxgraph_trace_t trace = nullptr;
  GFXGRAPH_TRY(called(gfxgraph_capture_end(capture.release(), &trace)));
  return OwnedTrace(trace);
}

std::vector<NamedMemory> Bucket::named_memory() const {
  const PoolSettings& settings = work_.settings();
  const auto address = [](const void* memory) {
    return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(memory));
  };
  std::vector<NamedMemory> names;
  for (size_t i = 0; i < settings.tensors.size(); ++i) {
    const Tensor& tensor = settings.tensors[i];
    names.push_back(
        {tensor.name.c_str(), address(buffers_.memory()[i]), tensor.row_bytes * shape_.size});
  }
  for (const State& state : settings.states)
    names.push_back({state.name.c_str(), address(state.memory), state.bytes});
  return names;
}

}  // namespace gfxgraph::replayer
