// The places of a dispatch's waves: for faults and reports of dispatches that do not end.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gfxgraph::emulator {

// The loop in which a wave repeats itself. Device addresses.
struct SpinLoop {
  uint64_t low_pc = 0;  // of its instructions; 0: no loop was found
  uint64_t high_pc = 0;
  uint64_t poll_pc = 0;  // the first load or atomic of the loop, 0: none
  uint64_t address = 0;  // that it reads, 0: unknown or LDS
};

struct WavePlace {
  enum class Why : uint8_t { kRuns, kRepeats, kBarrier, kGws };
  Why why = Why::kRuns;
  uint64_t pc = 0;  // of the poll, the barrier or the next instruction
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
  uint32_t wave = 0;
  SpinLoop loop;             // kRepeats
  uint32_t gws_missing = 0;  // kGws: waves that must still arrive
};

// Where all waves of a dispatch are.
struct WaveSnapshot {
  std::vector<WavePlace> waves;
  uint64_t claimed = 0;  // workgroups that a worker has taken and not started
};

// Text for a fault: the waves by place, the same place once with their number and range. `place`
// names a pc, `buffer` an address. Of bounded length.
std::string list_waves(std::vector<WavePlace> waves,
                       const std::function<std::string(uint64_t pc)>& place,
                       const std::function<std::string(uint64_t address)>& buffer);

}  // namespace gfxgraph::emulator
