#include "emulator/decode/operand_uses.h"

namespace gfxgraph::emulator {

bool permutes_lanes(const Inst& inst) noexcept {
  switch (inst.op) {
    case Op::v_permlane16_b32:
    case Op::v_permlanex16_b32:
    case Op::ds_permute_b32:
    case Op::ds_bpermute_b32:
    case Op::ds_swizzle_b32: return true;
    default:
      return is_vector_alu(inst.format) && inst.format != Format::kVop3p &&
             (inst.extra() == VopExtra::kDpp16 || inst.extra() == VopExtra::kDpp8);
  }
}

bool has_relative_registers(const Inst& inst) noexcept {
  switch (inst.op) {
    case Op::v_movreld_b32:
    case Op::v_movrels_b32:
    case Op::v_movrelsd_b32:
    case Op::v_movrelsd_2_b32:
    case Op::v_swaprel_b32:
    case Op::s_movreld_b32:
    case Op::s_movreld_b64:
    case Op::s_movrels_b32:
    case Op::s_movrels_b64:
    case Op::s_movrelsd_2_b32: return true;
    default: return false;
  }
}

}  // namespace gfxgraph::emulator
