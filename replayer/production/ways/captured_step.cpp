#include "replayer/production/ways/captured_step.h"

#include <utility>

namespace gfxgraph::replayer {
namespace {

// By GFXGRAPH_WAY_...; those of _WORK and _CAPTURE are never prepared.
constexpr std::array<gfxgraph_mode_t, GFXGRAPH_WAYS> kModes = {
    GFXGRAPH_MODE_GRAPH, GFXGRAPH_MODE_BATCH, GFXGRAPH_MODE_EAGER,
    GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_PACKETS};

}  // namespace

Result<void> called(gfxgraph_status_t status) {
  if (status == GFXGRAPH_OK) [[likely]]
    return {};
  return tl::unexpected<Error>(
      Error{static_cast<Status>(status), gfxgraph_last_error(), gfxgraph_last_hip_error()});
}

Result<OwnedCapture> CapturedStep::begin(hip::Stream stream, uint32_t wait_ms) {
  gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
  if (wait_ms != 0) options.wait_milliseconds = wait_ms;
  gfxgraph_capture_t capture = nullptr;
  GFXGRAPH_TRY(called(gfxgraph_capture_begin(stream, &options, &capture)));
  return OwnedCapture(capture);
}

Result<void> CapturedStep::take(OwnedCapture capture) {
  gfxgraph_trace_t trace = nullptr;
  GFXGRAPH_TRY(called(gfxgraph_capture_end(capture.release(), &trace)));
  trace_.reset(trace);
  GFXGRAPH_TRY(called(gfxgraph_trace_find_range(trace, "step", &range_)));
  gfxgraph_session_options_t options = gfxgraph_session_options_default();
  options.concurrent_steps = 1;  // the bucket orders its runs, in whatever ways
  gfxgraph_session_t session = nullptr;
  GFXGRAPH_TRY(called(gfxgraph_session_create(trace, &options, &session)));
  session_.reset(session);
  return {};
}

Result<uint64_t> CapturedStep::device_bytes() const {
  gfxgraph_session_info_t info{};
  info.struct_size = sizeof info;
  GFXGRAPH_TRY(called(gfxgraph_session_info(session_.get(), &info)));
  return info.device_bytes;
}

Result<void> CapturedStep::describe(uint32_t way, gfxgraph_step_t step) {
  gfxgraph_step_info_t info{};
  info.struct_size = sizeof info;
  GFXGRAPH_TRY(called(gfxgraph_step_info(step, &info)));
  Prepared& prepared = prepared_[way];
  prepared.step = step;
  prepared.is_one_graph = way == GFXGRAPH_WAY_GRAPH && info.submits == 1;
  prepared.waits = way == GFXGRAPH_WAY_EAGER;
  return {};
}

Result<void> CapturedStep::prepare(uint32_t way, const BorderFunction& border) {
  drop(way);
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = kModes[way];
  options.border = border.call;
  options.border_context = border.context;
  gfxgraph_step_t step = nullptr;
  GFXGRAPH_TRY(called(gfxgraph_step_create(session_.get(), range_, &options, &step)));
  decltype(Prepared::own) own(step);
  GFXGRAPH_TRY(describe(way, step));
  prepared_[way].own = std::move(own);
  return {};
}

Result<uint32_t> CapturedStep::borrow(gfxgraph_step_t step, bool advances) {
  gfxgraph_step_info_t info{};
  info.struct_size = sizeof info;
  GFXGRAPH_TRY(called(gfxgraph_step_info(step, &info)));
  for (const uint32_t way : {GFXGRAPH_WAY_GRAPH, GFXGRAPH_WAY_BATCH, GFXGRAPH_WAY_EAGER}) {
    if (kModes[way] != info.mode) continue;
    GFXGRAPH_TRY(describe(way, step));
    advances_ = advances;
    return way;
  }
  return fail(Status::kUnsupported,
              "its step is of mode packets: make it a graph, a batch or eager");
}

Result<void> CapturedStep::run(uint32_t way, hip::Stream stream) {
  const Prepared& prepared = prepared_[way];
  if (advances_) [[unlikely]]
    GFXGRAPH_TRY(called(gfxgraph_step_advance(prepared.step, ++advanced_)));
  GFXGRAPH_TRY(called(gfxgraph_step_run(prepared.step, stream)));
  return prepared.waits ? called(gfxgraph_step_wait(prepared.step)) : Result<void>{};
}

bool CapturedStep::submitted_nothing(uint32_t way, const Error& error) const {
  const bool refused = error.status == Status::kNotFound || error.status == Status::kUnsupported;
  return prepared_[way].is_one_graph || (refused && error.hip_error == 0);
}

bool CapturedStep::drop_idle_but(uint32_t way) noexcept {
  bool all = true;
  for (Prepared& one : prepared_) {
    if (one.step == nullptr || &one == &prepared_[way]) continue;
    if (gfxgraph_step_query(one.step) == GFXGRAPH_OK) {
      one = {};
    } else {
      all = false;
    }
  }
  return all;
}

void CapturedStep::clear() noexcept {
  for (Prepared& one : prepared_) one = {};
  session_.reset();
  trace_.reset();
}

}  // namespace gfxgraph::replayer
