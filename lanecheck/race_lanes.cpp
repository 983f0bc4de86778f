// What loads were for, told by later instructions of their waves: compare-and-swap loops begin with
// a plain load, and lanes that change the same bytes together lose changes.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "lanecheck/race_check.h"

namespace gfxgraph::lanecheck {

void RaceCheck::watch_place(Place& place, const Inst& inst) {
  using emulator::Format;
  switch (inst.format) {
    case Format::kSmem:
    case Format::kDs:
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kMubuf:
    case Format::kMtbuf: break;
    default: return;
  }
  if (facts_->compares) place.special |= kForCompare;
  if (place.kind != Kind::kPlain) return;
  emulator::CodeReader reader(*regions_);
  std::vector<Update> updates = updates_of(reader, inst);
  if (updates.empty()) return;
  place.special |= kForUpdate;
  place.updates = static_cast<uint32_t>(updates_.size());
  updates_.push_back(std::move(updates));
}

// `lanes` 0: a scalar load of all bytes from address[0] on.
void RaceCheck::watch(RaceWave& me, const Wave& wave, uint32_t place, const uint64_t* address,
                      uint32_t lanes, uint32_t bytes, bool lds) {
  RaceGroup& group = *me.group;
  if (!group.watches) {
    if (group.recent == nullptr) group.recent = std::make_unique<RecentLoads[]>(kMostGroupWaves);
    for (uint32_t n = 0; n < group.waves; ++n) group.recent[n].count = 0;
    group.watches = true;
  }
  RecentLoads& recent = group.recent[me.index];
  RecentLoad& load = recent.load[recent.count++ % RecentLoads::kMost];
  load.place = place;
  load.lanes = lanes;
  load.bytes = bytes;
  load.first_lane = static_cast<uint16_t>(wave.first_lane);
  load.lds = lds;
  std::memcpy(load.address, address, (lanes == 0 ? 1 : emulator::kLanes) * sizeof *address);
}

// The last load of an address before a compare-and-swap of it only guesses the value.
void RaceCheck::confirm_compare(RaceWave& me, const emulator::MemoryEvent& event, uint32_t lanes,
                                uint32_t first_lane) {
  const RecentLoads& recent = me.group->recent[me.index];
  const uint32_t kept = std::min(recent.count, RecentLoads::kMost);
  const bool lds = event.space == emulator::Space::kLds;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (uint32_t n = 1; n <= kept; ++n) {
      const RecentLoad& load = recent.load[(recent.count - n) % RecentLoads::kMost];
      const bool same =
          load.lds == lds &&
          (load.lanes == 0 ? event.address[lane] - load.address[0] < load.bytes
                           : load.first_lane == first_lane && (load.lanes >> lane & 1) != 0 &&
                                 load.address[lane] == event.address[lane]);
      if (!same) continue;
      if (Place& place = places_[load.place]; place.kind == Kind::kPlain)
        place.kind = Kind::kCompareLoad;
      break;
    }
  }
}

void RaceCheck::report_pending() {
  for (const Pending& one : pending_)
    if (places_[one.place].kind != Kind::kCompareLoad) sites_.add(kernel_, one.event);
  pending_.clear();
}

// The lanes that loaded where they store now, and not alone.
uint32_t RaceCheck::shared_lanes(const RecentLoad& load, const uint64_t* address, uint32_t lanes) {
  uint32_t same = 0;
  if (load.lanes == 0) {
    for (unsigned l = 0; l < emulator::kLanes; ++l)
      same |= static_cast<uint32_t>(address[l] - load.address[0] < load.bytes) << l;
  } else {
    for (unsigned l = 0; l < emulator::kLanes; ++l)
      same |= static_cast<uint32_t>(address[l] == load.address[l]) << l;
    same &= load.lanes;
  }
  same &= lanes;
  if ((same & (same - 1)) == 0) return 0;
  uint32_t shared = 0;
  for (uint32_t rest = same; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    uint32_t there = 0;
    for (unsigned l = 0; l < emulator::kLanes; ++l)
      there |= static_cast<uint32_t>(address[l] == address[lane]) << l;
    there &= same;
    if ((there & (there - 1)) != 0) shared |= there;
  }
  return shared;
}

void RaceCheck::check_updates(RaceWave& me, const Wave& wave, const Inst& inst,
                              const emulator::MemoryEvent& event, uint32_t lanes) {
  const RecentLoads& recent = me.group->recent[me.index];
  const uint32_t kept = std::min(recent.count, RecentLoads::kMost);
  const bool lds = event.space == emulator::Space::kLds;
  for (uint32_t n = 1; n <= kept; ++n) {
    const RecentLoad& load = recent.load[(recent.count - n) % RecentLoads::kMost];
    if (load.lds != lds || (load.lanes != 0 && load.first_lane != wave.first_lane)) continue;
    const std::vector<Update>& updates = updates_[places_[load.place].updates];
    const auto update = std::ranges::find(updates, inst.pc, &Update::store_pc);
    if (update == updates.end()) continue;
    const uint32_t shared = shared_lanes(load, event.address, lanes);
    if (shared == 0) continue;
    // Nothing is lost if memory does not change, or if all lanes change it in the same way and once
    // more makes no difference.
    bool changes = false;
    bool agree = true;
    for (uint32_t rest = shared; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      uint8_t fresh[kMostStored] = {};
      uint8_t other[kMostStored] = {};
      if (!stored_bytes(wave, inst, event, lane, fresh)) return;
      const std::byte* const old = memory_at(wave, lds, event.address[lane], event.access_bytes);
      changes |= old == nullptr || std::memcmp(old, fresh, event.access_bytes) != 0;
      for (unsigned l = lane + 1; l < emulator::kLanes; ++l) {
        if ((shared >> l & 1) == 0 || event.address[l] != event.address[lane]) continue;
        stored_bytes(wave, inst, event, l, other);
        agree &= std::memcmp(fresh, other, event.access_bytes) == 0;
        break;
      }
    }
    if (!changes || (agree && update->repeatable)) return;
    LaneEvent found = event_here(me, inst, FindingClass::kR9);
    found.lanes = uint64_t{shared} << wave.first_lane;
    found.exec = event.exec;
    found.address = event.address[std::countr_zero(shared)];
    found.access_bytes = event.access_bytes;
    found.write = true;
    found.space = event.space;
    found.space_bytes = lds ? wave.group->lds_requested : 0;
    found.address_class = lds ? "LDS" : "in its buffer";
    found.other_pc = places_[load.place].key & ~uint64_t{3};
    found.detail = "lanes with the same address each change the value that they read together";
    sites_.add(kernel_, found);
    return;
  }
}

void RaceCheck::load_to_lds(RaceWave& me, const Wave& wave, const Inst& inst, uint32_t lanes) {
  if (me.group == nullptr || lanes == 0) return;
  uint64_t address[emulator::kLanes];
  const int64_t first =
      int64_t{wave.sgpr[emulator::operand::kM0] & 0xffff} + inst.imm + int64_t{4} * wave.first_lane;
  for (unsigned l = 0; l < emulator::kLanes; ++l) {
    const int64_t at = first + int64_t{4} * l;
    if (at < 0 || at + 4 > int64_t{wave.group->lds_bytes}) lanes &= ~(1u << l);
    address[l] = static_cast<uint64_t>(at);
  }
  emulator::MemoryEvent event;
  event.space = emulator::Space::kLds;
  event.kind = emulator::AccessKind::kStore;
  event.access_bytes = 4;
  event.address = address;
  event.exec = lanes;
  if (me.group->read_count != 0) record_reads(*me.group);
  leave_release(me.group->wave[me.index], Kind::kPlain);
  const uint64_t key = inst.pc | kToLds;
  const auto at = static_cast<uint32_t>((key >> 2) * 0x9E3779B1u >> 7 & (stamp::kSites - 1));
  each_lane(me, wave, inst, event, lanes, find_place(inst, false, key, at));
}

}  // namespace gfxgraph::lanecheck
