// The proof that waves can never end, whatever the order in which they run, though they count, read
// the clock, or change memory and change it back.
//
// All states that the waves of the workgroups can come to are followed, each wave on its own, on
// copies: a word of memory that any of them changes may from then on hold any of the values that
// were seen in it, for each access anew (trial_memory.h). States that agree in all relevant
// registers and scratch (relevance.h) are one. When that comes to a close, that is when each way
// leads back to a state that was followed already or to a barrier that not all waves of the
// workgroup can reach, and no way leads to a wave's end, a fault, a message or a global wave sync,
// then the waves stay in those states for ever: in any order, also with a device's weaker order of
// memory. Only memory that somebody else changes can help.
//
// Not proven: values without end (a ticket, a sum in memory), loops of more than some thousand
// instructions, words of several values that many lanes read at a time, changes of memory that the
// host sees. Nothing outside is changed: no wave runs on, no observer hears of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "emulator/analysis/relevance.h"
#include "emulator/analysis/trial_memory.h"
#include "emulator/engine/code_cache.h"
#include "emulator/engine/launch.h"
#include "emulator/engine/resident_group.h"

namespace gfxgraph::emulator {

// For one look. Used by one thread, while the waves do not run.
class ClosureProof {
 public:
  // How many instructions are run for it, each about thirty times as slowly as elsewhere.
  struct Limits {
    uint64_t wave = 20000;  // of a wave at a time
    uint64_t all = 4'000'000;
  };
  // All are referred to.
  ClosureProof(const Launch& launch, const DispatchContext& context, const Limits& limits);

  // Whether the workgroups' live waves can never end without help. True: `spins` of the workgroups
  // say where they are.
  bool holds(const std::vector<ResidentGroup*>& groups);

  // After it was false: a workgroup of which that is not so.
  const ResidentGroup* failed() const { return failed_; }
  // After holds(): whether a wave looks at memory that the host may write, and whether global
  // memory is changed and changed back.
  bool reads_host_memory() const { return memory_.host_memory(); }
  bool changes_memory() const { return memory_.changes_memory(); }
  // Hashes of all states and values. A later proof whose set is a part of this one found nothing
  // that was not foreseen.
  const std::unordered_set<uint64_t>& states() const { return states_; }

 private:
  enum class Outcome : uint8_t { kCloses, kGoesOn, kTooLong };
  struct Halves {
    uint32_t lower = 0;
    uint32_t upper = 0;
  };
  struct State;
  struct Look;
  struct Group {
    ResidentGroup* resident = nullptr;
    bool open = false;  // all its waves can reach a barrier
    uint64_t number = 0;
  };

  Outcome follow_group(Group& group);
  Outcome follow_wave(Look& look, uint64_t name);
  Outcome follow_ways(Look& look, uint64_t most_steps);
  Outcome step(Look& look, bool& stays);
  bool run_once(const Inst* inst);
  bool run_lanes(const Inst* inst);
  bool take_over(const Wave& real);
  const Inst* decoded_at(uint64_t pc);
  bool may_run(const Inst& inst) const;
  void save(State& to) const;
  void load(const State& from);
  Halves exec() const;
  void set_exec(Halves lanes);
  bool is_new(Look& look);
  void append_key(const WayGraph& graph, std::string& key) const;
  static Spin spin_of(const Look& look);

  const Launch& launch_;
  const DispatchContext& real_context_;
  const Limits limits_;
  TrialMemory memory_;
  const Backend& backend_;
  CodeCaches code_;
  DispatchContext context_;
  Workgroup workgroup_;
  std::vector<std::byte> lds_;
  std::unique_ptr<Wave> wave_;
  std::unique_ptr<Wave> upper_;
  std::vector<std::byte> scratch_;
  TrialMemory::WaveState observer_state_;
  uint64_t steps_ = 0;
  const ResidentGroup* failed_ = nullptr;
  std::unordered_set<uint64_t> states_;
};

}  // namespace gfxgraph::emulator
