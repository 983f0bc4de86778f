// Recording only ranges of a program: outside of them the model of streams, memory, modules and
// graphs is kept, and nothing is read or written.
#include <algorithm>
#include <cstring>
#include <utility>

#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

void Recorder::enter_range() {
  // Earlier work is not part of the range, but its results are part of the initial contents.
  const bool idle = device_->synchronize(finish_timeout_ms_);
  stretch_.fresh().stretch_begins(idle);
  if (!idle) {
    finding(format::FindingKind::kIncomplete, "range",
            "the device failed or did not become idle when it began; the initial contents of its "
            "memory are unknown");
  }
  contents_.stretch_begins();
  stretch_.begin();
  if (options_.contents != WhichContents::kAll) return;
  const Contents::ReadingFor reading(contents_, "range");
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
    if (allocation->module == nullptr) contents_.take_in_trace(*allocation);
  }
  for (ModuleEntry* module : code_.registry().modules()) {
    if (module->globals_known) contents_.take_in_variables(*module);
  }
}

void Recorder::leave_now() noexcept {
  guarded_unlocked([&] {
    const std::lock_guard order(drain_mutex_);
    const std::lock_guard lock(guard_.mutex());
    if (stretch_.leaving() && !finished_) leave_range();
  });
}

// With the drain lock, too.
void Recorder::leave_range() {
  launches_.hold();  // what returns from now on is not in it
  stretch_.stay();
  for (const format::RangeId open : std::exchange(traced_, {})) {
    events_.append(format::Marker{open_ranges_[open].text, format::MarkerKind::kRangeEnd, open});
  }
  host_writes_.look_before_wait();
  const bool idle = device_->synchronize(finish_timeout_ms_);
  stretch_.fresh().stretch_ends(idle);
  if (idle) {
    end_contents("range");
  } else {
    finding(format::FindingKind::kNote, "range",
            "the device failed or did not become idle when it ended; the contents of its buffers "
            "are unknown");
    for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
      if (!allocation->begun || allocation->kept) continue;
      format::Content unknown;
      unknown.size_bytes = allocation->size_bytes;
      unknown.stored = false;
      end_or_keep(*allocation, std::move(unknown));
    }
  }
  // All host functions have run: what they wrote leads to memory by its ids in this range.
  deferrals_.resolve(false);
  for (const std::shared_ptr<Allocation>& allocation : allocations_.adopted()) {
    flights_.forget(allocation->id);
    runs_.unwatch(*allocation);
    allocations_.forget_id(*allocation);
  }
  allocations_.adopted().clear();
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
    if (!allocation->begun) continue;
    flights_.forget(allocation->id);
    runs_.unwatch(*allocation);
    allocation->saved_blocks.clear();
    allocation->doubted_blocks.clear();
    allocation->was_reachable = allocation->was_reachable || allocation->reachable;
    if (allocation->kept) {
      allocation->reachable = allocation->in_memory = false;
      continue;
    }
    allocations_.leave_trace(*allocation);
    allocation->begun = false;
    allocation->reachable = allocation->in_memory = false;
    allocation->known_blocks.clear();
    allocation->points_to.clear();
  }
  contents_.stretch_ends();
  work_.values().lose_all();
  allocations_.renumbered();
  for (const ModuleEntry* module : code_.registry().modules()) allocations_.forget_code(module);
  stretch_.end();
  update_ways();
}

void Recorder::note_missed_ranges() {
  for (const RangeSelection::Missed& missed : stretch_.missed_ranges()) {
    finding(missed.all ? format::FindingKind::kIncomplete : format::FindingKind::kNote, "--range",
            missed.text);
  }
  for (const LaunchSelection::Missed& missed : stretch_.missed_launches()) {
    finding(missed.all ? format::FindingKind::kIncomplete : format::FindingKind::kNote,
            missed.option, missed.text);
  }
}

// At the end of a stretch.
void Recorder::end_or_keep(Allocation& allocation, format::Content post) {
  if (allocation.module == nullptr || stretch_.whole() || finished_ || segments_) {
    return contents_.end_allocation(allocation, false, 0, std::move(post));
  }
  allocation.kept = true;
  allocation.last = std::move(post);
}

}  // namespace gfxgraph::recorder
