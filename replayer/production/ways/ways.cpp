#include "replayer/production/ways/ways.h"

#include <fmt/format.h>

#include "replayer/production/metrics.h"

namespace gfxgraph::replayer {

Ways::Ways(WayOwner& owner, const WaySettings& settings) : owner_(owner), settings_(settings) {
  start();
}

uint32_t Ways::next() const { return settled_ ? next_.load() : uint32_t{GFXGRAPH_WAY_CAPTURE}; }

void Ways::begin() {
  release_step();
  start();
}

void Ways::start() {
  reasons_.clear();
  broken_.error.reset();
  broken_.known = false;
  order_ =
      settings_.measured ? WayOrder::of(settings_.measure_ways) : WayOrder::from(settings_.first);
  next_ = order_.front();
  preferred_ = settings_.measured ? kNoWay : settings_.first;
  fall_ = GFXGRAPH_FALL_NONE;
  settled_ = next_ == GFXGRAPH_WAY_WORK;
  measuring_.candidates = settings_.measured ? order_ : WayOrder();
  measuring_.has_slower = false;
  if (settings_.measured) {
    measuring_.choice.open(settings_.measure_runs);
  } else {
    measuring_.choice.close();
  }
}

Result<void> Ways::borrow(gfxgraph_step_t step, bool advances, bool falls) {
  GFXGRAPH_ASSIGN_OR_RETURN(const uint32_t way, step_.borrow(step, advances));
  order_ = WayOrder::of(WayOrder::bit(way));
  next_ = preferred_ = way;
  settled_ = true;
  falls_ = falls;
  return {};
}

void Ways::give_up(uint32_t way, uint32_t fall, const std::string& text) {
  order_.remove(way);
  measuring_.candidates.remove(way);
  next_ = order_.front();
  const bool is_last = next_ == GFXGRAPH_WAY_WORK;
  const bool counts = way == preferred_ || is_last;
  if (fall_ == GFXGRAPH_FALL_NONE && counts) fall_ = fall;
  if (is_last) measuring_.choice.close();
  const bool breaks = settings_.strict && counts;
  if (breaks) broken_.known = true;  // also if there is no host memory for texts
  reasons_.set(way, text);
  if (breaks && !broken_.error) {
    broken_.error = Error{Status::kMismatch,
                          fmt::format("strict: {} cannot go by {} ({}): {}; nothing takes its "
                                      "place until it is captured again",
                                      owner_.name(), way_name(way), fall_name(fall), text)};
  }
  owner_.fell(way, next_, fall, text);
}

void Ways::give_up_all(uint32_t fall, const std::string& text) {
  settled_ = true;
  if (order_.all().empty()) give_up(GFXGRAPH_WAY_WORK, fall, text);  // it has no other
  while (!order_.all().empty()) give_up(order_.front(), fall, text);
  release_step();
}

void Ways::release_step() noexcept {
  step_.clear();
  owner_.released();
}

Result<void> Ways::broken() const {
  if (!broken_.error)
    return fail(Status::kOutOfMemory, "strict: a way was given up, and its reason is not known");
  return tl::unexpected<Error>(*broken_.error);
}

// ---- capture

Result<void> Ways::not_captured(hip::Stream stream, const Error& why, WorkResult& result) {
  result.fall = GFXGRAPH_FALL_CAPTURE;
  // Another thread's capture took too long: the next run tries again.
  const bool passes = why.status == Status::kNotReady;
  if (passes) {
    set_reason(why.message);
  } else {
    give_up_all(GFXGRAPH_FALL_CAPTURE, why.message);
  }
  if (!settings_.strict) return owner_.call_work(stream, false, result);
  return passes ? tl::unexpected<Error>(why) : broken();
}

// The function's work is done, once, whatever becomes of the capture.
Result<void> Ways::capture(hip::Stream stream, WorkResult& result) {
  Result<OwnedCapture> begun = CapturedStep::begin(stream, settings_.capture_ms);
  if (!begun) return not_captured(stream, begun.error(), result);
  GFXGRAPH_TRY(owner_.call_work(stream, true, result));  // else the capture is abandoned
  if (const std::optional<Refusal> refusal = take(std::move(*begun))) {
    if (refusal->fall == GFXGRAPH_FALL_CAPTURE) {
      result.way = GFXGRAPH_WAY_WORK;
      result.fall = refusal->fall;
    }
    give_up_all(refusal->fall, refusal->text);
    return check_broken();
  }
  settled_ = true;
  reasons_.set(next_, {});
  if (measuring_.choice.is_open()) prepare_measured();
  prepare_next();
  return check_broken();
}

std::optional<Refusal> Ways::take(OwnedCapture capture) {
  const auto refused = [](const Error& why) { return Refusal{GFXGRAPH_FALL_CAPTURE, why.message}; };
  if (const Result<void> taken = step_.take(std::move(capture)); !taken)
    return refused(taken.error());
  const Result<uint64_t> bytes = step_.device_bytes();
  if (!bytes) return refused(bytes.error());
  return owner_.accept(step_, *bytes);
}

void Ways::prepare_measured() {
  const WayOrder all = order_;
  for (const uint32_t way : all.all()) (void)prepare(way);
  if (!measuring_.timed && measuring_.candidates.has(GFXGRAPH_WAY_EAGER) &&
      !settings_.warm_measures) {
    measuring_.candidates.remove(GFXGRAPH_WAY_EAGER);
    reasons_.set(GFXGRAPH_WAY_EAGER,
                 "not measured: this runtime lacks hipEventElapsedTime, and what the call takes in "
                 "this way is its work; see warm_measures");
  }
  measuring_.choice.reserve(measuring_.candidates);
}

// False: it was given up.
bool Ways::prepare(uint32_t way) {
  if (step_.is_ready(way)) return true;
  const Result<void> prepared = step_.prepare(way, settings_.border);
  if (prepared) return true;
  give_up(way, GFXGRAPH_FALL_PREPARE, prepared.error().message);
  return false;
}

// The first way that there is a step of.
void Ways::prepare_next() {
  while (next_ != GFXGRAPH_WAY_WORK && !prepare(next_)) {
  }
  if (next_ == GFXGRAPH_WAY_WORK) release_step();  // only the caller's function is left
}

// ---- runs

Result<void> Ways::run_step(hip::Stream stream, WorkResult& result) {
  for (;;) {
    uint32_t way = next_step();
    if (measuring_.turn != GFXGRAPH_WAY_WORK) [[unlikely]]
      way = std::exchange(measuring_.turn, GFXGRAPH_WAY_WORK);
    result.fall = fall_;
    if (way == GFXGRAPH_WAY_WORK) return owner_.call_work(stream, false, result);
    if (!step_.is_ready(way)) [[unlikely]] {  // no host memory to prepare it when that was due
      (void)prepare(way);
      prepare_next();
      continue;
    }
    result.way = way;
    const Result<void> ran = step_.run(way, stream);
    if (ran) [[likely]]
      return {};
    if (!falls_ || owner_.ended_by_caller()) return ran;
    const bool may_go_on = step_.submitted_nothing(way, ran.error());
    step_.drop(way);
    give_up(way, GFXGRAPH_FALL_RUN, ran.error().message);
    prepare_next();
    if (!may_go_on) return ran;
    GFXGRAPH_TRY(check_broken());
  }
}

// ---- measurement

uint32_t Ways::measured_turn() {
  if (!measuring_.choice.is_open() || !settled_) return GFXGRAPH_WAY_WORK;
  if (!measuring_.choice.is_complete(measuring_.candidates))
    return measuring_.choice.turn(measuring_.candidates);
  choose();
  return GFXGRAPH_WAY_WORK;
}

void Ways::choose() {
  const WayOrder measured = measuring_.candidates;
  const std::string text = measuring_.choice.choose(measuring_.candidates);
  const uint32_t best = measuring_.candidates.front();
  for (const uint32_t way : measured.all()) {
    if (way != best) reasons_.set(way, text);
  }
  order_.prefer(best);
  next_ = preferred_ = best;
  measuring_.has_slower = true;
  measuring_.runs_since = 0;
  measuring_.choice.made();
  for (const uint32_t way : measured.all()) {
    if (way != best) owner_.fell(way, best, GFXGRAPH_FALL_MEASURED, text);
  }
}

void Ways::drop_slower() {
  constexpr uint32_t kOften = 64;
  if (measuring_.runs_since++ % kOften == 0) measuring_.has_slower = !step_.drop_idle_but(next_);
}

}  // namespace gfxgraph::replayer
