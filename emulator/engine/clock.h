// The device clock: what s_memtime, s_memrealtime and SHADER_CYCLES return.
//
// It counts what was executed and nothing of the host's time, so that a program reads the same in
// each run. Each wave has its own position on the clock:
// - A wave starts at the launch's first clock plus its number in the launch, counted over the
// workgroups in order.
// - An instruction takes 1 clock, a read of the clock 40 more, s_sleep N takes 64 * N more.
// - The waves of a workgroup leave an s_barrier at the position of the last of them.
// - A launch begins where the last wave of the launches that ended before it ended; the runtime's
// own kernels take no
//   time (Dispatch::keeps_clock).
// Waves of different workgroups that wait for each other through memory are not put in order.
#pragma once

#include <cstdint>

namespace gfxgraph::emulator {

// s_memtime counts shader clocks; s_memrealtime (wall_clock64) counts at a constant rate. Both are
// what the software agent reports.
constexpr uint64_t kShaderClockHz = 2'250'000'000;
constexpr uint64_t kWallClockHz = 1'000'000'000;

constexpr uint64_t kFirstClock = 1'000'000;  // of a device; never 0
constexpr uint64_t kClocksOfRead = 40;
constexpr uint64_t kClocksOfSleep = 64;  // times N

constexpr uint64_t wall_clock(uint64_t shader_clock) {
  constexpr uint64_t kShader = kShaderClockHz / 250'000'000;
  constexpr uint64_t kWall = kWallClockHz / 250'000'000;
  static_assert(kShader * 250'000'000 == kShaderClockHz && kWall * 250'000'000 == kWallClockHz);
  return shader_clock / kShader * kWall + shader_clock % kShader * kWall / kShader;
}

}  // namespace gfxgraph::emulator
