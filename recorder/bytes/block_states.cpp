#include "recorder/bytes/block_states.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace gfxgraph::recorder {
namespace {

constexpr uint64_t kBits = 64;

}  // namespace

void BlockStates::begin(std::vector<uint64_t> hashes) {
  known_ = std::move(hashes);
  forget_copies();
  if (pages_) watch(std::move(pages_));
}

void BlockStates::know(uint64_t block, uint64_t hash) {
  if (known_[block] == hash) return;
  known_[block] = hash;
  forget_copy(block);
  unsettle(block, block + 1);
}

void BlockStates::know_nothing() {
  std::ranges::fill(known_, kUnknownBlock);
  forget_copies();
  unsettle(0, known_.size());
}

const HashedBytes* BlockStates::saved(uint64_t block) const {
  const auto found = saved_.find(block);
  return found == saved_.end() ? nullptr : &found->second;
}

void BlockStates::save(uint64_t block, HashedBytes bytes) {
  saved_.insert_or_assign(block, std::move(bytes));
  unsettle(block, block + 1);
}

void BlockStates::write_saved(uint64_t block, uint64_t offset, std::span<const std::byte> bytes) {
  const auto found = saved_.find(block);
  if (found == saved_.end()) return;
  found->second.write(offset, bytes);
  unsettle(block, block + 1);
}

void BlockStates::unsave(uint64_t block) {
  if (saved_.erase(block) == 0) return;
  copy_is_gone(block);
  unsettle(block, block + 1);
}

void BlockStates::watch(std::unique_ptr<WatchedPages> pages) {
  pages_ = std::move(pages);
  unsettled_bits_.assign((known_.size() + kBits - 1) / kBits, 0);
  unsettled_ = 0;
  behind_ = false;
  unsettle(0, known_.size());
}

void BlockStates::unwatch() {
  pages_.reset();
  unsettled_bits_.clear();
  unsettled_ = 0;
  behind_ = false;
  forget_copies();
}

void BlockStates::settle(uint64_t block, uint64_t hash) {
  if (!pages_ || block >= known_.size()) return;
  uint64_t& bits = unsettled_bits_[block / kBits];
  const uint64_t bit = uint64_t{1} << block % kBits;
  if ((bits & bit) == 0) return;
  const HashedBytes* const copy = saved(block);
  if (hash != (copy != nullptr ? copy->hash : known_[block])) return;
  if (hash != known_[block]) behind_ = true;
  bits &= ~bit;
  --unsettled_;
}

void BlockStates::unsettle(uint64_t first, uint64_t behind) {
  if (!pages_) return;
  behind = std::min<uint64_t>(behind, known_.size());
  while (first < behind) {
    const uint64_t begin = first % kBits;
    const uint64_t count = std::min(kBits - begin, behind - first);
    const uint64_t mask = (count == kBits ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << begin;
    uint64_t& bits = unsettled_bits_[first / kBits];
    unsettled_ += static_cast<uint64_t>(std::popcount(mask & ~bits));
    bits |= mask;
    first += count;
  }
}

bool BlockStates::settled(uint64_t block) const noexcept {
  return pages_ && block < known_.size() &&
         (unsettled_bits_[block / kBits] >> block % kBits & 1) == 0;
}

uint64_t BlockStates::next_unsettled(uint64_t block) const noexcept {
  if (!pages_ || block >= known_.size()) return block;
  if (unsettled_ == 0) return known_.size();
  uint64_t word = block / kBits;
  uint64_t bits = unsettled_bits_[word] >> block % kBits << block % kBits;
  while (bits == 0) {
    if (++word == unsettled_bits_.size()) return known_.size();
    bits = unsettled_bits_[word];
  }
  return word * kBits + static_cast<uint64_t>(std::countr_zero(bits));
}

uint64_t BlockStates::unsettled_run(uint64_t block, uint64_t most) const noexcept {
  uint64_t count = 1;
  while (count < most && next_unsettled(block + count) == block + count) ++count;
  return count;
}

void BlockStates::rest() {
  if (std::exchange(behind_, false)) {
    for (const auto& [block, copy] : saved_)
      if (settled(block)) known_[block] = copy.hash;
  }
  if (resting_.empty()) {
    resting_.swap(saved_);
  } else {
    for (auto& [block, copy] : std::exchange(saved_, {}))
      resting_.insert_or_assign(block, std::move(copy));
  }
  forget_unsettled_copies();
}

void BlockStates::wake() {
  if (!resting_.empty()) {
    forget_unsettled_copies();
    for (auto& [block, copy] : saved_) resting_.insert_or_assign(block, std::move(copy));
    saved_ = std::exchange(resting_, {});
  }
  std::erase_if(without_copy_, [this](uint64_t block) { return saved_.contains(block); });
  for (const uint64_t block : without_copy_) unsettle(block, block + 1);
}

void BlockStates::copy_is_gone(uint64_t block) {
  if (!complete_) return;
  without_copy_.push_back(block);
  if (without_copy_.size() > known_.size()) forget_copies();
}

void BlockStates::forget_unsettled_copies() {
  for (uint64_t block = next_unsettled(0); block < known_.size(); block = next_unsettled(block + 1))
    forget_copy(block);
}

void BlockStates::forget_copy(uint64_t block) {
  if (!resting_.empty() && resting_.erase(block) != 0) copy_is_gone(block);
}

void BlockStates::forget_copies() {
  resting_.clear();
  without_copy_.clear();
  complete_ = false;
}

void BlockStates::forget_flights() {
  saved_.clear();
  doubted_.clear();
  forget_copies();
  unsettle(0, known_.size());
}

void BlockStates::clear() {
  unwatch();
  forget_flights();
  known_.clear();
}

}  // namespace gfxgraph::recorder
