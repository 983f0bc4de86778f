#include "replayer/memory/staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/checked.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kStagingAlignment = 256;

tl::unexpected<Error> too_much() {
  return fail(Status::kCorrupt,
              "the copies of the trace move more bytes than an address space has");
}

}  // namespace

uint64_t staging_bytes(const format::Copy& copy) {
  if (copy.source.allocation != 0 && copy.destination.allocation != 0) return 0;
  const std::optional<uint64_t> rows = checked_mul<uint64_t>(copy.height, copy.depth);
  const std::optional<uint64_t> packed = rows ? checked_mul(copy.width_bytes, *rows) : rows;
  const uint64_t size = std::max<uint64_t>(packed.value_or(UINT64_MAX), 1);
  return checked_align_up(size, kStagingAlignment).value_or(UINT64_MAX);
}

Result<StagingPlan> plan_staging(const Program& program, uint64_t most_bytes) {
  StagingPlan plan;
  std::vector<uint64_t> sizes;
  std::optional<uint64_t> sum = 0;
  for (const Operation& operation : program.operations()) {
    if (operation.kind != OperationKind::kCopy) continue;
    const uint64_t size = staging_bytes(*operation.copy);
    if (size == 0) continue;
    sizes.push_back(size);
    sum = sum ? checked_add(*sum, size) : sum;
  }
  if (!sum) return too_much();
  plan.resident_bytes = *sum;
  if (*sum <= most_bytes) return plan;
  // All of one size, or none: which ones are resident must not depend on their order.
  std::ranges::sort(sizes);
  plan.resident_bytes = plan.largest_resident = 0;
  plan.ring_bytes = most_bytes / 2 / kStagingAlignment * kStagingAlignment;
  for (auto first = sizes.begin(); first != sizes.end();) {
    const auto end = std::ranges::upper_bound(first, sizes.end(), *first);
    const uint64_t all = static_cast<uint64_t>(end - first) * *first;  // no more than `sum`
    if (plan.resident_bytes + all > most_bytes - plan.ring_bytes) break;
    plan.resident_bytes += all;
    plan.largest_resident = *first;
    first = end;
  }
  for (const Operation& operation : program.operations()) {
    if (operation.kind != OperationKind::kCopy || operation.copy->destination.allocation != 0)
      continue;
    const uint64_t size = staging_bytes(*operation.copy);
    if (size > plan.largest_resident) plan.received_bytes += size;
  }
  return plan;
}

StagingRing::~StagingRing() {
  for (const Piece& one : pieces_) {
    if (one.event != nullptr) source_.library().table().hipEventDestroy(one.event);
  }
  source_.release(MemoryKind::kPinned, memory_);
}

Result<void> StagingRing::allocate(uint64_t size_bytes) {
  for (Piece& one : pieces_) {
    GFXGRAPH_TRY(source_.library().check(
        source_.library().table().hipEventCreateWithFlags(&one.event, hip::kDisableTiming),
        "an event of the ring for host copies"));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(
      void* const memory,
      source_.allocate(MemoryKind::kPinned, size_bytes, 0,
                       fmt::format("{} bytes of pinned memory for host copies", size_bytes)));
  memory_ = static_cast<uint8_t*>(memory);
  size_bytes_ = size_bytes;
  return {};
}

bool StagingRing::in_the_way(uint64_t begin, uint64_t end) {
  for (size_t i = 0; i < count_; ++i) {
    if (piece(i).begin < end && begin < piece(i).end) return true;
  }
  return count_ == kMostPieces;
}

void StagingRing::retire_oldest() noexcept {
  const Piece& one = piece(0);
  if (one.received != nullptr) std::memcpy(one.received, memory_ + one.begin, one.end - one.begin);
  oldest_ = (oldest_ + 1) % kMostPieces;
  --count_;
}

hip::Error StagingRing::take(uint64_t size_bytes, uint8_t*& place) noexcept {
  if (size_bytes_ - next_ < size_bytes) next_ = 0;
  while (in_the_way(next_, next_ + size_bytes)) {
    const hip::Error code = source_.library().table().hipEventSynchronize(piece(0).event);
    if (code != hip::kSuccess) return code;
    retire_oldest();
  }
  Piece& one = piece(count_);
  one.begin = next_;
  one.end = next_ + size_bytes;
  next_ = std::min(size_bytes_, (one.end + kStagingAlignment - 1) & ~(kStagingAlignment - 1));
  place = memory_ + one.begin;
  return hip::kSuccess;
}

hip::Error StagingRing::given_to(hip::Stream stream, uint8_t* received) noexcept {
  const HipTable& hip = source_.library().table();
  Piece& one = piece(count_);
  one.received = received;
  const hip::Error code = hip.hipEventRecord(one.event, stream);
  if (code == hip::kSuccess) {
    ++count_;
  } else {
    (void)hip.hipStreamSynchronize(stream);  // the only way to learn when the piece is free
  }
  return code;
}

void StagingRing::collect() noexcept {
  while (count_ != 0) retire_oldest();
  next_ = 0;
}

CopyBlocks::CopyBlocks(uint64_t whole_width, uint64_t height, uint64_t depth, uint64_t most_bytes)
    : whole_width_(whole_width), height_(height), depth_(depth), most_bytes_(most_bytes) {}

bool CopyBlocks::next() {
  packed_offset += bytes();
  column += width;
  if (column >= whole_width_ || rows > 1) {
    column = 0;
    row += rows;
  }
  if (row >= height_) {
    row = 0;
    if (rows != 0) ++slice;
  }
  if (whole_width_ == 0 || height_ == 0 || slice >= depth_) return false;
  width = std::min(whole_width_ - column, most_bytes_);
  const bool whole_rows = column == 0 && width == whole_width_;
  rows = whole_rows ? std::min(height_ - row, most_bytes_ / width) : 1;
  return true;
}

}  // namespace gfxgraph::replayer
