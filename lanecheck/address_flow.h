// Which instructions of a kernel can have a say in an address of global memory or scratch. The
// shadow of all other registers is never looked at, so their instructions need not be watched, and
// findings stay the same to the bit.
//
// Backward over the control flow from every memory instruction: a register counts where its shadow
// may reach an address operand. A vector write ends what was there before only if it surely writes
// all launched lanes: forward, it is followed where EXEC holds the lanes that the kernel began
// with. SGPRs that are defined wherever they are read do not count at all. Kernels that jump to an
// address in a register (calls, jump tables) are watched as a whole.
//
// Of the instructions that count, straight runs are watched as one (shadow_run.h), and one with
// which the kernel begins not at all: what it leaves behind is the same for every wave.
//
// Not thread-safe: kernels are added before the first one runs, then it is only read.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/memory/memory_map.h"
#include "lanecheck/shadow_run.h"

namespace gfxgraph::lanecheck {

class AddressFlow {
 public:
  // Analyses the code that is reached from `entry`. The wave begins with s0..s(sgprs - 1) and
  // v0..v(vgprs - 1).
  void add_kernel(uint64_t entry, uint32_t sgprs, uint32_t vgprs,
                  const emulator::RegionTable& memory);
  // How the instruction is to be watched; alone for code that no added kernel reaches.
  struct Watch {
    enum class How : uint8_t {
      kNot,  // the shadow of what it writes does not matter, or a run's end sees to it
      kAlone,
      kRun  // it is the end of a run
    };
    How how = How::kAlone;
    uint32_t run = 0;
    bool address_defined = false;  // scalar loads: whatever the wave did before
  };
  Watch watch(uint64_t pc) const;
  const ShadowRun& run(uint32_t index) const { return *runs_[index]; }
  // Steps of a run before an access to global memory: the shadow lacks them when the access is
  // made.
  struct Behind {
    uint32_t run = 0;
    uint32_t steps = 0;  // 0: the shadow is up to date
    bool operator==(const Behind&) const = default;
  };
  Behind behind(uint64_t pc) const;
  // A register as the beginning of the kernel leaves it in every wave: written in all lanes that
  // were launched. SGPRs are defined.
  struct Begun {
    uint16_t code;
    bool defined;     // in these lanes
    uint32_t writer;  // as in LaneWaveState
    bool operator==(const Begun&) const = default;
  };
  // SGPRs and SCC, by operand code, whose shadow is to be all ones from a wave's beginning.
  const std::vector<uint16_t>& never_undefined(uint64_t entry) const;
  const std::vector<Begun>& begun(uint64_t entry) const;

 private:
  struct Beginning {
    std::vector<uint16_t> never_undefined;
    std::vector<Begun> begun;
    bool operator==(const Beginning&) const = default;
  };
  void add_watch(uint64_t pc, const Watch& watch);
  void add_behind(uint64_t pc, const Behind& behind);
  const Beginning& beginning(uint64_t entry) const;

  std::unordered_map<uint64_t, Watch> watches_;
  std::unordered_map<uint64_t, Behind> behind_;
  std::vector<std::unique_ptr<const ShadowRun>> runs_;
  std::unordered_map<uint64_t, Beginning> beginnings_;
  // Two kernels that share code have different needs there: all of it is watched.
  bool watch_all_ = false;
};

}  // namespace gfxgraph::lanecheck
