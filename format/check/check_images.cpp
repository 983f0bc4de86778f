// Arrays, textures and surfaces: their resources, and what may refer to them.
#include <fmt/format.h>

#include <optional>

#include "base/checked.h"
#include "format/check/check.h"

namespace gfxgraph::format {
namespace {

std::optional<uint64_t> texel_bytes(const ArrayShape& array) {
  const std::optional<uint64_t> rows = checked_mul(array.row_bytes(), array.rows());
  return rows ? checked_mul(*rows, array.slices()) : std::nullopt;
}

bool has_sampler(const ImageObject& object) {
  const ImageObject none;
  return object.address_mode != none.address_mode || object.filter != 0 || object.read_mode != 0 ||
         object.srgb != 0 || object.normalized != 0 || object.mip_filter != 0 ||
         object.max_anisotropy != 0 || object.border != none.border || object.mip_bias != 0 ||
         object.mip_least != 0 || object.mip_most != 0 || object.has_view;
}

Result<void> refuse(const char* why) {
  return fail(Status::kCorrupt, fmt::format("allocation begin: {}", why));
}

}  // namespace

Result<void> Checker::check_image(const AllocationBegin& begin) const {
  const bool array = begin.kind == AllocationKind::kArray;
  const bool object = is_image_object(begin.kind);
  if (array != (begin.array != nullptr))
    return refuse(array ? "an array without its shape" : "the shape of an array, but no array");
  if (object != (begin.object != nullptr)) {
    return refuse(object ? "a texture or surface without its resource"
                         : "the resource of a texture, but no texture or surface");
  }
  if (!array && !object) return {};
  if (begin.host_address != 0 || begin.mapped_bytes != 0 || begin.stream != 0)
    return refuse("an array, texture or surface with a host address, a stream or mapped bytes");
  if (array) return check_array(begin);
  return check_object(begin);
}

Result<void> Checker::check_array(const AllocationBegin& begin) const {
  const ArrayShape& array = *begin.array;
  if (!array.format.valid()) return refuse("an array with an unknown texel format");
  if (array.width == 0) return refuse("an array without texels");
  if (texel_bytes(array) != begin.size_bytes) {
    return fail(Status::kCorrupt,
                fmt::format("allocation begin: {} bytes for an array of {} x {} x {} texels",
                            begin.size_bytes, array.width, array.height, array.depth));
  }
  return {};
}

Result<void> Checker::check_object(const AllocationBegin& begin) const {
  const ImageObject& object = *begin.object;
  const bool surface = begin.kind == AllocationKind::kSurface;
  if (begin.size_bytes != (surface ? kSurfaceBytes : kTextureBytes))
    return refuse("a texture or surface with a wrong size");
  const Content& content = begin.initial;
  if (content.size_bytes != 0 || content.blob || content.hash || content.fill != 0 ||
      !content.stored || content.unwritten || !content.relocations.empty()) {
    return refuse("a texture or surface with content");
  }
  GFXGRAPH_TRY(allocation_limit(object.allocation, "allocation begin: image"));
  const Allocation& resource = allocations_.at(object.allocation);
  if (surface && (object.resource != ImageResource::kArray || has_sampler(object)))
    return refuse("a surface of memory, or with fields that only textures have");
  if (object.resource == ImageResource::kArray) {
    if (!resource.array) return refuse("an image of an array, but no array");
    if (object.offset_bytes != 0 || object.size_bytes != 0 || object.width != 0 ||
        object.height != 0 || object.pitch_bytes != 0) {
      return refuse("an image of an array with a place or size of its own");
    }
    return {};
  }
  if (resource.array || resource.object) return refuse("an image of memory, but no memory");
  if (!object.format.valid()) return refuse("an image with an unknown texel format");
  if (object.resource == ImageResource::kLinear) {
    if (object.width != 0 || object.height != 0 || object.pitch_bytes != 0)
      return refuse("a linear image with rows");
    if (object.size_bytes == 0) return refuse("an image without texels");
    return check_range(object.allocation, object.offset_bytes, object.size_bytes,
                       "allocation begin: image");
  }
  if (object.size_bytes != 0) return refuse("a pitched image with a linear size");
  if (object.width == 0 || object.height == 0) return refuse("an image without texels");
  const std::optional<uint64_t> row = checked_mul<uint64_t>(object.width, object.format.bytes());
  if (!row) return refuse("an image whose size overflows");
  return check_box(object.allocation, object.offset_bytes,
                   {*row, object.height, 1, object.pitch_bytes, 0}, "allocation begin: image");
}

// Also if it is empty: a reader may pass it to the runtime.
Result<void> Checker::check_array_box(const ArrayShape& array, uint64_t offset, const Box& box,
                                      const char* what) const {
  const uint64_t texel = array.format.bytes();
  if (box.pitch_bytes != array.row_bytes() || box.slice_bytes != array.slice_bytes()) {
    return fail(
        Status::kCorrupt,
        fmt::format("{}: pitch {} and slice {} in an array with rows of {} and slices of {}", what,
                    box.pitch_bytes, box.slice_bytes, array.row_bytes(), array.slice_bytes()));
  }
  const uint64_t x = offset % array.row_bytes();
  const uint64_t y = offset % array.slice_bytes() / array.row_bytes();
  const uint64_t z = offset / array.slice_bytes();
  if (x % texel != 0 || box.width_bytes % texel != 0 ||
      !range_fits(x, box.width_bytes, array.row_bytes()) ||
      !range_fits(y, box.height, array.rows()) || !range_fits(z, box.depth, array.slices())) {
    return fail(Status::kCorrupt,
                fmt::format("{}: {} x {} x {} bytes at {} do not lie inside the array", what,
                            box.width_bytes, box.height, box.depth, offset));
  }
  return {};
}

Result<void> Checker::check_memory(AllocationId id, const char* what) const {
  const Allocation* const found = find_allocation(id);
  if (found == nullptr || (!found->array && !found->object)) return {};
  return fail(Status::kCorrupt, fmt::format("{}: allocation {} is {}, not memory", what, id,
                                            found->array ? "an array" : "a texture or surface"));
}

Result<void> Checker::check_copy_end(const Copy& copy, const CopyEnd& end, const char* what) const {
  const Box box = box_of(copy, end);
  GFXGRAPH_TRY(allocation_limit(end.allocation, what));
  const Allocation& allocation = *find_allocation(end.allocation);
  if (allocation.object) return check_memory(end.allocation, what);
  if (allocation.array) return check_array_box(*allocation.array, end.offset_bytes, box, what);
  return check_box(end.allocation, end.offset_bytes, box, what);
}

// A word can be the handle of an object, but not point into one, nor to an array.
Result<void> Checker::check_target(const Relocation& relocation, const char* what) const {
  const Allocation& target = *find_allocation(relocation.allocation);
  if (target.array) {
    return fail(Status::kCorrupt, fmt::format("{}: relocation at {} leads to array {}", what,
                                              relocation.offset_bytes, relocation.allocation));
  }
  if (target.object && (relocation.addend != 0 || relocation.outside)) {
    return fail(Status::kCorrupt,
                fmt::format("{}: relocation at {} leads into texture or surface {}", what,
                            relocation.offset_bytes, relocation.allocation));
  }
  return {};
}

}  // namespace gfxgraph::format
