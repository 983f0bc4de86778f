// Sets the host's float control for the duration of a call.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "emulator/engine/wave.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// MXCSR between instructions: the scheduler sets it for the threads that run waves.
inline constexpr uint32_t kHostDefaultControl = 0x1f80;
inline constexpr uint32_t kHostFlushResults = 1u << 15;
inline constexpr uint32_t kHostFlushInputs = 1u << 6;

// The arithmetic must stand behind a call through a pointer, so that the compiler cannot move it
// out.
class HostControl {
 public:
  GFXGRAPH_INLINE explicit HostControl(uint32_t control) { _mm_setcsr(control); }
  GFXGRAPH_INLINE ~HostControl() { _mm_setcsr(kHostDefaultControl); }
  HostControl(const HostControl&) = delete;
  HostControl& operator=(const HostControl&) = delete;
};

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
