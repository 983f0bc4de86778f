// Which device addresses hold code, and who keeps the decodings of it alive.
//
// Only ranges that were added are code: the executable segments of loaded code objects. A range
// owns what was decoded of it. A dispatch holds the space while it runs: ranges that are removed
// meanwhile leave the space immediately, but are freed when the last dispatch that may stand in
// them has ended.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "emulator/decode/inst.h"
#include "emulator/engine/wave64.h"

namespace gfxgraph::emulator {

// Takes host memory from the budget of the engine's owner, and gives it back.
struct CodeMemory {
  std::function<bool(uint64_t size_bytes)> take;  // may be empty
  std::function<void(uint64_t size_bytes)> give;  // may be empty
};

inline constexpr uint64_t kChunkBytes = kChunkInsts * 4;
struct CodeChunk {
  Inst inst[kChunkSlots];
};

// What one code cache has decoded of a range.
class DecodedCode {
 public:
  // For this many chunks. Throws std::bad_alloc, also beyond the budget.
  DecodedCode(const CodeMemory& memory, uint64_t chunk_count, bool keeps_operands);
  ~DecodedCode();
  DecodedCode(const DecodedCode&) = delete;
  DecodedCode& operator=(const DecodedCode&) = delete;

  // The chunk, or null if it is not made yet.
  CodeChunk* find(uint64_t index) const { return chunks_[index].load(std::memory_order_acquire); }

  // ---- writers only, under the space's lock ----
  // A new chunk, which add() publishes. Throws std::bad_alloc, also beyond the budget.
  CodeChunk* make();
  void add(uint64_t index, CodeChunk* chunk) {
    chunks_[index].store(chunk, std::memory_order_release);
  }
  // Counts what instructions take besides their slots. Throws std::bad_alloc beyond the budget.
  void take(uint64_t size_bytes);
  HalfInsts& half_insts() { return half_insts_; }
  void keep(std::unique_ptr<HalfPlan> plan) { plans_.push_back(std::move(plan)); }

 private:
  const CodeMemory& memory_;
  const size_t chunk_bytes_;
  const uint64_t chunk_count_;
  uint64_t taken_bytes_ = 0;
  std::unique_ptr<std::atomic<CodeChunk*>[]> chunks_;
  HalfInsts half_insts_;                          // wave64
  std::vector<std::unique_ptr<HalfPlan>> plans_;  // wave64
};

inline constexpr size_t kCodeCaches = 4;  // by wave size and float mode
struct CodeRange {
  uint64_t base = 0;  // device addresses, multiples of 4
  uint64_t end = 0;
  uint64_t owner = 0;              // the code object's load address
  std::atomic<bool> loaded{true};  // cleared before the memory goes
  std::array<std::atomic<DecodedCode*>, kCodeCaches> decoded = {};

  CodeRange() = default;
  ~CodeRange();
  CodeRange(const CodeRange&) = delete;
  CodeRange& operator=(const CodeRange&) = delete;
  uint64_t chunk_count() const { return (end - base + kChunkBytes - 1) / kChunkBytes; }
};

// Thread-safe.
class CodeSpace {
  struct Epoch;

 public:
  explicit CodeSpace(CodeMemory memory) : memory_(std::move(memory)) { epochs_.emplace_back(); }
  CodeSpace(const CodeSpace&) = delete;
  CodeSpace& operator=(const CodeSpace&) = delete;

  // While it lives, each range that find() returned, or returns, stays valid.
  class Hold {
   public:
    explicit Hold(CodeSpace& space) : space_(space), epoch_(space.enter()) {}
    ~Hold() { space_.leave(epoch_); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    CodeSpace& space_;
    std::list<Epoch>::iterator epoch_;
  };

  // [address, address + size_bytes) is code of `owner` from now on; parts of dwords at its ends are
  // not. kInvalidArgument if other code is there.
  Result<void> add(uint64_t owner, uint64_t address, uint64_t size_bytes);
  void remove(uint64_t owner);
  // The code that holds `pc`; null: none. Only with a Hold.
  CodeRange* find(uint64_t pc);
  // The same, with the lock.
  CodeRange* find_locked(uint64_t pc) const;

  const CodeMemory& memory() const { return memory_; }
  // Of writers: of decodings, too.
  std::mutex& mutex() { return mutex_; }

 private:
  using Snapshot = std::vector<CodeRange*>;  // by address
  // What was retired while it was the last one. It is freed when no hold of it or of an earlier one
  // lives.
  struct Epoch {
    uint64_t holds = 0;
    std::vector<std::shared_ptr<const void>> retired;
  };
  std::list<Epoch>::iterator enter();
  void leave(std::list<Epoch>::iterator epoch);
  // These two require the lock. publish() also retires removed ranges. Throws std::bad_alloc, and
  // has changed nothing then.
  void publish();
  CodeRange* find_published(uint64_t pc) const;

  const CodeMemory memory_;
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<CodeRange>> ranges_;  // by base
  std::atomic<bool> stale_{false};  // the snapshot lacks a range, or has a removed one
  std::shared_ptr<const Snapshot> owned_snapshot_;
  std::atomic<const Snapshot*> snapshot_{nullptr};
  std::list<Epoch> epochs_;  // never empty
};

}  // namespace gfxgraph::emulator
