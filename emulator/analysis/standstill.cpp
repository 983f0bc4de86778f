#include "emulator/analysis/standstill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include "emulator/engine/resident_group.h"

namespace gfxgraph::emulator {
namespace {

// A loop that is longer than about a quarter of this is not recognised.
constexpr uint32_t kMostSteps = 20000;
constexpr uint32_t kFirstImageAfter = 64;
constexpr unsigned kMostPasses = 256;
constexpr uint64_t kMostScratchBytes = 1 << 20;

void forget_regions(Wave& wave) {
  for (RegionCacheEntry& entry : wave.regions) entry = RegionCacheEntry();
  if (wave.upper != nullptr)
    for (RegionCacheEntry& entry : wave.upper->regions) entry = RegionCacheEntry();
}

uint16_t op_flags(const Inst& inst) { return op_info(inst.op).flags; }

}  // namespace

// The state of 32 lanes that decides what they do next.
struct StandstillProbe::HalfImage {
  uint32_t sgpr[136];
  uint32_t other[7];
  std::vector<Row> vgpr;

  static void collect(const Wave& wave, uint32_t (&to)[7]) {
    const uint32_t values[7] = {wave.scc,
                                wave.mode,
                                wave.flat_scratch[0],
                                wave.flat_scratch[1],
                                wave.trap_status,
                                static_cast<uint32_t>(wave.gws_waits),
                                wave.gws_waits ? wave.gws_phase : 0};
    std::memcpy(to, values, sizeof(values));
  }
  void take(const Wave& wave, bool upper, uint32_t vgprs) {
    std::memcpy(sgpr, wave.sgpr, sizeof(sgpr));
    std::memset(other, 0, sizeof(other));
    if (!upper) collect(wave, other);
    vgpr.assign(wave.vgpr, wave.vgpr + vgprs);
  }
  bool equals(const Wave& wave, bool upper) const {
    uint32_t now[7] = {};
    if (!upper) collect(wave, now);
    return std::memcmp(sgpr, wave.sgpr, sizeof(sgpr)) == 0 &&
           std::memcmp(other, now, sizeof(other)) == 0 &&
           std::memcmp(vgpr.data(), wave.vgpr, vgpr.size() * sizeof(Row)) == 0;
  }
};

struct StandstillProbe::WaveImage {
  const Inst* resume = nullptr;
  HalfImage lower;
  HalfImage upper;
  std::vector<std::byte> scratch;

  void take(const Wave& wave, uint32_t vgprs) {
    resume = wave.resume;
    lower.take(wave, false, vgprs);
    if (wave.upper != nullptr) upper.take(*wave.upper, true, vgprs);
    scratch.assign(wave.scratch, wave.scratch + wave.scratch_bytes);
  }
  bool equals(const Wave& wave) const {
    return resume == wave.resume && lower.equals(wave, false) &&
           (wave.upper == nullptr || upper.equals(*wave.upper, true)) &&
           std::equal(scratch.begin(), scratch.end(), wave.scratch);
  }
};

bool StandstillProbe::lds_changed_by(const ResidentGroup& group, const Inst& inst) {
  if (lds_.empty()) return false;
  if (inst.advance != 0) {  // 0: a slot that leads to another one
    if (inst.format != Format::kDs && inst.format != Format::kFlat) return false;
    constexpr uint16_t kAll = OpInfo::kStore | OpInfo::kAtomic | OpInfo::kLoad;
    if ((op_flags(inst) & kAll) == OpInfo::kLoad) return false;
  }
  if (std::memcmp(lds_.data(), group.group.lds, lds_.size()) == 0) return false;
  std::memcpy(lds_.data(), group.group.lds, lds_.size());
  return true;
}

// Best a load or atomic of global memory; the first one in the code, so that waves at different
// places of one loop name the same.
void StandstillProbe::note_poll(Spin& spin, const Inst& inst) const {
  if ((op_flags(inst) & (OpInfo::kLoad | OpInfo::kAtomic)) == 0 || inst.format == Format::kSmem)
    return;
  const uint64_t address = watch_.address();
  if (spin.poll_pc != 0 && (address != 0) == (spin.address != 0) && inst.pc > spin.poll_pc) return;
  if (spin.address != 0 && address == 0) return;
  spin.poll_pc = inst.pc;
  spin.address = address;
}

StandstillProbe::Outcome StandstillProbe::run_wave(ResidentGroup& group, uint32_t n,
                                                   const std::function<void(uint32_t)>& step) {
  Wave& wave = *group.waves[n];
  if (wave.scratch_bytes > kMostScratchBytes) return Outcome::kMoved;
  Spin& spin = group.spins[n];
  WaveImage image;
  bool lds_changed = false;
  uint32_t since = 0;
  uint32_t next_image = 0;
  for (uint32_t steps = 0; steps < kMostSteps; ++steps) {
    if (since == next_image) {
      image.take(wave, launch_.vgprs);
      // So that each access of the loop is looked up once.
      forget_regions(wave);
      spin = Spin();
      lds_changed = false;
      since = 0;
      next_image = next_image == 0 ? kFirstImageAfter : next_image * 2;
    }
    const Inst& inst = *wave.resume;
    watch_.begin_instruction();
    step(n);
    const WaveExit state = group.states[n];
    if (state == WaveExit::kEnded || state == WaveExit::kFault || watch_.changed())
      return Outcome::kMoved;
    if (lds_changed_by(group, inst)) lds_changed = lds_changed_ = true;
    if (state == WaveExit::kBarrier) return Outcome::kBarrier;
    spin.low_pc = spin.low_pc == 0 ? inst.pc : std::min(spin.low_pc, inst.pc);
    spin.high_pc = std::max(spin.high_pc, inst.pc);
    note_poll(spin, inst);
    ++since;
    if (!lds_changed && wave.resume == image.resume && image.equals(wave)) return Outcome::kRepeats;
  }
  return Outcome::kMoved;
}

bool StandstillProbe::stands_still(ResidentGroup& group,
                                   const std::function<void(uint32_t)>& step) {
  struct GroupImage {
    std::vector<WaveImage> waves;
    std::vector<std::byte> lds;
  };
  const uint32_t count = group.shape.wave_count;
  group.spins.assign(count, Spin());
  lds_.assign(group.group.lds, group.group.lds + group.group.lds_bytes);
  GroupImage image;
  unsigned meetings = 0;
  unsigned next_image = 0;
  for (unsigned pass = 0; pass < kMostPasses; ++pass) {
    lds_changed_ = false;
    bool arrived = false;
    uint32_t waiting = 0;
    for (uint32_t n = 0; n < count; ++n) {
      const WaveExit state = group.states[n];
      if (state == WaveExit::kEnded) continue;
      if (state != WaveExit::kBarrier) {
        const Outcome outcome = run_wave(group, n, step);
        if (outcome == Outcome::kMoved) return false;
        arrived = arrived || outcome == Outcome::kBarrier;
      }
      waiting += group.states[n] == WaveExit::kBarrier;
    }
    if (waiting != group.live) {
      if (!arrived && !lds_changed_) return true;
      continue;
    }
    const auto same = [&] {
      for (uint32_t n = 0; n < count; ++n)
        if (group.states[n] != WaveExit::kEnded && !image.waves[n].equals(*group.waves[n]))
          return false;
      return image.lds == lds_;
    };
    if (!image.waves.empty() && same()) return true;
    if (meetings == next_image) {
      image.waves.resize(count);
      for (uint32_t n = 0; n < count; ++n)
        if (group.states[n] != WaveExit::kEnded)
          image.waves[n].take(*group.waves[n], launch_.vgprs);
      image.lds = lds_;
      next_image = next_image * 2 + 1;
    }
    ++meetings;
    for (WaveExit& state : group.states)
      if (state == WaveExit::kBarrier) state = WaveExit::kSlice;
  }
  return false;
}

// ---- the list ----

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

// Which waves stand at one place; they are in order.
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
      return fmt::format("in the global wave sync at {}, which {} more wave{} must reach",
                         place(wave.pc), wave.gws_missing, wave.gws_missing == 1 ? "" : "s");
    case WavePlace::Why::kRuns: return fmt::format("at {}", place(wave.pc));
    case WavePlace::Why::kRepeats: break;
  }
  if (wave.spin.poll_pc == 0)
    return fmt::format("in an infinite loop of {} bytes at {}",
                       wave.spin.high_pc - wave.spin.low_pc + 4, place(wave.pc));
  std::string text = fmt::format("repeating {}", place(wave.pc));
  if (wave.spin.address != 0) text += fmt::format(" of {}", buffer(wave.spin.address));
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
