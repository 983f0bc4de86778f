// Finds data races between waves: two unordered accesses to the same bytes, at least one a write.
//
// Happens-before with vector clocks: a wave's clock advances at barriers and fences, and each wave
// keeps, for every other wave, the clock that is ordered before it. Barriers order the waves of a
// workgroup, grid barriers those of a launch. An atomic that reads a value that another wave wrote
// after a fence orders the two (docs/check.md, "Hazards"). Not thread-safe: the engine must use one
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/race/race_code.h"
#include "check/race/race_group.h"
#include "check/race/race_loads.h"
#include "check/race/race_shadow.h"
#include "check/report/sites.h"
#include "emulator/engine/context.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {

// The race check's part of the observer's WaveState.
struct RaceWave {
  RaceGroup* group = nullptr;  // null: accesses are not recorded
  uint32_t index = 0;
  uint64_t id = 0;
};

class RaceCheck {
 public:
  using Inst = emulator::Inst;
  using Wave = emulator::Wave;

  RaceCheck(emulator::MemoryMap& memory, Sites& sites, Budget& budget)
      : memory_(memory), sites_(sites), shadow_(budget) {
    for (const Part part :
         {Part::kCopyRead, Part::kCopyWrite, Part::kMemset, Part::kAllocate, Part::kFree})
      places_[place_of(part)] = {.key = key_of(part), .write = part != Part::kCopyRead};
  }

  // A launch, copy or memset, numbered and ordered by order_work().
  struct Work {
    uint64_t number = 0;
    uint64_t event = 0;               // event of the trace
    std::vector<uint64_t> unordered;  // earlier work that it is unordered with
    bool forget = false;              // ordered after all earlier work and before all later work
    bool reaches_host = false;        // a launch that can signal to the host
  };
  // Call before each dispatch.
  void next_launch(uint64_t launch, uint32_t kernel, const RaceCode& code, Work work);

  // Begins a copy or memset; then call transfer() for each row of bytes (race_transfers.cpp).
  // Stream-ordered memory is there from its allocation in the stream to its free: both count as
  // writes of it.
  enum class Part : uint8_t { kCopyRead, kCopyWrite, kMemset, kAllocate, kFree };
  void next_transfer(Work work);
  void transfer(Part part, uint64_t address, uint64_t bytes);
  // The program changed memory from `now` to `bytes` before it knew that `launches` had finished.
  // `in_doubt`: kernels may have made the change.
  void host_write(uint64_t event, uint64_t address, std::span<const std::byte> now,
                  std::span<const std::byte> bytes, bool in_doubt,
                  const std::vector<uint64_t>& launches);
  // Call for a new allocation: earlier accesses to its addresses were to other memory.
  void begin_memory(const format::AllocationBegin& begin) {
    shadow_.begin(begin.recorded_address, second_address(begin), begin.size_bytes);
  }
  // Whether the last transfer or host write was part of a data race.
  bool found() const { return found_; }
  void dispatch_begin(const emulator::DispatchInfo& info);
  void dispatch_end() { report_pending(); }
  void wave_begin(RaceWave& me, const Wave& wave, const emulator::WaveInfo& info);
  void wave_end(RaceWave& me, const Wave& wave);

  // Whether an instruction orders accesses; then call hook() after it.
  static bool orders(const Inst& inst);
  void hook(RaceWave& me, const Wave& wave, const Inst& inst);

  // `kLds`: the access is to LDS, not to global memory.
  template <bool kLds>
  GFXGRAPH_INLINE void access(RaceWave& me, const Wave& wave, const Inst& inst,
                              const emulator::MemoryEvent& event, uint32_t lanes);
  // The same for one dword per lane of a full wave, consecutive in global memory. False: call
  // access().
  GFXGRAPH_INLINE bool row(RaceWave& me, const Inst& inst, emulator::AccessKind kind,
                           uint64_t address);
  void scalar_load(RaceWave& me, const Wave& wave, const Inst& inst, uint64_t address,
                   uint32_t bytes);
  // An access to scratch, which no other wave sees, but which holds what was loaded.
  GFXGRAPH_INLINE void stack_access(RaceWave& me, const Wave& wave, const Inst& inst,
                                    const emulator::MemoryEvent& event, uint32_t lanes) {
    if (me.group != nullptr && me.group->watches) [[unlikely]]
      follow_stack(me, wave, inst, event, lanes);
  }
  // A load whose dwords go to LDS instead of registers: the write of LDS.
  void load_to_lds(RaceWave& me, const Wave& wave, const Inst& inst, uint32_t lanes);

  // Limitations of the check in this run, each once.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // ---- instructions ----
  enum class Kind : uint8_t {
    kPlain,
    kStoreAfterFence,  // first store after a fence: perhaps an atomic store
    kSyncLoad,         // volatile or atomic
    kGroupLoad,        // the same, as far as the waves of the workgroup are concerned
    kCompareLoad,      // the load before a compare-and-swap loop
    kAtomic,
    kToLds,  // the write of LDS by a load: never what a waiting load waits for
  };
  struct Place {
    uint64_t key = 0;  // pc, plus 1 for kStoreAfterFence, 2 for a load's write of LDS; 0: unused
    Kind kind = Kind::kPlain;
    bool write = false;
    uint8_t special = 0;  // kLearns, and why its accesses are kept as RecentLoad
    emulator::Op op = emulator::Op{0};
    bool compared = false;  // a load whose value is compared
    uint32_t updates = 0;   // in updates_
  };
  static constexpr uint64_t kToLds = 2;
  static constexpr uint8_t kForCompare = 1, kForUpdate = 2, kLearns = 4;
  static bool learns(Kind kind) { return kind == Kind::kSyncLoad || kind == Kind::kGroupLoad; }
  static bool may_meet(Kind a, Kind b, bool same_group);
  GFXGRAPH_INLINE uint32_t place_of(const Inst& inst, bool after_fence) {
    const uint64_t key = inst.pc | static_cast<uint64_t>(after_fence);
    const auto at = static_cast<uint32_t>((inst.pc >> 2) * 0x9E3779B1u >> 7 & (stamp::kSites - 1));
    return places_[at].key == key ? at : find_place(inst, after_fence, key, at);
  }
  uint32_t find_place(const Inst& inst, bool after_fence, uint64_t key, uint32_t at);
  Kind kind_of(const Inst& inst, bool after_fence) const;
  void watch_place(Place& place, const Inst& inst);
  bool begins_compare_loop(const Inst& inst) const;

  // ---- cells ----

  // True: all accesses are recorded, and none is a hazard. False: nothing was done. `dead`: smaller
  // stamps belong to earlier, ordered accesses.
  template <bool kWrite>
  GFXGRAPH_INLINE static bool whole_row(RaceCells cells, size_t first, size_t count, uint64_t mine,
                                        uint64_t dead);
  GFXGRAPH_INLINE static bool lds_row(RaceGroup& group, uint64_t address, uint32_t bytes,
                                      bool write, uint64_t mine);
  GFXGRAPH_INLINE bool global_row(uint64_t address, uint32_t bytes, bool write, uint64_t mine);
  // False: record the read in the stamps.
  GFXGRAPH_INLINE bool log_read(RaceGroup& group, const Wave& wave,
                                const emulator::MemoryEvent& event, uint32_t lanes, uint64_t mine);
  static void make_room_for_reads(RaceGroup& group);
  void record_reads(RaceGroup& group);
  static constexpr size_t kLaunchClasses = 8;  // R1 to R7, R10
  struct Access {
    RaceWave& me;
    const Wave& wave;
    const Inst& inst;
    const emulator::MemoryEvent* event;
    Kind kind;
    bool write;
    bool lds;
    uint64_t mine;
    bool releases = false;  // other waves may learn from LDS what happened before
    // Hazards by class: the lanes; and for the first lane, the other access and the address.
    std::array<uint32_t, kLaunchClasses> lanes = {};
    std::array<uint64_t, kLaunchClasses> other = {};
    std::array<uint64_t, kLaunchClasses> address = {};
  };
  void each_lane(RaceWave& me, const Wave& wave, const Inst& inst,
                 const emulator::MemoryEvent& event, uint32_t lanes, uint32_t place);
  void bytes(Access& access, unsigned lane, uint64_t address, uint32_t count);
  void dword(Access& access, unsigned lane, RaceCells cells, size_t at, uint64_t address,
             uint64_t byte_mask);
  void compare(Access& access, unsigned lane, uint64_t other, uint64_t address, uint64_t mask,
               bool other_writes);
  bool ordered(const Access& access, uint64_t other) const;
  bool same_value(const Access& access, unsigned lane, uint64_t address) const;
  // The bytes that a store writes. False: it has no such registers.
  static constexpr size_t kMostStored = 16 + 4;
  static bool stored_bytes(const Wave& wave, const Inst& inst, const emulator::MemoryEvent& event,
                           unsigned lane, uint8_t (&bytes)[kMostStored]);
  // Of a store with two places.
  static bool stores_second_place(const Wave& wave, const Inst& inst,
                                  const emulator::MemoryEvent& event, unsigned lane);
  // Null: not mapped.
  const std::byte* memory_at(const Wave& wave, bool lds, uint64_t address, uint64_t count) const;
  void report(const Access& access);
  LaneEvent event_here(const RaceWave& me, const Inst& inst, FindingClass found) const;

  // ---- what loads were for (race_lanes.cpp) ----
  void watch(RaceWave& me, const Wave& wave, uint32_t place, const uint64_t* address,
             uint32_t lanes, uint32_t bytes, bool lds);
  void confirm_compare(RaceWave& me, const emulator::MemoryEvent& event, uint32_t lanes,
                       uint32_t first_lane);
  void check_updates(RaceWave& me, const Wave& wave, const Inst& inst,
                     const emulator::MemoryEvent& event, uint32_t lanes);
  void judge_changes(const RecentLoad& load, RaceWave& me, const Wave& wave, const Inst& inst,
                     const emulator::MemoryEvent& event, uint32_t lanes, uint32_t& left);
  bool loses_changes(const Wave& wave, const Inst& inst, const emulator::MemoryEvent& event,
                     uint32_t shared, unsigned dword, bool repeatable) const;
  std::span<const Update> updates_by(const RecentLoad& load, const Inst& store,
                                     const Wave& wave) const;
  void store_back(const std::vector<Update>& updates);
  void follow_stack(RaceWave& me, const Wave& wave, const Inst& inst,
                    const emulator::MemoryEvent& event, uint32_t lanes);
  // No two lanes, active or not, have the same address: the usual case.
  GFXGRAPH_INLINE static bool is_rising(const uint64_t* address) {
    uint64_t bad = 0;
    for (unsigned l = 1; l < emulator::kLanes; ++l)
      bad |= static_cast<uint64_t>(address[l] <= address[l - 1]);
    return bad == 0;
  }
  static uint32_t shared_lanes(const RecentLoad& load, uint8_t loaded, const uint64_t* address,
                               uint64_t into, uint32_t lanes);
  void report_pending();
  // Findings that are none if the load at `place` turns out to begin a compare-and-swap loop.
  struct Pending {
    uint32_t place;
    LaneEvent event;
  };
  static constexpr size_t kMostPending = 16384;
  std::vector<Pending> pending_;
  std::vector<std::vector<Update>> updates_ = {{}};
  // Stores of what loads that learn gave, changed: they follow nobody, for another wave may do the
  // same with the same value. True: the value was on the stack.
  std::unordered_map<uint64_t, bool> stores_back_;

  // ---- order ----
  void fence(RaceWave& me);
  void arrive(RaceWave& me);
  void pass_barrier(RaceGroup& group);
  void share_releases(RaceGroup& group);
  void advance(RaceGroup::Wave& wave);
  SharedClocks followed(const RaceGroup& group, const RaceGroup::Wave& wave, uint64_t id) const;
  void follow(RaceWave& me, const SharedClocks& clocks);
  void follow_write(RaceWave& me, uint64_t write);
  void synchronise(Access& access, uint64_t address, uint64_t write);
  void release_lds(const Access& access, uint32_t dword);
  void acquire_lds(const RaceWave& me, uint32_t dword);
  void remember_read(const Access& access, uint64_t address, uint64_t write);
  bool has_read(const Access& access, uint64_t address, uint64_t write) const;
  bool has_swapped(const Access& access, uint64_t address) const;
  // Whether a store to LDS may tell other waves something: they look, or one lane stores alone.
  bool releases(uint32_t lanes) const {
    return follows_lds_ && (facts_->waits_in_lds || (lanes & (lanes - 1)) == 0);
  }
  // Accesses after a release are not what it tells of.
  GFXGRAPH_INLINE void leave_release(RaceGroup::Wave& own, Kind kind) {
    if (!own.released || kind == Kind::kAtomic) return;
    own.released = false;
    advance(own);
  }
  void note(const std::string& text);

  emulator::MemoryMap& memory_;
  std::shared_ptr<const emulator::RegionTable> regions_;
  Sites& sites_;
  RaceShadow shadow_;
  std::vector<Place> places_ = std::vector<Place>(stamp::kSites);
  std::unordered_map<const emulator::Workgroup*, std::unique_ptr<RaceGroup>> groups_;
  std::vector<std::unique_ptr<RaceGroup>> spare_groups_;

  uint64_t launch_ = 0;
  uint32_t kernel_ = 0;
  bool on_ = false;  // accesses of this launch are recorded
  // The order that fences and memory make is tracked: the kernel has such fences.
  bool syncs_ = false;
  // Workgroups run on one CU, which performs their accesses in order: fences between their waves
  // are no instructions.
  bool cu_mode_ = false;
  bool follows_lds_ = false;  // as in facts_
  RaceCode code_;
  const RaceFacts* facts_ = nullptr;                       // of code_
  std::unordered_map<uint64_t, RaceFacts> facts_by_code_;  // by RaceCode::begin
  std::unordered_map<uint64_t, SyncReads> sync_reads_;     // by first address of the dword
  bool log_reads_ = true;  // no workgroup of this launch had to move logged reads to the stamps
  std::array<uint64_t, 3> group_count_ = {1, 1, 1};
  uint64_t kernarg_ = 0;
  uint32_t group_waves_ = 1;
  uint64_t next_wave_ = 1;   // of the launch after this one
  uint64_t first_wave_ = 1;  // of this launch
  // Smaller stamps belong to accesses ordered before the whole launch.
  uint64_t dead_ = uint64_t{1} << stamp::kWaveShift;
  // The launches, copies and memsets whose stamps are in use.
  struct Done {
    uint64_t first_wave = 0;
    uint64_t work = 0;
    uint64_t event = 0;
    uint64_t launch = 0;  // transfers: the previous launch
    uint32_t kernel = 0;  // 0: a transfer
    uint32_t group_waves = 1;
    std::array<uint64_t, 3> group_count = {1, 1, 1};
  };
  const Done* done_by(uint64_t stamped) const;
  std::string done_text(const Done* done) const;
  static std::string allocation_text(const Done* done);
  bool ordered_after(uint64_t stamped) const;
  void take_waves(uint64_t waves, Done done);
  std::vector<Done> launches_;
  Work work_;  // the current one
  bool found_ = false;

  // ---- transfers ----
  static constexpr uint64_t key_of(Part part) { return 2 + 2 * static_cast<uint64_t>(part); }
  static bool of_transfer(const Place& place) {
    return place.key != 0 && place.key <= key_of(Part::kFree);
  }
  // The places of transfers come first; no instruction has their keys.
  static constexpr uint32_t kTransferPlaces = 5;
  static constexpr uint32_t place_of(Part part) { return static_cast<uint32_t>(part); }
  void transfer_dword(Part part, uint64_t address, uint64_t mask, uint64_t mine);
  LaneEvent event_of(const Done& done, uint64_t stamped, uint64_t address) const;
  void report_transfer(Part part, uint64_t address, uint64_t other);
  std::vector<std::pair<uint64_t, uint32_t>> reported_;  // first wave and place, of this transfer
  // Launches that may have signalled to the host, by work number: they used a global atomic, or a
  // fence.
  void tell_host() {
    if (!work_.reaches_host || !on_) return;
    if (told_host_.empty() || told_host_.back() != work_.number) told_host_.push_back(work_.number);
  }
  std::vector<uint64_t> told_host_;
  std::unordered_map<uint64_t, SharedClocks> atomics_;  // by first address: clocks of the writers
  SharedClocks grid_;                                   // of the waves at a grid barrier
  struct Fence {
    uint32_t clock;
    SharedClocks clocks;
  };
  std::unordered_map<uint64_t, std::vector<Fence>> fences_;  // by wave
  std::vector<std::string> notes_;
};

// ---- hot parts, compiled per host instruction set ----

template <bool kWrite>
GFXGRAPH_INLINE bool RaceCheck::whole_row(RaceCells cells, size_t first, size_t count,
                                          uint64_t mine, uint64_t dead) {
  uint64_t* const write = cells.write + first;
  uint64_t* const read = cells.read + first;
  uint64_t* const reader = cells.reader + first;
  const auto hazard = [&](uint64_t other) {
    return static_cast<uint64_t>(static_cast<int64_t>(other) >= static_cast<int64_t>(dead)) &
           static_cast<uint64_t>((other ^ mine) >> stamp::kWaveShift != 0);
  };
  const auto look_at = [&](size_t n) {
    if constexpr (kWrite) return hazard(write[n]) | hazard(read[n]) | hazard(reader[n]);
    return hazard(write[n]);
  };
  const auto record = [&](size_t n) {
    if constexpr (kWrite) {
      write[n] = mine;
      read[n] = reader[n] = 0;
    } else {
      const uint64_t last = read[n];
      const bool others = hazard(last) != 0;
      reader[n] = others ? last : reader[n];
      read[n] = mine;
    }
  };
  // A dword that many lanes read. For this, a vector loop's prologue and epilogue would take
  // longer.
  const bool few = count <= 2;
  uint64_t bad = 0;
  if (few)
    bad = look_at(0) | look_at(count - 1);
  else
    for (size_t n = 0; n < count; ++n) bad |= look_at(n);
  if (cells.atomic != nullptr) [[unlikely]]
    for (size_t n = first; n < first + count; ++n)
      bad |= hazard(cells.atomic[n]) | hazard(cells.atomic_of_other[n]);
  if (bad != 0) return false;
  if (few) {
    record(0);
    if (count == 2) record(1);
  } else {
    for (size_t n = 0; n < count; ++n) record(n);
  }
  return true;
}

// Whole dwords of LDS.
GFXGRAPH_INLINE bool RaceCheck::lds_row(RaceGroup& group, uint64_t address, uint32_t bytes,
                                        bool write, uint64_t mine) {
  const size_t at = address / 4;
  const size_t count = bytes / 4;
  if (at + count > group.lds_dwords) return false;
  group.touch_lds(at, count);
  const uint64_t dead = stamp::make(group.first_wave, 0);
  const RaceCells cells = group.lds_cells();
  return write ? whole_row<true>(cells, at, count, mine, dead)
               : whole_row<false>(cells, at, count, mine, dead);
}

// Whole dwords of global memory.
GFXGRAPH_INLINE bool RaceCheck::global_row(uint64_t address, uint32_t bytes, bool write,
                                           uint64_t mine) {
  constexpr uint64_t kLine = RaceShadow::kLineBytes;
  while (bytes != 0) {
    RaceShadow::Page* const page = shadow_.page(address);
    if (page == nullptr) return true;
    const uint64_t into = address % RaceShadow::kPageBytes;
    const size_t line = into / kLine;
    uint32_t count = bytes;
    if (into % kLine == 0 && bytes >= kLine && (page->split >> line & 1) == 0) {
      // As many whole lines as there are.
      size_t lines = 1;
      while (lines < bytes / kLine && line + lines < RaceShadow::kPageLines &&
             (page->split >> (line + lines) & 1) == 0)
        ++lines;
      const RaceCells cells = page->line_cells();
      const bool fine = write ? whole_row<true>(cells, line, lines, mine, dead_)
                              : whole_row<false>(cells, line, lines, mine, dead_);
      if (!fine) return false;
      count = static_cast<uint32_t>(lines * kLine);
    } else {
      count = std::min(bytes, static_cast<uint32_t>(kLine - into % kLine));
      if ((page->split >> line & 1) == 0 && !shadow_.split(*page, into)) return true;
      const RaceCells cells = page->cells(into);
      const size_t at = into % RaceShadow::kBlockBytes / 4;
      const bool fine = write ? whole_row<true>(cells, at, count / 4, mine, dead_)
                              : whole_row<false>(cells, at, count / 4, mine, dead_);
      if (!fine) return false;
      if (write && count == kLine) RaceShadow::join(*page, line, mine);
    }
    address += count;
    bytes -= count;
  }
  return true;
}

GFXGRAPH_INLINE bool RaceCheck::row(RaceWave& me, const Inst& inst, emulator::AccessKind kind,
                                    uint64_t address) {
  if (me.group == nullptr) return true;
  RaceGroup::Wave& own = me.group->wave[me.index];
  const bool write = kind == emulator::AccessKind::kStore;
  const uint32_t place = place_of(inst, write && own.after_fence);
  if (address % 4 != 0 || (places_[place].special & (kForCompare | kLearns)) != 0) return false;
  own.touched = true;
  const uint64_t mine =
      stamp::make(me.id, own.clock) | uint64_t{place} << stamp::kSiteShift | stamp::kAllBytes;
  if (!global_row(address, 4 * emulator::kLanes, write, mine)) return false;
  if (write) own.after_fence = false;
  return true;
}

GFXGRAPH_INLINE bool RaceCheck::log_read(RaceGroup& group, const Wave& wave,
                                         const emulator::MemoryEvent& event, uint32_t lanes,
                                         uint64_t mine) {
  if (!log_reads_ || group.lds_from != SIZE_MAX || group.read_count == RaceGroup::kMostReads)
    return false;
  if (group.reads == nullptr) [[unlikely]]
    make_room_for_reads(group);
  LdsRead& read = group.reads[group.read_count];
  uint32_t low = event.access_bytes;
  for (unsigned l = 0; l < emulator::kLanes; ++l) {
    low |= static_cast<uint32_t>(event.address[l]) & wave.exec_mask.lane[l];
    read.address[l] = static_cast<uint16_t>(event.address[l]);
  }
  if (low % 4 != 0) return false;
  read.mine = mine;
  read.lanes = lanes;
  read.bytes = event.access_bytes;
  ++group.read_count;
  return true;
}

template <bool kLds>
GFXGRAPH_INLINE void RaceCheck::access(RaceWave& me, const Wave& wave, const Inst& inst,
                                       const emulator::MemoryEvent& event, uint32_t lanes) {
  if (me.group == nullptr || lanes == 0) return;
  const uint32_t bytes = event.access_bytes;
  const bool write = event.kind == emulator::AccessKind::kStore;
  const uint64_t* const address = event.address;
  RaceGroup::Wave& own = me.group->wave[me.index];
  const uint32_t place = place_of(inst, write && (kLds ? own.lds_after_fence : own.after_fence));
  const uint8_t special = places_[place].special;
  if ((special & (kForCompare | kForUpdate)) != 0) [[unlikely]]
    if (special != kForUpdate || me.group->stack != nullptr || !is_rising(address))
      watch(me, wave, place, address, lanes, bytes, kLds);
  if constexpr (kLds) {
    if (follows_lds_) [[unlikely]]
      leave_release(own, places_[place].kind);
    if (!write && event.kind == emulator::AccessKind::kLoad && (special & kLearns) == 0 &&
        log_read(*me.group, wave, event, lanes,
                 stamp::make(me.id, own.clock) | uint64_t{place} << stamp::kSiteShift |
                     stamp::kAllBytes)) {
      own.touched = true;
      return;
    }
    if (me.group->read_count != 0) [[unlikely]]
      record_reads(*me.group);
  }
  if (write && me.group->watches && (me.group->stack != nullptr || !is_rising(address)))
      [[unlikely]]
    check_updates(me, wave, inst, event, lanes);
  // Lanes whose access directly follows that of the previous lane, or repeats it.
  uint32_t next = 0, same = 0, low = 0;
  for (unsigned l = 1; l < emulator::kLanes; ++l) {
    next |= static_cast<uint32_t>(address[l] == address[l - 1] + bytes) << l;
    same |= static_cast<uint32_t>(address[l] == address[l - 1]) << l;
  }
  for (unsigned l = 0; l < emulator::kLanes; ++l)
    low |= static_cast<uint32_t>(address[l]) & wave.exec_mask.lane[l];
  bool simple = ((bytes | low) & 3) == 0 && event.kind != emulator::AccessKind::kAtomic &&
                (special & kLearns) == 0 && !(kLds && follows_lds_ && write && releases(lanes));
  if (simple) {
    own.touched = true;
    const uint64_t mine =
        stamp::make(me.id, own.clock) | uint64_t{place} << stamp::kSiteShift | stamp::kAllBytes;
    uint32_t rest = write ? lanes : lanes & ~(same & lanes << 1);
    while (simple && rest != 0) {
      const auto first = static_cast<unsigned>(std::countr_zero(rest));
      // The lane and the consecutive ones after it.
      const uint32_t more = first == 31 ? 0 : (next & rest) >> (first + 1);
      const auto count = 1 + static_cast<unsigned>(std::countr_one(more));
      simple = kLds ? lds_row(*me.group, address[first], count * bytes, write, mine)
                    : global_row(address[first], count * bytes, write, mine);
      rest &= count + first >= 32 ? 0 : ~0u << (first + count);
    }
    if (simple) {
      if (write) (kLds ? own.lds_after_fence : own.after_fence) = false;
      return;
    }
  }
  each_lane(me, wave, inst, event, lanes, place);
}

}  // namespace gfxgraph::check
