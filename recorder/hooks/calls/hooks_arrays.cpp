// Hooks of arrays, of copies from and to them, and of textures and surfaces.
#include <algorithm>

#include "base/checked.h"
#include "recorder/hooks/calls/hooks_internal.h"

using namespace gfxgraph::recorder;
namespace format = gfxgraph::format;
using format::AllocationKind;
using format::TexelFormat;
using format::TexelKind;

namespace {

TexelFormat texel_format(const hipChannelFormatDesc& desc) {
  TexelFormat format;
  const int bits[4] = {desc.x, desc.y, desc.z, desc.w};
  // Larger numbers stay invalid.
  for (size_t i = 0; i < 4; ++i) format.bits[i] = static_cast<uint8_t>(std::clamp(bits[i], 0, 255));
  switch (desc.f) {
    case hipChannelFormatKindSigned: format.kind = TexelKind::kSigned; break;
    case hipChannelFormatKindUnsigned: format.kind = TexelKind::kUnsigned; break;
    case hipChannelFormatKindFloat: format.kind = TexelKind::kFloat; break;
    default: format.bits = {};
  }
  return format;
}

TexelFormat texel_format(hipArray_Format of, unsigned int components) {
  TexelFormat format;
  uint8_t bits = 0;
  switch (of) {
    case HIP_AD_FORMAT_UNSIGNED_INT8: bits = 8; break;
    case HIP_AD_FORMAT_UNSIGNED_INT16: bits = 16; break;
    case HIP_AD_FORMAT_UNSIGNED_INT32: bits = 32; break;
    case HIP_AD_FORMAT_SIGNED_INT8: bits = 8; break;
    case HIP_AD_FORMAT_SIGNED_INT16: bits = 16; break;
    case HIP_AD_FORMAT_SIGNED_INT32: bits = 32; break;
    case HIP_AD_FORMAT_HALF: bits = 16; break;
    case HIP_AD_FORMAT_FLOAT: bits = 32; break;
    default: break;
  }
  if (of >= HIP_AD_FORMAT_SIGNED_INT8 && of <= HIP_AD_FORMAT_SIGNED_INT32)
    format.kind = TexelKind::kSigned;
  if (of == HIP_AD_FORMAT_HALF || of == HIP_AD_FORMAT_FLOAT) format.kind = TexelKind::kFloat;
  for (size_t i = 0; i < 4 && i < components; ++i) format.bits[i] = bits;
  return format;
}

void array_created(int index, const void* array, const TexelFormat& texels, size_t width,
                   size_t height, size_t depth, unsigned int flags) {
  format::ArrayShape shape;
  shape.width = static_cast<uint32_t>(width);
  shape.height = static_cast<uint32_t>(height);
  shape.depth = static_cast<uint32_t>(depth);
  shape.format = texels;
  shape.flags = flags;
  recorder().arrays().created(array, shape, display_name(index));
}

hipError_t end_array(int index, hipArray* array, const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return real(index, array);
  const uint64_t address = recorder().arrays().leaves(array);
  // As this call does itself, before its last contents are read.
  hipError_t waited = hipSuccess;
  if (recorder().arrays().free_waits_for_null_stream())
    waited = real(kCall_hipStreamSynchronize, hipStream_t{nullptr});
  Freeing freeing = recorder().buffers().freeing(address);
  const hipError_t result = real(index, array);
  if (result != hipSuccess) recorder().arrays().stays(array, address);
  if (result == hipSuccess && waited != hipSuccess)
    recorder().note_incomplete(display_name(index),
                               "hipStreamSynchronize of the null stream failed before it: what the "
                               "trace has of the array may not be its last contents");
  recorder().buffers().freed(std::move(freeing), result == hipSuccess);
  return result;
}

template <typename Object>
hipError_t end_object(int index, Object object, const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return real(index, object);
  Freeing freeing = recorder().buffers().freeing(address_of(object));
  const hipError_t result = real(index, object);
  if (object == nullptr) learned.index = -1;
  recorder().buffers().freed(std::move(freeing), result == hipSuccess);
  return result;
}

// ---- copies ----

// A side of a copy: in an array, or in memory.
struct Side {
  const void* array = nullptr;
  ArrayPosition at;
  const void* memory = nullptr;
  uint64_t pitch_bytes = 0;
  MemorySide side = MemorySide::kUnknown;
};
Side in_array(const void* array, size_t x_bytes, size_t y = 0) {
  Side side;
  side.array = array;
  side.at = {x_bytes, y, 0};
  return side;
}
Side in_memory(const void* memory, size_t pitch_bytes, MemorySide of) {
  Side side;
  side.memory = memory;
  side.pitch_bytes = pitch_bytes;
  side.side = of;
  return side;
}

template <typename Call>
hipError_t array_copy(int index, const Side& destination, const Side& source, size_t width_bytes,
                      size_t height, Handle stream, Call&& call,
                      const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return call();
  RawCopy raw;
  raw.width_bytes = width_bytes;
  raw.height = height;
  const auto place = [&](const Side& from, RawCopyEnd& end, MemorySide& side) {
    if (from.array != nullptr) return raw_array_end(from.array, from.at, raw, end, side);
    side = from.side;
    end.address = end.pointer = address_of(from.memory);
    end.pitch_bytes = from.pitch_bytes;
    return true;
  };
  if (place(destination, raw.destination, raw.destination_side) &&
      place(source, raw.source, raw.source_side)) {
    return device_work(index, raw, stream, std::forward<Call>(call));
  }
  const hipError_t result = call();
  if (result == hipSuccess) {
    recorder().note_incomplete(display_name(index),
                               "an array that is not recorded, or a place outside of it");
  }
  return result;
}

// hipMemcpyToArray and hipMemcpyFromArray: HIP copies what they say only of whole arrays.
struct Whole {
  uint64_t row_bytes = 0;
  uint64_t rows = 0;
};
Whole whole_array(const void* array, size_t x, size_t y, size_t bytes) {
  ArrayCalls::Place place;
  if (x != 0 || y != 0 || !recorder().arrays().find(array, place) || place.shape->slices() != 1 ||
      bytes != place.shape->slice_bytes()) {
    return {};
  }
  return {place.shape->row_bytes(), place.shape->rows()};
}

template <typename Call>
hipError_t whole_copy(int index, bool to_array, const void* array, size_t x, size_t y,
                      const void* memory, size_t bytes, hipMemcpyKind kind, Handle stream,
                      Call&& call, const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return call();
  const Whole whole = whole_array(array, x, y, bytes);
  RawCopy raw;
  raw.width_bytes = whole.row_bytes;
  raw.height = whole.rows;
  RawCopyEnd& in_array = to_array ? raw.destination : raw.source;
  RawCopyEnd& other = to_array ? raw.source : raw.destination;
  MemorySide& array_side = to_array ? raw.destination_side : raw.source_side;
  if (whole.rows != 0 && raw_array_end(array, {}, raw, in_array, array_side)) {
    other.address = other.pointer = address_of(memory);
    other.pitch_bytes = whole.row_bytes;
    if (to_array) raw.source_side = source_side(kind);
    if (!to_array) raw.destination_side = destination_side(kind);
    return device_work(index, raw, stream, std::forward<Call>(call));
  }
  const hipError_t result = call();
  if (result == hipSuccess)
    recorder().note_incomplete(display_name(index),
                               "an array that is not recorded, or not all of it");
  return result;
}

// ---- textures and surfaces ----

void image_created(int index, const ArrayCalls::NewImage& image) {
  recorder().arrays().image_created(image, display_name(index));
}

template <typename View>
void set_view(format::ImageObject& to, const View& view) {
  to.has_view = true;
  to.view_format = static_cast<uint32_t>(view.format);
  to.view_width = view.width;
  to.view_height = view.height;
  to.view_depth = view.depth;
  to.first_level = view.firstMipmapLevel;
  to.last_level = view.lastMipmapLevel;
  to.first_layer = view.firstLayer;
  to.last_layer = view.lastLayer;
}

hipError_t surface_created(int index, hipSurfaceObject_t* object, const hipResourceDesc* resource,
                           const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  const hipError_t result = real(index, object, resource);
  if (!scope.record || result != hipSuccess) return result;
  ArrayCalls::NewImage image;
  image.kind = AllocationKind::kSurface;
  image.handle = address_of(*object);
  if (resource->resType == hipResourceTypeArray) image.array = resource->res.array.array;
  image_created(index, image);
  return result;
}

}  // namespace

namespace gfxgraph::recorder {

uint64_t texel_bytes(const void* array) noexcept {
  ArrayCalls::Place place;
  return recorder().arrays().find(array, place) ? place.shape->format.bytes() : 0;
}

bool raw_array_end(const void* array, ArrayPosition at, const RawCopy& raw, RawCopyEnd& end,
                   MemorySide& side) noexcept {
  ArrayCalls::Place place;
  if (!recorder().arrays().find(array, place)) return false;
  const format::ArrayShape& shape = *place.shape;
  const uint64_t texel = shape.format.bytes();
  if (at.x_bytes % texel != 0 || raw.width_bytes % texel != 0 ||
      !range_fits(at.x_bytes, raw.width_bytes, shape.row_bytes()) ||
      !range_fits(at.y, raw.height, shape.rows()) || !range_fits(at.z, raw.depth, shape.slices())) {
    return false;
  }
  side = MemorySide::kDevice;
  end.pitch_bytes = shape.row_bytes();
  end.slice_bytes = shape.slice_bytes();
  end.address = place.address + at.z * end.slice_bytes + at.y * end.pitch_bytes + at.x_bytes;
  return true;
}

}  // namespace gfxgraph::recorder

GFXGRAPH_HOOK hipError_t hipMallocArray(hipArray** array, const hipChannelFormatDesc* desc,
                                        size_t width, size_t height, unsigned int flags) {
  GFXGRAPH_CALL_THEN(
      hipMallocArray,
      array_created(kCall_hipMallocArray, *array, texel_format(*desc), width, height, 0, flags),
      array, desc, width, height, flags);
}

GFXGRAPH_HOOK hipError_t hipMalloc3DArray(hipArray** array, const hipChannelFormatDesc* desc,
                                          hipExtent extent, unsigned int flags) {
  GFXGRAPH_CALL_THEN(hipMalloc3DArray,
                     array_created(kCall_hipMalloc3DArray, *array, texel_format(*desc),
                                   extent.width, extent.height, extent.depth, flags),
                     array, desc, extent, flags);
}

GFXGRAPH_HOOK hipError_t hipArrayCreate(hipArray** array, const HIP_ARRAY_DESCRIPTOR* desc) {
  GFXGRAPH_CALL_THEN(
      hipArrayCreate,
      array_created(kCall_hipArrayCreate, *array, texel_format(desc->Format, desc->NumChannels),
                    desc->Width, desc->Height, 0, 0),
      array, desc);
}

GFXGRAPH_HOOK hipError_t hipArray3DCreate(hipArray** array, const HIP_ARRAY3D_DESCRIPTOR* desc) {
  GFXGRAPH_CALL_THEN(
      hipArray3DCreate,
      array_created(kCall_hipArray3DCreate, *array, texel_format(desc->Format, desc->NumChannels),
                    desc->Width, desc->Height, desc->Depth, desc->Flags),
      array, desc);
}

GFXGRAPH_HOOK hipError_t hipFreeArray(hipArray* array) {
  return end_array(kCall_hipFreeArray, array);
}
GFXGRAPH_HOOK hipError_t hipArrayDestroy(hipArray* array) {
  return end_array(kCall_hipArrayDestroy, array);
}

// ---- copies -------------------------------------------------------------------------------------

#define GFXGRAPH_TO_ARRAY_PARAMETERS                                                         \
  hipArray *destination, size_t x, size_t y, const void *source, size_t pitch, size_t width, \
      size_t height, hipMemcpyKind kind
#define GFXGRAPH_TO_ARRAY(name, key, ...)                                                        \
  return array_copy(kCall_##name, in_array(destination, x, y),                                   \
                    in_memory(source, pitch, source_side(kind)), width, height, key, [&] {       \
                      return real(kCall_##name, destination, x, y, source, pitch, width, height, \
                                  kind __VA_OPT__(, ) __VA_ARGS__);                              \
                    })

GFXGRAPH_HOOK hipError_t hipMemcpy2DToArray(GFXGRAPH_TO_ARRAY_PARAMETERS) {
  GFXGRAPH_TO_ARRAY(hipMemcpy2DToArray, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpy2DToArray_spt(GFXGRAPH_TO_ARRAY_PARAMETERS) {
  GFXGRAPH_TO_ARRAY(hipMemcpy2DToArray_spt, per_thread_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpy2DToArrayAsync(GFXGRAPH_TO_ARRAY_PARAMETERS, hipStream_t stream) {
  GFXGRAPH_TO_ARRAY(hipMemcpy2DToArrayAsync, stream_key(stream), stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpy2DToArrayAsync_spt(GFXGRAPH_TO_ARRAY_PARAMETERS,
                                                     hipStream_t stream) {
  GFXGRAPH_TO_ARRAY(hipMemcpy2DToArrayAsync_spt, per_thread_key(stream), stream);
}

#define GFXGRAPH_FROM_ARRAY_PARAMETERS                                                        \
  void *destination, size_t pitch, hipArray_const_t source, size_t x, size_t y, size_t width, \
      size_t height, hipMemcpyKind kind
#define GFXGRAPH_FROM_ARRAY(name, key, ...)                                                      \
  return array_copy(kCall_##name, in_memory(destination, pitch, destination_side(kind)),         \
                    in_array(source, x, y), width, height, key, [&] {                            \
                      return real(kCall_##name, destination, pitch, source, x, y, width, height, \
                                  kind __VA_OPT__(, ) __VA_ARGS__);                              \
                    })

GFXGRAPH_HOOK hipError_t hipMemcpy2DFromArray(GFXGRAPH_FROM_ARRAY_PARAMETERS) {
  GFXGRAPH_FROM_ARRAY(hipMemcpy2DFromArray, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpy2DFromArray_spt(GFXGRAPH_FROM_ARRAY_PARAMETERS) {
  GFXGRAPH_FROM_ARRAY(hipMemcpy2DFromArray_spt, per_thread_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpy2DFromArrayAsync(GFXGRAPH_FROM_ARRAY_PARAMETERS,
                                                   hipStream_t stream) {
  GFXGRAPH_FROM_ARRAY(hipMemcpy2DFromArrayAsync, stream_key(stream), stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpy2DFromArrayAsync_spt(GFXGRAPH_FROM_ARRAY_PARAMETERS,
                                                       hipStream_t stream) {
  GFXGRAPH_FROM_ARRAY(hipMemcpy2DFromArrayAsync_spt, per_thread_key(stream), stream);
}

GFXGRAPH_HOOK hipError_t hipMemcpy2DArrayToArray(hipArray* destination, size_t x, size_t y,
                                                 hipArray_const_t source, size_t source_x,
                                                 size_t source_y, size_t width, size_t height,
                                                 hipMemcpyKind kind) {
  return array_copy(kCall_hipMemcpy2DArrayToArray, in_array(destination, x, y),
                    in_array(source, source_x, source_y), width, height, no_stream(), [&] {
                      return real(kCall_hipMemcpy2DArrayToArray, destination, x, y, source,
                                  source_x, source_y, width, height, kind);
                    });
}

GFXGRAPH_HOOK hipError_t hipMemcpyToArray(hipArray* destination, size_t x, size_t y,
                                          const void* source, size_t bytes, hipMemcpyKind kind) {
  return whole_copy(
      kCall_hipMemcpyToArray, true, destination, x, y, source, bytes, kind, no_stream(),
      [&] { return real(kCall_hipMemcpyToArray, destination, x, y, source, bytes, kind); });
}

#define GFXGRAPH_WHOLE_FROM_ARRAY(name, key)                                          \
  return whole_copy(kCall_##name, false, source, x, y, destination, bytes, kind, key, \
                    [&] { return real(kCall_##name, destination, source, x, y, bytes, kind); })

GFXGRAPH_HOOK hipError_t hipMemcpyFromArray(void* destination, hipArray_const_t source, size_t x,
                                            size_t y, size_t bytes, hipMemcpyKind kind) {
  GFXGRAPH_WHOLE_FROM_ARRAY(hipMemcpyFromArray, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpyFromArray_spt(void* destination, hipArray_const_t source,
                                                size_t x, size_t y, size_t bytes,
                                                hipMemcpyKind kind) {
  GFXGRAPH_WHOLE_FROM_ARRAY(hipMemcpyFromArray_spt, per_thread_stream());
}

// In the first row.
GFXGRAPH_HOOK hipError_t hipMemcpyAtoH(void* destination, hipArray* source, size_t at,
                                       size_t bytes) {
  return array_copy(kCall_hipMemcpyAtoH, in_memory(destination, 0, MemorySide::kHost),
                    in_array(source, at), bytes, 1, no_stream(),
                    [&] { return real(kCall_hipMemcpyAtoH, destination, source, at, bytes); });
}
GFXGRAPH_HOOK hipError_t hipMemcpyAtoHAsync(void* destination, hipArray* source, size_t at,
                                            size_t bytes, hipStream_t stream) {
  return array_copy(kCall_hipMemcpyAtoHAsync, in_memory(destination, 0, MemorySide::kHost),
                    in_array(source, at), bytes, 1, stream_key(stream), [&] {
                      return real(kCall_hipMemcpyAtoHAsync, destination, source, at, bytes, stream);
                    });
}
GFXGRAPH_HOOK hipError_t hipMemcpyHtoA(hipArray* destination, size_t at, const void* source,
                                       size_t bytes) {
  return array_copy(kCall_hipMemcpyHtoA, in_array(destination, at),
                    in_memory(source, 0, MemorySide::kHost), bytes, 1, no_stream(),
                    [&] { return real(kCall_hipMemcpyHtoA, destination, at, source, bytes); });
}
GFXGRAPH_HOOK hipError_t hipMemcpyHtoAAsync(hipArray* destination, size_t at, const void* source,
                                            size_t bytes, hipStream_t stream) {
  return array_copy(kCall_hipMemcpyHtoAAsync, in_array(destination, at),
                    in_memory(source, 0, MemorySide::kHost), bytes, 1, stream_key(stream), [&] {
                      return real(kCall_hipMemcpyHtoAAsync, destination, at, source, bytes, stream);
                    });
}
GFXGRAPH_HOOK hipError_t hipMemcpyAtoD(hipDeviceptr_t destination, hipArray* source, size_t at,
                                       size_t bytes) {
  return array_copy(kCall_hipMemcpyAtoD, in_memory(destination, 0, MemorySide::kDevice),
                    in_array(source, at), bytes, 1, no_stream(),
                    [&] { return real(kCall_hipMemcpyAtoD, destination, source, at, bytes); });
}
GFXGRAPH_HOOK hipError_t hipMemcpyDtoA(hipArray* destination, size_t at, hipDeviceptr_t source,
                                       size_t bytes) {
  return array_copy(kCall_hipMemcpyDtoA, in_array(destination, at),
                    in_memory(source, 0, MemorySide::kDevice), bytes, 1, no_stream(),
                    [&] { return real(kCall_hipMemcpyDtoA, destination, at, source, bytes); });
}
GFXGRAPH_HOOK hipError_t hipMemcpyAtoA(hipArray* destination, size_t to, hipArray* source,
                                       size_t from, size_t bytes) {
  return array_copy(
      kCall_hipMemcpyAtoA, in_array(destination, to), in_array(source, from), bytes, 1, no_stream(),
      [&] { return real(kCall_hipMemcpyAtoA, destination, to, source, from, bytes); });
}

// ---- textures and surfaces ----------------------------------------------------------------------

GFXGRAPH_HOOK hipError_t hipCreateTextureObject(hipTextureObject_t* object,
                                                const hipResourceDesc* resource,
                                                const hipTextureDesc* texture,
                                                const hipResourceViewDesc* view) {
  const Scope scope;
  const hipError_t result = real(kCall_hipCreateTextureObject, object, resource, texture, view);
  if (!scope.record || result != hipSuccess) return result;
  ArrayCalls::NewImage image;
  image.handle = address_of(*object);
  format::ImageObject& to = image.object;
  switch (resource->resType) {
    case hipResourceTypeArray: image.array = resource->res.array.array; break;
    case hipResourceTypeMipmappedArray: break;  // an unknown array
    case hipResourceTypeLinear:
      to.resource = format::ImageResource::kLinear;
      image.address = address_of(resource->res.linear.devPtr);
      to.format = texel_format(resource->res.linear.desc);
      to.size_bytes = resource->res.linear.sizeInBytes;
      break;
    case hipResourceTypePitch2D:
      to.resource = format::ImageResource::kPitched;
      image.address = address_of(resource->res.pitch2D.devPtr);
      to.format = texel_format(resource->res.pitch2D.desc);
      to.width = resource->res.pitch2D.width;
      to.height = resource->res.pitch2D.height;
      to.pitch_bytes = resource->res.pitch2D.pitchInBytes;
      break;
  }
  for (size_t i = 0; i < 3; ++i) to.address_mode[i] = static_cast<uint8_t>(texture->addressMode[i]);
  to.filter = static_cast<uint8_t>(texture->filterMode);
  to.read_mode = static_cast<uint8_t>(texture->readMode);
  to.srgb = texture->sRGB != 0;
  std::copy_n(texture->borderColor, 4, to.border.begin());
  to.normalized = texture->normalizedCoords != 0;
  to.max_anisotropy = texture->maxAnisotropy;
  to.mip_filter = static_cast<uint8_t>(texture->mipmapFilterMode);
  to.mip_bias = texture->mipmapLevelBias;
  to.mip_least = texture->minMipmapLevelClamp;
  to.mip_most = texture->maxMipmapLevelClamp;
  if (view != nullptr) set_view(to, *view);
  image_created(kCall_hipCreateTextureObject, image);
  return result;
}

GFXGRAPH_HOOK hipError_t hipDestroyTextureObject(hipTextureObject_t object) {
  return end_object(kCall_hipDestroyTextureObject, object);
}

// The driver's form. Its numbers are those of the other one, but for the flags.
GFXGRAPH_HOOK hipError_t hipTexObjectCreate(hipTextureObject_t* object,
                                            const HIP_RESOURCE_DESC* resource,
                                            const HIP_TEXTURE_DESC* texture,
                                            const HIP_RESOURCE_VIEW_DESC* view) {
  const Scope scope;
  const hipError_t result = real(kCall_hipTexObjectCreate, object, resource, texture, view);
  if (!scope.record || result != hipSuccess) return result;
  ArrayCalls::NewImage image;
  image.handle = address_of(*object);
  format::ImageObject& to = image.object;
  switch (resource->resType) {
    case HIP_RESOURCE_TYPE_ARRAY: image.array = resource->res.array.hArray; break;
    case HIP_RESOURCE_TYPE_LINEAR:
      to.resource = format::ImageResource::kLinear;
      image.address = address_of(resource->res.linear.devPtr);
      to.format = texel_format(resource->res.linear.format, resource->res.linear.numChannels);
      to.size_bytes = resource->res.linear.sizeInBytes;
      break;
    case HIP_RESOURCE_TYPE_PITCH2D:
      to.resource = format::ImageResource::kPitched;
      image.address = address_of(resource->res.pitch2D.devPtr);
      to.format = texel_format(resource->res.pitch2D.format, resource->res.pitch2D.numChannels);
      to.width = resource->res.pitch2D.width;
      to.height = resource->res.pitch2D.height;
      to.pitch_bytes = resource->res.pitch2D.pitchInBytes;
      break;
    default: break;  // an unknown array
  }
  for (size_t i = 0; i < 3; ++i) to.address_mode[i] = static_cast<uint8_t>(texture->addressMode[i]);
  to.filter = static_cast<uint8_t>(texture->filterMode);
  const bool as_they_are = (texture->flags & HIP_TRSF_READ_AS_INTEGER) != 0;
  to.read_mode =
      static_cast<uint8_t>(as_they_are ? hipReadModeElementType : hipReadModeNormalizedFloat);
  to.srgb = (texture->flags & HIP_TRSF_SRGB) != 0;
  std::copy_n(texture->borderColor, 4, to.border.begin());
  to.normalized = (texture->flags & HIP_TRSF_NORMALIZED_COORDINATES) != 0;
  to.max_anisotropy = texture->maxAnisotropy;
  to.mip_filter = static_cast<uint8_t>(texture->mipmapFilterMode);
  to.mip_bias = texture->mipmapLevelBias;
  to.mip_least = texture->minMipmapLevelClamp;
  to.mip_most = texture->maxMipmapLevelClamp;
  if (view != nullptr) set_view(to, *view);
  image_created(kCall_hipTexObjectCreate, image);
  return result;
}
GFXGRAPH_HOOK hipError_t hipTexObjectDestroy(hipTextureObject_t object) {
  return end_object(kCall_hipTexObjectDestroy, object);
}

GFXGRAPH_HOOK hipError_t gfxgraph_create_surface(
    hipSurfaceObject_t* object, const hipResourceDesc* resource) __asm__("hipCreateSurfaceObject");
GFXGRAPH_HOOK hipError_t gfxgraph_create_surface(hipSurfaceObject_t* object,
                                                 const hipResourceDesc* resource) {
  return surface_created(kCall_hipCreateSurfaceObject, object, resource);
}
// Exported with a C++ name by HIP 5.
GFXGRAPH_HOOK hipError_t
gfxgraph_create_surface_5(hipSurfaceObject_t* object, const hipResourceDesc* resource) __asm__(
    "_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc");
GFXGRAPH_HOOK hipError_t gfxgraph_create_surface_5(hipSurfaceObject_t* object,
                                                   const hipResourceDesc* resource) {
  return surface_created(kCall__Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc,
                         object, resource);
}

GFXGRAPH_HOOK hipError_t
gfxgraph_destroy_surface(hipSurfaceObject_t object) __asm__("hipDestroySurfaceObject");
GFXGRAPH_HOOK hipError_t gfxgraph_destroy_surface(hipSurfaceObject_t object) {
  return end_object(kCall_hipDestroySurfaceObject, object);
}
GFXGRAPH_HOOK hipError_t gfxgraph_destroy_surface_5(hipSurfaceObject_t object) __asm__(
    "_Z23hipDestroySurfaceObjectP13__hip_surface");
GFXGRAPH_HOOK hipError_t gfxgraph_destroy_surface_5(hipSurfaceObject_t object) {
  return end_object(kCall__Z23hipDestroySurfaceObjectP13__hip_surface, object);
}
