#include "check/memory/replay_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "format/write/writer.h"

namespace gfxgraph::check {

// A box of bytes in linear memory, checked once against the memory it lies in.
namespace {

using format::Box;

Result<void> check_box(const Box& box, size_t available, const char* what) {
  const std::optional<uint64_t> extent = box.extent();
  if (!extent || *extent > available) {
    return fail(Status::kCorrupt, fmt::format("{}: {} x {} x {} bytes lie outside their buffer",
                                              what, box.width_bytes, box.height, box.depth));
  }
  return {};
}

// Whether all bytes of its elements are equal.
bool is_one_byte(const format::Memset& memset) {
  const uint32_t byte = memset.value & 0xff;
  const uint32_t all = byte * 0x01010101u;
  const uint32_t mask = memset.element_bytes == 4 ? ~0u : (1u << (8 * memset.element_bytes)) - 1;
  return (memset.value & mask) == (all & mask);
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

void MemoryEvents::note_unknown(format::AllocationId id, const char* what) {
  if (unknown_contents_++ != 0) return;
  notes_.push_back(
      fmt::format("the trace lacks contents (first: {} of allocation {}): they read as zero, "
                  "except words that point to other memory, and results computed from them may "
                  "differ from the recorded run",
                  what, id));
}

Result<void> MemoryEvents::write(format::AllocationId id, uint64_t offset,
                                 const format::Content& content, const char* what) {
  if (content.size_bytes == 0) return {};
  if (!content.stored) {
    note_unknown(id, what);
    // Words that point to other memory are known anyway.
    for (const format::Relocation& word : content.relocations) {
      const auto target = addresses_.find(word.allocation);
      if (target == addresses_.end()) continue;
      GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> bytes,
                                memory_.bytes(id, offset + word.offset_bytes, sizeof(uint64_t)));
      const uint64_t value = target->second + static_cast<uint64_t>(word.addend);
      std::memcpy(bytes.data(), &value, sizeof(value));  // little-endian
    }
    return {};
  }
  if (!content.blob) return memory_.fill(id, offset, content.size_bytes, content.fill);
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> target,
                            memory_.bytes(id, offset, content.size_bytes));
  Result<void> read = trace_.read_blob(content.blob, target);
  if (!read) return with_context(std::move(read).error(), what);
  move_words(target, content.relocations, false);
  return {};
}

bool MemoryEvents::leads_to_moved(const std::vector<format::Relocation>& words) const {
  return !moved_.empty() && std::ranges::any_of(words, [&](const format::Relocation& word) {
    return moved_.contains(word.allocation);
  });
}

void MemoryEvents::move_words(std::span<std::byte> bytes,
                              const std::vector<format::Relocation>& words, bool back) const {
  if (moved_.empty()) return;
  for (const format::Relocation& word : words) {
    const auto moved = moved_.find(word.allocation);
    if (moved == moved_.end() || !range_fits(word.offset_bytes, sizeof(uint64_t), bytes.size()))
      continue;
    const uint64_t here = addresses_.at(word.allocation) + static_cast<uint64_t>(word.addend);
    const uint64_t recorded = here - moved->second;
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + word.offset_bytes, sizeof(value));  // little-endian
    if (value != (back ? here : recorded)) continue;
    value = back ? recorded : here;
    std::memcpy(bytes.data() + word.offset_bytes, &value, sizeof(value));
  }
}

std::optional<format::Launch> MemoryEvents::moved(const format::Launch& launch) const {
  if (!leads_to_moved(launch.relocations)) return std::nullopt;
  format::Launch moved = launch;
  move_words(std::as_writable_bytes(std::span(moved.kernarg)), moved.relocations, false);
  return moved;
}

// The trace has no gaps between its rows.
Result<void> MemoryEvents::write_array(format::AllocationId id, const ArrayLayout& layout,
                                       const format::Content& content) {
  if (content.size_bytes == 0) return {};
  if (!content.stored) {
    note_unknown(id, "initial contents");
    return {};
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> bytes, memory_.bytes(id, 0, layout.bytes()));
  const Box rows{layout.row_bytes, layout.rows, layout.slices, layout.pitch_bytes,
                 layout.slice_bytes()};
  return fill_from_host(content, rows, bytes);
}

Result<void> MemoryEvents::apply(const format::AllocationBegin& action) {
  if (action.size_bytes == 0) return {};
  addresses_[action.id] = action.recorded_address;
  if (action.initial.unwritten) unwritten_.insert(action.id);
  if (action.kind == format::AllocationKind::kModuleGlobal) {
    GFXGRAPH_TRY(memory_.begin_global(action));
  } else {
    GFXGRAPH_TRY(memory_.begin(action));
  }
  if (action.object) return images_.describe(action);
  if (const ArrayLayout* const layout = images_.layout(action.id))
    return write_array(action.id, *layout, action.initial);
  return write(action.id, 0, action.initial, "initial contents");
}

Result<std::span<const std::byte>> MemoryEvents::contents(format::AllocationId id,
                                                          uint64_t size_bytes,
                                                          std::vector<std::byte>& room) {
  const ArrayLayout* const layout = images_.layout(id);
  if (layout == nullptr) return memory_.bytes(id, 0, size_bytes);
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> bytes,
                            memory_.bytes(id, 0, layout->bytes()));
  if (size_bytes > layout->linear_bytes())
    return fail(Status::kCorrupt, fmt::format("{} bytes of array {}", size_bytes, id));
  room.resize(size_bytes);
  layout->pack(bytes, room);
  return room;
}

Result<std::span<const std::byte>> MemoryEvents::taken(const format::Copy& copy,
                                                       std::vector<std::byte>& room) {
  const format::CopyEnd& from = copy.source;
  const Box rows = format::box_of(copy, from);
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes,
                            memory_.bytes_from(from.allocation, from.offset_bytes));
  GFXGRAPH_TRY(check_box(rows, bytes.size(), "copy"));
  const uint64_t size = rows.packed_bytes();
  if (rows.empty() || rows.linear()) return bytes.first(size);
  room.resize(size);
  const Box packed{copy.width_bytes, copy.height, copy.depth};
  GFXGRAPH_TRY(copy_box(packed, room, rows, bytes));
  return room;
}

Result<bool> MemoryEvents::unwritten_alone(format::AllocationId id, const format::Content& post,
                                           std::span<const std::byte> bytes) const {
  if (!post.stored) return std::ranges::find(bytes, std::byte{0}) != bytes.end();
  GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> recorded, trace_.content(post));
  GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> before, earlier_.before(id, bytes.size()));
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != recorded[i] && (bytes[i] != std::byte{0} || recorded[i] != before[i]))
      return false;
  }
  return true;
}

Result<void> MemoryEvents::apply(const format::AllocationEnd& action) {
  const format::Content& post = action.post;
  if (post.size_bytes != 0) {
    std::vector<std::byte> room;
    GFXGRAPH_ASSIGN_OR_RETURN(std::span<const std::byte> bytes,
                              contents(action.id, post.size_bytes, room));
    if (leads_to_moved(post.relocations)) {
      std::vector<std::byte> recorded(bytes.begin(), bytes.end());
      move_words(recorded, post.relocations, true);
      room = std::move(recorded);
      bytes = room;
    }
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
    if (known && !equal && unwritten_.contains(action.id)) {
      GFXGRAPH_ASSIGN_OR_RETURN(const bool alone, unwritten_alone(action.id, post, bytes));
      equal = alone && post.stored;
      known = equal || !alone;
    }
    if (known) {
      ++comparison_.compared;
      comparison_.equal += equal ? 1 : 0;
      if (!equal && comparison_.first_different.empty()) {
        comparison_.first_different = fmt::format(
            "{} #{}", images_.layout(action.id) == nullptr ? "buffer" : "array", action.id);
      }
    }
  }
  memory_.end(action.id, action.freed);
  images_.end(action.id);
  return {};
}

Result<void> MemoryEvents::apply(const format::HostWrite& action) {
  return write(action.allocation, action.offset_bytes, action.content, "a host write");
}

Result<void> MemoryEvents::apply(const format::Copy& action) {
  const format::CopyEnd& to = action.destination;
  const format::CopyEnd& from = action.source;
  if (to.allocation == 0) return {};  // to the program: changes no device memory
  const Box target = format::box_of(action, to);
  if (target.empty()) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> bytes,
                            memory_.bytes_from(to.allocation, to.offset_bytes));
  GFXGRAPH_TRY(check_box(target, bytes.size(), "copy"));
  if (from.allocation == 0) return copy_from_host(action, target, bytes);
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> source_bytes,
                            memory_.bytes_from(from.allocation, from.offset_bytes));
  const Box source = format::box_of(action, from);
  GFXGRAPH_TRY(check_box(source, source_bytes.size(), "copy"));
  return copy_box(target, bytes, source, source_bytes);
}

Result<void> MemoryEvents::copy_from_host(const format::Copy& action, const Box& target,
                                          std::span<std::byte> bytes) {
  const format::Content& content = action.host_source;
  if (!content.stored) return {};
  if (target.linear()) {
    return write(action.destination.allocation, action.destination.offset_bytes, content, "copy");
  }
  return fill_from_host(content, target, bytes);
}

Result<void> MemoryEvents::fill_from_host(const format::Content& content, const Box& target,
                                          std::span<std::byte> bytes) {
  if (!content.blob) {
    return for_each_row(target, [&](uint64_t offset, uint64_t) {
      std::memset(bytes.data() + offset, content.fill, target.width_bytes);
    });
  }
  // No larger than the target, so it at most doubles what the memory budget counts.
  std::vector<std::byte> packed(content.size_bytes);
  GFXGRAPH_TRY(trace_.read_blob(content.blob, packed));
  move_words(packed, content.relocations, false);
  const Box source{target.width_bytes, target.height, target.depth};
  GFXGRAPH_TRY(check_box(source, packed.size(), "copy"));
  return copy_box(target, bytes, source, packed);
}

Result<void> MemoryEvents::copy_box(const Box& target, std::span<std::byte> to, const Box& source,
                                    std::span<const std::byte> from) {
  if (target.linear() && source.linear()) {
    std::memmove(to.data(), from.data(), target.packed_bytes());
    return {};
  }
  return for_each_row(target, [&](uint64_t offset, uint64_t index) {
    const uint64_t at = source.row_offset(index % source.height, index / source.height);
    std::memmove(to.data() + offset, from.data() + at, target.width_bytes);
  });
}

// A box of one-byte rows has many; the time limit ends it.
template <typename Visit>
Result<void> MemoryEvents::for_each_row(const Box& box, const Visit& visit) {
  constexpr uint64_t kRowsPerLook = 1 << 16;
  uint64_t index = 0;
  for (uint64_t plane = 0; plane < box.depth; ++plane) {
    for (uint64_t row = 0; row < box.height; ++row, ++index) {
      if (index % kRowsPerLook == kRowsPerLook - 1 && !budget_.go_on()) {
        return fail(Status::kOutOfMemory, budget_.reason());
      }
      visit(box.row_offset(row, plane), index);
    }
  }
  return {};
}

Result<void> MemoryEvents::apply(const format::Memset& action) {
  if (action.element_bytes != 1 && action.element_bytes != 2 && action.element_bytes != 4) {
    return fail(Status::kCorrupt,
                fmt::format("memset: elements of {} bytes", action.element_bytes));
  }
  const std::optional<Box> box = format::box_of(action);
  if (!box) return fail(Status::kCorrupt, "memset: its width overflows");
  const Box& target = *box;
  if (target.empty()) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> bytes,
                            memory_.bytes_from(action.allocation, action.offset_bytes));
  GFXGRAPH_TRY(check_box(target, bytes.size(), "memset"));
  if (target.linear() && is_one_byte(action)) {
    return memory_.fill(action.allocation, action.offset_bytes, target.packed_bytes(),
                        static_cast<uint8_t>(action.value));
  }
  return for_each_row(target, [&](uint64_t offset, uint64_t) {
    fill_row(bytes.data() + offset, action, target.width_bytes);
  });
}

}  // namespace gfxgraph::check
