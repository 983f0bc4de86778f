#include "check/calls/call_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gfxgraph::check {
namespace {

// Not an address of code: findings at one call of the program are one.
uint64_t place_of(format::SiteId site, uint64_t event) {
  constexpr uint64_t kNoSite = uint64_t{1} << 63;
  return site != 0 ? site : kNoSite | event;
}

}  // namespace

bool call_gives_work(std::string_view call) {
  return call.find("Launch") != call.npos || call.find("Memcpy") != call.npos ||
         call.find("Memset") != call.npos;
}

Result<void> CallCheck::allocated(const format::AllocationBegin& begin) {
  known_[begin.id] = {memory_.owner(begin.recorded_address), begin.recorded_address,
                      begin.size_bytes};
  return {};
}

Result<void> CallCheck::call_fault(const format::CallFault& fault) {
  if (fault.allocation == 0) {
    LaneEvent event = event_of(fault, FindingClass::kA5);
    if (!call_gives_work(fault.call)) {
      add(event, 0, nullptr, false);
    } else if (failed_.size() < kMost) {
      failed_.push_back(std::move(event));
    }
    return {};
  }
  const auto known = known_.find(fault.allocation);
  if (known == known_.end()) return {};
  const bool live = memory_.address_of(fault.allocation).has_value();
  LaneEvent event = event_of(fault, fault.size_bytes == 0 ? FindingClass::kA3
                                    : live                ? FindingClass::kA1
                                                          : FindingClass::kA2);
  event.address = known->second.address + fault.offset_bytes;
  const Sites::Key key = add(event, fault.allocation, &known->second, live);
  if (!fault.error.empty() && fault.write && fault.size_bytes != 0 && live &&
      missing_.size() < kMost)
    missing_.push_back({key, fault.allocation});
  return {};
}

LaneEvent CallCheck::event_of(const format::CallFault& fault, FindingClass finding_class) const {
  LaneEvent event;
  event.finding_class = finding_class;
  event.place.launch = launches_;
  event.trace_event = event_;
  event.pc = place_of(event_ < trace_.events().size() ? trace_.events()[event_].site : 0, event_);
  event.access_bytes = static_cast<uint32_t>(std::min<uint64_t>(fault.size_bytes, UINT32_MAX));
  event.write = fault.write;
  event.mnemonic = fault.call;
  event.detail = fault.error.empty() ? "HIP accepted the call" : "it returned " + fault.error;
  return event;
}

// The nearest buffer is looked up here: no kernel runs.
Sites::Key CallCheck::add(const LaneEvent& event, format::AllocationId allocation,
                          const Memory* memory, bool live) {
  const Sites::Key key{0, event.pc, event.finding_class};
  sites_.add(0, event);
  const auto found = sites_.all().find(key);
  if (found == sites_.all().end() || found->second.first.trace_event != event.trace_event)
    return key;
  Site& site = found->second;
  site.event_sequence = event.trace_event;
  if (memory == nullptr) return key;
  NearestBuffer& near = site.nearest.emplace();
  near.allocation = allocation;
  near.name = memory->name;
  near.address = memory->address;
  near.size_bytes = near.mapped_bytes = memory->size;
  near.distance_bytes = static_cast<int64_t>(event.address - memory->address - memory->size);
  near.freed = !live;
  site.first.address_class = live ? "past the end" : "freed";
  return key;
}

// ---- what the calls broke -----------------------------------------------------------------------

void CallCheck::reads(format::AllocationId id, const std::string& what) {
  std::erase_if(missing_, [&](const Missing& one) {
    if (one.allocation != id) return false;
    const auto found = sites_.all().find(one.key);
    if (found != sites_.all().end() && found->second.events == 1)
      found->second.first.detail += fmt::format("; {} had the buffer without it", what);
    return true;
  });
}

void CallCheck::is_written(format::AllocationId id) {
  std::erase_if(missing_, [&](const Missing& one) { return one.allocation == id; });
}

void CallCheck::more_work(const std::string& what) {
  for (LaneEvent& event : std::exchange(failed_, {})) {
    event.finding_class = FindingClass::kA4;
    event.detail += fmt::format("; the program went on with {}", what);
    add(event, 0, nullptr, false);
  }
}

Result<void> CallCheck::will_write(const format::HostWrite& write) {
  is_written(write.allocation);
  return {};
}

Result<void> CallCheck::will_copy(const format::Copy& copy) {
  if (missing_.empty() && failed_.empty()) return {};
  const std::string what = fmt::format("the copy of event {}", event_);
  reads(copy.source.allocation, what);
  is_written(copy.destination.allocation);
  more_work(what);
  return {};
}

Result<void> CallCheck::filled(const format::Memset& memset) {
  if (missing_.empty() && failed_.empty()) return {};
  is_written(memset.allocation);
  more_work(fmt::format("the memset of event {}", event_));
  return {};
}

void CallCheck::next_launch(uint64_t index, const format::Launch& launch) {
  launches_ = index + 1;
  if (missing_.empty() && failed_.empty()) return;
  const std::string what = fmt::format("launch {}", index);
  for (const format::Relocation& word : launch.relocations) reads(word.allocation, what);
  more_work(what);
}

}  // namespace gfxgraph::check
