// What orders waves: barriers, fences and atomics.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "check/race/race_check.h"

namespace gfxgraph::check {
namespace {

using emulator::Inst;
using emulator::Op;

bool is_grid_barrier(const Inst& inst) { return inst.op == Op::ds_gws_barrier; }

SharedClocks united(const SharedClocks& a, const SharedClocks& b) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr || *a == *b) return b;
  auto result = std::make_shared<ForeignClocks>();
  result->reserve(a->size() + b->size());
  auto x = a->begin();
  auto y = b->begin();
  while (x != a->end() || y != b->end()) {
    if (y == b->end() || (x != a->end() && x->first < y->first)) {
      result->push_back(*x++);
    } else if (x == a->end() || y->first < x->first) {
      result->push_back(*y++);
    } else {
      result->push_back({x->first, std::max(x->second, y->second)});
      ++x, ++y;
    }
  }
  if (*result == *a) return a;
  return result;
}

}  // namespace

bool RaceCheck::orders(const Inst& inst) {
  return inst.op == Op::s_barrier || is_grid_barrier(inst) || inst.op == Op::buffer_gl0_inv ||
         inst.op == Op::buffer_gl1_inv || (inst.op == Op::s_waitcnt_vscnt && inst.imm == 0);
}

void RaceCheck::hook(RaceWave& me, const Wave& wave, const Inst& inst) {
  if (me.group == nullptr) return;
  if (inst.op == Op::s_barrier) return arrive(me);
  if (inst.op == Op::s_waitcnt_vscnt) return fence(me);
  RaceGroup::Wave& own = me.group->wave[me.index];
  if (inst.op == Op::buffer_gl0_inv || inst.op == Op::buffer_gl1_inv) {
    // The former ends __syncthreads() and __threadfence_block(), the latter __threadfence().
    if (own.touched) own.after_barrier = false;
    if (inst.op == Op::buffer_gl1_inv) own.at_device_fence = own.at_fence;
    own.after_fence = own.lds_after_fence =
        inst.op == Op::buffer_gl1_inv || !std::exchange(own.after_barrier, false);
    return;
  }
  // A grid barrier; asked again while the wave waits.
  if (!own.arrived) {
    own.arrived = true;
    advance(own);
    grid_ = united(grid_, followed(*me.group, own, me.id));
  }
  if (wave.gws_waits) return;
  own.arrived = false;
  follow(me, grid_);
}

void RaceCheck::advance(RaceGroup::Wave& wave) {
  if (!std::exchange(wave.touched, false)) return;
  if (wave.clock == stamp::kMostClock)
    return note(
        fmt::format("launch {}: a wave passes more barriers and fences than racecheck counts: its "
                    "later hazards are not found",
                    launch_));
  ++wave.clock;
}

void RaceCheck::fence(RaceWave& me) {
  tell_host();
  RaceGroup::Wave& own = me.group->wave[me.index];
  const bool touched = own.touched;
  advance(own);
  if (touched) own.after_barrier = false;
  own.after_fence = own.lds_after_fence = true;
  own.fence = own.clock - 1;
  own.seen_at_fence = own.seen;
  if (!syncs_) return;
  if (!touched && !std::exchange(own.learned, false)) return;
  own.learned = false;
  own.at_fence = followed(*me.group, own, me.id);
  fences_[me.id].push_back({own.fence, own.at_fence});
}

void RaceCheck::arrive(RaceWave& me) {
  RaceGroup& group = *me.group;
  RaceGroup::Wave& own = group.wave[me.index];
  own.after_fence = own.lds_after_fence = false;
  own.arrived = true;
  if (++group.arrived == group.live) pass_barrier(group);
}

// What a wave has released to the device is there for all: an atomic or a store behind the barrier
// tells of it, whichever wave's it is, without another fence.
void RaceCheck::share_releases(RaceGroup& group) {
  SharedClocks all;
  for (uint32_t n = 0; n < group.waves; ++n) all = united(all, group.wave[n].at_device_fence);
  if (all == nullptr) return;
  for (uint32_t n = 0; n < group.waves; ++n) {
    RaceGroup::Wave& wave = group.wave[n];
    SharedClocks clocks = united(wave.at_fence, all);
    if (clocks == wave.at_fence || wave.ended) continue;
    fences_[group.first_wave + n].push_back({wave.clock - 1, clocks});
    wave.at_fence = std::move(clocks);
  }
}

// Waves that have ended count as if they had come.
void RaceCheck::pass_barrier(RaceGroup& group) {
  group.arrived = 0;
  std::array<uint32_t, kMostGroupWaves> seen;
  SharedClocks foreign;
  for (uint32_t n = 0; n < group.waves; ++n) {
    RaceGroup::Wave& wave = group.wave[n];
    seen[n] = wave.touched ? wave.clock : wave.clock - 1;
    if (!wave.ended) advance(wave);
    if (wave.foreign != nullptr) foreign = united(foreign, wave.foreign);
  }
  for (uint32_t n = 0; n < group.waves; ++n) {
    RaceGroup::Wave& wave = group.wave[n];
    for (uint32_t u = 0; u < group.waves; ++u) wave.seen[u] = std::max(wave.seen[u], seen[u]);
    if (wave.foreign != foreign) wave.foreign = foreign;
    wave.learned = true;
    wave.arrived = false;
    wave.after_barrier = true;
    if (group.watches) group.forget_loads(n);
  }
  if (syncs_) share_releases(group);
  group.forget_lds();
}

// Everything that happened before the wave's current clock.
SharedClocks RaceCheck::followed(const RaceGroup& group, const RaceGroup::Wave& wave,
                                 uint64_t id) const {
  auto own = std::make_shared<ForeignClocks>();
  for (uint32_t n = 0; n < group.waves; ++n) {
    const uint32_t clock = group.first_wave + n == id ? wave.clock - 1 : wave.seen[n];
    if (clock != 0) own->push_back({group.first_wave + n, clock});
  }
  return united(own, wave.foreign);
}

void RaceCheck::follow(RaceWave& me, const SharedClocks& clocks) {
  if (clocks == nullptr) return;
  RaceGroup& group = *me.group;
  RaceGroup::Wave& own = group.wave[me.index];
  for (uint32_t n = 0; n < group.waves; ++n) {
    const auto found = std::ranges::lower_bound(*clocks, group.first_wave + n, {},
                                                &ForeignClocks::value_type::first);
    if (found != clocks->end() && found->first == group.first_wave + n)
      own.seen[n] = std::max(own.seen[n], found->second);
  }
  own.foreign = united(own.foreign, clocks);
  own.learned = true;
}

// The wave reads what `write` wrote, so everything that the writing wave did before its last
// earlier fence comes first.
void RaceCheck::follow_write(RaceWave& me, uint64_t write) {
  const uint64_t id = stamp::wave(write);
  if (id == me.id || id < first_wave_) return;
  RaceGroup& group = *me.group;
  if (id - group.first_wave < group.waves) {
    const uint64_t n = id - group.first_wave;
    const RaceGroup::Wave& other = group.wave[n];
    RaceGroup::Wave& own = group.wave[me.index];
    if (other.fence != 0 && stamp::clock(write) > other.fence) {
      for (uint32_t u = 0; u < group.waves; ++u)
        own.seen[u] = std::max(own.seen[u], other.seen_at_fence[u]);
      own.seen[n] = std::max(own.seen[n], other.fence);
      own.learned = true;
    }
  }
  const auto found = fences_.find(id);
  if (found == fences_.end()) return;
  for (auto one = found->second.rbegin(); one != found->second.rend(); ++one) {
    if (one->clock >= stamp::clock(write)) continue;
    return follow(me, one->clocks);
  }
}

void RaceCheck::synchronise(Access& access, uint64_t address, uint64_t write) {
  RaceWave& me = access.me;
  if (!access.lds && !syncs_) return;
  const RaceGroup& group = *me.group;
  // A load that the compiler made for the workgroup only may give other workgroups' old values.
  if (access.kind == Kind::kGroupLoad && stamp::wave(write) - group.first_wave >= group.waves)
    return;
  const bool returns = learns(access.kind) || access.inst.dst != emulator::operand::kNone;
  if (returns) follow_write(me, write);
  if (access.lds && returns) acquire_lds(me, static_cast<uint32_t>(address / 4));
  if (access.lds) return;
  const auto found = atomics_.find(address);
  if (returns && access.kind != Kind::kGroupLoad && found != atomics_.end())
    follow(me, found->second);
  if (access.kind != Kind::kAtomic) return;
  const RaceGroup::Wave& own = me.group->wave[me.index];
  if (own.at_fence == nullptr) return;
  SharedClocks& clocks = found != atomics_.end() ? found->second : atomics_[address];
  clocks = united(clocks, own.at_fence);
}

// The waves that see this write know what its wave knew.
void RaceCheck::release_lds(const Access& access, uint32_t dword) {
  RaceGroup& group = *access.me.group;
  const RaceGroup::Wave& own = group.wave[access.me.index];
  RaceGroup::Release& release = group.releases[dword];
  // An atomic goes on with what was written before it.
  if (access.kind != Kind::kAtomic) release = {};
  const uint32_t mine = access.me.index;
  for (uint32_t u = 0; u < group.waves; ++u)
    release.lds[u] = std::max({release.lds[u], own.lds_seen[u], own.seen[u]});
  release.lds[mine] = std::max(release.lds[mine], own.clock);
  const auto& seen = cu_mode_ ? own.seen : own.seen_at_fence;
  for (uint32_t u = 0; u < group.waves; ++u) release.seen[u] = std::max(release.seen[u], seen[u]);
  release.seen[mine] = std::max(release.seen[mine], cu_mode_ ? own.clock : own.fence);
  release.foreign = united(release.foreign, own.at_fence);
}

void RaceCheck::acquire_lds(const RaceWave& me, uint32_t dword) {
  RaceGroup& group = *me.group;
  const auto found = group.releases.find(dword);
  if (found == group.releases.end()) return;
  RaceGroup::Wave& own = group.wave[me.index];
  for (uint32_t u = 0; u < group.waves; ++u) {
    own.lds_seen[u] = std::max(own.lds_seen[u], found->second.lds[u]);
    own.seen[u] = std::max(own.seen[u], found->second.seen[u]);
  }
  own.foreign = united(own.foreign, found->second.foreign);
  own.learned = true;
}

// A wave that has seen a write comes after that write, if not after others of its wave.
void RaceCheck::remember_read(const Access& access, uint64_t address, uint64_t write) {
  RaceGroup& group = *access.me.group;
  const bool foreign = stamp::wave(write) - group.first_wave >= group.waves;
  if (access.kind == Kind::kGroupLoad && foreign) return;
  auto& places = access.lds ? group.sync_reads : sync_reads_;
  if (places.size() >= SyncReads::kMost && !places.contains(address)) return;
  SyncReads& reads = places[address];
  if (reads.write != write) reads = {.write = write, .readers = {}};
  const uint32_t clock = group.wave[access.me.index].clock;
  const auto [reader, is_new] = reads.readers.try_emplace(access.me.id);
  if (is_new) reader->second.clock = clock;
  if (access.kind == Kind::kAtomic) reader->second.swaps = true;
}

// Whether this wave, or one that it follows, has read what `write` wrote.
bool RaceCheck::has_read(const Access& access, uint64_t address, uint64_t write) const {
  const auto& places = access.lds ? access.me.group->sync_reads : sync_reads_;
  if (places.empty()) return false;
  const auto found = places.find(address);
  if (found == places.end() || found->second.write != write) return false;
  return std::ranges::any_of(found->second.readers, [&](const auto& reader) {
    return ordered(access, stamp::make(reader.first, reader.second.clock));
  });
}

bool RaceCheck::has_swapped(const Access& access, uint64_t address) const {
  const auto& places = access.lds ? access.me.group->sync_reads : sync_reads_;
  if (places.empty()) return false;
  const auto found = places.find(address);
  if (found == places.end()) return false;
  const auto reader = found->second.readers.find(access.me.id);
  return reader != found->second.readers.end() && reader->second.swaps;
}

bool RaceCheck::ordered(const Access& access, uint64_t other) const {
  const uint64_t id = stamp::wave(other);
  const RaceWave& me = access.me;
  if (id == me.id || id == 0) return true;
  const RaceGroup& group = *me.group;
  const RaceGroup::Wave& own = group.wave[me.index];
  if (id - group.first_wave < group.waves) {
    const uint64_t n = id - group.first_wave;
    return own.seen[n] >= stamp::clock(other) ||
           (access.lds && own.lds_seen[n] >= stamp::clock(other));
  }
  if (access.lds) return true;  // of a workgroup that had this LDS before
  if (id < first_wave_) return ordered_after(other);
  if (own.foreign == nullptr) return false;
  const auto found =
      std::ranges::lower_bound(*own.foreign, id, {}, &ForeignClocks::value_type::first);
  return found != own.foreign->end() && found->first == id && found->second >= stamp::clock(other);
}

}  // namespace gfxgraph::check
