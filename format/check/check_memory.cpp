// Contents, relocations, copies and memsets: every record with a range in an allocation.
#include <fmt/format.h>

#include <optional>

#include "base/checked.h"
#include "format/check/check.h"

namespace gfxgraph::format {
namespace {

constexpr uint64_t kPointerBytes = 8;

std::optional<uint64_t> product(uint64_t a, uint64_t b, uint64_t c) {
  const std::optional<uint64_t> ab = checked_mul(a, b);
  return ab ? checked_mul(*ab, c) : std::nullopt;
}

}  // namespace

Result<uint64_t> Checker::allocation_limit(AllocationId id, const char* what) const {
  const Allocation* const found = find_allocation(id);
  if (found == nullptr) {
    return fail(Status::kCorrupt, fmt::format("{}: allocation {} has not begun", what, id));
  }
  return found->limit_bytes;
}

Result<void> Checker::check_range(AllocationId id, uint64_t offset, uint64_t size,
                                  const char* what) const {
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t limit, allocation_limit(id, what));
  if (!range_fits(offset, size, limit)) {
    return fail(Status::kCorrupt, fmt::format("{}: {} bytes at {} do not lie inside allocation {} "
                                              "of {} bytes",
                                              what, size, offset, id, limit));
  }
  return {};
}

Result<void> Checker::check_box(AllocationId id, uint64_t offset, const Box& box,
                                const char* what) const {
  const std::optional<uint64_t> size = box.extent();
  if (!size || (!box.empty() && !box.rows_are_apart())) {
    return fail(
        Status::kCorrupt,
        fmt::format("{}: {} x {} x {} bytes with pitch {} and slice {} are not a valid region",
                    what, box.width_bytes, box.height, box.depth, box.pitch_bytes,
                    box.slice_bytes));
  }
  return check_range(id, offset, *size, what);
}

Result<void> Checker::check_relocations(const std::vector<Relocation>& relocations,
                                        uint64_t size_bytes, const char* what) const {
  uint64_t from = 0;
  for (const Relocation& relocation : relocations) {
    if (!range_fits(relocation.offset_bytes, kPointerBytes, size_bytes)) {
      return fail(Status::kCorrupt, fmt::format("{}: relocation at {} does not lie inside {} bytes",
                                                what, relocation.offset_bytes, size_bytes));
    }
    if (relocation.offset_bytes < from) {
      return fail(Status::kCorrupt, fmt::format("{}: relocation at {} overlaps the one before it",
                                                what, relocation.offset_bytes));
    }
    from = relocation.offset_bytes + kPointerBytes;
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t limit, allocation_limit(relocation.allocation, what));
    GFXGRAPH_TRY(check_target(relocation, what));
    const bool inside = static_cast<uint64_t>(relocation.addend) <= limit;
    if (relocation.outside && inside) {
      return fail(Status::kCorrupt,
                  fmt::format("{}: relocation at {} is marked as outside allocation {} of {} "
                              "bytes, but points {} bytes into it",
                              what, relocation.offset_bytes, relocation.allocation, limit,
                              relocation.addend));
    }
    if (!relocation.outside && !inside) {
      return fail(
          Status::kCorrupt,
          fmt::format("{}: relocation at {} points {} bytes into allocation {} of {} bytes", what,
                      relocation.offset_bytes, relocation.addend, relocation.allocation, limit));
    }
  }
  return {};
}

Result<void> Checker::check_unwritten(const AllocationBegin& begin) const {
  const Content& content = begin.initial;
  if (begin.kind == AllocationKind::kModuleGlobal || begin.kind == AllocationKind::kHostRegistered)
    return fail(Status::kCorrupt, "allocation begin: the program's own memory is marked unwritten");
  if (content.blob || content.hash || content.fill != 0 || !content.stored ||
      !content.relocations.empty() || content.size_bytes != begin.size_bytes) {
    return fail(Status::kCorrupt, "allocation begin: has content but is marked unwritten");
  }
  return {};
}

Result<void> Checker::check_content(const Content& content, const char* what) const {
  if (content.unwritten)
    return fail(Status::kCorrupt, fmt::format("{}: cannot be unwritten", what));
  if (content.blob) {
    const std::optional<KnownBlob> found = find_blob(content.blob);
    if (!found) {
      return fail(Status::kCorrupt, fmt::format("{}: its blob {:016x}{:016x} does not precede it",
                                                what, content.blob.high, content.blob.low));
    }
    if (found->size_bytes != content.size_bytes) {
      return fail(Status::kCorrupt, fmt::format("{}: {} bytes in a blob of {}", what,
                                                content.size_bytes, found->size_bytes));
    }
    if (!content.stored) {
      return fail(Status::kCorrupt, fmt::format("{}: has a blob but is marked not stored", what));
    }
    if (content.hash && content.hash != content.blob) {
      return fail(Status::kCorrupt, fmt::format("{}: its hash differs from its blob's id", what));
    }
  }
  if (content.fill != 0 && (content.blob || !content.stored)) {
    return fail(Status::kCorrupt, fmt::format("{}: has a fill byte but is not a fill", what));
  }
  return check_relocations(content.relocations, content.size_bytes, what);
}

Result<void> Checker::check(const Copy& copy) const {
  const std::optional<uint64_t> bytes = product(copy.width_bytes, copy.height, copy.depth);
  if (!bytes) return fail(Status::kCorrupt, "copy: its size overflows");
  if (copy.destination.allocation == 0 && copy.source.allocation == 0) {
    return fail(Status::kCorrupt, "copy: both ends lie outside of every allocation");
  }
  for (const auto& [end, what] : {std::pair{&copy.destination, "copy: destination"},
                                  std::pair{&copy.source, "copy: source"}}) {
    if (end->allocation == 0) continue;
    GFXGRAPH_TRY(check_copy_end(copy, *end, what));
  }
  const uint64_t source_bytes = copy.source.allocation == 0 ? *bytes : 0;
  if (copy.host_source.size_bytes != source_bytes) {
    return fail(Status::kCorrupt, fmt::format("copy: host source has {} bytes, not {}",
                                              copy.host_source.size_bytes, source_bytes));
  }
  if (copy.source_is_pinned && copy.source.allocation != 0) {
    return fail(Status::kCorrupt, "copy: its source is an allocation and pinned host memory");
  }
  const uint64_t result_bytes = copy.destination.allocation == 0 ? *bytes : 0;
  if (copy.host_result.size_bytes != 0 && copy.host_result.size_bytes != result_bytes) {
    return fail(Status::kCorrupt, fmt::format("copy: host result has {} bytes, not {}",
                                              copy.host_result.size_bytes, result_bytes));
  }
  GFXGRAPH_TRY(check_content(copy.host_source, "copy: host source"));
  GFXGRAPH_TRY(check_content(copy.host_result, "copy: host result"));
  return check_stream(copy.stream, "copy");
}

Result<void> Checker::check(const Memset& memset) const {
  const uint32_t element = memset.element_bytes;
  if (element != 1 && element != 2 && element != 4) {
    return fail(Status::kCorrupt, fmt::format("memset: elements of {} bytes", element));
  }
  if (element < 4 && memset.value >> (8 * element) != 0) {
    return fail(Status::kCorrupt, fmt::format("memset: value {:#x} does not fit into {} bytes",
                                              memset.value, element));
  }
  const std::optional<Box> box = box_of(memset);
  if (!box) return fail(Status::kCorrupt, "memset: its size overflows");
  GFXGRAPH_TRY(check_memory(memset.allocation, "memset"));
  GFXGRAPH_TRY(check_box(memset.allocation, memset.offset_bytes, *box, "memset"));
  return check_stream(memset.stream, "memset");
}

}  // namespace gfxgraph::format
