#include "format/ranges/parameter_pattern.h"

#include <algorithm>
#include <vector>

namespace gfxgraph::ranges {
namespace {

// The low bytes of a difference, sign-extended: a 32-bit counter may pass 2^31 or 0.
int64_t difference(const ParameterValue& later, const ParameterValue& earlier,
                   unsigned size_bytes) {
  const auto value = static_cast<uint64_t>(later.number) - static_cast<uint64_t>(earlier.number);
  const unsigned unused = 64 - 8 * std::clamp(size_bytes, 1u, 8u);
  return static_cast<int64_t>(value << unused) >> unused;
}

// The smallest p with values[i] == values[i - p] for all i >= p (Knuth, Morris, Pratt).
size_t smallest_period(std::span<const ParameterValue> values) {
  std::vector<size_t> border(values.size(), 0);  // the longest one of each prefix
  for (size_t i = 1; i < values.size(); ++i) {
    size_t length = border[i - 1];
    while (length != 0 && !(values[i] == values[length])) length = border[length - 1];
    if (values[i] == values[length]) ++length;
    border[i] = length;
  }
  return values.size() - (values.empty() ? 0 : border.back());
}

}  // namespace

PatternMatch match_pattern(std::span<const ParameterValue> values, unsigned size_bytes) {
  const auto changed = std::ranges::adjacent_find(values, std::not_equal_to<>());
  if (changed == values.end()) return {};
  const int64_t step = difference(values[1], values[0], size_bytes);
  bool steps = step != 0;
  for (size_t i = 1; i < values.size() && steps; ++i) {
    steps = values[i].memory == values[0].memory &&
            difference(values[i], values[i - 1], size_bytes) == step;
  }
  if (steps) return {Pattern::kStep, step, 0};
  const size_t period = smallest_period(values);
  if (values.size() >= 2 * period) return {Pattern::kSwap, 0, period};
  return {Pattern::kFree, 0, 0};
}

const char* pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kConstant: return "constant";
    case Pattern::kStep: return "step";
    case Pattern::kSwap: return "swap";
    case Pattern::kFree: return "free";
  }
  return "unknown";
}

}  // namespace gfxgraph::ranges
