// Checks whether the waves of a workgroup can make progress, and finds the loops that they are in.
//
// A wave repeats itself when, run on its own, it comes back to exactly the state it had (place,
// registers, scratch) without having changed memory that others see, read a clock or asked the
// host. A workgroup is blocked when every live wave repeats itself or waits at a barrier or at the
// global wave sync; or when, from one barrier to a later one, all of its waves and its LDS come
// back to the same state without a change of global memory. When all workgroups of a dispatch are
// blocked, memory never changes again, so none of them goes on unless others write memory.
//
// Loops that count, read the clock, or change memory and change it back (a lock that is taken and
// given back) are not detected as blocked: the watchdog's limits end them (watchdog.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "emulator/engine/launch.h"
#include "emulator/engine/schedule/wave_places.h"
#include "emulator/memory/access_watch.h"

namespace gfxgraph::emulator {

struct ResidentGroup;

// Steps the waves of workgroups on the calling thread: they run on meanwhile, as they would anyway.
// `step` runs one instruction of wave n and keeps group.states, live and the rest in step. The
// loops that were found are in group.loops.
class ProgressCheck {
 public:
  using Step = std::function<void(uint32_t n)>;
  explicit ProgressCheck(const Launch& launch) : launch_(launch) {}

  // False: not known to be; a wave ended, faulted or changed memory, or is in too long a loop.
  bool is_blocked(ResidentGroup& group, const Step& step);
  // For reports: runs each wave until it comes back to a place where it was, whatever its registers
  // hold then.
  void find_loops(ResidentGroup& group, const Step& step);
  // Whether an access of the waves stepped so far was to memory that the host may write.
  bool reads_host_memory() const { return watch_.host_memory(); }

 private:
  struct HalfImage;
  struct WaveImage;
  enum class Outcome { kMoved, kBarrier, kRepeats };
  Outcome run_wave(ResidentGroup& group, uint32_t n, const Step& step);
  SpinLoop loop_of(ResidentGroup& group, uint32_t n, const Step& step);
  void note_instruction(SpinLoop& loop, const Inst& inst) const;
  bool lds_changed_by(const ResidentGroup& group, const Inst& inst);

  const Launch& launch_;
  AccessWatch watch_;
  std::vector<std::byte> lds_;
  bool lds_changed_ = false;
};

}  // namespace gfxgraph::emulator
