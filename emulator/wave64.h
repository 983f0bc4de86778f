// Wave64: vector instructions run as two halves of 32 lanes on the wave32 handlers.
//
// A wave64 is two Waves: the one that the scheduler knows has the scalar state and lanes 0..31, its
// `upper` has lanes 32..63. Scalar instructions run once, on the first. A vector instruction runs
// its handler on each half; the upper half's Inst has its scalar operands renamed to registers of
// the upper Wave that are filled before (lane masks: with their upper word), so that the handlers
// need not know. Source: RDNA2 ISA guide, "Wave32 and Wave64"; lane exchange (DPP, permlane16,
// swizzle, permute) never leaves a half there.
#pragma once

#include <cstdint>
#include <memory>

#include "emulator/backend.h"
#include "emulator/inst.h"
#include "emulator/wave.h"

namespace gfxgraph::emulator {

// How a vector instruction runs in two halves. The cache's Inst refers to it by k[0].
struct HalfPlan {
  Inst low;
  Inst high;
  struct Copy {
    uint8_t from, to;  // SGPRs of the wave and of its upper half
  };
  Copy copies[16] = {};
  uint8_t copy_count = 0;
  uint8_t specials = 0;     // sources that are neither register nor constant: one bit each
  uint8_t mask_result = 0;  // SGPR that gets the upper half's lane mask; kNone: no such result
  static constexpr uint8_t kNone = 255;
};

// Binds a decoded instruction for wave64: gives the handler for `inst` and, for vector
// instructions, the plan, which must outlive it. Null: not supported.
Handler bind_wave64(const Backend& backend, Inst& inst, std::unique_ptr<HalfPlan>& plan);

}  // namespace gfxgraph::emulator
