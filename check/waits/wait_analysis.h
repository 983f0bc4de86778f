// Finds missing s_waitcnt in a kernel's code: registers that are used before a load has written
// them, LDS that is read before a load to LDS has, and barriers and fences that a store or load has
// not reached yet.
//
// A forward data-flow analysis from a kernel's entry. For each register, it tracks how many
// operations of a counter were issued since the load that writes the register. Loads of one counter
// return in order (vmcnt: vector memory, lgkmcnt: LDS), scalar loads in any order. Where paths
// meet, the smaller number holds. Compilers insert waits by the same analysis, so their code has no
// such places. FLAT instructions count for both counters. A wait on vmcnt suffices for their
// results, as compilers assume for addresses outside LDS; whether one reads LDS, whose data need
// lgkmcnt as well, is known when it runs. A D16 load fills one half of a register: the other one
// can be stored meanwhile.
//
// Scalar loads overtake each other, vector loads those of LDS, and image samples other loads: such
// a load may not write a register for which another one is under way. GDS operations read their
// registers late (expcnt). A barrier needs the wave's stores to LDS, and, if the memory model's
// fence is around it (buffer_gl0_inv behind it), those to memory. A fence (buffer_gl0_inv,
// buffer_gl1_inv) needs the store or load right before it; earlier stores may belong to an acquire,
// which does not wait for them.
//
// Functions are followed only if RegisterJumps are given. A caller need not wait for what a
// function waits for at its entry; a function waits for its loads before it returns (LLVM's calling
// convention). Other functions count as waiting for everything.
//
// Not followed: registers whose number comes from M0 (v_movrel*), and the operands of exports.
//
// Source: RDNA2 ISA guide, "Manually Inserted Wait States", "S_WAITCNT"; LLVM AMDGPUUsage, "Memory
// Model gfx10".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/analysis/control_flow.h"
#include "emulator/decode/inst.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::check {

struct MissingWait {
  enum class What : uint8_t {
    kRegister,  // used before its load has finished
    kLds,       // read before a load to LDS has finished
    kStore,     // not finished at a barrier or fence
    kLoad,      // not finished at a fence
    kSource,    // a register is overwritten before the operation of GDS has read it
    kReturn     // a function returns before its load has finished
  };
  What what = What::kRegister;
  uint64_t pc = 0;
  uint64_t load_pc = 0;  // of the load, store or operation of GDS
  emulator::Op op = emulator::Op{0};
  uint16_t code = 0;  // operand code of the register
  bool overwrites = false;
  const char* counter = "";  // "vmcnt"
  uint8_t left = 0;          // operations of the counter that may remain after the wait
  bool flat = false;         // kLds: read by a FLAT instruction, whose addresses decide
  bool flat_load = false;    // kRegister: so is it loaded, and the counter is that of LDS
};

struct WaitFindings {
  std::vector<MissingWait> places;
  uint64_t instructions = 0;  // that were analysed
  std::string incomplete;     // why not all of the kernel was; "": all
};

// `most_instructions`: it gives up above that many, or above its own limit; it then has no places.
// Thread-safe.
WaitFindings find_missing_waits(uint64_t entry, const emulator::RegionTable& memory,
                                size_t most_instructions = SIZE_MAX,
                                const emulator::RegisterJumps* jumps = nullptr);

// "s_waitcnt vmcnt(1)", "s_waitcnt_vscnt null, 0x0".
std::string needed_wait(const MissingWait& place);
// "v5", "s4".
std::string register_name(uint16_t code);

}  // namespace gfxgraph::check
