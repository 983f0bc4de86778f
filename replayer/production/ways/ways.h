// The ways that runs of captured work take: its step as a graph, a batch, call by call or as
// packets, and at last the caller's function. Pools and the pieces of gfxgraph/flow.h share them.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "replayer/production/measure/choice.h"
#include "replayer/production/ways/captured_step.h"
#include "replayer/production/ways/way_settings.h"
#include "replayer/production/ways/work_counts.h"

namespace gfxgraph::replayer {

// Why ways were given up, as texts. Any thread.
class Reasons {
 public:
  void set(uint32_t way, std::string text) {
    const std::lock_guard lock(mutex_);
    texts_[way] = std::move(text);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    texts_.fill({});
  }
  std::string of(uint32_t way) const {
    const std::lock_guard lock(mutex_);
    return way < texts_.size() ? texts_[way] : std::string();
  }

 private:
  mutable std::mutex mutex_;
  std::array<std::string, GFXGRAPH_WAYS> texts_;
};

// What the ways are those of. Called within their functions.
class WayOwner {
 public:
  // For messages: "bucket 16".
  virtual std::string name() const = 0;
  // The caller's function; sets the way and the status of the result.
  virtual Result<void> call_work(hip::Stream stream, bool captured, WorkResult& result) = 0;
  // What was captured just now: why its steps, which allocate these bytes, may not be used.
  virtual std::optional<Refusal> accept(const CapturedStep& step, uint64_t device_bytes) = 0;
  // The steps are gone, and so are those bytes.
  virtual void released() noexcept = 0;
  // Whether the caller's own function ended the step's run that failed just now, at a border: that
  // is no reason to give up a way.
  virtual bool ended_by_caller() const noexcept = 0;
  // A way was given up, or another one was measured to be faster.
  virtual void fell(uint32_t way, uint32_t next, uint32_t fall, const std::string& text) = 0;

 protected:
  ~WayOwner() = default;
};

// One thread at a time but for next(), reason() and what Choice lets any thread do.
class Ways {
 public:
  // Both outlive it.
  Ways(WayOwner& owner, const WaySettings& settings);

  // Forgets everything, what was captured too: the next run begins anew.
  void begin();
  // The caller's step in place of a capture. `advances` as CapturedStep::borrow. `falls`: to the
  // function; otherwise a failure is that of its run alone.
  Result<void> borrow(gfxgraph_step_t step, bool advances, bool falls);

  // One run: a step, or what captures it. After a failure of a step that may have submitted
  // something no other way is taken before the next run.
  Result<void> run(hip::Stream stream, WorkResult& result) {
    return settled_.load(std::memory_order_relaxed) ? run_step(stream, result)
                                                    : capture(stream, result);
  }
  // Whether it was captured, or never will be.
  bool is_settled() const { return settled_; }
  // That the next run takes. Any thread.
  uint32_t next() const;
  // The next way beside a capture; GFXGRAPH_WAY_WORK: no step is left.
  uint32_t next_step() const { return next_.load(std::memory_order_relaxed); }
  // Why the first one was given up.
  uint32_t fall() const { return fall_; }
  std::string reason(uint32_t way) const { return reasons_.of(way); }
  // The reason of a next run that could not be captured, or not yet.
  void set_reason(std::string text) { reasons_.set(next_, std::move(text)); }
  void give_up_all(uint32_t fall, const std::string& text);
  void release_step() noexcept;

  // Strict: the error of all runs, once a way was given up.
  Result<void> check_broken() const {
    if (!broken_.known) [[likely]]
      return {};
    return broken();
  }
  bool is_broken() const { return broken_.known; }

  // ---- measurement
  Choice& choice() { return measuring_.choice; }
  const Choice& choice() const { return measuring_.choice; }
  // `timed`: whether the runtime times work on the device.
  void set_timed(bool timed) { measuring_.timed = timed; }
  // The way that the next run is to measure; GFXGRAPH_WAY_WORK: none. Makes the choice when there
  // are enough.
  uint32_t measured_turn();
  // The next run takes that way; GFXGRAPH_WAY_WORK: the one that it would take anyway.
  void set_turn(uint32_t way) { measuring_.turn = way; }
  bool has_slower() const { return measuring_.has_slower; }
  // Destroying a step waits for its work, so only those are dropped that have none.
  void drop_slower();

 private:
  void start();
  Result<void> run_step(hip::Stream stream, WorkResult& result);
  Result<void> capture(hip::Stream stream, WorkResult& result);
  Result<void> not_captured(hip::Stream stream, const Error& why, WorkResult& result);
  std::optional<Refusal> take(OwnedCapture capture);
  void prepare_measured();
  bool prepare(uint32_t way);
  void prepare_next();
  void give_up(uint32_t way, uint32_t fall, const std::string& text);
  void choose();
  Result<void> broken() const;

  WayOwner& owner_;
  const WaySettings& settings_;
  WayOrder order_;                      // without what was given up
  std::atomic<uint32_t> next_;          // the first of them
  uint32_t preferred_ = 0;              // the first of all; kNoWay: it is being measured
  uint32_t fall_ = GFXGRAPH_FALL_NONE;  // why that was given up
  std::atomic<bool> settled_{false};
  CapturedStep step_;
  Reasons reasons_;
  struct Measuring {
    Choice choice;
    WayOrder candidates;                // that are measured
    uint32_t turn = GFXGRAPH_WAY_WORK;  // what the run measures; _WORK: nothing
    bool timed = true;
    bool has_slower = false;  // steps of other ways than the chosen one are left
    uint32_t runs_since = 0;  // they were asked for
  } measuring_;
  bool falls_ = true;
  struct Broken {
    std::optional<Error> error;
    std::atomic<bool> known{false};
  } broken_;
  static constexpr uint32_t kNoWay = UINT32_MAX;
};

}  // namespace gfxgraph::replayer
