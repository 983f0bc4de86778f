// Memory as the steps of a proof see it (closure.h): never the real one, which other threads may be
// using. What a step touches is copied first; what it writes is noted, and each later step gets to
// see any value that the word may have.
//
// A word is 4 bytes of global memory or of a workgroup's LDS. It holds what is really there until a
// step changes it. From then on, as long as no other wave touches it, it is a part of the state of
// the wave that did, like a register. A word that several waves touch has the set of the values
// seen in it; a step that reads such words is run once for each combination of their values.
//
// Also the observer of those steps: it is told of each access before it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emulator/engine/observer.h"

namespace gfxgraph::emulator {

// Used by one thread. Between its construction and destruction it is current() there.
class TrialMemory {
 public:
  // `host_listens`: the host may react to changes of memory that it sees, which are refused then.
  TrialMemory(MemoryMap& memory, uint64_t address_mask, bool host_listens);
  ~TrialMemory();
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;
  static TrialMemory* current() noexcept;

  // ---- for the steps ----

  static constexpr bool kInstructions = false;
  static constexpr bool kMemory = true;
  static constexpr bool kLds = true;
  static constexpr bool kSuspectsOnly = false;
  static constexpr bool kOperands = false;
  struct WaveState {};
  void decoded(const Inst&, InstOperands&) {}
  void dispatch_begin(const DispatchInfo&) {}
  void dispatch_end() {}
  void wave_begin(WaveState&, const Wave&, const WaveInfo&) {}
  void wave_end(WaveState&, const Wave&) {}
  uint32_t memory(WaveState&, const Wave& wave, const Inst& inst, const MemoryEvent& event);
  bool scalar_load(WaveState&, const Wave& wave, const Inst& inst, const ScalarEvent& event);
  // From find_range(): where the copy of the region's first byte is, with the range filled in.
  // Null: the range is too long, or there is no room.
  std::byte* host_of(const Region& region, uint64_t address, uint64_t bytes);

  // ---- for the proof ----

  // Whose LDS the following steps see: number `group`, which has `lds`.
  void set_group(uint64_t group, std::byte* lds, uint32_t lds_bytes);
  // Which wave takes them; a number of its own. `scratch` is its scratch, which the steps change.
  void set_wave(uint64_t wave, std::byte* scratch);
  // The words that are this wave's own, where they differ from what is really there.
  struct OwnWord {
    uint64_t key;
    uint32_t value;
  };
  void save_own(std::vector<OwnWord>& to) const;
  void load_own(const std::vector<OwnWord>& from);
  // The same for the dwords of its scratch that any step touched, in the order of the first touch.
  void save_scratch(std::vector<uint32_t>& to) const;
  void load_scratch(const std::vector<uint32_t>& from);
  size_t scratch_dwords() const { return touched_.size(); }
  uint32_t real_scratch(uint32_t n) const { return touched_[n].really; }
  // A step begins, with the first choice of values.
  void begin_step();
  // The same step again, with the same choice. `by_lane`: its lanes are run one after the other.
  void begin_run(bool by_lane);
  // By lane: the next one follows.
  void begin_lane() {
    lane_begin_ = writes_.size();
    lane_slots_ = slots_.size();
  }
  // After a run: several lanes touch one word in a way for which they must be run one by one.
  bool needs_lanes() const { return needs_lanes_; }
  // After a run, or a lane of one: takes in what was written.
  void collect();
  // After a run that does not count.
  void undo();
  // Whether there is another choice, which the next run will make.
  bool next_choice() { return ++choice_ < choices_; }
  uint64_t choices() const { return choices_; }

  // Scratch, by dword as save_scratch() orders them, of the last run.
  struct ScratchUse {
    std::vector<uint32_t> read;
    std::vector<uint32_t> written;  // all of it
    std::vector<uint32_t> written_partly;
  };
  const ScratchUse& scratch() const { return scratch_; }
  bool shared_write() const { return shared_write_; }        // of the last run: not to scratch
  uint64_t first_address() const { return first_address_; }  // of the last run; 0: none

  // Something cannot be followed: more values than are kept, an access of an unusual kind.
  bool refused() const { return refused_; }
  // Since the last call a word changed for the first time, became a shared one, or got a new value.
  bool take_growth() {
    const bool grew = grew_;
    grew_ = false;
    return grew;
  }
  bool host_memory() const { return host_memory_; }        // any access was to the host's
  bool changes_memory() const { return changes_memory_; }  // global memory, and back
  // Of all words with more than one value: a number that tells them from others.
  void list_values(std::vector<uint64_t>& to) const;

 private:
  struct Copy {
    std::byte* host = nullptr;
    uint64_t bytes = 0;
  };
  struct Word {
    uint32_t really = 0;
    uint64_t owner = 0;
    std::vector<uint32_t> values;  // empty: its owner's own
  };
  struct Own {
    uint64_t key;
    uint32_t* word;
    uint32_t really;
  };
  struct Written {
    uint64_t key;
    uint32_t* word;
    uint32_t old;
    bool global;
    bool host_kind;
  };
  struct Access {
    bool reads = false;
    bool writes = false;
    bool global = false;
    bool host_kind = false;
  };
  void fill(const Region& region, std::byte* copy, uint64_t begin, uint64_t end);
  void touch_global(const Wave& wave, uint64_t address, uint32_t bytes, Access access);
  void touch_lds(uint32_t offset, uint32_t bytes, Access access);
  void touch_scratch(const Wave& wave, uint64_t address, uint32_t bytes, Access access);
  uint32_t touched(uint32_t dword);
  void touch(uint64_t key, uint32_t* word, bool whole, const Access& access);
  void note_write(uint64_t key, uint32_t* word, const Access& access);
  void choose(uint64_t key, uint32_t* word, const std::vector<uint32_t>& values);
  void own(uint64_t key, uint32_t* word, uint32_t really);
  bool is_own(uint64_t key) const;
  void take_in(const Written& written);

  const uint64_t mask_;
  const bool host_listens_;
  TrialMemory* const outer_;
  std::shared_ptr<const RegionTable> table_;
  std::map<uint64_t, Copy> copies_;           // by region address
  std::unordered_set<uint64_t> lines_;        // that were filled in
  std::unordered_map<uint64_t, Word> words_;  // that were changed
  uint64_t wave_ = 0;
  std::byte* scratch_bytes_ = nullptr;
  struct Touched {
    uint32_t dword;
    uint32_t really;
  };
  std::vector<Touched> touched_;
  std::unordered_map<uint32_t, uint32_t> touched_index_;  // by dword
  std::vector<Own> own_;  // of the wave, in the order in which they were first touched
  uint64_t group_ = 0;
  std::byte* lds_ = nullptr;
  uint32_t lds_bytes_ = 0;
  // of the step
  uint64_t choice_ = 0;
  uint64_t choices_ = 1;
  std::vector<uint64_t> slots_;  // words whose values were chosen
  std::vector<Written> writes_;
  size_t lane_begin_ = 0;
  size_t lane_slots_ = 0;
  bool by_lane_ = false;
  bool needs_lanes_ = false;
  bool shared_write_ = false;
  uint64_t first_address_ = 0;
  ScratchUse scratch_;
  // of all
  bool refused_ = false;
  bool grew_ = false;
  bool host_memory_ = false;
  bool changes_memory_ = false;
};

}  // namespace gfxgraph::emulator
