// Ranges and marks: what the program says of itself.
#include <algorithm>
#include <cstring>

#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

constexpr size_t kMostNameBytes = 1000;
// Before the device is used.
constexpr size_t kMostEarlyMarkers = 4096;

std::string cut(const char* text) {
  if (text == nullptr) return {};
  std::string name(text, strnlen(text, kMostNameBytes + 1));
  if (name.size() <= kMostNameBytes) return name;
  size_t end = kMostNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // UTF-8
  name.resize(end);
  return name;
}

}  // namespace

// What a program marks before it uses the device is no reason to touch that: it waits for the first
// call that is recorded. With mutex_.
void Recorder::append_marker(format::Marker marker) {
  if (begun_) return append(std::move(marker));
  using Kind = format::MarkerKind;
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
  for (format::Marker& marker : early_markers_) append(std::move(marker));
  early_markers_.clear();
}

format::RangeId Recorder::range_begins(const char* name) noexcept {
  format::RangeId range = 0;
  guarded_unlocked([&] {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    range = next_range_++;
    std::string text = cut(name);
    open_ranges_.emplace(range, text);
    append_marker({std::move(text), format::MarkerKind::kRangeBegin, range});
  });
  if (range != 0) drain_if_full();
  return range;
}

void Recorder::range_ends(format::RangeId range) noexcept {
  if (range == 0) return;
  guarded_unlocked([&] {
    const std::lock_guard lock(mutex_);
    const auto open = open_ranges_.find(range);
    if (finished_ || open == open_ranges_.end()) return;
    append_marker({std::move(open->second), format::MarkerKind::kRangeEnd, range});
    open_ranges_.erase(open);
  });
  drain_if_full();
}

void Recorder::mark(const char* text) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    append_marker({cut(text), format::MarkerKind::kMark, 0});
  });
  drain_if_full();
}

void Recorder::note_marker(const char* call, const char* detail) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard lock(mutex_);
    if (begun_ && !finished_) finding(format::FindingKind::kNote, call, detail);
  });
}

void Recorder::note_open_ranges() {
  for (const auto& [range, name] : open_ranges_) {
    finding(format::FindingKind::kNote, "ranges",
            "\"" + name + "\" was not left: it goes on to the end of the trace");
  }
}

}  // namespace gfxgraph::recorder
