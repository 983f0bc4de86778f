// Finds missing s_waitcnt: registers that are used before a load has written them, LDS that is read
// before a load to LDS has, and barriers and fences that a store has not reached yet.
//
// A forward data-flow analysis from a kernel's entry. For each register, it tracks how many
// operations of a counter were issued since the load that writes the register. Loads of one counter
// return in order (vmcnt: vector memory, lgkmcnt: LDS), scalar loads in any order. Where paths
// meet, the smaller number holds. Compilers insert waits by the same analysis, so their code has no
// such places. FLAT instructions count for both counters. A wait on vmcnt suffices for their
// results, as compilers assume for addresses outside LDS; whether one reads LDS, whose data need
// lgkmcnt as well, is known when it runs. A D16 load fills one half of a register: the other one
// can be stored meanwhile. Called functions are not analysed: they wait for everything at entry and
// return.
//
// Scalar loads overtake each other, and vector loads those of LDS: such a load may not write a
// register for which another one is under way. A barrier needs the wave's stores to LDS, and, if
// the memory model's fence is around it (buffer_gl0_inv behind it), those to memory. A fence
// (buffer_gl0_inv, buffer_gl1_inv) needs the store right before it; earlier ones may belong to an
// acquire, which does not wait for them.
//
// Source: RDNA2 ISA guide, "Manually Inserted Wait States", "S_WAITCNT"; LLVM AMDGPUUsage, "Memory
// Model gfx10".
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/decode/inst.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::check {

// Add all kernels before the first one runs.
class WaitCheck {
 public:
  enum class What : uint8_t {
    kRegister,  // used before its load has finished
    kLds,       // read before a load to LDS has finished
    kStore      // not finished at a barrier or fence
  };
  struct Place {
    What what = What::kRegister;
    uint64_t pc = 0;
    uint64_t load_pc = 0;  // of the load or store
    emulator::Op op = emulator::Op{0};
    uint16_t code = 0;  // operand code of the register
    bool overwrites = false;
    const char* counter = "";  // "vmcnt"
    bool flat = false;         // kLds: read by a FLAT instruction, whose addresses decide
    bool flat_load = false;    // kRegister: so is it loaded, and the counter is that of LDS
  };

  // Analyses a kernel. False: its code is too long or has too many paths.
  bool add_kernel(uint64_t entry, const emulator::RegionTable& memory,
                  size_t most_instructions = SIZE_MAX);
  // Host memory that the results take, about.
  uint64_t kept_bytes() const { return kept_bytes_; }
  // Called by LaneObserver::decoded() before an instruction runs for the first time. Thread-safe.
  void note_reached(uint64_t pc);
  // Called when a FLAT instruction reads LDS. Thread-safe.
  void note_flat_lds(uint64_t pc) {
    if (any_flat_) note(pc, &Reached::in_lds);
  }
  // The places of a kernel whose instructions were executed.
  std::vector<Place> reached_places(uint64_t entry) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<Place>> kernels_;  // by entry
  uint64_t kept_bytes_ = 0;
  struct Reached {
    bool executed = false;
    bool in_lds = false;  // by a FLAT instruction
  };
  void note(uint64_t pc, bool Reached::* what);
  std::unordered_map<uint64_t, Reached> reached_;  // all places, by pc
  bool any_flat_ = false;                          // of them
};

// "v5", "s4".
std::string register_name(uint16_t code);

}  // namespace gfxgraph::check
