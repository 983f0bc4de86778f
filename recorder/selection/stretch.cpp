#include "recorder/selection/stretch.h"

#include <utility>
#include <vector>

namespace gfxgraph::recorder {
namespace {

constexpr size_t kMostCountedNames = 65536;

// The tool validates options: invalid ones do not arrive here.
template <typename T, typename Parse>
std::vector<T> parsed(const std::vector<std::string>& texts, Parse&& parse) {
  std::vector<T> found;
  for (const std::string& text : texts) {
    if (Result<T> one = parse(text)) found.push_back(*std::move(one));
  }
  return found;
}

}  // namespace

Stretch::Stretch(const Options& options, bool segments)
    : launch_selection_(parsed<LaunchInterval>(options.launches, parse_launch_interval),
                        parsed<KernelPattern>(options.kernels, parse_kernel_pattern)) {
  ranges_ = RangeSelection(parsed<RangePattern>(options.ranges, parse_range_pattern),
                           !launch_selection_.empty() || segments || options.in_process);
  recording_ = ranges_.empty() || segments;
  if (segments) span_ = 1;  // a range that has begun before anything happened
}

void Stretch::begin() noexcept {
  recording_ = true;
  span_.fetch_add(1, std::memory_order_release);
}

void Stretch::end() noexcept {
  recording_ = false;
  span_.fetch_add(1, std::memory_order_release);
}

void Stretch::leave_if_over() noexcept {
  if (recording_ && !whole() && selected_.empty() && selected_launches_ == 0 && !in_interval_) {
    leaving_.store(true, std::memory_order_release);
  }
}

[[gnu::hot]] bool Stretch::call_begins() noexcept {
  const uint64_t before = std::exchange(span_of_call_, span());
  return before != span_of_call_;
}

uint32_t Stretch::count_range(const std::string& name) {
  const auto found = range_counts_.find(name);
  if (found != range_counts_.end()) return found->second++;
  // A program that names each range differently must not fill its memory with names.
  if (range_counts_.size() < kMostCountedNames) range_counts_.emplace(name, 1);
  return 0;
}

bool Stretch::range_begins(format::RangeId range, const std::string& name, uint32_t ordinal) {
  if (whole() || !ranges_.begins(name, ordinal)) return false;
  selected_.insert(range);
  stay();
  return true;
}

void Stretch::range_ends(format::RangeId range) {
  if (selected_.erase(range) != 0) leave_if_over();
}

}  // namespace gfxgraph::recorder
