#include "replayer/flow/loop.h"

#include <fmt/format.h>

namespace gfxgraph::replayer {
namespace {

constexpr std::array<const char*, GFXGRAPH_LOOP_ENDS> kEnds = {"count", "flag", "limit", "failed"};

}  // namespace

const char* loop_end_name(uint32_t end) noexcept {
  return end < kEnds.size() ? kEnds[end] : "unknown";
}

Result<void> Loop::create(const gfxgraph_loop_options_t& options) {
  name_ = options.name != nullptr ? options.name : "loop";
  const auto wrong = [&](const char* what) {
    return fail(Status::kInvalidArgument, fmt::format("loop {}: {}", name_, what));
  };
  if (options.max_iterations == 0) return wrong("max_iterations is 0");
  if (options.read_every == 0) return wrong("read_every is 0");
  read_every_ = options.read_every;
  max_iterations_ = options.max_iterations;
  body_ = std::make_unique<CapturedWork>(device_, fmt::format("the body of loop {}", name_),
                                         options.capture_milliseconds);
  GFXGRAPH_TRY(body_->use(options.body));
  return flag_.use(options.flag);
}

// Otherwise `result.end` says why not.
Result<bool> Loop::goes_on(uint64_t count, hip::Stream stream, gfxgraph_loop_result_t& result) {
  if (!flag_.is_used()) {
    if (result.iterations < count) return true;
    result.end = GFXGRAPH_LOOP_COUNT;
    return false;
  }
  const bool is_last = result.iterations == max_iterations_;
  if (!is_last && result.iterations % read_every_ != 0) return true;
  GFXGRAPH_ASSIGN_OR_RETURN(result.flag, flag_.read(stream));
  ++result.flag_reads;
  if (result.flag != 0 && !is_last) return true;
  result.end = result.flag == 0 ? GFXGRAPH_LOOP_FLAG : GFXGRAPH_LOOP_LIMIT;
  return false;
}

Result<void> Loop::repeat(uint64_t count, hip::Stream stream, gfxgraph_loop_result_t& result) {
  for (;;) {
    GFXGRAPH_ASSIGN_OR_RETURN(const bool more, goes_on(count, stream, result));
    if (!more) break;
    WorkResult done;
    const Result<void> ran = body_->run(stream, done);
    result.way = done.way;
    result.fall = done.fall;
    result.work_status = done.work_status;
    GFXGRAPH_TRY(ran);
    ++result.iterations;
  }
  if (result.end != GFXGRAPH_LOOP_LIMIT) return {};
  return fail(Status::kNotReady,
              fmt::format("loop {}: its flag is {} after {} iterations, which are max_iterations",
                          name_, result.flag, result.iterations));
}

Result<void> Loop::run(uint64_t count, hip::Stream stream, gfxgraph_loop_result_t& result) {
  if (flag_.is_used() && count != 0)
    return fail(Status::kInvalidArgument,
                fmt::format("loop {}: count is not 0, and its flag says how often", name_));
  if (count > max_iterations_) {
    return fail(Status::kInvalidArgument,
                fmt::format("loop {}: {} iterations, and max_iterations is {}: nothing was "
                            "submitted",
                            name_, count, max_iterations_));
  }
  const std::lock_guard lock(mutex_);
  result.end = GFXGRAPH_LOOP_FAILED;
  Result<void> ran = repeat(count, stream, result);
  replayer::count(runs_[result.end]);
  return ran;
}

void Loop::add_up(gfxgraph_loop_info_t& info, WorkSums& sums) {
  info.way = body_->next_way();
  for (size_t i = 0; i < runs_.size(); ++i) info.runs[i] = runs_[i];
  info.flag_reads = flag_.reads();
  sums.add(body_->counts());
}

}  // namespace gfxgraph::replayer
