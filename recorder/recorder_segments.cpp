// The flight recorder: between two segments it seals one file like the end of a recorded range and
// begins another one with its own numbers, code objects and memory. No program call runs meanwhile.
#include <unordered_set>

#include "recorder/queue/end_signals.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

constexpr uint32_t kIdleTimeoutMs = 1'000;

// Findings about contents apply to one segment only; the next one reads all contents anew.
bool about_contents(std::string_view call) {
  return call == "range" || call == "host function" || call == "host memory";
}

}  // namespace

// Before a launch, or on the flusher's thread: `own` calls are the caller's. Never waits for calls,
// and not for long for the device.
bool Recorder::next_segment(uint32_t own) noexcept {
  bool done = false;
  uint64_t waited_ns = 0;
  if (segments_->gate.close(own)) {
    guarded_unlocked([&] {
      const uint64_t begin_ns = journal_.now_ns();
      {
        const std::lock_guard lock(guard_.mutex());
        if (!journal_.begun() || finished_ || graphs_.captures().any()) return;
        host_writes_.look_before_wait();
      }
      // Without the locks: the work that the device waits for may need them.
      if (!device_->synchronize(kIdleTimeoutMs) || !runs_.runs_to_come().empty()) {
        waited_ns = journal_.now_ns() - begin_ns;
        return;
      }
      const std::lock_guard order(drain_mutex_);
      const std::lock_guard lock(guard_.mutex());
      if (finished_) return;
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
    note("--flight-recorder",
         "found no point between two launches without a call in progress, with an idle device and "
         "without a capture; this file has more than " +
             segments_->text());
  }
  return false;
}

void Recorder::end_segment() {
  events_.note_runs();
  leave_range();
  runs_.take_effects();
  note_unrecorded_processes();
  seal_trace();
}

void Recorder::begin_segment() {
  std::unique_ptr<format::Writer> next = check(new_writer());
  check(next->add(segments_->environment));
  journal_.begin(std::move(next));
  forget_trace();
  journal_.sites().repeat();
  segments_->begin();
  enter_range();
  for (auto& [range, begin] : open_ranges_) {
    traced_.insert(range);
    events_.append(begin);
  }
  update_ways();
}

// Drops all ids of the sealed file; the next use of an object describes it again.
void Recorder::forget_trace() {
  const LaunchLanes::Alone alone(journal_.lanes());
  const std::vector<std::string> described = code_.number_anew();
  const std::unordered_set<std::string_view> kernels(described.begin(), described.end());

  // Calls that were not recorded may affect later segments as well, so their findings stay.
  for (const Findings::Count& found : journal_.findings().take()) {
    if (found.kind != format::FindingKind::kIncomplete || about_contents(found.call) ||
        kernels.contains(found.call)) {
      continue;
    }
    finding_now(found.kind, found.call, found.detail);
  }
  contents_.forget_trace();
  journal_.forget_refused();
  events_.number_anew();
  flights_ = Flights();
  runs_.forget_trace();
  graphs_.number_anew();
  work_.number_anew();
  allocations_.number_anew();
}

// On the flusher's thread: SIGUSR2, while the program launches nothing.
void Recorder::keep_segment() noexcept {
  if (segments_ && keep_wanted() && segments_->over()) (void)next_segment(0);
}

}  // namespace gfxgraph::recorder
