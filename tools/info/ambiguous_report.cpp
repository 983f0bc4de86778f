#include "tools/info/ambiguous_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "base/demangle.h"

namespace gfxgraph::tools {
namespace {

constexpr size_t kMostLines = 20;
constexpr size_t kMostArguments = 4;
constexpr size_t kMostName = 80;

// The ambiguous words of one kernel's arguments, or of one place in memory.
struct AmbiguousPlace {
  explicit AmbiguousPlace(const RelocationSite& site) : first(&site) {}
  const RelocationSite* first;
  std::vector<std::string> arguments;
  uint64_t count = 0;
};

std::vector<AmbiguousPlace> places_of(const TraceSummary& summary) {
  std::vector<AmbiguousPlace> places;
  std::map<format::KernelId, size_t> of_kernel;
  for (const RelocationSite& site : summary.sites) {
    if (!site.ambiguous) continue;
    size_t index = places.size();
    if (site.kernel != 0) index = of_kernel.try_emplace(site.kernel, index).first->second;
    if (index == places.size()) places.emplace_back(site);
    places[index].count += site.count;
    if (site.kernel != 0) places[index].arguments.push_back(site.argument);
  }
  return places;
}

std::string name_of(const TraceSummary& summary, const AmbiguousPlace& place) {
  const format::KernelId kernel = place.first->kernel;
  if (kernel == 0) return place.first->place;
  if (kernel > summary.kernels.size()) return fmt::format("kernel {}", kernel);
  return short_function_name(demangle(summary.kernels[kernel - 1].kernel->name), kMostName);
}

}  // namespace

std::vector<std::string> ambiguous_lines(const TraceSummary& summary) {
  const std::vector<AmbiguousPlace> all = places_of(summary);
  const std::span<const AmbiguousPlace> shown(all.data(), std::min(all.size(), kMostLines));
  std::map<std::string, size_t> names;
  for (const AmbiguousPlace& place : shown) ++names[name_of(summary, place)];
  std::vector<std::string> lines;
  for (const AmbiguousPlace& place : shown) {
    std::string text = name_of(summary, place);
    if (place.first->kernel != 0 && names[text] > 1)
      text += fmt::format(" (kernel {})", place.first->kernel);
    const size_t count = place.arguments.size();
    for (size_t i = 0; i < std::min(count, kMostArguments); ++i)
      text += (i == 0 ? ": " : ", ") + place.arguments[i];
    if (count > kMostArguments) text += fmt::format(" and {} more", count - kMostArguments);
    lines.push_back(
        fmt::format("{:>8} x ambiguous: {} ({})", place.count, text, place.first->example));
  }
  if (all.size() > shown.size()) {
    lines.push_back(
        fmt::format("and {} more kernels and places with ambiguous words: "
                    "--relocations lists them",
                    all.size() - shown.size()));
  }
  return lines;
}

}  // namespace gfxgraph::tools
