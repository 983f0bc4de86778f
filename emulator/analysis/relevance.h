// Which registers and scratch of a wave have a say in what it does, over the instructions that it
// was seen to run.
//
// A location is relevant before an instruction when its value may reach a branch, an address, EXEC,
// MODE or another hidden register, the data of a store or an atomic that others may see, or LDS,
// along the ways that were seen. Two states of a wave at one place that agree in the relevant
// locations do the same for as long as they stay on those ways, whatever the other locations hold:
// a counter that nothing looks at, a clock that is read into nothing.
//
// Backward over the seen ways, with EXEC as it was seen: EXEC, MODE, FLAT_SCRATCH, TRAPSTS and the
// place are always relevant. VGPRs are followed by lane; a write ends what was there before only
// where it surely replaces all of it. Instructions whose operands are not all known make everything
// relevant (registers at M0, v_swap_b32).
#pragma once

#include <bitset>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emulator/analysis/trial_memory.h"
#include "emulator/decode/inst.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::emulator {

struct Locations {
  static constexpr unsigned kScalars = 256;  // SGPRs and SCC, by operand code
  std::bitset<kScalars> scalar;
  std::vector<uint64_t> vgpr;     // lanes 0..31 of the lower half, then of the upper one
  std::vector<uint64_t> scratch;  // a bit per dword, as TrialMemory orders them
  // What was not touched yet when this was worked out is relevant.
  bool has_scratch(uint32_t n) const {
    return n / 64 >= scratch.size() || (scratch[n / 64] >> n % 64 & 1) != 0;
  }
  bool operator==(const Locations&) const = default;
};

// What an instruction reads and writes, as far as this is about values. For relevance and tests.
struct ValueFlow {
  enum class Kind : uint8_t {
    kOrdinary,
    kUnknown,  // operands are not all known
    kClock,    // its result is another one each time
  };
  Kind kind = Kind::kOrdinary;
  bool always = false;       // has an effect besides its destinations: all sources count
  bool other_lanes = false;  // a lane's result depends on other lanes' sources
  bool may_keep = false;     // destinations may keep old bits
  bool writes_lane = false;  // v_writelane
  int lane = -1;  // v_readlane, v_writelane: the only lane that is read or written; -1: not known
  bool data_if_shared = false;  // sources that are no address count if others see the memory
  InstOperands operands;        // with all sources; wave64 lane masks as pairs
  std::bitset<Locations::kScalars> replaced;  // scalars that are written as a whole
};
ValueFlow value_flow(const Inst& inst, bool wave64);

// The ways of one wave. Not thread-safe.
class WayGraph {
 public:
  WayGraph(uint32_t vgprs, bool wave64) : vgprs_(vgprs), wave64_(wave64) {}

  // The instruction runs with these lanes (upper half in the high bits). False: it names VGPRs that
  // the kernel does not have.
  bool enter(const Inst& inst, uint64_t exec);
  // What it did, and where the wave goes on.
  void leave(uint64_t pc, const TrialMemory& did, uint64_t next_pc);
  // Something new was seen since the last call.
  bool take_news() {
    const bool news = news_;
    news_ = false;
    return news;
  }
  // Works out what is relevant on the ways seen so far. False: the value of a clock is.
  bool analyse();
  // Before the instruction at pc; null: not known, all of it.
  const Locations* relevant(uint64_t pc) const;
  // The instructions on ways that begin at one of `pcs`, with the first address each accessed.
  struct Place {
    uint64_t pc;
    bool polls;  // loads or atomics by vector instructions
    uint64_t address;
  };
  std::vector<Place> places_from(const std::vector<uint64_t>& pcs) const;

 private:
  struct Node {
    uint64_t pc = 0;
    ValueFlow flow;
    bool polls = false;
    uint64_t address = 0;
    uint64_t exec_ever = 0;
    uint64_t exec_always = ~uint64_t{0};
    bool shared_write = false;
    bool done = false;  // leave() was called
    std::vector<uint64_t> next;
    std::vector<uint32_t> read, written, written_partly;  // scratch, by dword, sorted
    bool known = false;                                   // `before` is
    Locations before;
  };
  Locations nothing() const;
  void everything(Locations& all) const;
  static void add(Locations& to, const Locations& from);
  static uint64_t lanes_of(const Node& node);
  Locations before(const Node& node, bool& clock_counts) const;
  bool result_counts(const Node& node, const Locations& after) const;
  void end_replaced(const Node& node, Locations& live) const;
  void add_sources(const Node& node, bool needed, bool stored, Locations& live) const;

  const uint32_t vgprs_;
  size_t scratch_dwords_ = 0;  // that were touched
  const bool wave64_;
  bool news_ = false;
  std::unordered_map<uint64_t, uint32_t> index_;
  std::vector<Node> nodes_;
};

}  // namespace gfxgraph::emulator
