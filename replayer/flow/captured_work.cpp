#include "replayer/flow/captured_work.h"

#include <fmt/format.h>

#include <utility>

namespace gfxgraph::replayer {
namespace {

tl::unexpected<Error> piece_refused(Status status, const std::string& name, std::string_view what) {
  return fail(status, fmt::format("{}: {}", name, what));
}

}  // namespace

CapturedWork::CapturedWork(std::shared_ptr<const FlowDevice> device, std::string name,
                           uint32_t capture_ms)
    : device_(std::move(device)),
      name_(std::move(name)),
      capture_ms_(capture_ms),
      order_(device_->library()) {}

CapturedWork::~CapturedWork() {
  try {
    (void)order_.wait();
  } catch (...) {  // no memory for an error's text
  }
}

Result<void> CapturedWork::use(const gfxgraph_piece_t& piece) {
  const auto wrong = [&](const char* what) {
    return piece_refused(Status::kInvalidArgument, name_, what);
  };
  if (piece.work == nullptr && piece.step == nullptr)
    return wrong("it has no function and no step");
  if (piece.first_way > GFXGRAPH_WAY_WORK) return wrong("unknown first_way");
  if (piece.advances > 1) return wrong("advances is neither 0 nor 1");
  if (piece.advances == 1 && piece.step == nullptr)
    return wrong("a function that is captured has no parameters to advance: capture a step");
  piece_ = piece;
  way_.first = piece.first_way;
  if (piece.step != nullptr) {
    gfxgraph_step_info_t info{};
    info.struct_size = sizeof info;
    GFXGRAPH_TRY(called(gfxgraph_step_info(piece.step, &info)));
    switch (info.mode) {
      case GFXGRAPH_MODE_GRAPH: way_.first = GFXGRAPH_WAY_GRAPH; break;
      case GFXGRAPH_MODE_BATCH: way_.first = GFXGRAPH_WAY_BATCH; break;
      case GFXGRAPH_MODE_EAGER: way_.first = GFXGRAPH_WAY_EAGER; break;
      default:
        return piece_refused(Status::kUnsupported, name_,
                             "its step is of mode packets: make it a graph, a batch or eager");
    }
    own_.is_one_graph = way_.first == GFXGRAPH_WAY_GRAPH && info.graphs == 1;
  }
  captured_ = piece.step != nullptr || way_.first == GFXGRAPH_WAY_WORK;
  way_.now = way_.first;
  return {};
}

uint32_t CapturedWork::next_way() const {
  return captured_ ? way_.now.load() : uint32_t{GFXGRAPH_WAY_CAPTURE};
}

void CapturedWork::give_up(uint32_t way, uint32_t fall, const Error& why) {
  way_.now = way + 1;
  if (way == way_.first) way_.fall = fall;
  reasons_.set(way, why.message);
}

void CapturedWork::give_up_all(uint32_t fall, const Error& why) {
  captured_ = true;
  while (way_.now < GFXGRAPH_WAY_WORK) give_up(way_.now, fall, why);
  step_.clear();
}

Result<void> CapturedWork::call(hip::Stream stream, bool captured, WorkResult& result) {
  result.way = captured ? GFXGRAPH_WAY_CAPTURE : GFXGRAPH_WAY_WORK;
  gfxgraph_call_t one{};
  one.struct_size = sizeof one;
  one.captured = captured ? 1 : 0;
  one.size = memory_.rows;
  one.memory = memory_.addresses;
  one.hip_stream = stream;
  {
    const auto lock = device_->launching();
    result.work_status = piece_.work(piece_.work_context, &one);
  }
  if (result.work_status == 0) [[likely]]
    return {};
  return piece_refused(static_cast<Status>(result.work_status), name_,
                       fmt::format("its function returned {}", result.work_status));
}

// The function's work is done, once, whatever becomes of the capture.
Result<void> CapturedWork::capture(hip::Stream stream, WorkResult& result) {
  Result<OwnedCapture> begun = BucketStep::begin(stream, capture_ms_);
  if (!begun) {
    result.fall = GFXGRAPH_FALL_CAPTURE;
    // Another thread's capture took too long: the next run tries again.
    if (begun.error().status == Status::kNotReady) {
      reasons_.set(way_.now, begun.error().message);
    } else {
      give_up_all(GFXGRAPH_FALL_CAPTURE, begun.error());
    }
    return call(stream, false, result);
  }
  GFXGRAPH_TRY(call(stream, true, result));  // else the capture is abandoned
  Result<void> taken = step_.take(std::move(*begun));
  if (taken) {
    Result<uint64_t> bytes = step_.device_bytes();
    if (bytes) {
      device_bytes_ = *bytes;
    } else {
      taken = tl::unexpected<Error>(std::move(bytes).error());
    }
  }
  if (!taken) {
    result.way = GFXGRAPH_WAY_WORK;
    result.fall = GFXGRAPH_FALL_CAPTURE;
    give_up_all(GFXGRAPH_FALL_CAPTURE, taken.error());
    return {};
  }
  count(counts_.captures);
  captured_ = true;
  reasons_.set(way_.now, {});
  prepare_from(way_.now);
  return {};
}

void CapturedWork::prepare_from(uint32_t way) {
  for (; way < GFXGRAPH_WAY_WORK; ++way) {
    const Result<void> prepared = step_.prepare(way);
    if (prepared) return;
    give_up(way, GFXGRAPH_FALL_PREPARE, prepared.error());
  }
  step_.clear();  // only the caller's function is left
  device_bytes_ = 0;
}

Result<void> CapturedWork::run_own_step(hip::Stream stream) {
  if (piece_.advances != 0)
    GFXGRAPH_TRY(called(gfxgraph_step_advance(piece_.step, ++own_.advanced)));
  GFXGRAPH_TRY(called(gfxgraph_step_run(piece_.step, stream)));
  return way_.first == GFXGRAPH_WAY_EAGER ? called(gfxgraph_step_wait(piece_.step))
                                          : Result<void>();
}

bool CapturedWork::submitted_nothing(uint32_t way, const Error& error) const {
  if (piece_.step == nullptr) return step_.submitted_nothing(way, error);
  const bool is_refused = error.status == Status::kNotFound || error.status == Status::kUnsupported;
  return own_.is_one_graph || (is_refused && error.hip_error == 0);
}

Result<void> CapturedWork::run_step(hip::Stream stream, WorkResult& result) {
  for (;;) {
    const uint32_t way = way_.now.load(std::memory_order_relaxed);
    result.fall = way_.fall;
    if (way == GFXGRAPH_WAY_WORK) return call(stream, false, result);
    const bool is_own = piece_.step != nullptr;
    if (!is_own && !step_.is_ready(way)) [[unlikely]] {  // no host memory when that was due
      prepare_from(way);
      continue;
    }
    result.way = way;
    const Result<void> ran = is_own ? run_own_step(stream) : step_.run(way, stream);
    if (ran) [[likely]]
      return {};
    const bool may_go_on = submitted_nothing(way, ran.error());
    if (!is_own) {
      step_.drop(way);
      give_up(way, GFXGRAPH_FALL_RUN, ran.error());
      prepare_from(way + 1);
    } else if (piece_.work != nullptr) {
      give_up_all(GFXGRAPH_FALL_RUN, ran.error());
    } else {
      Error error = ran.error();
      error.message = fmt::format("{}: {}", name_, error.message);
      return tl::unexpected<Error>(std::move(error));
    }
    if (!may_go_on) return ran;
  }
}

Result<void> CapturedWork::submit(hip::Stream stream, WorkResult& result) {
  GFXGRAPH_TRY(order_.follow(stream));
  return captured_ ? run_step(stream, result) : capture(stream, result);
}

void CapturedWork::count_run(const Result<void>& ran, const WorkResult& result,
                             uint64_t nanoseconds) {
  if (!ran) [[unlikely]] {
    count(result.work_status != 0 ? counts_.work_failures : counts_.failures);
    return;
  }
  count(counts_.runs[result.way]);
  if (result.fall != GFXGRAPH_FALL_NONE) count(counts_.falls[result.fall]);
  counts_.submit.add(nanoseconds);
}

Result<void> CapturedWork::run(hip::Stream stream, WorkResult& result) {
  const std::lock_guard lock(mutex_);
  const Stopwatch time;
  Result<void> ran = submit(stream, result);
  count_run(ran, result, time.nanoseconds());
  return ran;
}

Result<void> CapturedWork::warm(hip::Stream stream) {
  const std::lock_guard lock(mutex_);
  if (captured_) return {};
  const Stopwatch time;
  WorkResult result;
  Result<void> ran = submit(stream, result);
  count_run(ran, result, time.nanoseconds());
  return ran;
}

Result<void> CapturedWork::recapture() {
  if (piece_.step != nullptr)
    return piece_refused(Status::kUnsupported, name_, "its step is the caller's, who captures it");
  const std::lock_guard lock(mutex_);
  GFXGRAPH_TRY(order_.wait());
  order_.forget();
  step_.clear();
  device_bytes_ = 0;
  way_.fall = GFXGRAPH_FALL_NONE;
  way_.now = way_.first;
  captured_ = way_.first == GFXGRAPH_WAY_WORK;
  reasons_.clear();
  return {};
}

}  // namespace gfxgraph::replayer
