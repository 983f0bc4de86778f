// Branches, calls, the end of a wave, barriers, traps, hints. Source: RDNA2 ISA guide, chapter
// "Program Flow Control". One line per instruction in bind_scalar_control().
#include "emulator/engine/context.h"
#include "emulator/isa/isa.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

const Inst* nop(Wave&, const Inst* i) { return i->next(); }

inline const Inst* take(Wave& w, const Inst* i) {
  const Inst* target = i->target();
  return target != nullptr ? target : branch_out(w, i);
}
const Inst* branch(Wave& w, const Inst* i) { return take(w, i); }
const Inst* cbranch_scc0(Wave& w, const Inst* i) { return w.scc ? i->next() : take(w, i); }
const Inst* cbranch_scc1(Wave& w, const Inst* i) { return w.scc ? take(w, i) : i->next(); }
const Inst* cbranch_vccz(Wave& w, const Inst* i) {
  return w.sgpr[operand::kVccLo] ? i->next() : take(w, i);
}
const Inst* cbranch_vccnz(Wave& w, const Inst* i) {
  return w.sgpr[operand::kVccLo] ? take(w, i) : i->next();
}
const Inst* cbranch_execz(Wave& w, const Inst* i) { return w.exec() ? i->next() : take(w, i); }
const Inst* cbranch_execnz(Wave& w, const Inst* i) { return w.exec() ? take(w, i) : i->next(); }
const Inst* call(Wave& w, const Inst* i) {
  w.write64(i->dst, i->next_pc());
  return take(w, i);
}
const Inst* getpc(Wave& w, const Inst* i) {
  w.write64(i->dst, i->next_pc());
  return i->next();
}
const Inst* setpc(Wave& w, const Inst* i) { return jump_to(w, i, w.read64(i, 0)); }
const Inst* swappc(Wave& w, const Inst* i) {
  const uint64_t target = w.read64(i, 0);
  w.write64(i->dst, i->next_pc());
  return jump_to(w, i, target);
}
const Inst* leave(Wave& w, const Inst* i, WaveExit why) {
  w.exit = why;
  w.resume = i;
  return nullptr;
}
const Inst* endpgm(Wave& w, const Inst* i) { return leave(w, i, WaveExit::kEnded); }
const Inst* barrier(Wave& w, const Inst* i) {
  if (w.group->wave_count == 1) return i->next();
  return leave(w, i->next(), WaveExit::kBarrier);
}
const Inst* sleep(Wave& w, const Inst* i) {
  w.clock += kClocksOfSleep * (i->imm & 0x7f);
  return leave(w, i->next(), WaveExit::kYield);
}
const Inst* trap(Wave& w, const Inst* i) {
  return w.raise(i, PendingFault{FaultKind::kTrap, -1, 0, 0, false, nullptr});
}
const Inst* code_end(Wave& w, const Inst* i) {
  return w.raise(
      i, PendingFault{FaultKind::kIllegal, -1, 0, 0, false, "execution ran off the end of code"});
}

}  // namespace

Handler bind_scalar_control(const Inst& inst) {
  switch (inst.op) {
    case Op::s_getpc_b64: return getpc;
    case Op::s_setpc_b64: return setpc;
    case Op::s_swappc_b64: return swappc;
    case Op::s_call_b64: return call;
    case Op::s_version:
    case Op::s_waitcnt_vscnt:
    case Op::s_waitcnt_vmcnt:
    case Op::s_waitcnt_expcnt:
    case Op::s_waitcnt_lgkmcnt: return nop;
    case Op::s_endpgm:
    case Op::s_endpgm_saved: return endpgm;
    case Op::s_branch: return branch;
    case Op::s_cbranch_scc0: return cbranch_scc0;
    case Op::s_cbranch_scc1: return cbranch_scc1;
    case Op::s_cbranch_vccz: return cbranch_vccz;
    case Op::s_cbranch_vccnz: return cbranch_vccnz;
    case Op::s_cbranch_execz: return cbranch_execz;
    case Op::s_cbranch_execnz: return cbranch_execnz;
    case Op::s_barrier: return barrier;
    case Op::s_sleep: return sleep;
    case Op::s_sendmsg: return run_sendmsg;
    case Op::s_subvector_loop_begin: return run_subvector_begin;
    case Op::s_subvector_loop_end: return run_subvector_end;
    case Op::s_trap: return trap;
    case Op::s_code_end: return code_end;
    case Op::s_sethalt: return (inst.imm & 1) == 0 ? nop : nullptr;
    // No debugger ever sets these conditions.
    case Op::s_cbranch_cdbgsys:
    case Op::s_cbranch_cdbguser:
    case Op::s_cbranch_cdbgsys_or_user:
    case Op::s_cbranch_cdbgsys_and_user: return nop;
    // Memory is coherent and in order here; hints and counters have no effect.
    case Op::s_nop:
    case Op::s_wakeup:
    case Op::s_waitcnt:
    case Op::s_setprio:
    case Op::s_icache_inv:
    case Op::s_incperflevel:
    case Op::s_decperflevel:
    case Op::s_ttracedata:
    case Op::s_ttracedata_imm:
    case Op::s_inst_prefetch:
    case Op::s_clause:
    case Op::s_wait_idle:
    case Op::s_waitcnt_depctr: return nop;
    case Op::s_round_mode:
    case Op::s_denorm_mode: return run_set_float_mode;
    default: return nullptr;
  }
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
