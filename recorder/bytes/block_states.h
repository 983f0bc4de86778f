// What the trace has of host-visible memory, in blocks of kHostBlockBytes, and which of them are
// settled: they held just that when they were last read, and no page of them was written since.
// The recorder's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "recorder/bytes/kept_bytes.h"
#include "recorder/bytes/page_watch.h"

namespace gfxgraph::recorder {

// Host-visible memory is compared in pieces of this size.
inline constexpr uint64_t kHostBlockBytes = 4096;
// Instead of a block's hash: any content of the block is attributed to the program.
inline constexpr uint64_t kUnknownBlock = 0;

class BlockStates {
 public:
  // ---- the host's view in the trace: a hash (XXH3) of each block, or kUnknownBlock --------------
  uint64_t count() const noexcept { return known_.size(); }
  uint64_t known(uint64_t block) const { return known_[block]; }
  void begin(std::vector<uint64_t> hashes);
  void know(uint64_t block, uint64_t hash);
  // Any content is the program's.
  void know_nothing();

  // ---- the trace's contents of blocks that work in flight partly writes -------------------------
  // The rest of them is the program's.
  using Saved = std::map<uint64_t, HashedBytes>;
  const Saved& saved() const noexcept { return saved_; }
  // nullptr: none are.
  const HashedBytes* saved(uint64_t block) const;
  void save(uint64_t block, HashedBytes bytes);
  void write_saved(uint64_t block, uint64_t offset, std::span<const std::byte> bytes);
  void unsave(uint64_t block);

  // ---- saved ones in doubt ----------------------------------------------------------------------
  // They changed before a kernel that may write them was known to have ended.
  const std::set<uint64_t>& doubted() const noexcept { return doubted_; }
  bool doubted(uint64_t block) const { return doubted_.contains(block); }
  void doubt(uint64_t block) { doubted_.insert(block); }
  void undoubt(uint64_t block) { doubted_.erase(block); }

  // ---- settled blocks: only of memory whose pages are watched ----------------------------------
  bool watched() const noexcept { return pages_ != nullptr; }
  WatchedPages* pages() noexcept { return pages_.get(); }
  // From now on, or no longer: nothing is settled.
  void watch(std::unique_ptr<WatchedPages> pages);
  void unwatch();
  // Bytes of the block were read after the last look at its page, and have this hash.
  void settle(uint64_t block, uint64_t hash);
  void unsettle(uint64_t first, uint64_t behind);
  bool settled(uint64_t block) const noexcept;
  bool all_settled() const noexcept { return pages_ != nullptr && unsettled_ == 0; }
  // The first one from `block` on that is not settled; count() or more: there is none.
  uint64_t next_unsettled(uint64_t block) const noexcept;
  // Those from `block` on, up to the first settled one, but not more than `most`.
  uint64_t unsettled_run(uint64_t block, uint64_t most) const noexcept;
  // No work is in flight any more, and what is not settled was looked at block by block. The copies
  // of the settled blocks stay for the next work, until their known contents change.
  void rest();
  // Kernels are in flight over all of it: settled blocks that have a copy are saved, and a settled
  // block without one is unsettled if copies_complete().
  void wake();
  // All blocks were saved once, with kernels in flight over all of it.
  bool copies_complete() const noexcept { return complete_; }
  void note_saved() { complete_ = pages_ != nullptr && saved_.size() == known_.size(); }

  // No work is in flight any more.
  void forget_flights();
  // The memory leaves the trace.
  void clear();

 private:
  void copy_is_gone(uint64_t block);
  void forget_copy(uint64_t block);
  void forget_unsettled_copies();
  void forget_copies();

  std::vector<uint64_t> known_;
  Saved saved_;
  Saved resting_;  // copies for the next work in flight; each has its block's known hash
  std::vector<uint64_t> without_copy_;  // any more, since work was in flight
  bool complete_ = false;
  std::set<uint64_t> doubted_;
  std::unique_ptr<WatchedPages> pages_;
  std::vector<uint64_t> unsettled_bits_;  // of watched memory
  uint64_t unsettled_ = 0;                // bits that are set
  // Some settled block was saved with other contents than the known ones: a kernel in flight wrote
  // it.
  bool behind_ = false;
};

}  // namespace gfxgraph::recorder
