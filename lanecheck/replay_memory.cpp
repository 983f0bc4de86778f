#include "lanecheck/replay_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "format/writer.h"

namespace gfxgraph::lanecheck {
namespace {

// A box of bytes in linear memory, checked once against the memory it lies in.
struct Box {
  uint64_t width = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
  uint64_t pitch = 0;
  uint64_t slice = 0;

  uint64_t row_offset(uint64_t row, uint64_t plane) const { return plane * slice + row * pitch; }
  bool empty() const { return width == 0 || height == 0 || depth == 0; }

  // Bytes from the first to the last; nothing when that does not fit into 64 bits.
  std::optional<uint64_t> extent() const {
    if (empty()) return 0;
    const std::optional<uint64_t> planes = checked_mul(slice, depth - 1);
    const std::optional<uint64_t> rows = checked_mul(pitch, height - 1);
    if (!planes || !rows) return std::nullopt;
    const std::optional<uint64_t> last = checked_add(*planes, *rows);
    return last ? checked_add(*last, width) : std::nullopt;
  }
};

Box make_box(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch, uint64_t slice) {
  Box box;
  box.width = width;
  box.height = height;
  box.depth = depth;
  box.pitch = pitch != 0 ? pitch : width;
  box.slice = slice != 0 ? slice : box.pitch * height;
  return box;
}

Result<void> check_box(const Box& box, size_t available, const char* what) {
  const std::optional<uint64_t> extent = box.extent();
  if (!extent || *extent > available) {
    return fail(Status::kCorrupt, fmt::format("{}: {} x {} x {} bytes lie outside their buffer",
                                              what, box.width, box.height, box.depth));
  }
  return {};
}

void fill_row(std::byte* row, const format::Memset& memset, uint64_t bytes) {
  if (memset.element_bytes == 1) {
    std::memset(row, static_cast<int>(memset.value & 0xff), bytes);
    return;
  }
  for (uint64_t at = 0; at < bytes; at += memset.element_bytes) {
    std::memcpy(row + at, &memset.value, memset.element_bytes);  // little-endian
  }
}

}  // namespace

Result<void> MemoryEvents::write(format::AllocationId id, uint64_t offset,
                                 const format::Content& content, const char* what) {
  if (content.size_bytes == 0) return {};
  if (!content.stored) {
    if (unknown_contents_++ == 0) {
      notes_.push_back(fmt::format(
          "the trace lacks contents (first: {} of allocation {}): they read as zero, and "
          "what kernels compute from them may differ from the recorded run",
          what, id));
    }
    return {};
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> target,
                            memory_.bytes(id, offset, content.size_bytes));
  if (!content.blob) {
    std::memset(target.data(), content.fill, target.size());
    return {};
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> source, trace_.blob(content.blob));
  if (source.size() != target.size()) {
    return fail(Status::kCorrupt,
                fmt::format("{}: a blob of {} bytes for {}", what, source.size(), target.size()));
  }
  std::memcpy(target.data(), source.data(), source.size());
  return {};
}

Result<void> MemoryEvents::apply(const format::AllocationBegin& action) {
  if (action.size_bytes == 0) return {};
  if (action.kind == format::AllocationKind::kModuleGlobal) {
    GFXGRAPH_TRY(memory_.begin_inside(action));
  } else {
    GFXGRAPH_TRY(memory_.begin(action));
  }
  return write(action.id, 0, action.initial, "initial contents");
}

Result<void> MemoryEvents::apply(const format::AllocationEnd& action) {
  const format::Content& post = action.post;
  if (post.size_bytes != 0) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> bytes,
                              memory_.bytes(action.id, 0, post.size_bytes));
    bool known = true;
    bool equal = false;
    if (post.hash || post.blob) {
      equal = format::hash_bytes(bytes) == (post.hash ? post.hash : post.blob);
    } else if (post.stored) {
      equal = std::all_of(bytes.begin(), bytes.end(),
                          [&](std::byte value) { return value == std::byte{post.fill}; });
    } else {
      known = false;
    }
    if (known) {
      ++comparison_.compared;
      comparison_.equal += equal ? 1 : 0;
      if (!equal && comparison_.first_different.empty()) {
        comparison_.first_different = fmt::format("buffer #{}", action.id);
      }
    }
  }
  if (action.freed) memory_.end(action.id);
  return {};
}

Result<void> MemoryEvents::apply(const format::HostWrite& action) {
  return write(action.allocation, action.offset_bytes, action.content, "a host write");
}

Result<void> MemoryEvents::apply(const format::Copy& action) {
  const format::CopyEnd& to = action.destination;
  const format::CopyEnd& from = action.source;
  if (to.allocation == 0) return {};  // to the program: changes no device memory
  const Box target =
      make_box(action.width_bytes, action.height, action.depth, to.pitch_bytes, to.slice_bytes);
  if (target.empty()) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> bytes,
                            memory_.bytes_from(to.allocation, to.offset_bytes));
  GFXGRAPH_TRY(check_box(target, bytes.size(), "copy"));
  std::vector<std::byte> packed;
  std::span<const std::byte> source_bytes;
  Box source =
      make_box(action.width_bytes, action.height, action.depth, from.pitch_bytes, from.slice_bytes);
  if (from.allocation == 0) {
    if (!action.host_source.stored) return {};
    GFXGRAPH_ASSIGN_OR_RETURN(packed, trace_.content(action.host_source));
    source = make_box(action.width_bytes, action.height, action.depth, 0, 0);
    source_bytes = packed;
  } else {
    GFXGRAPH_ASSIGN_OR_RETURN(source_bytes, memory_.bytes_from(from.allocation, from.offset_bytes));
  }
  GFXGRAPH_TRY(check_box(source, source_bytes.size(), "copy"));
  for (uint64_t plane = 0; plane < target.depth; ++plane) {
    for (uint64_t row = 0; row < target.height; ++row) {
      std::memmove(bytes.data() + target.row_offset(row, plane),
                   source_bytes.data() + source.row_offset(row, plane), target.width);
    }
  }
  return {};
}

Result<void> MemoryEvents::apply(const format::Memset& action) {
  if (action.element_bytes != 1 && action.element_bytes != 2 && action.element_bytes != 4) {
    return fail(Status::kCorrupt,
                fmt::format("memset: elements of {} bytes", action.element_bytes));
  }
  const std::optional<uint64_t> width =
      checked_mul<uint64_t>(action.width_elements, action.element_bytes);
  if (!width) return fail(Status::kCorrupt, "memset: its width overflows");
  const Box target =
      make_box(*width, action.height, action.depth, action.pitch_bytes, action.slice_bytes);
  if (target.empty()) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> bytes,
                            memory_.bytes_from(action.allocation, action.offset_bytes));
  GFXGRAPH_TRY(check_box(target, bytes.size(), "memset"));
  for (uint64_t plane = 0; plane < target.depth; ++plane) {
    for (uint64_t row = 0; row < target.height; ++row) {
      fill_row(bytes.data() + target.row_offset(row, plane), action, target.width);
    }
  }
  return {};
}

}  // namespace gfxgraph::lanecheck
