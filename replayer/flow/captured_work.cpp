#include "replayer/flow/captured_work.h"

#include <fmt/format.h>

#include <utility>

#include "replayer/production/measure/stopwatch.h"

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
      order_(device_->library()),
      ways_(*this, settings_) {
  settings_.capture_ms = capture_ms;
}

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
  settings_.first = piece.first_way;
  ways_.begin();
  if (piece.step == nullptr) return {};
  Result<void> borrowed = ways_.borrow(piece.step, piece.advances == 1, piece.work != nullptr);
  if (borrowed || borrowed.error().status != Status::kUnsupported) return borrowed;
  return piece_refused(Status::kUnsupported, name_, borrowed.error().message);
}

Result<void> CapturedWork::call_work(hip::Stream stream, bool captured, WorkResult& result) {
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

std::optional<Refusal> CapturedWork::accept(const CapturedStep&, uint64_t device_bytes) {
  count(counts_.captures);
  device_bytes_ = device_bytes;
  return std::nullopt;
}

Result<void> CapturedWork::run_alone(hip::Stream stream, WorkResult& result) {
  const Stopwatch time;
  Result<void> ran = order_.follow(stream);
  if (ran) {
    ran = ways_.run(stream, result);
    if (!ran && piece_.work == nullptr)
      ran.error().message = fmt::format("{}: {}", name_, ran.error().message);
  }
  if (ran) [[likely]] {
    counts_.add_alone(result, time.nanoseconds());
  } else {
    counts_.add_failure(result);
  }
  return ran;
}

Result<void> CapturedWork::run(hip::Stream stream, WorkResult& result) {
  const std::lock_guard lock(mutex_);
  return run_alone(stream, result);
}

Result<void> CapturedWork::warm(hip::Stream stream) {
  const std::lock_guard lock(mutex_);
  if (ways_.is_settled()) return {};
  WorkResult result;
  return run_alone(stream, result);
}

Result<void> CapturedWork::recapture() {
  if (piece_.step != nullptr)
    return piece_refused(Status::kUnsupported, name_, "its step is the caller's, who captures it");
  const std::lock_guard lock(mutex_);
  GFXGRAPH_TRY(order_.wait());
  order_.forget();
  ways_.begin();
  return {};
}

}  // namespace gfxgraph::replayer
