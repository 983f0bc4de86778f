#include "base/cursor.h"

#include <fmt/format.h>

#include "base/checked.h"

namespace gfxgraph {

tl::unexpected<Error> ByteCursor::fail_short(uint64_t wanted) const {
  return fail(Status::kTruncated, fmt::format("byte {}: {} bytes wanted, {} left",
                                              base_offset_ + position_, wanted, remaining()));
}

Result<void> ByteCursor::seek(uint64_t position) {
  if (position > bytes_.size()) {
    return fail(Status::kTruncated, fmt::format("position {} is past the end, byte {}", position,
                                                base_offset_ + bytes_.size()));
  }
  position_ = position;
  return {};
}

Result<void> ByteCursor::skip(uint64_t count) {
  if (count > remaining()) return fail_short(count);
  position_ += count;
  return {};
}

Result<void> ByteCursor::align(uint64_t alignment) {
  const std::optional<uint64_t> aligned = checked_align_up(position_, alignment);
  if (!aligned || *aligned > bytes_.size()) return fail_short(alignment);
  position_ = *aligned;
  return {};
}

Result<std::span<const std::byte>> ByteCursor::read_bytes(uint64_t count) {
  if (count > remaining()) return fail_short(count);
  const std::span<const std::byte> taken = bytes_.subspan(position_, count);
  position_ += count;
  return taken;
}

Result<std::string_view> ByteCursor::read_c_string() {
  const char* text = reinterpret_cast<const char*>(bytes_.data()) + position_;
  const void* end = remaining() == 0 ? nullptr : std::memchr(text, 0, remaining());
  if (end == nullptr) {
    return fail(Status::kTruncated,
                fmt::format("byte {}: unterminated string", base_offset_ + position_));
  }
  const std::string_view found(text, static_cast<const char*>(end) - text);
  position_ += found.size() + 1;
  return found;
}

}  // namespace gfxgraph
