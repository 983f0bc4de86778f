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
#include <new>
#include <vector>

#include "emulator/decode/inst.h"
#include "emulator/engine/backend.h"
#include "emulator/engine/wave.h"

namespace gfxgraph::emulator {

// Room for the halves' Insts, laid out as in the code cache, so that operands_of() works for them.
// Pointers stay valid as long as the store.
class HalfInsts {
 public:
  explicit HalfInsts(bool keeps_operands) : keeps_operands_(keeps_operands) {}
  Inst* take();

 private:
  struct Free {
    void operator()(void* block) const { ::operator delete(block, std::align_val_t{64}); }
  };
  const bool keeps_operands_;
  size_t used_ = 0;
  std::vector<std::unique_ptr<void, Free>> blocks_;
};

// How a vector instruction runs in two halves. The cache's Inst refers to it by k[0].
struct HalfPlan {
  Inst* low = nullptr;
  Inst* high = nullptr;
  const Backend* backend = nullptr;
  struct Copy {
    uint8_t from, to;  // SGPRs of the wave and of its upper half
  };
  Copy copies[16] = {};
  uint8_t copy_count = 0;
  uint8_t specials = 0;     // sources that are neither register nor constant: one bit each
  uint8_t mask_result = 0;  // SGPR that gets the upper half's lane mask; kNone: no such result
  static constexpr uint8_t kNone = 255;
  // The upper Wave's register with that mask.
  static constexpr uint16_t kMaskSlot = 48;
  uint16_t mask_source() const {
    return mask_result == operand::kExecHi ? uint16_t{operand::kExecLo} : kMaskSlot;
  }
};

// Binds a decoded instruction for wave64: gives the handler for `inst` and, for vector
// instructions, the plan, which must outlive it and refers to `store`. Null: not supported.
Handler bind_wave64(const Backend& backend, Inst& inst, HalfInsts& store,
                    std::unique_ptr<HalfPlan>& plan);

}  // namespace gfxgraph::emulator
