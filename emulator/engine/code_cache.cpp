#include "emulator/engine/code_cache.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "emulator/engine/context.h"

namespace gfxgraph::emulator {
namespace {

constexpr uint64_t kChunkBytes = kChunkInsts * 4;
constexpr uint32_t kReturn = 0xbe80201e;  // s_setpc_b64 s[30:31]

bool is_direct_branch(const Inst& inst) {
  switch (inst.op) {
    case Op::s_branch:
    case Op::s_cbranch_scc0:
    case Op::s_cbranch_scc1:
    case Op::s_cbranch_vccz:
    case Op::s_cbranch_vccnz:
    case Op::s_cbranch_execz:
    case Op::s_cbranch_execnz:
    case Op::s_subvector_loop_begin:
    case Op::s_subvector_loop_end:
    case Op::s_call_b64: return true;
    default: return false;
  }
}

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

struct CodeCache::Chunk {
  Inst inst[kChunkSlots];
};

CodeCache::~CodeCache() {
  const Ranges* ranges = ranges_.load(std::memory_order_acquire);
  if (ranges == nullptr) return;
  for (const auto& range : ranges->sorted) free_chunks(*range);
}

void CodeCache::free_chunks(Range& range) {
  for (auto& slot : range.chunks) {
    Chunk* chunk = slot.exchange(nullptr);
    if (chunk != nullptr) ::operator delete(chunk, std::align_val_t{64});
  }
}

CodeCache::Range* CodeCache::find_range(uint64_t pc) const {
  const Ranges* ranges = ranges_.load(std::memory_order_acquire);
  if (ranges == nullptr) return nullptr;
  auto after = std::upper_bound(ranges->sorted.begin(), ranges->sorted.end(), pc,
                                [](uint64_t a, const auto& r) { return a < r->base; });
  if (after == ranges->sorted.begin()) return nullptr;
  Range* range = std::prev(after)->get();
  return pc < range->end ? range : nullptr;
}

void CodeCache::publish(std::unique_ptr<const Ranges> ranges) {
  all_ranges_.push_back(std::move(ranges));
  ranges_.store(all_ranges_.back().get(), std::memory_order_release);
}

CodeCache::Range* CodeCache::add_range(uint64_t pc) {
  const auto table = memory_.snapshot();
  const Region* region = table->find(pc);
  if (region == nullptr) return nullptr;
  const std::scoped_lock lock(mutex_);
  if (Range* range = find_range(pc)) return range;
  auto range = std::make_shared<Range>();
  range->base = region->address & ~uint64_t{3};
  range->end = region->address + region->mapped_bytes;
  range->chunks =
      std::vector<std::atomic<Chunk*>>((range->end - range->base + kChunkBytes - 1) / kChunkBytes);
  auto next = std::make_unique<Ranges>();
  if (const Ranges* old = ranges_.load(std::memory_order_relaxed))
    for (const auto& r : old->sorted) {
      // A region replaced by another one without an announcement of its code: discard the old
      // decoding.
      if (r->base < range->end && range->base < r->end)
        free_chunks(*r);
      else
        next->sorted.push_back(r);
    }
  Range* result = range.get();
  next->sorted.push_back(std::move(range));
  std::sort(next->sorted.begin(), next->sorted.end(),
            [](const auto& a, const auto& b) { return a->base < b->base; });
  publish(std::move(next));
  return result;
}

void CodeCache::drop(uint64_t address, uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  const Ranges* old = ranges_.load(std::memory_order_relaxed);
  if (old == nullptr) return;
  auto next = std::make_unique<Ranges>();
  for (const auto& r : old->sorted) {
    if (r->base < address + bytes && address < r->end)
      free_chunks(*r);
    else
      next->sorted.push_back(r);
  }
  publish(std::move(next));
}

CodeCache::Chunk* CodeCache::chunk(Range& range, size_t index) {
  std::atomic<Chunk*>& slot = range.chunks[index];
  Chunk* chunk = slot.load(std::memory_order_acquire);
  if (chunk != nullptr) return chunk;
  const size_t bytes = sizeof(Chunk) * (backend_.keeps_operands ? 2 : 1);
  auto* made = static_cast<Chunk*>(::operator new(bytes, std::align_val_t{64}));
  if (backend_.keeps_operands) std::memset(static_cast<void*>(made + 1), 0, sizeof(Chunk));
  for (size_t n = 0; n < kChunkSlots; ++n) {
    Inst* inst = new (&made->inst[n]) Inst;
    inst->pc = range.base + index * kChunkBytes + n * 4;
    inst->handler.store(n < kChunkInsts ? decode_and_run : cross_and_run,
                        std::memory_order_relaxed);
  }
  if (slot.compare_exchange_strong(chunk, made, std::memory_order_acq_rel)) return made;
  ::operator delete(made, std::align_val_t{64});
  return chunk;
}

const Inst* CodeCache::at(uint64_t pc) {
  if (pc % 4 != 0) return nullptr;
  Range* range = find_range(pc);
  if (range == nullptr) range = add_range(pc);
  if (range == nullptr) return nullptr;
  const uint64_t dword = (pc - range->base) / 4;
  return &chunk(*range, dword / kChunkInsts)->inst[dword % kChunkInsts];
}

DecodeStatus CodeCache::decode_at(uint64_t pc, Inst& inst, std::array<uint32_t, 5>* words,
                                  size_t* dwords) const {
  const auto table = memory_.snapshot();
  const Region* region = table->find(pc);
  if (region == nullptr || pc % 4 != 0) {
    if (dwords != nullptr) *dwords = 0;
    return DecodeStatus::kTruncated;
  }
  std::array<uint32_t, 5> local = {};
  const uint64_t offset = pc - region->address;
  const size_t available = std::min<uint64_t>(local.size(), (region->mapped_bytes - offset) / 4);
  std::memcpy(local.data(), region->host + offset, available * 4);
  if (words != nullptr) *words = local;
  if (dwords != nullptr) *dwords = available;
  return decode(local.data(), available, pc, inst);
}

const Inst* CodeCache::decode_slot(Wave& wave, const Inst* slot) {
  Inst decoded;
  const DecodeStatus status = decode_at(slot->pc, decoded, nullptr, nullptr);
  if (status != DecodeStatus::kOk)
    return wave.raise(slot, PendingFault{FaultKind::kIllegal, -1, 0, 0, false,
                                         status == DecodeStatus::kTruncated
                                             ? "the instruction reaches past its memory region"
                                             : "these bytes are not a gfx1030 instruction"});
  const bool of_host = host_functions_ != nullptr && host_functions_->contains(slot->pc);
  // To observers, what it ends with.
  if (of_host) (void)decode(&kReturn, 1, slot->pc, decoded);
  if (is_direct_branch(decoded))
    decoded.k[0] =
        reinterpret_cast<uint64_t>(at(decoded.next_pc() + static_cast<int64_t>(decoded.imm) * 4));
  if (mode_ == Mode::kAny) decoded.flags |= Inst::kAnyMode;
  std::unique_lock lock(mutex_, std::defer_lock);
  std::unique_ptr<HalfPlan> plan;
  Handler handler = nullptr;
  if (of_host) {
    handler = run_host_function;
    lock.lock();
  } else if (wave_size_ == WaveSize::k64) {
    lock.lock();
    handler = bind_wave64(backend_, decoded, half_insts_, plan);
  } else {
    handler = backend_.bind(decoded);
    lock.lock();
  }
  if (handler == nullptr)
    return wave.raise(slot,
                      PendingFault{FaultKind::kUnsupported, -1, 0, 0, false,
                                   "the emulator does not support this form of the instruction"});
  Inst& target = const_cast<Inst&>(*slot);  // the cache's own memory
  if (target.advance != 0) return slot;     // another wave decoded it first
  const bool halves = plan != nullptr;
  if (halves) {
    if (backend_.keeps_operands)
      for (Inst* half : {plan->low, plan->high})
        half->handler = observe(*half, half->handler.load(std::memory_order_relaxed));
    find_range(slot->pc)->plans.push_back(std::move(plan));
  }
  // From here on the slot counts as decoded: nothing below may fail.
  target.copy_fields(decoded);
  if (!halves && backend_.keeps_operands) handler = observe(target, handler);
  target.handler.store(handler, std::memory_order_release);
  return slot;
}

Handler CodeCache::observe(const Inst& inst, Handler handler) {
  auto& operands = const_cast<InstOperands&>(operands_of(inst));
  describe_operands(inst, operands);
  if (backend_.decoded != nullptr) backend_.decoded(observer_, inst, operands);
  operands.handler = handler;
  return operands.hooked && backend_.hook != nullptr ? backend_.hook(operands) : handler;
}

}  // namespace gfxgraph::emulator
