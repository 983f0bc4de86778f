// Determines which instructions of a kernel can affect an address of global memory or scratch. The
// shadow of all other registers is never read, so their instructions need not be observed, and
// findings stay exactly the same. For a check of values (initcheck) the same is determined of all
// that it looks at: also what is stored, branches, EXEC, bitwise scalar instructions, and loads,
// which may give undefined values.
//
// Backward over the control flow from every memory instruction: a register counts if its shadow may
// reach an address operand. A vector write kills the previous value only if it surely writes all
// launched lanes: a forward pass tracks where EXEC holds the lanes that the kernel began with.
// SGPRs that are defined wherever they are read do not count at all. Kernels that jump to an
// address in a register (calls, jump tables) are observed as a whole.
//
// Straight-line runs of the relevant instructions are observed as one (shadow_run.h), and a run at
// the kernel's entry not at all: its result is the same for every wave.
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
  // Whose shadow is looked at.
  enum class Of : uint8_t { kAddresses, kValues };
  // Analyses the code reachable from `entry`. The wave begins with s0..s(sgprs - 1) and v0..v(vgprs
  // - 1).
  void add_kernel(uint64_t entry, uint32_t sgprs, uint32_t vgprs,
                  const emulator::RegionTable& memory, Of of = Of::kAddresses);
  // How the instruction must be observed; returns kAlone for code that no added kernel reaches.
  struct Watch {
    enum class How : uint8_t {
      kNot,  // the shadow of its result does not matter, or the end of a run updates it
      kAlone,
      kRun  // it is the end of a run
    };
    How how = How::kAlone;
    uint32_t run = 0;
    // Scalar loads, branches, bitwise scalar instructions: whatever the wave did before.
    bool sources_defined = false;
  };
  Watch watch(uint64_t pc) const;
  const ShadowRun& run(uint32_t index) const { return *runs_[index]; }
  // Steps of a run before an access to global memory: the shadow lacks them at the time of the
  // access.
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
  // SGPRs and SCC, by operand code, whose shadow must be all ones from a wave's beginning.
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
  // Two kernels that share code have different requirements there: all of it is observed.
  bool watch_all_ = false;
};

}  // namespace gfxgraph::lanecheck
