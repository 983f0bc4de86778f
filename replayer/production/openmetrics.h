// Parts of samples in an OpenMetrics text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gfxgraph::replayer {

struct Quantile {
  const char* label;
  double share;
};
inline constexpr Quantile kQuantiles[] = {{"0.5", 0.5}, {"0.9", 0.9}, {"0.99", 0.99}};

// The value of a label.
std::string escaped(std::string_view text);
std::string seconds(uint64_t nanoseconds);

}  // namespace gfxgraph::replayer
