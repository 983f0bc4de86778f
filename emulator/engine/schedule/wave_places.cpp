#include "emulator/engine/schedule/wave_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace gfxgraph::emulator {
namespace {

constexpr size_t kListedPlaces = 16;
constexpr size_t kListedWorkgroups = 4;

std::string id_text(const std::array<uint32_t, 3>& id) {
  return fmt::format("({},{},{})", id[0], id[1], id[2]);
}

bool earlier(const WavePlace& a, const WavePlace& b) {
  return std::tuple(a.workgroup[2], a.workgroup[1], a.workgroup[0], a.wave) <
         std::tuple(b.workgroup[2], b.workgroup[1], b.workgroup[0], b.wave);
}

// "1", "0-3", "0-2,5".
std::string wave_ranges(const std::vector<uint32_t>& waves) {
  std::string text;
  for (size_t n = 0; n < waves.size();) {
    size_t last = n;
    while (last + 1 < waves.size() && waves[last + 1] == waves[last] + 1) ++last;
    text += fmt::format("{}{}", n == 0 ? "" : ",", waves[n]);
    if (last != n) text += fmt::format("-{}", waves[last]);
    n = last + 1;
  }
  return text;
}

// Lists the waves at one place; they are sorted.
std::string who(const std::vector<WavePlace>& waves) {
  std::vector<std::pair<std::array<uint32_t, 3>, std::vector<uint32_t>>> groups;
  for (const WavePlace& w : waves) {
    if (groups.empty() || groups.back().first != w.workgroup) groups.push_back({w.workgroup, {}});
    groups.back().second.push_back(w.wave);
  }
  if (groups.size() > kListedWorkgroups)
    return fmt::format("{} workgroups from {} to {}", groups.size(), id_text(groups.front().first),
                       id_text(groups.back().first));
  std::string text;
  for (const auto& [id, numbers] : groups)
    text += fmt::format("{}workgroup {} wave{} {}", text.empty() ? "" : ", ", id_text(id),
                        numbers.size() == 1 ? "" : "s", wave_ranges(numbers));
  return text;
}

std::string what(const WavePlace& wave, const std::function<std::string(uint64_t)>& place,
                 const std::function<std::string(uint64_t)>& buffer) {
  switch (wave.why) {
    case WavePlace::Why::kBarrier: return fmt::format("in the barrier at {}", place(wave.pc));
    case WavePlace::Why::kGws:
      return fmt::format(
          "in the grid barrier (grid_group::sync) at {}, which {} more wave{} must reach",
          place(wave.pc), wave.gws_missing, wave.gws_missing == 1 ? "" : "s");
    case WavePlace::Why::kRuns: return fmt::format("at {}", place(wave.pc));
    case WavePlace::Why::kRepeats: break;
  }
  if (wave.loop.poll_pc == 0)
    return fmt::format("in a loop of {} bytes at {}", wave.loop.high_pc - wave.loop.low_pc + 4,
                       place(wave.pc));
  std::string text = fmt::format("repeating {}", place(wave.pc));
  if (wave.loop.address != 0) text += fmt::format(" of {}", buffer(wave.loop.address));
  return text;
}

}  // namespace

std::string list_waves(std::vector<WavePlace> waves,
                       const std::function<std::string(uint64_t)>& place,
                       const std::function<std::string(uint64_t)>& buffer) {
  std::sort(waves.begin(), waves.end(), earlier);
  std::map<std::pair<WavePlace::Why, uint64_t>, std::vector<WavePlace>> places;
  for (const WavePlace& wave : waves) places[{wave.why, wave.pc}].push_back(wave);
  std::vector<const std::vector<WavePlace>*> order;
  for (const auto& [key, list] : places) order.push_back(&list);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return earlier(a->front(), b->front()); });
  std::string text;
  for (size_t n = 0; n < std::min(order.size(), kListedPlaces); ++n) {
    const std::vector<WavePlace>& list = *order[n];
    text += fmt::format("\n  {} wave{} {}: {}", list.size(), list.size() == 1 ? "" : "s",
                        what(list.front(), place, buffer), who(list));
  }
  if (order.size() > kListedPlaces)
    text += fmt::format("\n  and waves at {} more places", order.size() - kListedPlaces);
  return text;
}

}  // namespace gfxgraph::emulator
