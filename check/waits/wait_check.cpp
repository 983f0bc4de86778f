#include "check/waits/wait_check.h"

#include <utility>

namespace gfxgraph::check {

std::string WaitCheck::add_kernel(uint64_t entry, const emulator::RegionTable& memory,
                                  size_t most_instructions) {
  if (kernels_.contains(entry)) return {};
  WaitFindings found = find_missing_waits(entry, memory, most_instructions);
  constexpr uint64_t kKernelBytes = 256, kPlaceBytes = sizeof(MissingWait) + 64;
  kept_bytes_ += kKernelBytes + found.places.size() * kPlaceBytes;
  for (const MissingWait& place : found.places) {
    reached_.try_emplace(place.pc);
    if (place.flat_load) reached_.try_emplace(place.load_pc);
    any_flat_ |= place.flat || place.flat_load;
  }
  kernels_[entry] = std::move(found.places);
  return std::move(found.incomplete);
}

void WaitCheck::note_reached(uint64_t pc) {
  if (!reached_.empty()) note(pc, &Reached::executed);
}

void WaitCheck::note(uint64_t pc, bool Reached::* what) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = reached_.find(pc); found != reached_.end()) found->second.*what = true;
}

std::vector<MissingWait> WaitCheck::reached_places(uint64_t entry) const {
  std::vector<MissingWait> result;
  const auto found = kernels_.find(entry);
  if (found == kernels_.end()) return result;
  const std::scoped_lock lock(mutex_);
  for (const MissingWait& place : found->second) {
    const Reached& reached = reached_.at(place.pc);
    if (place.flat_load && !reached_.at(place.load_pc).in_lds) continue;
    if (place.flat ? reached.in_lds : reached.executed) result.push_back(place);
  }
  return result;
}

}  // namespace gfxgraph::check
