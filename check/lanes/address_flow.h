// Finds the instructions of a kernel that can affect an address of global memory or scratch. The
// shadow of all other registers is never read, so their instructions need not be observed, and the
// findings are exactly the same. For a check of values (initcheck) this covers all that it
// inspects: also stored values, branches, EXEC, bitwise scalar instructions, and loads, whose
// results may be undefined.
//
// A backward data-flow analysis from every memory instruction: a register is live if its shadow may
// reach an address operand. A vector write kills the previous value only if it is certain to write
// all launched lanes; a forward pass tracks where EXEC has the lanes that the kernel began with.
// SGPRs that are defined wherever they are read are never live. Kernels that jump to an address in
// a register (calls, jump tables) are observed as a whole.
//
// A straight-line run of relevant instructions is observed as one (shadow_run.h). A run at the
// kernel's entry is not observed, because its result is the same for every wave.
//
// Not thread-safe: add all kernels before the first one runs. Concurrent reads are then safe.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check/lanes/shadow_run.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::check {

class AddressFlow {
 public:
  // What the check inspects: addresses only, or values too.
  enum class Of : uint8_t { kAddresses, kValues };
  // Analyses the code reachable from `entry`. The first `sgprs` SGPRs and `vgprs` VGPRs of a wave
  // are initialized when it begins.
  // Of a kernel with more than `most_instructions`, all are watched.
  void add_kernel(uint64_t entry, uint32_t sgprs, uint32_t vgprs,
                  const emulator::RegionTable& memory, Of of = Of::kAddresses,
                  size_t most_instructions = SIZE_MAX);
  // How an instruction must be observed; kAlone for code that no added kernel reaches.
  struct Watch {
    enum class How : uint8_t {
      kNot,  // the shadow of its result is never read, or is updated at the end of a run
      kAlone,
      kRun  // it ends a run
    };
    How how = How::kAlone;
    uint32_t run = 0;
    // For scalar loads, branches and bitwise scalar instructions: all sources are defined on every
    // path.
    bool sources_defined = false;
  };
  Watch watch(uint64_t pc) const;
  const ShadowRun& run(uint32_t index) const { return *runs_[index]; }
  // The steps of a run before an access to global memory, which the shadow does not yet include at
  // the access.
  struct Behind {
    uint32_t run = 0;
    uint32_t steps = 0;  // 0: the shadow is up to date
    bool operator==(const Behind&) const = default;
  };
  Behind behind(uint64_t pc) const;
  // The state of a register after the run at the kernel's entry, the same in every wave: written in
  // all launched lanes. SGPRs are defined.
  struct Begun {
    uint16_t code;
    bool defined;     // in all launched lanes
    uint32_t writer;  // as in LaneWaveState
    bool operator==(const Begun&) const = default;
  };
  // Host memory that it takes, about.
  uint64_t kept_bytes() const;
  // Operand codes of SGPRs and SCC whose shadow must be all ones when a wave begins.
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
  // Kernels that share code have different requirements for it, so all code is observed.
  bool watch_all_ = false;
};

}  // namespace gfxgraph::check
