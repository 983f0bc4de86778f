// Scalar instructions with effects outside the wave: hardware registers, messages, computed jumps.
// Source: RDNA2 ISA guide, "Hardware Registers" (numbers as in LLVM's AMDGPU operand syntax).
#include "emulator/engine/code/code_cache.h"
#include "emulator/engine/context.h"
#include "emulator/engine/executable.h"
#include "emulator/memory/access_watch.h"

namespace gfxgraph::emulator {
namespace {

enum Hwreg : uint32_t {
  kMode = 1,
  kStatus = 2,
  kTrapsts = 3,
  kHwId = 4,
  kGprAlloc = 5,
  kLdsAlloc = 6,
  kIbSts = 7,
  kShMemBases = 15,
  kFlatScrLo = 20,
  kFlatScrHi = 21,
  kXnackMask = 22,
  kHwId1 = 23,
  kHwId2 = 24,
  kShaderCycles = 29,
};

struct Field {
  uint32_t id, shift, mask;
};
Field field_of(const Inst* inst) {
  const auto imm = static_cast<uint32_t>(inst->imm) & 0xffff;
  const uint32_t size = (imm >> 11 & 31) + 1;
  return {imm & 63, imm >> 6 & 31, size == 32 ? ~0u : (1u << size) - 1};
}

// Continues in the code that is bound for the new mode.
const Inst* set_mode(Wave& wave, const Inst* inst, uint32_t mode) {
  if (((wave.mode ^ mode) & ~kModeBits) != 0)
    return wave.unsupported(
        inst, "a change of MODE other than of rounding, denormals, DX10_CLAMP and IEEE");
  const bool was_default = wave.mode == kDefaultMode;
  wave.mode = mode;
  if (wave.upper != nullptr) wave.upper->mode = mode;
  if (was_default == (mode == kDefaultMode)) return inst->next();
  wave.code_cache = was_default ? wave.dispatch->code_any_mode : wave.dispatch->code;
  return jump_to(wave, inst, inst->next_pc());
}

const Inst* take_branch(Wave& wave, const Inst* inst) {
  return inst->target() != nullptr ? inst->target() : branch_out(wave, inst);
}

}  // namespace

bool clock_is_known(Wave& wave, const Inst* inst) {
  if (wave.clock_now != 0) return true;
  wave.exit = WaveExit::kClock;
  wave.resume = inst;
  return false;
}

uint64_t read_clock(Wave& wave) {
  AccessWatch::note_change();
  const uint64_t now = wave.clock_now + kClocksOfRead;
  wave.clock += kClocksOfRead;
  wave.clock_now = 0;
  wave.read_clock = true;
  return now;
}

const Inst* jump_to(Wave& wave, const Inst* inst, uint64_t pc) {
  const Inst* target = wave.code_cache->at(pc);
  if (target != nullptr) return target;
  PendingFault fault{FaultKind::kIllegal, -1, pc, 0, false, "jump to an address outside of code"};
  fault.jump = true;
  return wave.raise(inst, fault);
}

const Inst* branch_out(Wave& wave, const Inst* inst) {
  return jump_to(wave, inst, inst->next_pc() + static_cast<uint64_t>(int64_t{inst->imm} * 4));
}

const Inst* run_getreg(Wave& wave, const Inst* inst) {
  const Field field = field_of(inst);
  uint32_t value = 0;
  switch (field.id) {
    case kMode: value = wave.mode; break;
    case kStatus:
      value = wave.scc | static_cast<uint32_t>(wave.exec_is_zero()) << 9 |
              static_cast<uint32_t>(wave.vcc_is_zero()) << 10 |
              static_cast<uint32_t>(wave.group->wave_count > 1) << 11 | 1u << 16;  // VALID
      break;
    case kTrapsts: value = wave.trap_status; break;
    case kHwId:
    case kHwId1: value = wave.hw_id; break;
    case kHwId2: value = 0; break;
    case kIbSts: value = 0; break;
    case kShMemBases:
      value = (wave.dispatch->private_aperture_hi >> 16) |
              (wave.dispatch->group_aperture_hi & 0xffff0000u);
      break;
    case kFlatScrLo: value = wave.flat_scratch[0]; break;
    case kFlatScrHi: value = wave.flat_scratch[1]; break;
    case kXnackMask: value = 0; break;
    case kShaderCycles:
      if (!clock_is_known(wave, inst)) return nullptr;
      value = static_cast<uint32_t>(read_clock(wave)) & 0xfffff;
      break;
    default: return wave.unsupported(inst, "s_getreg of this hardware register");
  }
  wave.write32(inst->dst, value >> field.shift & field.mask);
  return inst->next();
}

const Inst* run_setreg(Wave& wave, const Inst* inst) {
  const Field field = field_of(inst);
  const uint32_t source =
      inst->op == Op::s_setreg_imm32_b32 ? static_cast<uint32_t>(inst->k[0]) : wave.sgpr[inst->dst];
  const uint32_t mask = field.mask << field.shift;
  const uint32_t bits = source << field.shift & mask;
  switch (field.id) {
    case kMode: return set_mode(wave, inst, (wave.mode & ~mask) | bits);
    case kTrapsts: wave.trap_status = (wave.trap_status & ~mask) | bits; break;
    case kFlatScrLo: wave.flat_scratch[0] = (wave.flat_scratch[0] & ~mask) | bits; break;
    case kFlatScrHi: wave.flat_scratch[1] = (wave.flat_scratch[1] & ~mask) | bits; break;
    default: return wave.unsupported(inst, "s_setreg of this hardware register");
  }
  if (wave.upper != nullptr) {
    wave.upper->flat_scratch[0] = wave.flat_scratch[0];
    wave.upper->flat_scratch[1] = wave.flat_scratch[1];
  }
  return inst->next();
}

const Inst* run_set_float_mode(Wave& wave, const Inst* inst) {
  const uint32_t shift = inst->op == Op::s_round_mode ? 0 : 4;
  const uint32_t value = static_cast<uint32_t>(inst->imm) & 15;
  return set_mode(wave, inst, (wave.mode & ~(15u << shift)) | value << shift);
}

// ISA guide S_SUBVECTOR_LOOP_BEGIN and END: the code between them runs for the lower half of a
// wave64, then for the upper half; a half without active lanes is skipped. The register keeps the
// other half's EXEC.
const Inst* run_subvector_begin(Wave& wave, const Inst* inst) {
  if (wave.upper == nullptr) return wave.unsupported(inst, "a subvector loop in wave32");
  const uint32_t high = wave.sgpr[operand::kExecHi];
  if (wave.exec() == 0 && high == 0) return take_branch(wave, inst);
  if (wave.exec() == 0) {
    wave.write32(inst->dst, 0);
  } else {
    wave.write32(inst->dst, high);
    wave.write32(operand::kExecHi, 0);
  }
  return inst->next();
}
const Inst* run_subvector_end(Wave& wave, const Inst* inst) {
  if (wave.upper == nullptr) return wave.unsupported(inst, "a subvector loop in wave32");
  const uint32_t kept = wave.sgpr[inst->dst];
  if (wave.sgpr[operand::kExecHi] != 0) {
    wave.write32(operand::kExecLo, kept);
    return inst->next();
  }
  if (kept == 0) return inst->next();
  wave.write32(operand::kExecHi, kept);
  wave.write32(inst->dst, wave.exec());
  wave.write32(operand::kExecLo, 0);
  return take_branch(wave, inst);
}

const Inst* run_sendmsg(Wave& wave, const Inst* inst) {
  const uint32_t message = static_cast<uint32_t>(inst->imm) & 15;
  if (message != 1) return wave.unsupported(inst, "a message other than MSG_INTERRUPT");
  AccessWatch::note_change();
  wave.dispatch->messages.fetch_add(1, std::memory_order_relaxed);
  const auto& receiver = wave.dispatch->options->on_message;
  if (receiver) receiver(message, wave.sgpr[operand::kM0]);
  return inst->next();
}

const Inst* run_host_function(Wave& wave, const Inst* inst) {
  AccessWatch::note_change();
  wave.dispatch->options->host_functions->at(inst->pc)(wave);
  return jump_to(wave, inst, wave.pair(kReturnAddress));
}

bool is_refused_value(const Inst& inst, std::optional<uint32_t> value) {
  const Field field = field_of(&inst);
  if (inst.op != Op::s_setreg_b32 || field.id != kMode) return false;
  // Every kernel starts with all other bits 0.
  const uint32_t others = field.mask << field.shift & ~kModeBits;
  return (value.value_or(~0u) << field.shift & others) != 0;
}

bool is_refused_when_run(const Inst& inst) {
  constexpr uint64_t kReadable = 1u << kMode | 1u << kStatus | 1u << kTrapsts | 1u << kHwId |
                                 1u << kIbSts | 1u << kShMemBases | 1u << kFlatScrLo |
                                 1u << kFlatScrHi | 1u << kXnackMask | 1u << kHwId1 | 1u << kHwId2 |
                                 1u << kShaderCycles;
  constexpr uint64_t kWritable = 1u << kMode | 1u << kTrapsts | 1u << kFlatScrLo | 1u << kFlatScrHi;
  const uint32_t id = field_of(&inst).id;
  switch (inst.op) {
    case Op::s_getreg_b32: return (kReadable >> id & 1) == 0;
    case Op::s_setreg_imm32_b32:
      if (id == kMode) {  // every kernel starts with all other bits 0
        const Field field = field_of(&inst);
        return (static_cast<uint32_t>(inst.k[0]) & field.mask) << field.shift > kModeBits;
      }
      [[fallthrough]];
    case Op::s_setreg_b32: return (kWritable >> id & 1) == 0;
    case Op::s_sendmsg: return (inst.imm & 15) != 1;
    default: return false;
  }
}

}  // namespace gfxgraph::emulator
