#include "lanecheck/provenance_rules.h"

#include <string_view>

#include "emulator/decode/operand_uses.h"

namespace gfxgraph::lanecheck {
namespace {

using emulator::Format;
using emulator::Inst;
using emulator::Op;
using emulator::VopExtra;

// Sources of which a result keeps the address: bits 0 to 2.
constexpr uint32_t kFirst = 1, kSecond = 2, kThird = 4, kEvery = 7;

bool is_memory(Format format) {
  switch (format) {
    case Format::kDs:
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch:
    case Format::kMubuf:
    case Format::kMtbuf:
    case Format::kMimg: return true;
    default: return false;
  }
}

}  // namespace

uint32_t strong_sources(const Inst& inst) {
  if (inst.extra() != VopExtra::kNone && emulator::is_vector_alu(inst.format)) return 0;
  switch (inst.op) {
    case Op::s_add_u32:
    case Op::s_add_i32:
    case Op::s_addc_u32:
    case Op::s_addk_i32:
    case Op::s_and_b32:
    case Op::s_and_b64:
    case Op::s_or_b32:
    case Op::s_or_b64:
    case Op::s_min_u32:
    case Op::s_min_i32:
    case Op::s_max_u32:
    case Op::s_max_i32:
    case Op::v_add_nc_u32:
    case Op::v_add_nc_i32:
    case Op::v_add_co_u32:
    case Op::v_add_co_ci_u32:
    case Op::v_add3_u32:
    case Op::v_and_b32:
    case Op::v_or_b32:
    case Op::v_or3_b32:
    case Op::v_and_or_b32:
    case Op::v_min_u32:
    case Op::v_min_i32:
    case Op::v_max_u32:
    case Op::v_max_i32:
    case Op::v_min3_u32:
    case Op::v_max3_u32:
    case Op::v_med3_u32: return kEvery;
    case Op::s_andn2_b32:
    case Op::s_andn2_b64:
    case Op::s_orn2_b32:
    case Op::s_orn2_b64:
    case Op::s_sub_u32:
    case Op::s_sub_i32:
    case Op::s_subb_u32:
    case Op::v_sub_nc_u32:
    case Op::v_sub_nc_i32:
    case Op::v_sub_co_u32:
    case Op::v_sub_co_ci_u32: return kFirst;
    case Op::s_lshl1_add_u32:
    case Op::s_lshl2_add_u32:
    case Op::s_lshl3_add_u32:
    case Op::s_lshl4_add_u32:
    case Op::v_subrev_nc_u32:
    case Op::v_subrev_co_u32:
    case Op::v_subrev_co_ci_u32: return kSecond;
    case Op::v_bfi_b32: return kSecond | kThird;
    case Op::v_lshl_add_u32:
    case Op::v_lshl_or_b32:
    case Op::v_xad_u32:
    case Op::v_mad_u32_u24:
    case Op::v_mad_i32_i24:
    case Op::v_mad_u64_u32:
    case Op::v_mad_i64_i32: return kThird;
    default: return 0;
  }
}

bool has_carry_in(Op op) {
  return op == Op::v_add_co_ci_u32 || op == Op::v_sub_co_ci_u32 || op == Op::v_subrev_co_ci_u32;
}

TagRule tag_rule_of(const Inst& inst) {
  switch (inst.op) {
    case Op::s_mov_b32:
    case Op::s_mov_b64: return TagRule::kMove;
    case Op::s_cmov_b32:
    case Op::s_cmov_b64:
    case Op::s_cmovk_i32: return TagRule::kConditional;
    case Op::s_cselect_b32:
    case Op::s_cselect_b64: return TagRule::kScalarSelect;
    case Op::s_setpc_b64:
    case Op::s_swappc_b64: return TagRule::kJump;
    case Op::v_readlane_b32:
    case Op::v_readfirstlane_b32: return TagRule::kReadLane;
    case Op::v_writelane_b32: return TagRule::kWriteLane;
    case Op::v_swap_b32: return TagRule::kSwap;
    default: break;
  }
  if (emulator::has_relative_registers(inst)) return TagRule::kRelative;
  const std::string_view name = emulator::op_name(inst.op);
  const bool dpp = inst.extra() == VopExtra::kDpp16 || inst.extra() == VopExtra::kDpp8;
  if (emulator::permutes_lanes(inst) && (!dpp || inst.op == Op::v_mov_b32))
    return TagRule::kCrossLane;
  if (inst.format == Format::kSmem) return TagRule::kScalarLoad;
  if (is_memory(inst.format)) return TagRule::kVectorMemory;
  if (inst.op == Op::v_mov_b32 && inst.extra() == VopExtra::kNone) return TagRule::kMove;
  if (inst.op == Op::v_cndmask_b32 && inst.extra() == VopExtra::kNone) return TagRule::kSelect;
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("_f16") || has("_f32") || has("_f64") || has("_cvt_") || has("v_dot"))
    return TagRule::kClear;
  if (name.starts_with("v_cmp") || name.starts_with("s_cmp")) return TagRule::kCompare;
  return TagRule::kCombine;
}

TagRelation relation_of(const Inst& inst) {
  switch (inst.op) {
    case Op::v_xor_b32:
    case Op::s_xor_b32:
    case Op::s_xor_b64: return TagRelation::kLoose;
    case Op::s_sub_u32:
    case Op::s_sub_i32:
    case Op::v_sub_nc_u32:
    case Op::v_sub_nc_i32:
    case Op::v_sub_co_u32:
    case Op::v_subrev_nc_u32:
    case Op::v_subrev_co_u32:
      return inst.extra() == VopExtra::kNone ? TagRelation::kLower : TagRelation::kLoose;
    case Op::s_subb_u32:
    case Op::v_sub_co_ci_u32:
    case Op::v_subrev_co_ci_u32:
      return inst.extra() == VopExtra::kNone ? TagRelation::kUpper : TagRelation::kLoose;
    case Op::s_addc_u32:
    case Op::v_add_co_ci_u32: return TagRelation::kSum;
    default: break;
  }
  if (tag_rule_of(inst) != TagRule::kCompare) return TagRelation::kNone;
  const std::string_view name = emulator::op_name(inst.op);
  const bool part = inst.extra() != VopExtra::kNone && emulator::is_vector_alu(inst.format);
  if (part || name.ends_with("16")) return TagRelation::kLoose;
  return emulator::op_info(inst.op).src_dwords[0] > 1 ? TagRelation::kWhole : TagRelation::kLower;
}

bool replaces(Op op) {
  const std::string_view name = emulator::op_name(op);
  return (name.find("_swap") != name.npos && name.find("cmpswap") == name.npos) ||
         name.find("_wrxchg") != name.npos;
}

}  // namespace gfxgraph::lanecheck
