#include "replayer/session/staged_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "replayer/memory/relocated_content.h"

namespace gfxgraph::replayer {
namespace {

// A part of a copy, with its packed end at `host`.
PreparedCopy part_of(const PreparedCopy& whole, const CopyBlocks& block, uint8_t* host,
                     bool to_device) {
  PreparedCopy part = whole;
  part.width = block.width;
  part.height = block.rows;
  part.depth = 1;
  if (to_device) {
    part.destination += block.slice * whole.destination_slice + block.row * whole.destination_pitch;
    part.destination += block.column;
    part.source = host;
    part.source_pitch = block.width;
  } else {
    part.source += block.slice * whole.source_slice + block.row * whole.source_pitch + block.column;
    part.destination = host;
    part.destination_pitch = block.width;
  }
  return part;
}

}  // namespace

Result<void> StagedCopies::allocate(uint64_t most_bytes) {
  GFXGRAPH_ASSIGN_OR_RETURN(plan_, plan_staging(program_, most_bytes));
  const MemorySource& source = memory_.source();
  if (const uint64_t bytes = plan_.resident_bytes; bytes != 0) {
    GFXGRAPH_ASSIGN_OR_RETURN(
        void* const resident,
        source.allocate(MemoryKind::kPinned, bytes, 0,
                        fmt::format("{} bytes of pinned memory for host copies", bytes)));
    resident_ = static_cast<uint8_t*>(resident);
  }
  if (plan_.ring_bytes == 0) return {};
  ring_ = std::make_unique<StagingRing>(source);
  GFXGRAPH_TRY(ring_->allocate(plan_.ring_bytes));
  received_ = std::make_unique_for_overwrite<uint8_t[]>(plan_.received_bytes);
  return {};
}

uint8_t* StagedCopies::add(const format::Copy& recorded, PreparedCopy& copy) {
  const uint64_t size = staging_bytes(recorded);
  const bool resident = size <= plan_.largest_resident;
  if (!resident) copy.streamed = ++streamed_;
  if (resident) {
    copy.staged = resident_ + resident_offset_;
    resident_offset_ += size;
  } else if (recorded.destination.allocation == 0) {
    copy.staged = received_.get() + received_offset_;
    received_offset_ += size;
  }
  return copy.staged;
}

hip::Error StagedCopies::submit(const format::Copy& recorded, const PreparedCopy& copy,
                                hip::Stream stream) noexcept {
  // The caller's bytes, or memory for them, replace it.
  if (copy.source != copy.staged && copy.destination != copy.staged)
    return copy.submit(hip(), stream);
  try {
    if (copy.kind == hip::kDeviceToHost) return to_host(copy, stream);
    return to_device(recorded, copy, stream);
  } catch (const std::bad_alloc&) {
    error_ = Error{Status::kOutOfMemory, {}};
    return hip::kErrorOutOfMemory;
  }
}

hip::Error StagedCopies::to_host(const PreparedCopy& copy, hip::Stream stream) {
  CopyBlocks block(copy.width, copy.height, copy.depth, ring_->largest_piece());
  while (block.next()) {
    uint8_t* place = nullptr;
    hip::Error code = ring_->take(block.bytes(), place);
    if (code == hip::kSuccess) code = part_of(copy, block, place, false).submit(hip(), stream);
    if (code == hip::kSuccess) code = ring_->given_to(stream, copy.staged + block.packed_offset);
    if (code != hip::kSuccess) return code;
  }
  return hip::kSuccess;
}

hip::Error StagedCopies::to_device(const format::Copy& recorded, const PreparedCopy& copy,
                                   hip::Stream stream) {
  CopyBlocks block(copy.width, copy.height, copy.depth, ring_->largest_piece());
  uint8_t* place = nullptr;
  uint64_t filled = 0;
  hip::Error code = hip::kSuccess;
  const auto failed = [&]() -> tl::unexpected<Error> { return fail(Status::kDevice, {}); };
  const auto take = [&](uint64_t, std::span<const std::byte> piece) -> Result<void> {
    while (!piece.empty()) {
      if (filled == block.bytes()) {
        if (!block.next()) return fail(Status::kCorrupt, "more bytes than the copy moves");
        filled = 0;
        code = ring_->take(block.bytes(), place);
        if (code != hip::kSuccess) return failed();
      }
      const uint64_t size = std::min<uint64_t>(piece.size(), block.bytes() - filled);
      std::memcpy(place + filled, piece.data(), size);
      filled += size;
      piece = piece.subspan(size);
      if (filled != block.bytes()) continue;
      code = part_of(copy, block, place, true).submit(hip(), stream);
      if (code == hip::kSuccess) code = ring_->given_to(stream, nullptr);
      if (code != hip::kSuccess) return failed();
    }
    return {};
  };
  Result<void> done = visit_relocated(program_.trace(), recorded.host_source, memory_.addresses(),
                                      "host source", take);
  if (code != hip::kSuccess) return code;
  if (done && (filled != block.bytes() || block.next()))
    done = fail(Status::kCorrupt, "host source: fewer bytes than the copy moves");
  if (done) return hip::kSuccess;
  error_ = std::move(done).error();
  return hip::kErrorOutOfMemory;  // take_error() has the description
}

}  // namespace gfxgraph::replayer
