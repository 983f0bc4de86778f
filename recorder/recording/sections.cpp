#include "recorder/recording/sections.h"

#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "recorder/contract/sealing.h"

namespace gfxgraph::recorder {

void Sections::enter() {
  // Earlier work is not part of the range, but its results are part of the initial contents.
  const bool in_place = options_.contents == WhichContents::kInPlace;
  const bool idle = !in_place && device_.synchronize(life_.longest_wait_ms);
  // In place, a step's own memory begins with what its work writes there, whatever runs elsewhere.
  stretch_.fresh().stretch_begins(idle || in_place);
  if (!idle && !in_place) {
    finding(format::FindingKind::kIncomplete, "range",
            "the device failed or did not become idle when it began; the initial contents of its "
            "memory are unknown");
  }
  traced_.stretch_begins();
  stretch_.begin();
  if (options_.contents != WhichContents::kAll) return;
  const Contents::ReadingFor reading(contents_, "range");
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
    if (allocation->module == nullptr) traced_.take_in_trace(*allocation);
  }
  for (ModuleEntry* module : code_.registry().modules()) {
    if (module->globals_known) traced_.take_in_variables(*module);
  }
}

void Sections::leave_now() noexcept {
  guarded_unlocked([&] {
    const std::lock_guard order(handover_.mutex());
    const std::lock_guard lock(guard_.mutex());
    if (stretch_.leaving() && !life_.finished) leave();
  });
}

void Sections::leave() {
  end();
  forget();
}

void Sections::end() {
  launches_.hold();  // what returns from now on is not in it
  stretch_.stay();
  for (const format::RangeId open : std::exchange(ranges_.traced, {})) {
    events_.append(format::Marker{ranges_.open[open].text, format::MarkerKind::kRangeEnd, open});
  }
  host_writes_.look_before_wait();
  const bool in_place = options_.contents == WhichContents::kInPlace;
  const bool idle = !in_place && device_.synchronize(life_.longest_wait_ms);
  stretch_.fresh().stretch_ends(idle);  // in place: what is at work may write what comes next
  if (idle) {
    end_contents("range");
  } else {
    if (!in_place)
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
}

void Sections::forget() {
  for (const std::shared_ptr<Allocation>& allocation : allocations_.adopted()) {
    flights_.forget(allocation->id);
    effects_.unwatch(*allocation);
    allocations_.forget_id(*allocation);
  }
  allocations_.adopted().clear();
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
    if (!allocation->begun) continue;
    flights_.forget(allocation->id);
    effects_.unwatch(*allocation);
    allocation->blocks.forget_flights();
    allocation->was_reachable = allocation->was_reachable || allocation->reachable;
    if (allocation->kept) {
      allocation->reachable = allocation->in_memory = false;
      continue;
    }
    allocations_.leave_trace(*allocation);
    allocation->begun = false;
    allocation->reachable = allocation->in_memory = false;
    allocation->blocks.clear();
    allocation->points_to.clear();
  }
  traced_.stretch_ends();
  values_.lose_all();
  allocations_.renumbered();
  for (const ModuleEntry* module : code_.registry().modules()) allocations_.forget_code(module);
  stretch_.end();
  launches_.update_ways();
}

void Sections::end_contents(const char* call) {
  const Contents::ReadingFor reading(contents_, call);
  if (!flights_.empty()) events_.append_devices_done(call);
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().host_visible()) {
    if (!allocation->begun || allocation->kept) continue;
    host_writes_.check_last_host_writes(*allocation);
  }
  uint64_t ended_bytes = 0;
  // What contents lead to enters the trace, or leaves its rest between two ranges, and has an end,
  // too. So variables are kept when all contents have been read.
  std::vector<std::pair<std::shared_ptr<Allocation>, format::Content>> variables;
  std::unordered_set<const Allocation*> ended;
  for (bool more = true; std::exchange(more, false);) {
    for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
      if (!allocation->begun || allocation->kept || !ended.insert(allocation.get()).second)
        continue;
      more = true;
      format::Content post = contents_.post_content(*allocation);
      if (allocation->module != nullptr) {
        variables.emplace_back(allocation, std::move(post));
      } else {
        traced_.end_allocation(*allocation, false, 0, std::move(post));
      }
      sealing_mark().reach(ended_bytes += allocation->size_bytes);
    }
  }
  for (auto& [variable, post] : variables) {
    code_.ends_after_reset(*variable, post);
    end_or_keep(*variable, std::move(post));
  }
  for (const std::shared_ptr<Allocation>& allocation : allocations_.adopted()) {
    traced_.end_allocation(*allocation, false, 0, host_writes_.last_content(*allocation));
  }
}

void Sections::note_missed() {
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
void Sections::end_or_keep(Allocation& allocation, format::Content post) {
  if (allocation.module == nullptr || stretch_.whole() || life_.finished || segments_) {
    return traced_.end_allocation(allocation, false, 0, std::move(post));
  }
  allocation.kept = true;
  allocation.last = std::move(post);
}

}  // namespace gfxgraph::recorder
