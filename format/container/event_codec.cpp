#include "format/container/event_codec.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "base/cursor.h"
#include "format/container/container.h"

namespace gfxgraph::format {
namespace {

uint64_t record_bytes(uint64_t payload_bytes) {
  return checked_align_up(kRecordHeaderBytes + payload_bytes, kRecordAlignment)
      .value_or(UINT64_MAX);
}

}  // namespace

std::span<const std::byte> EventCompressor::compress(std::span<const std::byte> events, int level) {
  if (events.size() > kMaxCompressedEventsBytes) return {};
  const size_t room = kCompressedEventsHeaderBytes + events.size();
  if (payload_.size() < room) payload_.resize(room);
  const size_t stored =
      zstd_.compress(events, std::span(payload_).subspan(kCompressedEventsHeaderBytes), level);
  const size_t size = kCompressedEventsHeaderBytes + stored;
  if (stored == 0 || record_bytes(size) >= record_bytes(events.size()) ||
      events.size() / kMaxCompressedEventsRatio > stored) {
    return {};
  }
  store_le(payload_.data(), uint64_t{events.size()});
  return std::span(payload_).first(size);
}

Result<std::span<const std::byte>> EventDecompressor::decompress(
    std::span<const std::byte> payload) {
  if (payload.size() < kCompressedEventsHeaderBytes) {
    return fail(Status::kCorrupt, "compressed events are shorter than their own header");
  }
  const uint64_t size = load_le<uint64_t>(payload.data());
  const std::span<const std::byte> stored = payload.subspan(kCompressedEventsHeaderBytes);
  if (size > kMaxCompressedEventsBytes) {
    return fail(Status::kCorrupt, fmt::format("compressed events of {} bytes are larger than the "
                                              "limit of {}",
                                              size, kMaxCompressedEventsBytes));
  }
  if (size / kMaxCompressedEventsRatio > stored.size()) {
    return fail(Status::kCorrupt,
                fmt::format("{} stored bytes cannot hold events of {} bytes", stored.size(), size));
  }
  if (size > left_bytes_) {
    return fail(Status::kOutOfMemory,
                "the compressed events need more memory than the limit allows");
  }
  left_bytes_ -= size;
  events_.resize(size);
  GFXGRAPH_TRY(zstd_.decompress(stored, events_));
  return events_;
}

}  // namespace gfxgraph::format
