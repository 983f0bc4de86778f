#include "emulator/engine/code/code_cache.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "emulator/engine/context.h"

namespace gfxgraph::emulator {
namespace {

// What an observer and the standard library may keep for an instruction, at most: rules, positions,
// nodes of tables. It counts in the budget with the instruction.
constexpr uint64_t kObserverBytes = 256;
constexpr uint32_t kReturn = 0xbe80201e;  // s_setpc_b64 s[30:31]

// Handlers of slots that are not decoded yet (advance is 0). They run the real handler immediately,
// so that both count as one instruction.
const Inst* decode_and_run(Wave& wave, const Inst* inst) {
  inst = wave.code_cache->decode_slot(wave, inst);
  return inst == nullptr ? nullptr : inst->handler.load(std::memory_order_acquire)(wave, inst);
}

const Inst* cross_and_run(Wave& wave, const Inst* inst) {
  const Inst* real = wave.code_cache->at(inst->pc);
  if (real != nullptr) return real->handler.load(std::memory_order_acquire)(wave, real);
  return wave.raise(inst, PendingFault{FaultKind::kIllegal, -1, 0, 0, false,
                                       "execution ran off the end of code"});
}

}  // namespace

DecodedCode& CodeCache::decoded(CodeRange& range) {
  std::atomic<DecodedCode*>& place = range.decoded[index()];
  DecodedCode* code = place.load(std::memory_order_relaxed);
  if (code == nullptr) {
    code = new DecodedCode(space_.memory(), range.chunk_count(), backend_.keeps_operands);
    place.store(code, std::memory_order_release);
  }
  return *code;
}

const Inst* CodeCache::make_slot(CodeRange& range, uint64_t pc) {
  DecodedCode& code = decoded(range);
  const uint64_t dword = (pc - range.base) / 4;
  const uint64_t index = dword / kChunkInsts;
  CodeChunk* chunk = code.find(index);
  if (chunk == nullptr) {
    chunk = code.make();
    for (size_t n = 0; n < kChunkSlots; ++n) {
      Inst* inst = new (&chunk->inst[n]) Inst;
      inst->pc = range.base + index * kChunkBytes + n * 4;
      const bool own = n < kChunkInsts && inst->pc < range.end;
      inst->handler.store(own ? decode_and_run : cross_and_run, std::memory_order_relaxed);
    }
    code.add(index, chunk);
  }
  return &chunk->inst[dword % kChunkInsts];
}

const Inst* CodeCache::at(uint64_t pc) {
  if (pc % 4 != 0) return nullptr;
  CodeRange* const range = space_.find(pc);
  if (range == nullptr) return nullptr;
  const uint64_t dword = (pc - range->base) / 4;
  if (const DecodedCode* const code = range->decoded[index()].load(std::memory_order_acquire))
    if (CodeChunk* const chunk = code->find(dword / kChunkInsts))
      return &chunk->inst[dword % kChunkInsts];
  const std::scoped_lock lock(space_.mutex());
  return make_slot(*range, pc);
}

DecodeStatus CodeCache::decode_before(uint64_t pc, uint64_t end, Inst& inst,
                                      std::array<uint32_t, 5>* words, size_t* dwords) const {
  const auto table = memory_.snapshot();
  const Region* region = table->find(pc);
  if (region == nullptr || pc % 4 != 0 || pc >= end) {
    if (dwords != nullptr) *dwords = 0;
    return DecodeStatus::kTruncated;
  }
  std::array<uint32_t, 5> local = {};
  const uint64_t offset = pc - region->address;
  const uint64_t bytes = std::min(region->mapped_bytes - offset, end - pc);
  const size_t available = std::min<uint64_t>(local.size(), bytes / 4);
  std::memcpy(local.data(), region->host + offset, available * 4);
  if (words != nullptr) *words = local;
  if (dwords != nullptr) *dwords = available;
  return decode(local.data(), available, pc, inst);
}

const Inst* CodeCache::decode_slot(Wave& wave, const Inst* slot) {
  const auto illegal = [&](const char* why) {
    return wave.raise(slot, PendingFault{FaultKind::kIllegal, -1, 0, 0, false, why});
  };
  const std::scoped_lock lock(space_.mutex());
  Inst& target = const_cast<Inst&>(*slot);  // the range's own memory
  if (target.advance != 0) return slot;     // another wave decoded it first
  // With the lock: whoever removes code frees its memory afterwards. Other code may be there by
  // now.
  CodeRange* const range = space_.find_locked(slot->pc);
  if (range == nullptr || make_slot(*range, slot->pc) != slot)
    return illegal("its code object was unloaded while it ran");
  Inst decoded;
  const DecodeStatus status = decode_before(slot->pc, range->end, decoded, nullptr, nullptr);
  if (status != DecodeStatus::kOk)
    return illegal(status == DecodeStatus::kTruncated
                       ? "the instruction reaches past the end of its code"
                       : "these bytes are not a gfx1030 instruction");
  const bool of_host = host_functions_ != nullptr && host_functions_->contains(slot->pc);
  // To observers, what it ends with.
  if (of_host) (void)decode(&kReturn, 1, slot->pc, decoded);
  if (has_target(op_info(decoded.op).flow)) {
    const uint64_t to = decoded.next_pc() + static_cast<uint64_t>(int64_t{decoded.imm} * 4);
    // Slots of other code may be freed before this one: such branches look for theirs each time.
    const bool inside = to >= range->base && to < range->end;
    decoded.k[0] = reinterpret_cast<uint64_t>(inside ? make_slot(*range, to) : nullptr);
  }
  if (mode_ == Mode::kAny) decoded.flags |= Inst::kAnyMode;
  DecodedCode& code = this->decoded(*range);
  std::unique_ptr<HalfPlan> plan;
  Handler handler = nullptr;
  if (of_host) {
    handler = run_host_function;
  } else if (wave_size_ == WaveSize::k64) {
    code.take(sizeof(HalfPlan) + 2 * sizeof(Inst) * (backend_.keeps_operands ? 2 : 1));
    handler = bind_wave64(backend_, decoded, code.half_insts(), plan);
  } else {
    handler = backend_.bind(decoded);
  }
  if (handler == nullptr)
    return wave.raise(slot,
                      PendingFault{FaultKind::kUnsupported, -1, 0, 0, false,
                                   "the emulator does not support this form of the instruction"});
  if (backend_.keeps_operands) code.take(kObserverBytes);
  const bool halves = plan != nullptr;
  if (halves) {
    if (backend_.keeps_operands)
      for (Inst* half : {plan->low, plan->high})
        half->handler = observe(*half, half->handler.load(std::memory_order_relaxed));
    code.keep(std::move(plan));
  }
  // From here on the slot counts as decoded: nothing below may fail.
  target.copy_fields(decoded);
  if (!halves && backend_.keeps_operands) handler = observe(target, handler);
  target.handler.store(handler, std::memory_order_release);
  return slot;
}

// Describes an instruction to the observer and gives the handler with its hooks.
Handler CodeCache::observe(const Inst& inst, Handler handler) {
  auto& operands = const_cast<InstOperands&>(operands_of(inst));
  describe_operands(inst, operands);
  if (backend_.decoded != nullptr) backend_.decoded(observer_, inst, operands);
  operands.handler = handler;
  return operands.hooked && backend_.hook != nullptr ? backend_.hook(operands) : handler;
}

}  // namespace gfxgraph::emulator
