#include "replayer/production/bucket_step.h"

#include "gfxgraph/production.h"

namespace gfxgraph::replayer {

Result<void> called(gfxgraph_status_t status) {
  if (status == GFXGRAPH_OK) [[likely]]
    return {};
  return tl::unexpected<Error>(
      Error{static_cast<Status>(status), gfxgraph_last_error(), gfxgraph_last_hip_error()});
}

Result<OwnedCapture> BucketStep::begin(hip::Stream stream, uint32_t wait_ms) {
  gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
  if (wait_ms != 0) options.wait_milliseconds = wait_ms;
  gfxgraph_capture_t capture = nullptr;
  GFXGRAPH_TRY(called(gfxgraph_capture_begin(stream, &options, &capture)));
  return OwnedCapture(capture);
}

Result<void> BucketStep::take(OwnedCapture capture) {
  gfxgraph_trace_t trace = nullptr;
  GFXGRAPH_TRY(called(gfxgraph_capture_end(capture.release(), &trace)));
  trace_.reset(trace);
  GFXGRAPH_TRY(called(gfxgraph_trace_find_range(trace, "step", &range_)));
  gfxgraph_session_t session = nullptr;
  GFXGRAPH_TRY(called(gfxgraph_session_create(trace, nullptr, &session)));
  session_.reset(session);
  return {};
}

Result<uint64_t> BucketStep::device_bytes() const {
  gfxgraph_session_info_t info{};
  info.struct_size = sizeof info;
  GFXGRAPH_TRY(called(gfxgraph_session_info(session_.get(), &info)));
  return info.device_bytes;
}

Result<void> BucketStep::prepare(uint32_t way) {
  step_.reset();
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = way == GFXGRAPH_WAY_GRAPH   ? GFXGRAPH_MODE_GRAPH
                 : way == GFXGRAPH_WAY_BATCH ? GFXGRAPH_MODE_BATCH
                                             : GFXGRAPH_MODE_EAGER;
  gfxgraph_step_t step = nullptr;
  GFXGRAPH_TRY(called(gfxgraph_step_create(session_.get(), range_, &options, &step)));
  step_.reset(step);
  gfxgraph_step_info_t info{};
  info.struct_size = sizeof info;
  GFXGRAPH_TRY(called(gfxgraph_step_info(step, &info)));
  is_one_graph_ = way == GFXGRAPH_WAY_GRAPH && info.graphs == 1;
  waits_ = way == GFXGRAPH_WAY_EAGER;
  return {};
}

Result<void> BucketStep::run(hip::Stream stream) const {
  GFXGRAPH_TRY(called(gfxgraph_step_run(step_.get(), stream)));
  return waits_ ? called(gfxgraph_step_wait(step_.get())) : Result<void>{};
}

bool BucketStep::submitted_nothing(const Error& error) const {
  const bool refused = error.status == Status::kNotFound || error.status == Status::kUnsupported;
  return is_one_graph_ || (refused && error.hip_error == 0);
}

void BucketStep::clear() noexcept {
  step_.reset();
  session_.reset();
  trace_.reset();
}

}  // namespace gfxgraph::replayer
