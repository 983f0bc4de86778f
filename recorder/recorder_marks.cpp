// Ranges and marks: annotations by the program.
#include <algorithm>
#include <utility>

#include "recorder/program_memory.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

// Before the device is used.
constexpr size_t kMostEarlyMarkers = 4096;
constexpr const char* kUnreadableText = "(a name that cannot be read)";

}  // namespace

std::string cut_name(const char* text) {
  using format::kMostNameBytes;
  if (text == nullptr) return {};
  std::string name = read_text(text, kMostNameBytes + 1).value_or(kUnreadableText);
  if (name.size() <= kMostNameBytes) return name;
  size_t end = kMostNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // UTF-8
  name.resize(end);
  return name;
}

// Markers before the first recorded call are kept until that call, so that they do not initialise
// the device. Requires the lock.
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

// A recorded range begins before its marker and ends after it.
void Recorder::place_marker(format::Marker marker) {
  const format::RangeId range = marker.range;
  if (marker.kind == format::MarkerKind::kRangeBegin) {
    marker.ordinal = stretch_.count_range(marker.text);
    if (const auto open = open_ranges_.find(range); open != open_ranges_.end()) {
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
        enter_range();
      }
      if (!stretch_.recording() || stretch_.leaving()) break;
      traced_.insert(range);
      events_.append(std::move(marker));
      update_ways();  // launches stand behind it
      break;
    case format::MarkerKind::kRangeEnd:
      if (traced_.erase(range) != 0) events_.append(std::move(marker));
      stretch_.range_ends(range);
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
        "\"" + open_ranges_[range].text + "\" was not ended: it extends to the end of the trace");
  }
}

}  // namespace gfxgraph::recorder
