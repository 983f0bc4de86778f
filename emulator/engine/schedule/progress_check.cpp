#include "emulator/engine/schedule/progress_check.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "emulator/engine/schedule/resident_group.h"

namespace gfxgraph::emulator {
namespace {

// Loops longer than about a quarter of this are not detected.
constexpr uint32_t kMostSteps = 20000;
constexpr uint32_t kFirstImageAfter = 64;
constexpr unsigned kMostPasses = 256;
constexpr uint64_t kMostScratchBytes = 1 << 20;
// Limit for a loop that is only reported.
constexpr uint32_t kMostReportedSteps = 4096;

void forget_regions(Wave& wave) {
  for (RegionCacheEntry& entry : wave.regions) entry = RegionCacheEntry();
  if (wave.upper != nullptr)
    for (RegionCacheEntry& entry : wave.upper->regions) entry = RegionCacheEntry();
}

uint32_t op_flags(const Inst& inst) { return op_info(inst.op).flags; }

}  // namespace

// The state of 32 lanes that determines their further execution.
struct ProgressCheck::HalfImage {
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

struct ProgressCheck::WaveImage {
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

bool ProgressCheck::lds_changed_by(const ResidentGroup& group, const Inst& inst) {
  if (lds_.empty()) return false;
  if (inst.advance != 0) {  // 0: a slot that jumps to another one
    if (inst.format != Format::kDs && inst.format != Format::kFlat) return false;
    constexpr uint32_t kAll = OpInfo::kStore | OpInfo::kAtomic | OpInfo::kLoad;
    if ((op_flags(inst) & kAll) == OpInfo::kLoad) return false;
  }
  if (std::memcmp(lds_.data(), group.group.lds, lds_.size()) == 0) return false;
  std::memcpy(lds_.data(), group.group.lds, lds_.size());
  return true;
}

// Prefers a load or atomic of global memory as the polling instruction: the first one in the code,
// so that waves at different points of one loop name the same instruction.
void ProgressCheck::note_instruction(SpinLoop& loop, const Inst& inst) const {
  loop.low_pc = loop.low_pc == 0 ? inst.pc : std::min(loop.low_pc, inst.pc);
  loop.high_pc = std::max(loop.high_pc, inst.pc);
  if ((op_flags(inst) & (OpInfo::kLoad | OpInfo::kAtomic)) == 0 || inst.format == Format::kSmem)
    return;
  const uint64_t address = watch_.address();
  if (loop.poll_pc != 0 && (address != 0) == (loop.address != 0) && inst.pc > loop.poll_pc) return;
  if (loop.address != 0 && address == 0) return;
  loop.poll_pc = inst.pc;
  loop.address = address;
}

ProgressCheck::Outcome ProgressCheck::run_wave(ResidentGroup& group, uint32_t n, const Step& step) {
  Wave& wave = *group.waves[n];
  if (wave.scratch_bytes > kMostScratchBytes) return Outcome::kMoved;
  SpinLoop& loop = group.loops[n];
  WaveImage image;
  bool lds_changed = false;
  uint32_t since = 0;
  uint32_t next_image = 0;
  for (uint32_t steps = 0; steps < kMostSteps; ++steps) {
    if (since == next_image) {
      image.take(wave, launch_.vgprs);
      // Forces one lookup for every access of the loop.
      forget_regions(wave);
      loop = SpinLoop();
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
    note_instruction(loop, inst);
    ++since;
    if (!lds_changed && wave.resume == image.resume && image.equals(wave)) return Outcome::kRepeats;
  }
  return Outcome::kMoved;
}

bool ProgressCheck::is_blocked(ResidentGroup& group, const Step& step) {
  struct GroupImage {
    std::vector<WaveImage> waves;
    std::vector<std::byte> lds;
  };
  const uint32_t count = group.shape.wave_count;
  group.loops.assign(count, SpinLoop());
  lds_.assign(group.group.lds, group.group.lds + group.group.lds_bytes);
  GroupImage image;
  unsigned barriers = 0;
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
    if (barriers == next_image) {
      image.waves.resize(count);
      for (uint32_t n = 0; n < count; ++n)
        if (group.states[n] != WaveExit::kEnded)
          image.waves[n].take(*group.waves[n], launch_.vgprs);
      image.lds = lds_;
      next_image = next_image * 2 + 1;
    }
    ++barriers;
    for (WaveExit& state : group.states)
      if (state == WaveExit::kBarrier) state = WaveExit::kSlice;
  }
  return false;
}

void ProgressCheck::find_loops(ResidentGroup& group, const Step& step) {
  group.loops.assign(group.shape.wave_count, SpinLoop());
  for (uint32_t n = 0; n < group.shape.wave_count; ++n)
    if (group.states[n] != WaveExit::kEnded && group.states[n] != WaveExit::kBarrier &&
        !group.waves[n]->gws_waits)
      group.loops[n] = loop_of(group, n, step);
}

SpinLoop ProgressCheck::loop_of(ResidentGroup& group, uint32_t n, const Step& step) {
  Wave& wave = *group.waves[n];
  SpinLoop loop;
  const Inst* begin = nullptr;
  uint32_t since = 0;
  uint32_t next_begin = 0;
  for (uint32_t steps = 0; steps < kMostReportedSteps; ++steps) {
    if (since == next_begin) {
      begin = wave.resume;
      forget_regions(wave);
      loop = SpinLoop();
      since = 0;
      next_begin = next_begin == 0 ? kFirstImageAfter : next_begin * 2;
    }
    const Inst& inst = *wave.resume;
    watch_.begin_instruction();
    step(n);
    const WaveExit state = group.states[n];
    if (state == WaveExit::kEnded || state == WaveExit::kFault || state == WaveExit::kBarrier)
      return {};
    note_instruction(loop, inst);
    ++since;
    if (wave.resume == begin) return loop;
  }
  return {};
}

}  // namespace gfxgraph::emulator
