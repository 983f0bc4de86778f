// Ranges and marks: what the program says of itself.
#include <algorithm>
#include <cstring>
#include <utility>

#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

// Before the device is used.
constexpr size_t kMostEarlyMarkers = 4096;
constexpr size_t kMostCountedNames = 65536;

}  // namespace

std::string cut_name(const char* text) {
  using format::kMostNameBytes;
  if (text == nullptr) return {};
  std::string name(text, strnlen(text, kMostNameBytes + 1));
  if (name.size() <= kMostNameBytes) return name;
  size_t end = kMostNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // UTF-8
  name.resize(end);
  return name;
}

// What a program marks before it uses the device is no reason to touch that: it waits for the first
// call that is recorded. With the lock.
void Recorder::append_marker(format::Marker marker) {
  using Kind = format::MarkerKind;
  if (begun_) return place_marker(std::move(marker));
  if (marker.kind == Kind::kRangeEnd) {
    // A range in which nothing happened.
    const auto begin = std::ranges::find_if(early_markers_, [&](const format::Marker& one) {
      return one.kind == Kind::kRangeBegin && one.range == marker.range;
    });
    if (begin != early_markers_.end()) early_markers_.erase(begin);
    return;
  }
  if (early_markers_.size() < kMostEarlyMarkers) early_markers_.push_back(std::move(marker));
}

void Recorder::append_early_markers() {
  for (format::Marker& marker : early_markers_) place_marker(std::move(marker));
  early_markers_.clear();
}

// How many of this name there were.
uint32_t Recorder::count_range(const std::string& name) {
  const auto found = range_counts_.find(name);
  if (found != range_counts_.end()) return found->second++;
  // A program that gives each range a name of its own shall not fill its memory with them.
  if (range_counts_.size() < kMostCountedNames) range_counts_.emplace(name, 1);
  return 0;
}

// A recorded range begins before its marker, and ends behind it.
void Recorder::place_marker(format::Marker marker) {
  const format::RangeId range = marker.range;
  if (marker.kind == format::MarkerKind::kRangeBegin) {
    marker.ordinal = count_range(marker.text);
    if (const auto open = open_ranges_.find(range); open != open_ranges_.end()) {
      open->second.ordinal = marker.ordinal;
    }
  }
  switch (marker.kind) {
    case format::MarkerKind::kMark:
      if (recording_ && !leaving_) append(std::move(marker));
      break;
    case format::MarkerKind::kName: break;  // of memory, not of a range
    case format::MarkerKind::kRangeBegin:
      if (!selection_.empty() && selection_.begins(marker.text, marker.ordinal)) {
        selected_.insert(range);
        leaving_ = false;
        if (!recording_) enter_range();
      }
      if (!recording_ || leaving_) break;
      traced_.insert(range);
      append(std::move(marker));
      update_ways();  // launches stand behind it
      break;
    case format::MarkerKind::kRangeEnd:
      if (traced_.erase(range) != 0) append(std::move(marker));
      if (selected_.erase(range) != 0) leave_if_over();
      break;
  }
}

format::RangeId Recorder::range_begins(const char* name) noexcept {
  format::RangeId range = 0;
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    if (finished_) return;
    range = next_range_++;
    const format::Marker marker{cut_name(name), format::MarkerKind::kRangeBegin, range};
    open_ranges_.emplace(range, marker);
    append_marker(marker);
  });
  if (range != 0) drain_if_full();
  return range;
}

void Recorder::range_ends(format::RangeId range) noexcept {
  if (range == 0) return;
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    const auto open = open_ranges_.find(range);
    if (finished_ || open == open_ranges_.end()) return;
    append_marker({std::move(open->second.text), format::MarkerKind::kRangeEnd, range});
    open_ranges_.erase(open);
  });
  drain_if_full();
}

void Recorder::mark(const char* text) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    if (finished_) return;
    append_marker({cut_name(text), format::MarkerKind::kMark, 0});
  });
  drain_if_full();
}

void Recorder::note_marker(const char* call, const char* detail) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    if (begun_ && !finished_) finding(format::FindingKind::kNote, call, detail);
  });
}

void Recorder::note_open_ranges() {
  for (const format::RangeId range : traced_) {
    finding(
        format::FindingKind::kNote, "ranges",
        "\"" + open_ranges_[range].text + "\" was not left: it goes on to the end of the trace");
  }
}

}  // namespace gfxgraph::recorder
