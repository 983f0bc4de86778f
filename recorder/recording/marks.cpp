#include "recorder/recording/marks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "recorder/program_memory.h"

namespace gfxgraph::recorder {
namespace {

// Before the device is used.
constexpr size_t kMostEarlyMarkers = 4096;

}  // namespace

// Markers before the first recorded call are kept until that call, so that they do not initialise
// the device. Requires the lock.
void Marks::append(format::Marker marker) {
  using Kind = format::MarkerKind;
  if (life_.begun) return place(std::move(marker));
  if (marker.kind == Kind::kRangeEnd) {
    // A range in which nothing happened.
    const auto begin = std::ranges::find_if(early_, [&](const format::Marker& one) {
      return one.kind == Kind::kRangeBegin && one.range == marker.range;
    });
    if (begin != early_.end()) early_.erase(begin);
    return;
  }
  if (early_.size() < kMostEarlyMarkers) early_.push_back(std::move(marker));
}

void Marks::append_early() {
  for (format::Marker& marker : early_) place(std::move(marker));
  early_.clear();
}

// A recorded range begins before its marker and ends after it.
void Marks::place(format::Marker marker) {
  const format::RangeId range = marker.range;
  if (marker.kind == format::MarkerKind::kRangeBegin) {
    marker.ordinal = stretch_.count_range(marker.text);
    if (const auto open = ranges_.open.find(range); open != ranges_.open.end()) {
      open->second.ordinal = marker.ordinal;
    }
  }
  switch (marker.kind) {
    case format::MarkerKind::kMark:
      if (stretch_.recording() && !stretch_.leaving()) events_.append(std::move(marker));
      break;
    case format::MarkerKind::kName: break;  // of memory, not of a range
    case format::MarkerKind::kRangeBegin:
      if (stretch_.range_begins(range, marker.text, marker.ordinal) && !stretch_.recording()) {
        sections_.enter();
      }
      if (!stretch_.recording() || stretch_.leaving()) break;
      ranges_.traced.insert(range);
      events_.append(std::move(marker));
      launches_.update_ways();  // launches stand behind it
      break;
    case format::MarkerKind::kRangeEnd:
      if (ranges_.traced.erase(range) != 0) events_.append(std::move(marker));
      stretch_.range_ends(range);
      break;
  }
}

format::RangeId Marks::range_begins(const char* name) noexcept {
  format::RangeId range = 0;
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    if (life_.finished) return;
    range = next_range_++;
    const format::Marker marker{cut_name(name), format::MarkerKind::kRangeBegin, range};
    ranges_.open.emplace(range, marker);
    append(marker);
  });
  if (range != 0) handover_.drain_if_full();
  return range;
}

void Marks::range_ends(format::RangeId range) noexcept {
  if (range == 0) return;
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    const auto open = ranges_.open.find(range);
    if (life_.finished || open == ranges_.open.end()) return;
    append({std::move(open->second.text), format::MarkerKind::kRangeEnd, range});
    ranges_.open.erase(open);
  });
  handover_.drain_if_full();
}

void Marks::mark(const char* text) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    if (life_.finished) return;
    append({cut_name(text), format::MarkerKind::kMark, 0});
  });
  handover_.drain_if_full();
}

void Marks::name_memory(const void* pointer, const char* name) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    if (life_.finished) return;
    const auto note = [&](const char* what) {
      finding(format::FindingKind::kNote, "gfxgraph_name", what);
    };
    std::string text = cut_name(name);
    if (text.empty()) return note("without a name");
    const auto address = reinterpret_cast<uint64_t>(pointer);
    Allocation* allocation = allocations_.map().find(address);
    // find() also takes a pointer one past the end.
    if (allocation == nullptr || address - allocation->address >= allocation->size_bytes) {
      allocation = allocations_.map().find_host(address);
    }
    if (pointer == nullptr || allocation == nullptr) {
      return note("of memory that is not known");
    }
    if (allocation->name == text) return;
    allocation->name = text;
    if (!allocation->begun) return;  // AllocationBegin will say it
    events_.append(
        format::Marker{std::move(text), format::MarkerKind::kName, 0, 0, allocation->id});
  });
  handover_.drain_if_full();
}

void Marks::note(const char* call, const char* detail) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    if (life_.begun && !life_.finished) finding(format::FindingKind::kNote, call, detail);
  });
}

void Marks::begin_open_ranges() {
  for (auto& [range, begin] : ranges_.open) {
    ranges_.traced.insert(range);
    events_.append(begin);
  }
}

void Marks::note_open_ranges() {
  for (const format::RangeId range : ranges_.traced) {
    finding(
        format::FindingKind::kNote, "ranges",
        "\"" + ranges_.open[range].text + "\" was not ended: it extends to the end of the trace");
  }
}

}  // namespace gfxgraph::recorder
