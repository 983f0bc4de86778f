#include "lanecheck/image_use.h"

#include <fmt/format.h>

namespace gfxgraph::lanecheck {

void ImageUse::see(const format::AllocationBegin& begin) {
  if (begin.object) objects_.insert(begin.id);
  look(begin.initial.relocations);
}

const format::AllocationId* ImageUse::first_of(const std::vector<format::Relocation>& words) const {
  if (objects_.empty()) return nullptr;
  for (const format::Relocation& word : words) {
    if (objects_.contains(word.allocation)) return &word.allocation;
  }
  return nullptr;
}

void ImageUse::look(const std::vector<format::Relocation>& words) {
  if (in_memory_ != 0) return;
  if (const format::AllocationId* const found = first_of(words)) in_memory_ = *found;
}

std::optional<std::string> ImageUse::refuses(const format::Launch& launch) const {
  if (const format::AllocationId* const found = first_of(launch.relocations)) {
    return fmt::format("it is passed texture or surface #{}, which a check cannot give it", *found);
  }
  if (in_memory_ == 0) return std::nullopt;
  return fmt::format("memory holds texture or surface #{}, which a check cannot give it",
                     in_memory_);
}

}  // namespace gfxgraph::lanecheck
