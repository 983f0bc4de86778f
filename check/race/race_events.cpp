#include "check/race/race_events.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "check/launch/loaded_code.h"

namespace gfxgraph::check {

RaceCheck::Work RaceEvents::next_work() {
  while (order_.lifetimes.contains(next_work_)) ++next_work_;
  return work_of(next_work_++);
}

RaceCheck::Work RaceEvents::work_of(uint64_t number) const {
  RaceCheck::Work work;
  work.number = number;
  work.event = event_;
  if (work.number >= order_.unordered.size()) return work;
  work.unordered = order_.unordered[work.number];
  work.forget = order_.after_all[work.number];
  work.reaches_host = order_.reaches_host[work.number];
  return work;
}

void RaceEvents::next_launch(uint64_t, const format::Launch&) { launch_ = next_work(); }

void RaceEvents::before_run(const LaunchRun& run) {
  const RaceCode code = {
      .begin = run.code.load_address + run.code.object->segments().front().address,
      .end = run.code.end,
      .fences = run.code.has_fences,
      .group_fences = run.code.has_group_fences};
  check_.next_launch(run.index, run.launch.kernel, code, std::exchange(launch_, {}));
}

Result<void> RaceEvents::allocated(const format::AllocationBegin& begin) {
  addresses_[begin.id] = begin.recorded_address;
  check_.begin_memory(begin);
  const auto found = order_.allocated.find(begin.id);
  if (found == order_.allocated.end()) return {};
  sizes_[begin.id] = begin.size_bytes;
  return lifetime(RaceCheck::Part::kAllocate, found->second, begin.id);
}

Result<void> RaceEvents::freed(const format::AllocationEnd& end) {
  const auto found = order_.freed.find(end.id);
  if (found == order_.freed.end()) return {};
  // The end of an old trace that took place earlier than its event (OrderedEnds): its work is not
  // numbered as it runs.
  uint64_t number = next_work_;
  while (order_.lifetimes.contains(number)) ++number;
  if (found->second > number) return {};
  return lifetime(RaceCheck::Part::kFree, found->second, end.id);
}

Result<void> RaceEvents::lifetime(RaceCheck::Part part, uint64_t number, format::AllocationId id) {
  if (number >= order_.apart.size() || !order_.apart[number]) return {};
  check_.next_transfer(work_of(number));
  GFXGRAPH_TRY(transfer(part, id, 0, {.width_bytes = sizes_[id]}));
  if (check_.found()) found_();
  return {};
}

bool RaceEvents::begin_transfer() {
  RaceCheck::Work work = next_work();
  if (work.number >= order_.apart.size() || !order_.apart[work.number]) return false;
  check_.next_transfer(std::move(work));
  return true;
}

Result<void> RaceEvents::transfer(RaceCheck::Part part, format::AllocationId id, uint64_t offset,
                                  const format::Box& box) {
  const auto found = addresses_.find(id);
  if (found == addresses_.end() || box.width_bytes == 0) return {};
  const uint64_t address = found->second + offset;
  constexpr uint64_t kRowsPerLook = 1 << 12;
  constexpr uint64_t kBytesPerLook = 1 << 24;
  uint64_t rows = 0;
  for (uint64_t z = 0; z < box.depth; ++z) {
    for (uint64_t y = 0; y < box.height; ++y, ++rows) {
      if (rows % kRowsPerLook == 0 && !budget_.go_on())
        return fail(Status::kOutOfMemory, budget_.reason());
      for (uint64_t at = 0; at < box.width_bytes; at += kBytesPerLook) {
        if (at != 0 && !budget_.go_on()) return fail(Status::kOutOfMemory, budget_.reason());
        check_.transfer(part, address + box.row_offset(y, z) + at,
                        std::min(kBytesPerLook, box.width_bytes - at));
      }
    }
  }
  return {};
}

Result<void> RaceEvents::copied(const format::Copy& copy) {
  if (!begin_transfer()) return {};
  GFXGRAPH_TRY(transfer(RaceCheck::Part::kCopyRead, copy.source.allocation,
                        copy.source.offset_bytes, format::box_of(copy, copy.source)));
  GFXGRAPH_TRY(transfer(RaceCheck::Part::kCopyWrite, copy.destination.allocation,
                        copy.destination.offset_bytes, format::box_of(copy, copy.destination)));
  if (check_.found()) found_();
  return {};
}

Result<void> RaceEvents::filled(const format::Memset& memset) {
  if (!begin_transfer()) return {};
  if (const std::optional<format::Box> box = format::box_of(memset))
    GFXGRAPH_TRY(transfer(RaceCheck::Part::kMemset, memset.allocation, memset.offset_bytes, *box));
  if (check_.found()) found_();
  return {};
}

Result<void> RaceEvents::will_write(const format::HostWrite& write) {
  const uint64_t number = next_host_write_++;
  if (number >= order_.host_writes.size() || order_.host_writes[number].empty()) return {};
  const auto found = addresses_.find(write.allocation);
  if (found == addresses_.end() || write.content.size_bytes == 0) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(
      const std::span<const std::byte> now,
      memory_.bytes(write.allocation, write.offset_bytes, write.content.size_bytes));
  GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, trace_.content(write.content));
  if (bytes.size() != now.size()) return {};
  check_.host_write(event_, found->second + write.offset_bytes, now, bytes, write.in_doubt,
                    order_.host_writes[number]);
  if (check_.found()) found_();
  return {};
}

}  // namespace gfxgraph::check
