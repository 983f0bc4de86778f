#include "emulator/engine/wave64.h"

#include <bit>
#include <cstring>

#include "emulator/engine/context.h"

namespace gfxgraph::emulator {
namespace {

// Registers of the upper Wave that hold renamed operands.
constexpr uint16_t kSourceSlot[3] = {16, 24, 32};
constexpr uint16_t kResourceSlot = 40;

uint64_t exec64(const Wave& w) { return w.pair(operand::kExecLo); }

// ---- vector instructions ----

const Inst* run_halves(Wave& w, const Inst* i) {
  const HalfPlan& plan = *reinterpret_cast<const HalfPlan*>(i->k[0]);
  const Backend& backend = *plan.backend;
  Wave& upper = *w.upper;
  if (backend.before_halves != nullptr)
    backend.before_halves(w.observer_state, upper.observer_state, plan);
  for (unsigned n = 0; n < plan.copy_count; ++n)
    upper.sgpr[plan.copies[n].to] = w.sgpr[plan.copies[n].from];
  for (int n = 0; n < 3; ++n) {
    if ((plan.specials >> n & 1) == 0) continue;
    const bool wide = op_info(i->op).src_dwords[n] == 2;
    const uint64_t value = wide ? w.read64(plan.low, n) : w.read32(plan.low, n);
    std::memcpy(&upper.sgpr[kSourceSlot[n]], &value, sizeof(value));
  }
  if (plan.low->handler.load(std::memory_order_relaxed)(w, plan.low) == nullptr) {
    w.resume = i;
    return nullptr;
  }
  if (plan.high->handler.load(std::memory_order_relaxed)(upper, plan.high) == nullptr) {
    w.fault = upper.fault;
    if (w.fault.lane >= 0) w.fault.lane += static_cast<int32_t>(kLanes);
    w.exit = upper.exit;
    w.resume = i;
    return nullptr;
  }
  if (plan.mask_result != HalfPlan::kNone)
    w.sgpr[plan.mask_result] = upper.sgpr[plan.mask_source()];
  if (backend.after_halves != nullptr)
    backend.after_halves(w.observer, w.observer_state, upper.observer_state, plan);
  return i->next();
}

uint32_t& lane_of(Wave& w, uint16_t vgpr, uint32_t lane) {
  return (lane < kLanes ? w : *w.upper).v(vgpr).lane[lane % kLanes];
}
const Inst* readlane(Wave& w, const Inst* i, uint32_t lane) {
  w.write32(i->dst,
            operand::is_vgpr(i->src[0]) ? lane_of(w, i->src[0], lane & 63) : w.read32(i, 0));
  return i->next();
}
const Inst* readfirstlane64(Wave& w, const Inst* i) {
  const uint64_t exec = exec64(w);
  return readlane(w, i, exec == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(exec)));
}
const Inst* readlane64(Wave& w, const Inst* i) { return readlane(w, i, w.read32(i, 1)); }
const Inst* writelane64(Wave& w, const Inst* i) {
  lane_of(w, i->dst, w.read32(i, 1) & 63) = w.read32(i, 0);
  return i->next();
}

// One addition for all 64 lanes.
const Inst* ds_count64(Wave& w, const Inst* i) {
  const uint64_t at =
      uint64_t{w.sgpr[operand::kM0] >> 16} + (static_cast<uint32_t>(i->imm) & 0xffff);
  const auto count = static_cast<uint32_t>(std::popcount(exec64(w)));
  uint32_t old = 0;
  if (at + 4 <= w.group->lds_bytes) {
    std::memcpy(&old, w.group->lds + at, 4);
    const uint32_t value = i->op == Op::ds_append ? old + count : old - count;
    std::memcpy(w.group->lds + at, &value, 4);
  }
  for (uint64_t m = exec64(w); m != 0; m &= m - 1)
    lane_of(w, i->dst, static_cast<uint32_t>(std::countr_zero(m))) = old;
  return i->next();
}

// ---- branches on 64-bit masks ----

const Inst* branch_if(Wave& w, const Inst* i, bool taken) {
  if (!taken) return i->next();
  return i->target() != nullptr ? i->target() : branch_out(w, i);
}
const Inst* cbranch_vccz(Wave& w, const Inst* i) {
  return branch_if(w, i, w.pair(operand::kVccLo) == 0);
}
const Inst* cbranch_vccnz(Wave& w, const Inst* i) {
  return branch_if(w, i, w.pair(operand::kVccLo) != 0);
}
const Inst* cbranch_execz(Wave& w, const Inst* i) { return branch_if(w, i, exec64(w) == 0); }
const Inst* cbranch_execnz(Wave& w, const Inst* i) { return branch_if(w, i, exec64(w) != 0); }

// Of the instructions with Wave64::kWhole. Null: not supported.
Handler whole_wave_handler(Op op) {
  switch (op) {
    case Op::v_readfirstlane_b32: return readfirstlane64;
    case Op::v_readlane_b32: return readlane64;
    case Op::v_writelane_b32: return writelane64;
    case Op::ds_append:
    case Op::ds_consume: return ds_count64;
    case Op::s_cbranch_vccz: return cbranch_vccz;
    case Op::s_cbranch_vccnz: return cbranch_vccnz;
    case Op::s_cbranch_execz: return cbranch_execz;
    case Op::s_cbranch_execnz: return cbranch_execnz;
    default: return nullptr;
  }
}

// ---- plans ----

bool is_vop(Format f) {
  return f == Format::kVop1 || f == Format::kVop2 || f == Format::kVopc || f == Format::kVop3 ||
         f == Format::kVop3p;
}

void copy(HalfPlan& plan, unsigned from, unsigned to, unsigned dwords) {
  for (unsigned n = 0; n < dwords; ++n)
    plan.copies[plan.copy_count++] = {static_cast<uint8_t>(from + n), static_cast<uint8_t>(to + n)};
}

void rename_source(HalfPlan& plan, const Inst& inst, int n) {
  const uint16_t code = inst.src[n];
  if (operand::is_special(code)) {
    plan.specials |= static_cast<uint8_t>(1 << n);
  } else if (!operand::is_sgpr(code)) {
    return;
  } else if (n == 2 && op_info(inst.op).wave64 == Wave64::kMasked) {
    // A pair: the upper word follows. Null has none.
    copy(plan, code == operand::kNull ? code : code + 1u, kSourceSlot[n], 1);
  } else {
    const unsigned dwords = op_info(inst.op).src_dwords[n];
    copy(plan, code, kSourceSlot[n], dwords == 0 ? 1 : dwords);
  }
  plan.high->src[n] = kSourceSlot[n];
  plan.high->flags &= static_cast<uint8_t>(~Inst::kHasSpecialSource);
}

void rename_mask_result(HalfPlan& plan, uint16_t& high_operand) {
  const uint16_t code = high_operand;
  if (code == operand::kNull) return;
  plan.mask_result = static_cast<uint8_t>(code + 1);
  if (code != operand::kExecLo) high_operand = HalfPlan::kMaskSlot;
}

// Adapts an instruction to lanes 32..63.
void adapt_upper(const Inst& inst, Inst& high) {
  if (is_vop(inst.format) && inst.extra() == VopExtra::kDpp16) {
    // The row mask has four bits; rows 2 and 3 are the upper half's.
    const auto word = static_cast<uint32_t>(inst.imm);
    high.imm = static_cast<int32_t>((word & 0x0fffffffu) | word >> 30 << 28);
  }
  // Every lower lane precedes all upper ones; upper lanes count within their half like lower ones.
  if (inst.op == Op::v_mbcnt_lo_u32_b32) high.op = Op::v_bcnt_u32_b32;
  if (inst.op == Op::v_mbcnt_hi_u32_b32) high.op = Op::v_mbcnt_lo_u32_b32;
}

void fill_plan(HalfPlan& plan, const Inst& inst) {
  plan.mask_result = HalfPlan::kNone;
  plan.low->copy_fields(inst);
  plan.high->copy_fields(inst);
  adapt_upper(inst, *plan.high);
  for (int n = 0; n < 3; ++n)
    if (inst.src[n] != operand::kNone) rename_source(plan, inst, n);
  const OpInfo& info = op_info(inst.op);
  if (!is_vop(inst.format)) {
    if (inst.sdst != operand::kNone) {  // a buffer or image resource
      copy(plan, inst.sdst, kResourceSlot, info.sdst_dwords);
      plan.high->sdst = kResourceSlot;
    }
  } else {
    if (inst.sdst != operand::kNone) rename_mask_result(plan, plan.high->sdst);
    // The remaining instructions with an SGPR as destination are comparisons.
    if (inst.dst != operand::kNone && operand::is_sgpr(inst.dst))
      rename_mask_result(plan, plan.high->dst);
    if ((info.flags & OpInfo::kReadsVcc) != 0) copy(plan, operand::kVccHi, operand::kVccLo, 1);
  }
  const bool to_lds = !is_vop(inst.format) && inst.format != Format::kDs &&
                      inst.format != Format::kMtbuf && (inst.mods & mmod::kLds) != 0;
  if ((info.flags & OpInfo::kReadsM0) != 0 || inst.format == Format::kDs || to_lds)
    copy(plan, operand::kM0, operand::kM0, 1);
}

}  // namespace

Inst* HalfInsts::take() {
  if (used_ % kChunkInsts == 0) {
    const size_t bytes = kChunkSlots * sizeof(Inst);
    std::unique_ptr<void, Free> block(
        ::operator new(bytes*(keeps_operands_ ? 2 : 1), std::align_val_t{64}));
    std::memset(block.get(), 0, bytes * (keeps_operands_ ? 2 : 1));
    blocks_.push_back(std::move(block));
  }
  return new (static_cast<Inst*>(blocks_.back().get()) + used_++ % kChunkInsts) Inst;
}

Handler bind_wave64(const Backend& backend, Inst& inst, HalfInsts& store,
                    std::unique_ptr<HalfPlan>& plan) {
  // Only the backend knows whether it supports the instruction in this form.
  Inst probe;
  probe.copy_fields(inst);
  const Wave64 how = op_info(inst.op).wave64;
  if (how == Wave64::kWhole)
    return backend.bind(probe) == nullptr ? nullptr : whole_wave_handler(inst.op);
  if (how == Wave64::kOnce) return backend.bind(inst);
  plan = std::make_unique<HalfPlan>();
  plan->backend = &backend;
  plan->low = store.take();
  plan->high = store.take();
  fill_plan(*plan, inst);
  const Handler low = backend.bind(*plan->low);
  const Handler high = low == nullptr ? nullptr : backend.bind(*plan->high);
  if (high == nullptr) return nullptr;
  plan->low->handler.store(low, std::memory_order_relaxed);
  plan->high->handler.store(high, std::memory_order_relaxed);
  inst.k[0] = reinterpret_cast<uint64_t>(plan.get());
  return run_halves;
}

}  // namespace gfxgraph::emulator
