#include "emulator/decode/memory_effects.h"

#include "emulator/decode/inst.h"

namespace gfxgraph::emulator {
namespace {

uint32_t effects_of(const Inst& inst) {
  const OpInfo& info = op_info(inst.op);
  switch (info.flow) {
    case FlowKind::kCall:
    case FlowKind::kIndirectCall:
    case FlowKind::kIndirectJump: return memory_effect::kOther;
    default: break;
  }
  if (inst.format == Format::kMimg) return memory_effect::kOther;
  if (inst.format == Format::kScratch) return 0;
  if ((info.flags & OpInfo::kAtomic) == 0)
    return (info.flags & OpInfo::kStore) != 0 ? memory_effect::kStores : 0;
  const bool returns =
      inst.format == Format::kDs ? info.dst_dwords != 0 : (inst.mods & mmod::kGlc) != 0;
  return memory_effect::kAtomics | (returns ? memory_effect::kReturningAtomics : 0) |
         (info.value == Value::kNumber ? memory_effect::kFloatAtomics : 0);
}

}  // namespace

uint32_t memory_effects(std::span<const uint32_t> code, uint64_t address) noexcept {
  uint32_t effects = 0;
  while (!code.empty()) {
    Inst inst;
    if (decode(code.data(), code.size(), address, inst) != DecodeStatus::kOk)
      return effects | memory_effect::kOther;
    effects |= effects_of(inst);
    code = code.subspan(inst.size_bytes() / sizeof(uint32_t));
    address += inst.size_bytes();
  }
  return effects;
}

}  // namespace gfxgraph::emulator
