#include "check/race/race_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <vector>

namespace gfxgraph::check {
namespace {

using emulator::Inst;
using emulator::Op;

// A compare-and-swap loop begins with a plain load, a few instructions before.
constexpr unsigned kMostBetween = 48;

constexpr FindingClass kClasses[] = {FindingClass::kR1, FindingClass::kR2, FindingClass::kR3,
                                     FindingClass::kR4, FindingClass::kR5, FindingClass::kR6,
                                     FindingClass::kR7, FindingClass::kR10};

size_t class_index(FindingClass finding_class) {
  return static_cast<size_t>(std::ranges::find(kClasses, finding_class) - std::begin(kClasses));
}

bool is_end(Op op) { return op == Op::s_endpgm || op == Op::s_setpc_b64 || op == Op::s_swappc_b64; }

}  // namespace

// ---- launches, workgroups and waves ----

void RaceCheck::next_launch(uint64_t launch, uint32_t kernel, const RaceCode& code, Work work) {
  report_pending();
  launch_ = launch;
  kernel_ = kernel;
  code_ = code;
  work_ = std::move(work);
  if (!work_.forget) return;
  shadow_.recycle();
  launches_.clear();
}

// Gives the next stamps of waves to this work.
void RaceCheck::take_waves(uint64_t waves, Done done) {
  if (next_wave_ + waves >= stamp::kMostWaves) {
    shadow_.clear();
    for (auto& group : spare_groups_) std::ranges::fill(group->lds, 0);
    launches_.clear();
    work_.unordered.clear();
    next_wave_ = 1;
    note(fmt::format("launch {}: racecheck forgot the accesses of earlier launches", launch_));
  }
  first_wave_ = next_wave_;
  next_wave_ += waves;
  done.first_wave = first_wave_;
  done.work = work_.number;
  done.event = work_.event;
  launches_.push_back(done);
  uint64_t oldest = first_wave_;
  for (const Done& one : launches_) {
    if (std::ranges::find(work_.unordered, one.work) == work_.unordered.end()) continue;
    oldest = one.first_wave;
    break;
  }
  dead_ = stamp::make(oldest, 0);
}

// Returns nullptr if the work was forgotten.
const RaceCheck::Done* RaceCheck::done_by(uint64_t stamped) const {
  const auto after =
      std::ranges::upper_bound(launches_, stamp::wave(stamped), {}, &Done::first_wave);
  return after == launches_.begin() ? nullptr : &*std::prev(after);
}

// Whether the current work follows the earlier work that left this stamp.
bool RaceCheck::ordered_after(uint64_t stamped) const {
  const Done* const done = done_by(stamped);
  return done == nullptr || std::ranges::find(work_.unordered, done->work) == work_.unordered.end();
}

void RaceCheck::dispatch_begin(const emulator::DispatchInfo& info) {
  regions_ = memory_.snapshot();
  const emulator::Dispatch& dispatch = *info.dispatch;
  uint64_t items = 1;
  unsigned __int128 groups = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint64_t size = std::max<uint64_t>(1, dispatch.workgroup_size[axis]);
    group_count_[axis] = (dispatch.grid_size[axis] + size - 1) / size;
    groups *= group_count_[axis];
    items *= size;
  }
  const uint64_t lanes = info.descriptor->wave32() ? 32 : 64;
  group_waves_ = static_cast<uint32_t>((items + lanes - 1) / lanes);
  kernarg_ = dispatch.kernarg_address;
  constexpr uint32_t kWgpMode = 1u << 29;
  cu_mode_ = (info.descriptor->compute_pgm_rsrc1 & kWgpMode) == 0;
  syncs_ = code_.fences || (code_.group_fences && group_waves_ > 1);
  const auto [known, is_new] = facts_by_code_.try_emplace(code_.begin);
  if (is_new) known->second = race_facts(*regions_, code_.begin, code_.end);
  facts_ = &known->second;
  follows_lds_ = facts_->follows_lds;
  sync_reads_.clear();
  log_reads_ = true;
  for (auto& [workgroup, group] : groups_) spare_groups_.push_back(std::move(group));
  groups_.clear();
  atomics_.clear();
  fences_.clear();
  grid_.reset();
  on_ = groups * group_waves_ < stamp::kMostWaves - 1 && group_waves_ <= kMostGroupWaves;
  if (!on_) return note(fmt::format("launch {}: too many waves for racecheck", launch_));
  take_waves(static_cast<uint64_t>(groups) * group_waves_, {.launch = launch_,
                                                            .kernel = kernel_,
                                                            .group_waves = group_waves_,
                                                            .group_count = group_count_});
}

void RaceCheck::wave_begin(RaceWave& me, const Wave& wave, const emulator::WaveInfo& info) {
  me = {};
  if (!on_) return;
  std::unique_ptr<RaceGroup>& group = groups_[wave.group];
  if (group == nullptr) {
    if (spare_groups_.empty()) {
      group = std::make_unique<RaceGroup>();
    } else {
      group = std::move(spare_groups_.back());
      spare_groups_.pop_back();
    }
    group->number = info.workgroup[0] +
                    group_count_[0] * (info.workgroup[1] + group_count_[1] * info.workgroup[2]);
    group->first_wave = first_wave_ + group->number * group_waves_;
    group->waves = wave.group->wave_count;
    group->live = group->waves;
    group->arrived = 0;
    group->begin_lds((wave.group->lds_requested + 3) / 4);
    group->watches = false;
    for (uint32_t n = 0; n < group->waves; ++n) group->wave[n].begin(group->waves);
  }
  me.group = group.get();
  me.index = info.wave;
  me.id = group->first_wave + info.wave;
}

void RaceCheck::wave_end(RaceWave& me, const Wave& wave) {
  if (me.group == nullptr || wave.first_lane != 0) return;
  RaceGroup& group = *me.group;
  me.group = nullptr;
  group.wave[me.index].ended = true;
  if (--group.live == 0) {
    const auto found = groups_.find(wave.group);
    if (found == groups_.end()) return;
    spare_groups_.push_back(std::move(found->second));
    groups_.erase(found);
  } else if (group.arrived == group.live) {
    pass_barrier(group);
  }
}

// ---- instructions ----

uint32_t RaceCheck::find_place(const Inst& inst, bool after_fence, uint64_t key, uint32_t at) {
  constexpr uint32_t kMostProbes = 32;
  for (uint32_t n = 0; n < kMostProbes; ++n) {
    Place& place = places_[(at + n) % stamp::kSites];
    if (place.key == key) return (at + n) % stamp::kSites;
    if (place.key != 0) continue;
    place.key = key;
    place.kind = kind_of(inst, after_fence);
    place.write = (emulator::op_info(inst.op).flags & emulator::OpInfo::kLoad) == 0;
    place.op = inst.op;
    if ((key & kToLds) != 0)
      place = {.key = key, .kind = Kind::kToLds, .write = true, .op = inst.op};
    if (learns(place.kind)) {
      place.special |= kLearns;
      emulator::CodeReader reader(*regions_);
      if (!is_poll(reader, inst))
        for (const Update& update : uses_of(reader, facts_->calls, inst).updates)
          stores_back_.insert({update.store_pc, false});
    }
    if (!place.write && place.kind != Kind::kAtomic) watch_place(place, inst);
    return (at + n) % stamp::kSites;
  }
  // Full: the oldest stamps now name this instruction.
  note("racecheck saw more instructions than it can distinguish: findings may name wrong places");
  at = std::max(at, kTransferPlaces);
  places_[at] = {};
  return find_place(inst, after_fence, key, at);
}

RaceCheck::Kind RaceCheck::kind_of(const Inst& inst, bool after_fence) const {
  const uint32_t flags = emulator::op_info(inst.op).flags;
  const bool ds = inst.format == emulator::Format::kDs;
  if ((flags & emulator::OpInfo::kAtomic) != 0) return Kind::kAtomic;
  if ((flags & emulator::OpInfo::kLoad) != 0) {
    constexpr uint32_t kCoherent = emulator::mmod::kGlc | emulator::mmod::kDlc;
    const bool vector = !ds && inst.format != emulator::Format::kSmem;
    if (vector && (inst.mods & kCoherent) == kCoherent) return Kind::kSyncLoad;
    if (vector && (inst.mods & kCoherent) != 0) return Kind::kGroupLoad;
    if (facts_->polls.contains(inst.pc)) return ds ? Kind::kSyncLoad : Kind::kGroupLoad;
    return begins_compare_loop(inst) ? Kind::kCompareLoad : Kind::kPlain;
  }
  if (!after_fence) return Kind::kPlain;
  const auto back = stores_back_.find(inst.pc);
  return back == stores_back_.end() || !back->second ? Kind::kStoreAfterFence : Kind::kPlain;
}

// The load that a compiler puts before a loop around a compare-and-swap of the same address.
bool RaceCheck::begins_compare_loop(const Inst& inst) const {
  const bool scalar = inst.format == emulator::Format::kSmem;
  const emulator::Region* const region = regions_->find(inst.pc);
  if (region == nullptr) return false;
  struct Address {
    uint16_t vector, scalar;
    int64_t offset;
    bool operator==(const Address&) const = default;
  };
  const auto address_of = [](const Inst& one) -> Address {
    const bool ds = one.format == emulator::Format::kDs;
    return {one.src[0], ds ? emulator::operand::kNone : one.src[2], one.imm};
  };
  std::vector<Address> loaded;  // by later loads
  uint64_t pc = inst.next_pc();
  for (unsigned n = 0; n < kMostBetween && region->contains(pc, 4); ++n) {
    uint32_t words[5] = {};
    const uint64_t offset = pc - region->address;
    const size_t available = std::min<uint64_t>(5, (region->mapped_bytes - offset) / 4);
    std::memcpy(words, region->host + offset, available * 4);
    Inst next;
    if (emulator::decode(words, available, pc, next) != emulator::DecodeStatus::kOk) return false;
    // Scalar loads have their address in other registers, but the loop begins with a load that has
    // it in those of the swap, if there is one.
    if (is_compare_and_swap(next.op)) {
      if (scalar) return std::ranges::find(loaded, address_of(next)) == loaded.end();
      if (address_of(inst) == address_of(next)) return true;
    }
    constexpr uint32_t kAccess = emulator::OpInfo::kLoad | emulator::OpInfo::kAtomic;
    if (scalar && next.format >= emulator::Format::kDs &&
        (emulator::op_info(next.op).flags & kAccess) == emulator::OpInfo::kLoad)
      loaded.push_back(address_of(next));
    // A later load of the place is the one that the loop begins with.
    const bool again = next.format == inst.format && next.op == inst.op &&
                       next.src[0] == inst.src[0] && next.src[2] == inst.src[2] &&
                       next.imm == inst.imm;
    if (again || is_end(next.op)) return false;
    pc = next.next_pc();
  }
  return false;
}

// ---- cells ----

void RaceCheck::make_room_for_reads(RaceGroup& group) {
  group.reads = std::make_unique<LdsRead[]>(RaceGroup::kMostReads);
}

void RaceCheck::record_reads(RaceGroup& group) {
  log_reads_ = false;
  for (size_t n = 0; n < group.read_count; ++n) {
    const LdsRead& read = group.reads[n];
    for (uint32_t rest = read.lanes; rest != 0; rest &= rest - 1) {
      const uint32_t address = read.address[std::countr_zero(rest)];
      if (lds_row(group, address, read.bytes, false, read.mine)) continue;
      // A part is outside the workgroup's LDS: not a hazard, because nothing was written there.
      for (uint32_t at = 0; at < read.bytes; at += 4)
        lds_row(group, address + at, 4, false, read.mine);
    }
  }
  group.read_count = 0;
}

void RaceCheck::each_lane(RaceWave& me, const Wave& wave, const Inst& inst,
                          const emulator::MemoryEvent& event, uint32_t lanes, uint32_t place) {
  RaceGroup::Wave& own = me.group->wave[me.index];
  own.touched = true;
  const bool store = event.kind == emulator::AccessKind::kStore;
  Access access{me,
                wave,
                inst,
                &event,
                places_[place].kind,
                event.kind != emulator::AccessKind::kLoad,
                event.space == emulator::Space::kLds,
                stamp::make(me.id, own.clock) | uint64_t{place} << stamp::kSiteShift};
  if (store) (access.lds ? own.lds_after_fence : own.after_fence) = false;
  if (access.kind == Kind::kAtomic && !access.lds) tell_host();
  if (access.kind == Kind::kAtomic && facts_->compares) {
    if (me.group->watches && is_compare_and_swap(inst.op))
      confirm_compare(me, event, lanes, wave.first_lane);
    watch(me, wave, place, event.address, lanes, event.access_bytes, access.lds);
  }
  access.releases = access.lds && access.kind != Kind::kToLds && follows_lds_ && access.write &&
                    (access.kind == Kind::kAtomic || releases(lanes));
  uint64_t before = ~uint64_t{0};
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t address = event.address[lane];
    // The same bytes again: only another value would be new.
    if (std::exchange(before, address) == address && !store) continue;
    bytes(access, lane, address, event.access_bytes);
  }
  if (access.releases) {
    own.released = true;
    if (cu_mode_) leave_release(own, Kind::kPlain);
  }
  report(access);
}

void RaceCheck::scalar_load(RaceWave& me, const Wave& wave, const Inst& inst, uint64_t address,
                            uint32_t count) {
  if (me.group == nullptr) return;
  // Kernel arguments, which are never written.
  constexpr uint64_t kNear = 4096;
  if (address - kernarg_ < kNear) return;
  if (const emulator::Region* const region = regions_->find(address);
      region == nullptr || region->tag == 0)
    return;
  RaceGroup::Wave& own = me.group->wave[me.index];
  own.touched = true;
  const uint32_t place = place_of(inst, false);
  if ((places_[place].special & ~kLearns) != 0) watch(me, wave, place, &address, 0, count, false);
  Access access{me,
                wave,
                inst,
                nullptr,
                places_[place].kind,
                false,
                false,
                stamp::make(me.id, own.clock) | uint64_t{place} << stamp::kSiteShift};
  bytes(access, 0, address, count);
  report(access);
}

void RaceCheck::bytes(Access& access, unsigned lane, uint64_t address, uint32_t count) {
  while (count != 0) {
    const auto into = static_cast<uint32_t>(address & 3);
    const uint32_t here = std::min(4 - into, count);
    const uint64_t mask = ((uint64_t{1} << here) - 1) << into;
    if (access.lds) {
      if (address / 4 < access.me.group->lds_dwords) {
        access.me.group->touch_lds(address / 4, 1);
        if (access.kind == Kind::kAtomic) access.me.group->lds_atomics = true;
        dword(access, lane, access.me.group->lds_cells(), address / 4, address, mask);
      }
    } else {
      RaceShadow::Page* const page = shadow_.page(address);
      const uint64_t at = address % RaceShadow::kPageBytes;
      if (page == nullptr || !shadow_.split(*page, at, access.kind == Kind::kAtomic)) return;
      dword(access, lane, page->cells(at), at % RaceShadow::kBlockBytes / 4, address, mask);
    }
    address += here;
    count -= here;
  }
}

void RaceCheck::dword(Access& access, unsigned lane, RaceCells cells, size_t at, uint64_t address,
                      uint64_t mask) {
  uint64_t mine = access.mine | mask;
  uint64_t& write = cells.write[at];
  uint64_t& read = cells.read[at];
  uint64_t& reader = cells.reader[at];
  const bool atomic = access.kind == Kind::kAtomic;
  const uint64_t place_in_memory =
      (access.lds ? address : shadow_.first_address(address)) & ~uint64_t{3};
  if (learns(access.kind) || atomic) {
    synchronise(access, place_in_memory, write);
    if (cells.atomic != nullptr) synchronise(access, place_in_memory, cells.atomic[at]);
    if (!atomic || access.inst.dst != emulator::operand::kNone)
      remember_read(access, place_in_memory, write);
  }
  const Kind kind = access.kind;
  // The wave changed this place by an atomic before, so its store counts as one, too.
  if (kind == Kind::kPlain && access.write && cells.atomic != nullptr &&
      (stamp::wave(cells.atomic[at]) == access.me.id ||
       stamp::wave(cells.atomic_of_other[at]) == access.me.id ||
       has_swapped(access, place_in_memory))) {
    const uint64_t place = place_of(access.inst, true);
    mine = (mine & ~(uint64_t{stamp::kSites - 1} << stamp::kSiteShift)) | place
                                                                              << stamp::kSiteShift;
    access.kind = Kind::kStoreAfterFence;
  }
  compare(access, lane, write, address, mask, true);
  // Two times at the same clock count as one.
  const auto joined = [&](uint64_t before) {
    constexpr unsigned kTime = stamp::kClockShift;
    return mine | (before >> kTime == mine >> kTime ? stamp::bytes(before) : 0);
  };
  const auto record = [&](uint64_t& last, uint64_t& of_other) {
    if (stamp::wave(last) != access.me.id) of_other = last;
    last = joined(last);
  };
  if (!atomic && cells.atomic != nullptr) {
    compare(access, lane, cells.atomic[at], address, mask, true);
    compare(access, lane, cells.atomic_of_other[at], address, mask, true);
  }
  if (!access.write) return record(read, reader);
  compare(access, lane, read, address, mask, false);
  compare(access, lane, reader, address, mask, false);
  if (access.releases) release_lds(access, static_cast<uint32_t>(at));
  if (atomic) return record(cells.atomic[at], cells.atomic_of_other[at]);
  write = joined(write);
  access.kind = kind;
  if (auto& reads = access.lds ? access.me.group->sync_reads : sync_reads_; !reads.empty())
    reads.erase(place_in_memory);
  if (mask != stamp::kAllBytes) return;
  read = reader = 0;
  if (cells.atomic != nullptr) cells.atomic[at] = cells.atomic_of_other[at] = 0;
}

// Two accesses of a launch that are no hazard, although nothing orders them.
bool RaceCheck::may_meet(Kind a, Kind b, bool same_group) {
  if (a == Kind::kToLds || b == Kind::kToLds) return false;
  if (a == Kind::kSyncLoad || b == Kind::kSyncLoad) return true;
  if (same_group && (a == Kind::kGroupLoad || b == Kind::kGroupLoad)) return true;
  const auto atomic = [](Kind kind) {
    return kind == Kind::kAtomic || kind == Kind::kStoreAfterFence;
  };
  return (atomic(a) && (atomic(b) || b == Kind::kCompareLoad)) ||
         (a == Kind::kCompareLoad && atomic(b));
}

void RaceCheck::compare(Access& access, unsigned lane, uint64_t other, uint64_t address,
                        uint64_t mask, bool other_writes) {
  if ((stamp::bytes(other) & mask) == 0 || ordered(access, other)) return;
  const Kind theirs = places_[stamp::site(other)].kind;
  const bool other_launch = stamp::wave(other) < first_wave_;
  if (!other_launch) {
    const RaceGroup& group = *access.me.group;
    const bool same_group = stamp::wave(other) - group.first_wave < group.waves;
    if (may_meet(access.kind, theirs, same_group)) return;
    if (access.write && other_writes && !stores_back_.contains(access.inst.pc) &&
        has_read(access, address & ~uint64_t{3}, other))
      return;
  }
  FindingClass found = FindingClass::kR6;
  if (of_transfer(places_[stamp::site(other)])) {
    found =
        stamp::site(other) == place_of(Part::kAllocate) ? FindingClass::kR10 : FindingClass::kR7;
  } else if (!other_launch) {
    const bool both_write = access.write && other_writes;
    if (both_write && same_value(access, lane, address))
      found = FindingClass::kR5;
    else if (access.lds)
      found = both_write ? FindingClass::kR2 : FindingClass::kR1;
    else
      found = both_write ? FindingClass::kR4 : FindingClass::kR3;
  }
  const size_t n = class_index(found);
  if (access.lanes[n] == 0) {
    access.other[n] = other;
    access.address[n] = address;
  }
  access.lanes[n] |= 1u << lane;
}

// Whether a plain store writes the value that is already there.
bool RaceCheck::same_value(const Access& access, unsigned lane, uint64_t address) const {
  if (access.kind == Kind::kAtomic || access.event == nullptr) return false;
  // An image may hold converted values, not those of the registers.
  if (access.inst.format == emulator::Format::kMimg) return false;
  const uint64_t start = access.event->address[lane];
  const uint64_t into = address - start;
  const uint64_t count = std::min<uint64_t>(4 - (address & 3), access.event->access_bytes - into);
  uint8_t fresh[kMostStored] = {};
  if (!stored_bytes(access.wave, access.inst, *access.event, lane, fresh)) return false;
  const std::byte* const old = memory_at(access.wave, access.lds, address, count);
  return old != nullptr && std::memcmp(old, fresh + into, count) == 0;
}

bool RaceCheck::stores_second_place(const Wave& wave, const Inst& inst,
                                    const emulator::MemoryEvent& event, unsigned lane) {
  const uint32_t flags = emulator::op_info(inst.op).flags;
  if ((flags & emulator::OpInfo::kTwoAddresses) == 0) return false;
  const uint32_t size = event.access_bytes;
  const uint32_t unit = (flags & emulator::OpInfo::kStride64) != 0 ? size * 64 : size;
  const uint32_t base = wave.v(inst.src[0]).lane[lane];
  const uint32_t first = base + (static_cast<uint32_t>(inst.imm) & 0xff) * unit;
  return static_cast<uint32_t>(event.address[lane]) != first;
}

bool RaceCheck::stored_bytes(const Wave& wave, const Inst& inst, const emulator::MemoryEvent& event,
                             unsigned lane, uint8_t (&bytes)[kMostStored]) {
  const bool second = stores_second_place(wave, inst, event, lane);
  const uint16_t data = second ? inst.src[2] : inst.src[1];
  const bool high = (emulator::op_info(inst.op).flags & emulator::OpInfo::kHighHalf) != 0;
  const uint32_t shift = high ? 16 : 0;
  if (!emulator::operand::is_vgpr(data)) return false;
  for (unsigned d = 0; d < (event.access_bytes + 3u) / 4; ++d) {
    const uint32_t value = wave.v(static_cast<uint16_t>(data + d)).lane[lane] >> shift;
    std::memcpy(bytes + 4 * d, &value, 4);
  }
  return true;
}

const std::byte* RaceCheck::memory_at(const Wave& wave, bool lds, uint64_t address,
                                      uint64_t count) const {
  if (lds) return wave.group->lds + address;
  const emulator::Region* const region = regions_->find(address);
  if (region == nullptr || !region->contains(address, count)) return nullptr;
  return region->host + (address - region->address);
}

void RaceCheck::report(const Access& access) {
  const RaceWave& me = access.me;
  for (size_t n = 0; n < std::size(kClasses); ++n) {
    if (access.lanes[n] == 0) continue;
    const uint64_t other = access.other[n];
    const Place& theirs = places_[stamp::site(other)];
    LaneEvent event = event_here(me, access.inst, kClasses[n]);
    event.lanes = access.event == nullptr ? 0 : uint64_t{access.lanes[n]} << access.wave.first_lane;
    event.exec = access.event == nullptr ? access.wave.exec() : access.event->exec;
    event.address = access.address[n];
    event.access_bytes = access.event == nullptr ? 4 : access.event->access_bytes;
    event.write = access.write;
    event.space = access.lds ? emulator::Space::kLds : emulator::Space::kGlobal;
    event.space_bytes = access.lds ? access.wave.group->lds_requested : 0;
    event.address_class = access.lds ? "LDS" : "in its buffer";
    event.other_pc = of_transfer(theirs) ? 0 : theirs.key & ~uint64_t{3};
    const char* const what = theirs.kind == Kind::kAtomic ? "atomic"
                             : theirs.write               ? "write"
                                                          : "read";
    if (kClasses[n] == FindingClass::kR10) {
      event.detail = "nothing orders it after " + allocation_text(done_by(other));
    } else if (stamp::wave(other) < first_wave_) {
      event.detail =
          fmt::format("nothing orders it after the {} of {}", what, done_text(done_by(other)));
    } else {
      const uint64_t wave = stamp::wave(other) - first_wave_;
      const uint64_t group = wave / group_waves_;
      event.detail =
          group == me.group->number
              ? fmt::format("nothing orders it after the {} of wave {}", what, wave % group_waves_)
              : fmt::format("nothing orders it after the {} of workgroup ({},{},{}) wave {}", what,
                            group % group_count_[0], group / group_count_[0] % group_count_[1],
                            group / group_count_[0] / group_count_[1], wave % group_waves_);
    }
    // A load whose value a compare-and-swap tests is no hazard to atomics; that may come later.
    const bool of_read = kClasses[n] == FindingClass::kR1 || kClasses[n] == FindingClass::kR3;
    const auto mine = stamp::site(access.mine);
    const uint32_t load = access.write ? stamp::site(other) : mine;
    const uint32_t atomic = access.write ? mine : stamp::site(other);
    if (of_read && (places_[load].special & kForCompare) != 0 &&
        places_[atomic].kind == Kind::kAtomic && pending_.size() < kMostPending)
      pending_.push_back({load, std::move(event)});
    else
      sites_.add(kernel_, event);
  }
}

LaneEvent RaceCheck::event_here(const RaceWave& me, const Inst& inst, FindingClass found) const {
  LaneEvent event;
  event.finding_class = found;
  event.place.launch = launch_;
  event.place.group = me.group->number;
  event.place.wave = me.index;
  for (size_t axis = 0; axis < 3; ++axis) {
    uint64_t number = me.group->number;
    for (size_t before = 0; before < axis; ++before) number /= group_count_[before];
    event.place.workgroup[axis] = static_cast<uint32_t>(number % group_count_[axis]);
  }
  event.pc = inst.pc;
  event.op = inst.op;
  return event;
}

void RaceCheck::note(const std::string& text) {
  constexpr size_t kMostNotes = 20;
  if (notes_.size() < kMostNotes && std::ranges::find(notes_, text) == notes_.end())
    notes_.push_back(text);
}

}  // namespace gfxgraph::check
