// Allocations that occupy the bytes of one arena in turn.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "replayer/memory/memory.h"

namespace gfxgraph::replayer {
namespace {

// Offsets to try in a shifted layout until no (or almost no) tenant has its recorded address.
constexpr uint64_t kShiftPlaces = 64;

}  // namespace

Result<void> Memory::place_arena(const Program& program, Layout layout, bool keep_freed) {
  if (packing_.tenants.empty()) return {};
  const bool shift = layout == Layout::kShift;
  const std::optional<uint64_t> size =
      checked_add(packing_.arena_bytes, shift ? kShiftPlaces * kArenaAlignment : 0);
  if (!size) return fail(Status::kCorrupt, "the arena: its size overflows");
  GFXGRAPH_ASSIGN_OR_RETURN(
      arena_base_, source_.allocate(MemoryKind::kDevice, *size, 0,
                                    fmt::format("arena of {} bytes for {} allocations",
                                                packing_.arena_bytes, packing_.tenants.size())));
  arena_ = static_cast<uint8_t*>(arena_base_);
  const auto at_recorded = [&](const Tenant& tenant) {
    return reinterpret_cast<uint64_t>(arena_) + tenant.arena_offset ==
           program.allocations()[tenant.allocation - 1].begin->recorded_address;
  };
  for (uint64_t i = 1; shift && i < kShiftPlaces; ++i) {
    arena_ += kArenaAlignment;
    if (std::ranges::none_of(packing_.tenants, at_recorded)) break;
  }
  for (const Tenant& tenant : packing_.tenants) {
    Buffer& buffer = buffers_[tenant.allocation - 1];
    buffer.used = true;
    buffer.device = arena_ + tenant.arena_offset;
    buffer.shares = tenant.shares;
    buffer.reused = tenant.reused;
  }
  if (!keep_freed || packing_.kept_bytes == 0) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(
      void* const kept,
      source_.allocate(MemoryKind::kPinned, packing_.kept_bytes, 0,
                       fmt::format("{} bytes of pinned memory for the contents of freed buffers",
                                   packing_.kept_bytes)));
  kept_ = static_cast<uint8_t*>(kept);
  if (!source_.zero(kept_, packing_.kept_bytes)) std::memset(kept_, 0, packing_.kept_bytes);
  for (const Turnover& turnover : packing_.turnovers) {
    for (const EndedBytes& ended : turnover.ended) kept_of_[ended.allocation].push_back(ended);
  }
  for (auto& [id, all] : kept_of_) std::ranges::sort(all, {}, &EndedBytes::offset_bytes);
  return {};
}

Result<void> Memory::check_own(format::AllocationId id) const {
  if (!exists(id)) return {};
  if (is_live(id) && !is_there(id)) {
    return fail(Status::kNotFound, fmt::format("buffer {}: the program has freed it", id));
  }
  if (!shares(id)) return {};
  return fail(
      Status::kUnsupported,
      fmt::format("buffer {} shares its memory with buffers of other times and has no contents of "
                  "its own between runs; bind it, or create the session with separate buffers",
                  id));
}

void Memory::read_kept(format::AllocationId id, uint64_t offset, std::span<std::byte> bytes) const {
  const auto found = kept_of_.find(id);
  if (found == kept_of_.end()) return;
  for (const EndedBytes& ended : found->second) {
    const uint64_t begin = std::max(offset, ended.offset_bytes);
    const uint64_t end = std::min(offset + bytes.size(), ended.offset_bytes + ended.size_bytes);
    if (begin >= end) continue;
    std::memcpy(bytes.data() + (begin - offset),
                kept_ + ended.kept_offset + (begin - ended.offset_bytes), end - begin);
  }
}

Result<void> Memory::write_kept(format::AllocationId id, uint64_t offset,
                                std::span<const std::byte> bytes) const {
  const auto found = kept_of_.find(id);
  const uint64_t whole_end = offset + bytes.size();
  uint64_t at = offset;
  if (found != kept_of_.end()) {
    for (const EndedBytes& ended : found->second) {
      const uint64_t begin = std::max(at, ended.offset_bytes);
      const uint64_t end = std::min(whole_end, ended.offset_bytes + ended.size_bytes);
      if (begin >= end) continue;
      GFXGRAPH_TRY(write_device(id, at, bytes.subspan(at - offset, begin - at)));
      std::memcpy(kept_ + ended.kept_offset + (begin - ended.offset_bytes),
                  bytes.data() + (begin - offset), end - begin);
      at = end;
    }
  }
  return write_device(id, at, bytes.subspan(at - offset));
}

}  // namespace gfxgraph::replayer
