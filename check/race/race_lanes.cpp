// What loads were for, told by later instructions of their waves: compare-and-swap loops begin with
// a plain load, and lanes that change the same bytes together lose changes.
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "check/race/race_check.h"

namespace gfxgraph::check {

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
  if (place.kind != Kind::kPlain && !learns(place.kind)) return;
  emulator::CodeReader reader(*regions_);
  Uses uses = uses_of(reader, facts_->calls, inst);
  place.compared = uses.compared;
  if (uses.updates.empty()) return;
  place.special |= kForUpdate;
  place.updates = static_cast<uint32_t>(updates_.size());
  updates_.push_back(std::move(uses.updates));
}

// `lanes` 0: a scalar load of all bytes from address[0] on.
void RaceCheck::watch(RaceWave& me, const Wave& wave, uint32_t place, const uint64_t* address,
                      uint32_t lanes, uint32_t bytes, bool lds) {
  RaceGroup& group = *me.group;
  if (!group.watches) {
    if (group.recent == nullptr) group.recent = std::make_unique<RecentLoads[]>(kMostGroupWaves);
    for (uint32_t n = 0; n < group.waves; ++n) group.forget_loads(n);
    group.watches = true;
  }
  RecentLoads& recent = group.recent[me.index];
  RecentLoad& load = recent.load[recent.count++ % RecentLoads::kMost];
  load.place = place;
  load.lanes = lanes;
  load.bytes = bytes;
  load.first_lane = static_cast<uint16_t>(wave.first_lane);
  load.lds = lds;
  load.skipped = 0;
  load.any_dword = false;
  load.first_dword = 0;
  load.end_dword = UINT8_MAX;
  load.learned = learns(places_[place].kind);
  load.compared = places_[place].compared;
  load.repeatable = false;
  load.from_pc = places_[place].key & ~uint64_t{3};
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

// The lanes that loaded the dword that they store now, `into` bytes behind `address`, and not
// alone.
uint32_t RaceCheck::shared_lanes(const RecentLoad& load, uint8_t loaded, const uint64_t* address,
                                 uint64_t into, uint32_t lanes) {
  const bool any = load.any_dword || loaded == Update::kAnyDword;
  if (loaded != Update::kAnyDword && (loaded < load.first_dword || loaded >= load.end_dword))
    return 0;
  const uint64_t from = any ? 0 : static_cast<uint64_t>(int64_t{4} * (load.skipped + loaded));
  if (from >= load.bytes) return 0;
  const uint64_t most = any ? load.bytes - 1 : 0;
  uint32_t same = 0;
  for (unsigned l = 0; l < emulator::kLanes; ++l) {
    const uint64_t begin = load.address[load.lanes == 0 ? 0 : l] + from;
    same |= static_cast<uint32_t>(address[l] + into - begin <= most) << l;
  }
  same &= load.lanes == 0 ? lanes : load.lanes & lanes;
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

// Those of the store, of what the load gave.
std::span<const Update> RaceCheck::updates_by(const RecentLoad& load, const Inst& store,
                                              const Wave& wave) const {
  if (load.bytes == 0 || (load.lanes != 0 && load.first_lane != wave.first_lane)) return {};
  const std::vector<Update>& all = updates_[places_[load.place].updates];
  const auto of_store = [&](const Update& one) { return one.store_pc == store.pc; };
  const auto first = std::ranges::find_if(all, of_store);
  return {first, std::find_if_not(first, all.end(), of_store)};
}

void RaceCheck::check_updates(RaceWave& me, const Wave& wave, const Inst& inst,
                              const emulator::MemoryEvent& event, uint32_t lanes) {
  // The last load of a dword counts.
  uint32_t left = (1u << (event.access_bytes + 3u) / 4) - 1;
  const auto judge = [&](const RecentLoads& recent) {
    const uint32_t kept = std::min(recent.count, RecentLoads::kMost);
    for (uint32_t n = 1; n <= kept && left != 0; ++n)
      judge_changes(recent.load[(recent.count - n) % RecentLoads::kMost], me, wave, inst, event,
                    lanes, left);
  };
  judge(me.group->recent[me.index]);
  if (me.group->stack != nullptr) judge(me.group->stack[me.index].reloads);
}

// Takes away from `left` the stored dwords that `load` gave and several lanes loaded together.
// Reports those of which changes are lost.
void RaceCheck::judge_changes(const RecentLoad& load, RaceWave& me, const Wave& wave,
                              const Inst& inst, const emulator::MemoryEvent& event, uint32_t lanes,
                              uint32_t& left) {
  const bool lds = event.space == emulator::Space::kLds;
  if (load.lds != lds) return;
  uint32_t lost = 0;
  for (const Update& update : updates_by(load, inst, wave)) {
    const auto first = static_cast<unsigned>(std::countr_zero(lanes));
    const unsigned shift = stores_second_place(wave, inst, event, first) ? Update::kSecondPlace : 0;
    uint32_t repeatable = uint32_t{update.repeatable} >> shift;
    if (load.repeatable) repeatable |= uint32_t{update.copied} >> shift;
    const uint32_t changed = uint32_t{update.changed} >> shift;
    for (uint32_t rest = changed & left; rest != 0; rest &= rest - 1) {
      const auto dword = static_cast<unsigned>(std::countr_zero(rest));
      const uint32_t shared =
          shared_lanes(load, update.loaded, event.address, uint64_t{4} * dword, lanes);
      if (shared == 0) continue;
      left &= ~(1u << dword);
      if (loses_changes(wave, inst, event, shared, dword, (repeatable >> dword & 1) != 0))
        lost |= shared;
    }
  }
  if (lost == 0) return;
  LaneEvent found = event_here(me, inst, FindingClass::kR9);
  found.lanes = uint64_t{lost} << wave.first_lane;
  found.exec = event.exec;
  found.address = event.address[std::countr_zero(lost)];
  found.access_bytes = event.access_bytes;
  found.write = true;
  found.space = event.space;
  found.space_bytes = lds ? wave.group->lds_requested : 0;
  found.address_class = lds ? "LDS" : "in its buffer";
  found.other_pc = load.from_pc;
  found.detail = "lanes with the same address each change the value that they read together";
  sites_.add(kernel_, found);
}

// Of a dword that the lanes `shared` store. Nothing is lost if memory does not change, or if all
// lanes change it in the same way and once more makes no difference.
bool RaceCheck::loses_changes(const Wave& wave, const Inst& inst,
                              const emulator::MemoryEvent& event, uint32_t shared, unsigned dword,
                              bool repeatable) const {
  const uint64_t into = uint64_t{4} * dword;
  const size_t bytes = std::min<uint64_t>(4, event.access_bytes - into);
  bool changes = false;
  bool agree = true;
  for (uint32_t rest = shared; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    uint8_t fresh[kMostStored] = {};
    uint8_t other[kMostStored] = {};
    if (!stored_bytes(wave, inst, event, lane, fresh)) return false;
    const std::byte* const old =
        memory_at(wave, event.space == emulator::Space::kLds, event.address[lane] + into, bytes);
    changes |= old == nullptr || std::memcmp(old, fresh + into, bytes) != 0;
    for (unsigned l = lane + 1; l < emulator::kLanes; ++l) {
      if ((shared >> l & 1) == 0 || event.address[l] != event.address[lane]) continue;
      stored_bytes(wave, inst, event, l, other);
      agree &= std::memcmp(fresh + into, other + into, bytes) == 0;
      break;
    }
  }
  return changes && !(agree && repeatable);
}

// Variables of code without optimisation are on the stack: what is loaded goes there and comes back
// before it is stored. A load from the stack then stands for the load that gave the value.
void RaceCheck::follow_stack(RaceWave& me, const Wave& wave, const Inst& inst,
                             const emulator::MemoryEvent& event, uint32_t lanes) {
  RaceGroup& group = *me.group;
  if (lanes == 0) return;
  const bool writes = event.kind != emulator::AccessKind::kLoad;
  if (group.stack == nullptr && !writes) return;
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  const auto lane_at = [&](unsigned l) { return event.address[l] - uint64_t{4} * l; };
  bool together = true;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    together &= lane_at(static_cast<unsigned>(std::countr_zero(rest))) == lane_at(first);
  const uint64_t at = lane_at(first);
  if (!writes) {
    StackValues& stack = group.stack[me.index];
    const uint32_t place = place_of(inst, false);
    const bool compared = places_[place].compared;
    if (places_[place].updates == 0 && !compared) return;
    for (RecentLoad& old : stack.reloads.load)
      if (old.place == place && old.first_lane == wave.first_lane) old.bytes = 0;
    if (!together) return;
    const auto dwords = static_cast<int64_t>((uint64_t{event.access_bytes} + 3) / 4);
    for (StackValues::Slot& slot : stack.slot) {
      if (slot.bytes == 0 || (slot.lanes & lanes) == 0) continue;
      // The slot's first dword, counted from the reload's.
      const auto apart = static_cast<int64_t>(slot.at - at);
      const int64_t first_dword = apart / int64_t{wave.scratch_row};
      const int64_t end_dword = first_dword + (slot.bytes + 3) / 4;
      if (apart % int64_t{wave.scratch_row} != 0 || first_dword >= dwords || end_dword <= 0)
        continue;
      if (compared) stack.compare(slot.load.from_pc);
      if (places_[place].updates == 0) continue;
      if (slot.load.learned && !slot.load.compared) store_back(updates_[places_[place].updates]);
      RecentLoad& load = stack.reloads.load[stack.reloads.count++ % RecentLoads::kMost];
      load = slot.load;
      load.place = place;
      load.skipped = static_cast<int8_t>(load.skipped - first_dword);
      load.first_dword = static_cast<uint8_t>(std::max(first_dword, int64_t{0}));
      load.end_dword = static_cast<uint8_t>(std::min(end_dword, dwords));
      if (load.lanes != 0) load.lanes = slot.lanes & lanes;
      load.first_lane = static_cast<uint16_t>(wave.first_lane);
      load.repeatable = slot.repeatable;
    }
    return;
  }
  if (group.stack != nullptr) {
    // Dwords of a lane are a row apart.
    const uint64_t size = (uint64_t{event.access_bytes} + 3) / 4 * wave.scratch_row;
    for (StackValues::Slot& slot : group.stack[me.index].slot) {
      const uint64_t slot_size = (uint64_t{slot.bytes} + 3) / 4 * wave.scratch_row;
      if (slot.bytes == 0 || (together && (at >= slot.at + slot_size || slot.at >= at + size)))
        continue;
      slot.lanes &= ~lanes;
      if (slot.lanes == 0) slot.bytes = 0;
    }
  }
  if (!together || event.kind != emulator::AccessKind::kStore) return;
  // The value may come from several loads: the last execution of each.
  const auto keep = [&](const RecentLoads& recent) {
    const uint32_t kept = std::min(recent.count, RecentLoads::kMost);
    for (uint32_t n = 1; n <= kept; ++n) {
      const RecentLoad& load = recent.load[(recent.count - n) % RecentLoads::kMost];
      if (load.lanes != 0 && (load.lanes & lanes) == 0) continue;
      for (const Update& update : updates_by(load, inst, wave)) {
        RecentLoad given = load;
        const int lowest = std::countr_zero(update.changed);
        given.any_dword |= update.loaded == Update::kAnyDword;
        if (!given.any_dword)
          given.skipped = static_cast<int8_t>(load.skipped + update.loaded - lowest);
        if (group.stack == nullptr) group.stack = std::make_unique<StackValues[]>(kMostGroupWaves);
        StackValues& stack = group.stack[me.index];
        if (std::ranges::any_of(stack.slot, [&](const StackValues::Slot& one) {
              return one.bytes != 0 && one.at == at && one.load.from_pc == load.from_pc &&
                     one.load.skipped == given.skipped && (one.lanes & lanes) != 0;
            }))
          continue;
        StackValues::Slot& slot = stack.slot[stack.next++ % StackValues::kMost];
        slot.at = at;
        slot.bytes = event.access_bytes;
        slot.lanes = load.lanes != 0 ? load.lanes & lanes : lanes;
        slot.repeatable =
            (update.changed & ~(update.repeatable | (load.repeatable ? update.copied : 0))) == 0;
        slot.load = given;
      }
    }
  };
  keep(group.recent[me.index]);
  if (group.stack != nullptr) keep(group.stack[me.index].reloads);
}

// Code without optimisation waits in each function, and that is no fence: the store of a changed
// value is a plain one then, too. A value that decided something may be a turn that the wave had.
void RaceCheck::store_back(const std::vector<Update>& updates) {
  for (const Update& update : updates) {
    if (!stores_back_.insert({update.store_pc, true}).second) continue;
    const uint64_t key = update.store_pc | 1;
    const auto known = std::ranges::find(places_, key, &Place::key);
    if (known != places_.end()) known->kind = Kind::kPlain;
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

}  // namespace gfxgraph::check
