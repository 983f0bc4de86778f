// The proof that a workgroup can go on only if memory is changed by somebody else.
//
// A wave repeats itself when, run on its own, it comes back to exactly the state it had (place,
// registers, scratch) without having changed memory that others see, read a clock or asked the
// host. A workgroup stands still when every live wave repeats itself or waits at a barrier or at
// the global wave sync; or when, from one barrier to a later one, all of its waves and its LDS come
// back to the same state without a change of global memory. When all workgroups of a dispatch stand
// still, memory never changes again, so that none of them ever goes on by itself.
//
// Not proven here, and then tried in another way (closure.h): loops that count, read the clock, or
// change memory and change it back (a lock that is taken and given back).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator/engine/launch.h"
#include "emulator/memory/access_watch.h"

namespace gfxgraph::emulator {

struct ResidentGroup;

// The loop in which a wave repeats itself. Device addresses.
struct Spin {
  uint64_t low_pc = 0;  // of its instructions; 0: no loop was found
  uint64_t high_pc = 0;
  uint64_t poll_pc = 0;  // the first load or atomic of the loop, 0: none
  uint64_t address = 0;  // that it reads, 0: unknown or LDS
};

// Where a wave is when its dispatch is given up, or is reported to run long.
struct WavePlace {
  enum class Why : uint8_t { kRuns, kRepeats, kBarrier, kGws };
  Why why = Why::kRuns;
  uint64_t pc = 0;  // of the poll, the barrier or the next instruction
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
  uint32_t wave = 0;
  Spin spin;                 // kRepeats
  uint32_t gws_missing = 0;  // kGws: waves that must still arrive
};

// Steps the waves of workgroups on the calling thread: they run on meanwhile, as they would anyway.
class StandstillProbe {
 public:
  explicit StandstillProbe(const Launch& launch) : launch_(launch) {}

  // `step` runs one instruction of wave n and keeps group.states, live and the rest in step. False:
  // not proven; a wave ended, faulted or changed memory, or is in too long a loop. True: the loops
  // are in group.spins.
  bool stands_still(ResidentGroup& group, const std::function<void(uint32_t n)>& step);
  // Whether an access of the waves stepped so far was to memory that the host may write.
  bool reads_host_memory() const { return watch_.host_memory(); }

 private:
  struct HalfImage;
  struct WaveImage;
  enum class Outcome { kMoved, kBarrier, kRepeats };
  Outcome run_wave(ResidentGroup& group, uint32_t n, const std::function<void(uint32_t n)>& step);
  void note_poll(Spin& spin, const Inst& inst) const;
  bool lds_changed_by(const ResidentGroup& group, const Inst& inst);

  const Launch& launch_;
  AccessWatch watch_;
  std::vector<std::byte> lds_;
  bool lds_changed_ = false;
};

// Text for a fault: the waves by place, the same place once with their number and range. `place`
// names a pc, `buffer` an address. Of bounded length.
std::string list_waves(std::vector<WavePlace> waves,
                       const std::function<std::string(uint64_t pc)>& place,
                       const std::function<std::string(uint64_t address)>& buffer);

}  // namespace gfxgraph::emulator
