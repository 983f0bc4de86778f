#include "base/amount.h"

#include <fmt/format.h>

#include <array>

namespace gfxgraph {

std::string format_bytes(uint64_t bytes) {
  if (bytes < 1024) return counted(bytes, "byte");
  constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  // What would be rounded to 1024.0 is 1.0 of the next unit.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string counted(uint64_t count, std::string_view noun) {
  if (count == 1) return fmt::format("1 {}", noun);
  if (noun.ends_with("ch") || noun.ends_with('s') || noun.ends_with('x'))
    return fmt::format("{} {}es", count, noun);
  if (noun.ends_with("cy") || noun.ends_with("py") || noun.ends_with("ry"))
    return fmt::format("{} {}ies", count, noun.substr(0, noun.size() - 1));
  return fmt::format("{} {}s", count, noun);
}

}  // namespace gfxgraph
