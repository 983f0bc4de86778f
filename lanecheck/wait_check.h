// Registers that are used before a load has filled them: s_waitcnt that are missing.
//
// Forward over the control flow from a kernel's entry: for each register, how many operations of
// its counter were issued since the load that writes it. Loads of one counter arrive in order
// (vmcnt: vector memory, lgkmcnt: LDS), scalar loads in any order. Where paths meet, the shorter
// distance holds. Compilers insert waits by the same analysis, so what they made has no such place;
// FLAT instructions count for both counters; vmcnt alone waits for what they load, as compilers
// have it for those that cannot be in LDS. Code behind calls is not followed: functions wait for
// everything when they begin and return.
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

namespace gfxgraph::lanecheck {

// Kernels are added before the first one runs.
class WaitCheck {
 public:
  // An instruction that uses a register too early.
  struct Place {
    uint64_t pc = 0;
    uint64_t load_pc = 0;
    emulator::Op op = emulator::Op{0};
    uint16_t code = 0;  // operand code of the register
    bool overwrites = false;
    const char* counter = "";  // "vmcnt"
  };

  // False: its code is too long or its paths are too many.
  bool add_kernel(uint64_t entry, const emulator::RegionTable& memory);
  // From LaneObserver::decoded(): an instruction is about to run for the first time. Thread-safe.
  void note_reached(uint64_t pc);
  // Of a kernel, those that were reached.
  std::vector<Place> reached_places(uint64_t entry) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<Place>> kernels_;  // by entry
  std::unordered_map<uint64_t, bool> reached_;                // by pc of all places
};

// "v5", "s4".
std::string register_name(uint16_t code);

}  // namespace gfxgraph::lanecheck
