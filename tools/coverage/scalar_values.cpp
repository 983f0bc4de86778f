#include "tools/coverage/scalar_values.h"

namespace gfxgraph::tools {

using emulator::Inst;
using emulator::Op;
using emulator::OpInfo;
namespace operand = emulator::operand;

ScalarValues ScalarValues::function_entry(uint16_t link) {
  ScalarValues values;
  values.in_function_ = true;
  for (const unsigned sgpr : {link + 0u, link + 1u}) {
    if (sgpr < 128) values.return_address_.set(sgpr);
  }
  return values;
}

bool ScalarValues::meet(const ScalarValues& other) {
  bool lost = false;
  for (unsigned n = 0; n < 128; ++n) {
    if (known_[n] && !(other.known_[n] && other.value_[n] == value_[n])) {
      known_.reset(n);
      lost = true;
    }
    if (return_address_[n] && !other.return_address_[n]) {
      return_address_.reset(n);
      lost = true;
    }
  }
  if (in_function_ && !other.in_function_) {
    in_function_ = false;
    lost = true;
  }
  if (scc_ && scc_ != other.scc_) {
    scc_.reset();
    lost = true;
  }
  return lost;
}

bool ScalarValues::is_return_address(uint16_t sgpr) const {
  return sgpr + 1u < 128 && return_address_[sgpr] && return_address_[sgpr + 1u];
}

std::optional<uint32_t> ScalarValues::source(const Inst& inst, int n) const {
  const uint16_t code = inst.src[n];
  if (code == operand::kNull) return 0;
  if (operand::is_sgpr(code)) return known_[code] ? std::optional(value_[code]) : std::nullopt;
  if (code == operand::kNone || operand::is_vgpr(code) || operand::is_special(code)) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(inst.k[n]);
}

std::optional<uint64_t> ScalarValues::pair(const Inst& inst, int n) const {
  const uint16_t code = inst.src[n];
  if (code == operand::kNull) return 0;
  if (operand::is_sgpr(code)) {
    if (code + 1u >= 128 || !known_[code] || !known_[code + 1u]) return std::nullopt;
    return value_[code] | uint64_t{value_[code + 1u]} << 32;
  }
  if (code == operand::kNone || operand::is_vgpr(code) || operand::is_special(code)) {
    return std::nullopt;
  }
  return inst.k[n];
}

void ScalarValues::forget(uint16_t sgpr, unsigned dwords) {
  for (unsigned n = sgpr; n < 128 && n < sgpr + dwords; ++n) {
    known_.reset(n);
    return_address_.reset(n);
  }
}

void ScalarValues::set(uint16_t sgpr, std::optional<uint32_t> value) {
  forget(sgpr, 1);
  if (!value || sgpr >= 128) return;
  value_[sgpr] = *value;
  known_.set(sgpr);
}

void ScalarValues::set_pair(uint16_t sgpr, std::optional<uint64_t> value) {
  forget(sgpr, 2);
  if (!value || sgpr + 1u >= 128) return;
  set(sgpr, static_cast<uint32_t>(*value));
  set(static_cast<uint16_t>(sgpr + 1), static_cast<uint32_t>(*value >> 32));
}

void ScalarValues::return_from_call(uint16_t link) {
  forget(0, 30);
  forget(link, 2);
  forget(operand::kVccLo, 22);  // VCC to EXEC
  scc_.reset();
}

void ScalarValues::forget_written(const Inst& inst) {
  const OpInfo& info = emulator::op_info(inst.op);
  forget(inst.dst, info.dst_dwords);
  if ((info.flags & OpInfo::kSdstIsSource) == 0) forget(inst.sdst, info.sdst_dwords);
  // Lane masks are two registers wide in wave64.
  if (inst.format == emulator::Format::kVopc || inst.format == emulator::Format::kVop3) {
    forget(inst.dst, 2);
    forget(inst.sdst, 2);
  }
  if (info.flags & OpInfo::kWritesExec) forget(operand::kExecLo, 2);
  if (info.flags & OpInfo::kWritesScc) scc_.reset();
}

void ScalarValues::load(const Inst& inst, const CodeImage& image, unsigned dwords) {
  const std::optional<uint64_t> base = pair(inst, 0);
  const std::optional<uint32_t> offset =
      inst.src[1] == operand::kNone ? std::optional(0u) : source(inst, 1);
  for (unsigned n = 0; n < dwords; ++n) {
    std::optional<uint32_t> value;
    if (base && offset) {
      const uint64_t address = *base + *offset + static_cast<uint64_t>(int64_t{inst.imm});
      value = image.constant((address & ~uint64_t{3}) + uint64_t{4} * n);
    }
    set(static_cast<uint16_t>(inst.dst + n), value);
  }
}

bool ScalarValues::apply_compare(const Inst& inst) {
  const std::optional<uint32_t> a = source(inst, 0), b = source(inst, 1);
  std::optional<bool> result;
  if (a && b) {
    const auto sa = static_cast<int32_t>(*a), sb = static_cast<int32_t>(*b);
    switch (inst.op) {
      case Op::s_cmp_eq_i32:
      case Op::s_cmp_eq_u32: result = *a == *b; break;
      case Op::s_cmp_lg_i32:
      case Op::s_cmp_lg_u32: result = *a != *b; break;
      case Op::s_cmp_ge_i32: result = sa >= sb; break;
      case Op::s_cmp_gt_i32: result = sa > sb; break;
      case Op::s_cmp_le_i32: result = sa <= sb; break;
      case Op::s_cmp_lt_i32: result = sa < sb; break;
      default: return false;
    }
  }
  scc_ = result;
  return result.has_value();
}

bool ScalarValues::apply_known(const Inst& inst, const CodeImage& image) {
  const std::optional<uint32_t> a = source(inst, 0), b = source(inst, 1);
  const auto sum = [&](uint64_t x, uint64_t y, uint64_t carry) {
    const uint64_t wide = x + y + carry;
    set(inst.dst, static_cast<uint32_t>(wide));
    scc_ = wide >> 32 != 0;
  };
  switch (inst.op) {
    case Op::s_getpc_b64: set_pair(inst.dst, inst.next_pc()); return true;
    case Op::s_mov_b32:
    case Op::s_mov_b64: {
      const unsigned dwords = inst.op == Op::s_mov_b64 ? 2 : 1;
      const auto from = return_address_;
      if (dwords == 2) {
        set_pair(inst.dst, pair(inst, 0));
      } else {
        set(inst.dst, a);
      }
      for (unsigned n = 0; n < dwords; ++n) {
        if (inst.src[0] + n < 128 && inst.dst + n < 128) {
          return_address_[inst.dst + n] = from[inst.src[0] + n];
        }
      }
      return true;
    }
    case Op::v_readlane_b32:
      // How functions that call others restore their return address. Taking every such register
      // for one matters only if a jump, not a call, goes through it.
      forget(inst.dst, 1);
      if (inst.dst < 128 && in_function_) return_address_.set(inst.dst);
      return true;
    case Op::s_movk_i32: set(inst.dst, static_cast<uint32_t>(inst.imm)); return true;
    case Op::s_load_dword: load(inst, image, 1); return true;
    case Op::s_load_dwordx2: load(inst, image, 2); return true;
    default: break;
  }
  if (!a) return false;
  if (inst.op == Op::s_abs_i32) {
    const uint32_t value = static_cast<int32_t>(*a) < 0 ? 0u - *a : *a;
    set(inst.dst, value);
    scc_ = value != 0;
    return true;
  }
  if (!b) return false;
  switch (inst.op) {
    case Op::s_add_u32: sum(*a, *b, 0); return true;
    case Op::s_addc_u32:
      if (!scc_) return false;
      sum(*a, *b, *scc_);
      return true;
    case Op::s_add_i32:
      set(inst.dst, *a + *b);
      scc_.reset();  // the signed overflow
      return true;
    case Op::s_sub_u32:
      set(inst.dst, *a - *b);
      scc_ = *b > *a;
      return true;
    case Op::s_subb_u32: {
      if (!scc_) return false;
      const uint64_t taken = uint64_t{*b} + (*scc_ ? 1 : 0);
      set(inst.dst, static_cast<uint32_t>(*a - taken));
      scc_ = taken > *a;
      return true;
    }
    case Op::s_and_b32:
      set(inst.dst, *a & *b);
      scc_ = (*a & *b) != 0;
      return true;
    default: return apply_compare(inst);
  }
}

void ScalarValues::apply(const Inst& inst, const CodeImage& image) {
  if (!apply_known(inst, image)) forget_written(inst);
}

}  // namespace gfxgraph::tools
