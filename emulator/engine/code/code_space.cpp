#include "emulator/engine/code/code_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/checked.h"

namespace gfxgraph::emulator {

// ---- decoded code ----

DecodedCode::DecodedCode(const CodeMemory& memory, uint64_t chunk_count, bool keeps_operands)
    : memory_(memory),
      chunk_bytes_(sizeof(CodeChunk) * (keeps_operands ? 2 : 1)),
      chunk_count_(chunk_count),
      half_insts_(keeps_operands) {
  const uint64_t size_bytes = chunk_count * sizeof(chunks_[0]);
  take(size_bytes);
  try {
    chunks_ = std::make_unique<std::atomic<CodeChunk*>[]>(chunk_count);
  } catch (const std::bad_alloc&) {
    if (memory_.give) memory_.give(size_bytes);
    throw;
  }
}

DecodedCode::~DecodedCode() {
  for (uint64_t n = 0; n < chunk_count_; ++n) {
    CodeChunk* const chunk = chunks_[n].load(std::memory_order_relaxed);
    if (chunk != nullptr) ::operator delete(chunk, std::align_val_t{64});
  }
  if (taken_bytes_ != 0 && memory_.give) memory_.give(taken_bytes_);
}

void DecodedCode::take(uint64_t size_bytes) {
  if (memory_.take && !memory_.take(size_bytes)) throw std::bad_alloc();
  taken_bytes_ += size_bytes;
}

CodeChunk* DecodedCode::make() {
  take(chunk_bytes_);
  auto* const made = static_cast<CodeChunk*>(::operator new(chunk_bytes_, std::align_val_t{64}));
  if (chunk_bytes_ > sizeof(CodeChunk))
    std::memset(static_cast<void*>(made + 1), 0, sizeof(CodeChunk));
  return made;
}

CodeRange::~CodeRange() {
  for (const auto& code : decoded) delete code.load(std::memory_order_relaxed);
}

// ---- the space ----

Result<void> CodeSpace::add(uint64_t owner, uint64_t address, uint64_t size_bytes) {
  const std::optional<uint64_t> behind = checked_add(address, size_bytes);
  const std::optional<uint64_t> base = checked_align_up(address, sizeof(uint32_t));
  if (!behind || !base)
    return fail(
        Status::kInvalidArgument,
        fmt::format("code of {} bytes at {:#x} wraps the address space", size_bytes, address));
  const uint64_t end = *behind & ~(sizeof(uint32_t) - 1);
  if (*base >= end) return {};
  auto range = std::make_shared<CodeRange>();
  range->base = *base;
  range->end = end;
  range->owner = owner;
  const std::scoped_lock lock(mutex_);
  if (stale_.load(std::memory_order_relaxed)) publish();  // forgets removed ranges
  const auto after = ranges_.lower_bound(end);
  if (after != ranges_.begin() && std::prev(after)->second->end > *base)
    return fail(Status::kInvalidArgument,
                fmt::format("code of {} bytes at {:#x} overlaps the code at {:#x}", size_bytes,
                            address, std::prev(after)->first));
  ranges_.emplace(*base, std::move(range));
  stale_.store(true, std::memory_order_release);
  return {};
}

void CodeSpace::remove(uint64_t owner) {
  const std::scoped_lock lock(mutex_);
  bool any = false;
  for (const auto& [base, range] : ranges_) {
    if (range->owner != owner) continue;
    range->loaded.store(false, std::memory_order_release);
    any = true;
  }
  if (!any) return;
  stale_.store(true, std::memory_order_release);
  try {
    publish();
  } catch (const std::bad_alloc&) {
    // Nobody finds the range any more; the next publish() frees it.
  }
}

void CodeSpace::publish() {
  auto next = std::make_shared<Snapshot>();
  next->reserve(ranges_.size());
  for (const auto& [base, range] : ranges_) {
    if (range->loaded.load(std::memory_order_relaxed)) next->push_back(range.get());
  }
  Epoch& last = epochs_.back();
  const bool unused = epochs_.size() == 1 && last.holds == 0;
  if (!unused) last.retired.reserve(last.retired.size() + ranges_.size() - next->size() + 1);
  // Nothing below fails.
  snapshot_.store(next.get(), std::memory_order_release);
  stale_.store(false, std::memory_order_release);
  std::shared_ptr<const Snapshot> old = std::exchange(owned_snapshot_, std::move(next));
  for (auto range = ranges_.begin(); range != ranges_.end();) {
    if (range->second->loaded.load(std::memory_order_relaxed)) {
      ++range;
      continue;
    }
    if (!unused) last.retired.push_back(std::move(range->second));
    range = ranges_.erase(range);
  }
  if (unused) return;  // freed here
  if (old != nullptr) last.retired.push_back(std::move(old));
  if (last.holds == 0 || last.retired.empty()) return;
  try {
    epochs_.emplace_back();
  } catch (const std::bad_alloc&) {
    // Later holds join this epoch and keep for longer what it retired.
  }
}

std::list<CodeSpace::Epoch>::iterator CodeSpace::enter() {
  const std::scoped_lock lock(mutex_);
  if (stale_.load(std::memory_order_relaxed)) publish();
  ++epochs_.back().holds;
  return std::prev(epochs_.end());
}

void CodeSpace::leave(std::list<Epoch>::iterator epoch) {
  std::list<Epoch> gone;  // freed without the lock
  std::vector<std::shared_ptr<const void>> last;
  const std::scoped_lock lock(mutex_);
  --epoch->holds;
  while (epochs_.front().holds == 0 && epochs_.size() > 1)
    gone.splice(gone.end(), epochs_, epochs_.begin());
  if (epochs_.front().holds != 0) return;
  last.swap(epochs_.front().retired);
}

CodeRange* CodeSpace::find_published(uint64_t pc) const {
  const Snapshot* const ranges = snapshot_.load(std::memory_order_acquire);
  if (ranges == nullptr) return nullptr;
  const auto after = std::upper_bound(ranges->begin(), ranges->end(), pc,
                                      [](uint64_t a, const CodeRange* r) { return a < r->base; });
  if (after == ranges->begin()) return nullptr;
  CodeRange* const range = *std::prev(after);
  return pc < range->end && range->loaded.load(std::memory_order_acquire) ? range : nullptr;
}

CodeRange* CodeSpace::find_locked(uint64_t pc) const {
  const auto after = ranges_.upper_bound(pc);
  if (after == ranges_.begin()) return nullptr;
  CodeRange* const range = std::prev(after)->second.get();
  return pc < range->end && range->loaded.load(std::memory_order_relaxed) ? range : nullptr;
}

CodeRange* CodeSpace::find(uint64_t pc) {
  CodeRange* const range = find_published(pc);
  if (range != nullptr || !stale_.load(std::memory_order_acquire)) return range;
  const std::scoped_lock lock(mutex_);
  if (stale_.load(std::memory_order_relaxed)) publish();
  return find_published(pc);
}

}  // namespace gfxgraph::emulator
