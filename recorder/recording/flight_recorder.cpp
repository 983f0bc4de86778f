#include "recorder/recording/flight_recorder.h"

#include <string>

#include "recorder/queue/end_signals.h"

namespace gfxgraph::recorder {
namespace {

constexpr uint32_t kIdleTimeoutMs = 1'000;

}  // namespace

void FlightRecorder::opened(const format::Environment& environment) {
  if (!on()) return;
  const Claim& claim = file_.claimed();
  const std::string& status = options_.status_folder;
  segments_->files = SegmentFiles(claim.output, options_.replace,
                                  status.empty() ? "" : segment_list(status, claim.key));
  segments_->partial = claim.output + ".partial";
  segments_->environment = environment;
  journal_.sites().remember();
}

// Before a launch, or on the flusher's thread: `own` calls are the caller's. Never waits for calls,
// and not for long for the device.
bool FlightRecorder::next(uint32_t own) noexcept {
  bool done = false;
  uint64_t waited_ns = 0;
  if (segments_->gate.close(own)) {
    guarded_unlocked([&] {
      const uint64_t begin_ns = journal_.now_ns();
      {
        const std::lock_guard lock(guard_.mutex());
        if (!journal_.begun() || life_.finished || graphs_.captures().any()) return;
        host_writes_.look_before_wait();
      }
      // Without the locks: the work that the device waits for may need them.
      if (!device_.synchronize(kIdleTimeoutMs) || !runs_.runs_to_come().empty()) {
        waited_ns = journal_.now_ns() - begin_ns;
        return;
      }
      const std::lock_guard order(handover_.mutex());
      const std::lock_guard lock(guard_.mutex());
      if (life_.finished) return;
      const bool keep = take_keep() || segments_->keeps_all();
      end_segment();
      check(segments_->files.sealed(keep));
      begin_segment();
      done = true;
    });
    segments_->gate.open();
  }
  if (done) return true;
  segments_->put_off(waited_ns);
  if (segments_->too_long()) {
    guarded([&] {
      finding(format::FindingKind::kNote, "--flight-recorder",
              "found no point between two launches without a call in progress, with an idle device "
              "and without a capture; this file has more than " +
                  segments_->text());
    });
  }
  return false;
}

void FlightRecorder::end_segment() {
  events_.note_runs();
  sections_.leave();
  runs_.effects().take();
  file_.note_unrecorded_processes();
  file_.seal();
}

void FlightRecorder::begin_segment() {
  next_.begin(check(file_.new_writer()), segments_->environment, NextTrace::Earlier::kKept);
  segments_->begin();
  sections_.enter();
  marks_.begin_open_ranges();
  launches_.update_ways();
}

void FlightRecorder::keep() noexcept {
  if (on() && keep_wanted() && segments_->over()) (void)next(0);
}

}  // namespace gfxgraph::recorder
