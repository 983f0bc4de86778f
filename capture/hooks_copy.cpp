// Copies and memsets on streams.
#include <bit>

#include "capture/hooks_internal.h"
#include "capture/newer_hip.h"
#include "capture/runtime.h"

using namespace gfxgraph::capture;

namespace gfxgraph::capture {
namespace {

template <typename Pass>
hipError_t copy(int index, Stream stream, void* destination, const void* source, size_t bytes,
                hipMemcpyKind kind, Pass&& pass) {
  return work(
      index, stream,
      [&](Builder& builder) { return builder.copy(destination, source, bytes, kind); },
      std::forward<Pass>(pass));
}

hipMemcpy3DParms rows(void* destination, size_t destination_pitch, const void* source,
                      size_t source_pitch, size_t width, size_t height, hipMemcpyKind kind) {
  hipMemcpy3DParms params = {};
  params.dstPtr = {destination, destination_pitch, width, height};
  params.srcPtr = {const_cast<void*>(source), source_pitch, width, height};
  params.extent = {width, height, 1};
  params.kind = kind;
  return params;
}

template <typename Pass>
hipError_t copy_rows(int index, Stream stream, void* destination, size_t destination_pitch,
                     const void* source, size_t source_pitch, size_t width, size_t height,
                     hipMemcpyKind kind, Pass&& pass) {
  return work(
      index, stream,
      [&](Builder& builder) {
        if (width == 0 || height == 0) return hipSuccess;
        if (width > destination_pitch || width > source_pitch) return hipErrorInvalidPitchValue;
        return builder.copy(
            rows(destination, destination_pitch, source, source_pitch, width, height, kind));
      },
      std::forward<Pass>(pass));
}

template <typename Pass>
hipError_t copy_box(int index, Stream stream, const hipMemcpy3DParms* params, Pass&& pass) {
  return work(
      index, stream,
      [&](Builder& builder) {
        return params == nullptr ? hipErrorInvalidValue : builder.copy(*params);
      },
      std::forward<Pass>(pass));
}

// One end of a copy in the driver interface's way.
struct DriverEnd {
  int32_t type;  // hipMemoryType
  const void* host;
  const void* device;
  size_t pitch, height;
  hipPos at;
};

// False: an array, of which hipMemcpy3DParms counts texels, or a type that the runtime lacks. HIP 6
// changed the values of hipMemoryType.
bool box_end(const DriverEnd& given, const hipExtent& extent, hipPitchedPtr& pointer, hipPos& at) {
  const bool since_6 = runtime_version() >= 60'000'000;
  const bool host = given.type == (since_6 ? 1 : 0);
  // device, managed, unified
  const bool device = since_6 ? given.type == 2 || given.type == 3 || given.type == 11
                              : given.type == 1 || given.type == 3 || given.type == 4;
  if (!host && !device) return false;
  pointer = {const_cast<void*>(host ? given.host : given.device),
             given.pitch == 0 ? extent.width : given.pitch, extent.width,
             given.height == 0 ? extent.height : given.height};
  at = given.at;
  return true;
}

hipError_t copy(Builder& builder, const DriverEnd& source, const DriverEnd& destination,
                const hipExtent& extent) {
  hipMemcpy3DParms box = {};
  box.extent = extent;
  box.kind = hipMemcpyDefault;
  if (!box_end(source, extent, box.srcPtr, box.srcPos) ||
      !box_end(destination, extent, box.dstPtr, box.dstPos))
    return builder.refuse("it names an array, or a type of memory that is not known");
  return builder.copy(box);
}

hipError_t copy(Builder& builder, const hip_Memcpy2D& rows) {
  return copy(builder,
              {static_cast<int32_t>(rows.srcMemoryType),
               rows.srcHost,
               rows.srcDevice,
               rows.srcPitch,
               0,
               {rows.srcXInBytes, rows.srcY, 0}},
              {static_cast<int32_t>(rows.dstMemoryType),
               rows.dstHost,
               rows.dstDevice,
               rows.dstPitch,
               0,
               {rows.dstXInBytes, rows.dstY, 0}},
              {rows.WidthInBytes, rows.Height, 1});
}

template <typename Number>
hipError_t copy(Builder& builder, const HipDriverBox<Number>& box) {
  return copy(builder,
              {box.srcMemoryType,
               box.srcHost,
               box.srcDevice,
               box.srcPitch,
               box.srcHeight,
               {box.srcXInBytes, box.srcY, box.srcZ}},
              {box.dstMemoryType,
               box.dstHost,
               box.dstDevice,
               box.dstPitch,
               box.dstHeight,
               {box.dstXInBytes, box.dstY, box.dstZ}},
              {box.WidthInBytes, box.Height, box.Depth});
}

hipError_t copy(Builder& builder, const BatchBox& box) {
  if (box.source.type != BatchEnd::kPointer || box.destination.type != BatchEnd::kPointer)
    return builder.refuse("it names an array");
  const auto pitched = [&](const BatchEnd& end) {
    const size_t row = end.row_bytes == 0 ? box.extent.width : end.row_bytes;
    const size_t rows = end.layer_rows == 0 ? box.extent.height : end.layer_rows;
    return hipPitchedPtr{end.address, row, row, rows};
  };
  hipMemcpy3DParms params = {};
  params.srcPtr = pitched(box.source);
  params.dstPtr = pitched(box.destination);
  params.extent = std::bit_cast<hipExtent>(box.extent);
  params.kind = hipMemcpyDefault;
  return builder.copy(params);
}

template <typename Pass>
hipError_t set(int index, Stream stream, void* destination, unsigned value, unsigned element_bytes,
               size_t width, size_t height, size_t pitch, Pass&& pass) {
  return work(
      index, stream,
      [&](Builder& builder) {
        return builder.set(destination, value, element_bytes, width, height, pitch);
      },
      std::forward<Pass>(pass));
}

template <typename Pass>
hipError_t set_box(int index, Stream stream, const hipPitchedPtr& at, int value,
                   const hipExtent& extent, Pass&& pass) {
  return work(
      index, stream,
      [&](Builder& builder) {
        // Slices without rows between them are one.
        if (at.ysize == extent.height || extent.depth <= 1) {
          return builder.set(at.ptr, value & 0xff, 1, extent.width,
                             extent.height * (extent.depth == 0 ? 0 : extent.depth), at.pitch);
        }
        hipError_t result = hipSuccess;
        for (size_t slice = 0; slice < extent.depth && result == hipSuccess; ++slice) {
          result = builder.set(static_cast<char*>(at.ptr) + slice * at.pitch * at.ysize,
                               value & 0xff, 1, extent.width, extent.height, at.pitch);
        }
        return result;
      },
      std::forward<Pass>(pass));
}

}  // namespace
}  // namespace gfxgraph::capture

// ---- copies -------------------------------------------------------------------------------------

GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyAsync(void* destination, const void* source, size_t bytes,
                                                hipMemcpyKind kind, hipStream_t stream) {
  return copy(kCall_hipMemcpyAsync, key_of(stream), destination, source, bytes, kind,
              [&] { return real(kCall_hipMemcpyAsync, destination, source, bytes, kind, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyAsync_spt(void* destination, const void* source,
                                                    size_t bytes, hipMemcpyKind kind,
                                                    hipStream_t stream) {
  return copy(
      kCall_hipMemcpyAsync_spt, per_thread_key_of(stream), destination, source, bytes, kind,
      [&] { return real(kCall_hipMemcpyAsync_spt, destination, source, bytes, kind, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t destination, void* source,
                                                    size_t bytes, hipStream_t stream) {
  return copy(kCall_hipMemcpyHtoDAsync, key_of(stream), destination, source, bytes,
              hipMemcpyHostToDevice,
              [&] { return real(kCall_hipMemcpyHtoDAsync, destination, source, bytes, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyDtoHAsync(void* destination, hipDeviceptr_t source,
                                                    size_t bytes, hipStream_t stream) {
  return copy(kCall_hipMemcpyDtoHAsync, key_of(stream), destination, source, bytes,
              hipMemcpyDeviceToHost,
              [&] { return real(kCall_hipMemcpyDtoHAsync, destination, source, bytes, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t destination,
                                                    hipDeviceptr_t source, size_t bytes,
                                                    hipStream_t stream) {
  return copy(kCall_hipMemcpyDtoDAsync, key_of(stream), destination, source, bytes,
              hipMemcpyDeviceToDevice,
              [&] { return real(kCall_hipMemcpyDtoDAsync, destination, source, bytes, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyPeerAsync(void* destination, int destination_device,
                                                    const void* source, int source_device,
                                                    size_t bytes, hipStream_t stream) {
  return copy(kCall_hipMemcpyPeerAsync, key_of(stream), destination, source, bytes,
              hipMemcpyDeviceToDevice, [&] {
                return real(kCall_hipMemcpyPeerAsync, destination, destination_device, source,
                            source_device, bytes, stream);
              });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpy2DAsync(void* destination, size_t destination_pitch,
                                                  const void* source, size_t source_pitch,
                                                  size_t width, size_t height, hipMemcpyKind kind,
                                                  hipStream_t stream) {
  return copy_rows(kCall_hipMemcpy2DAsync, key_of(stream), destination, destination_pitch, source,
                   source_pitch, width, height, kind, [&] {
                     return real(kCall_hipMemcpy2DAsync, destination, destination_pitch, source,
                                 source_pitch, width, height, kind, stream);
                   });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpy2DAsync_spt(void* destination, size_t destination_pitch,
                                                      const void* source, size_t source_pitch,
                                                      size_t width, size_t height,
                                                      hipMemcpyKind kind, hipStream_t stream) {
  return copy_rows(kCall_hipMemcpy2DAsync_spt, per_thread_key_of(stream), destination,
                   destination_pitch, source, source_pitch, width, height, kind, [&] {
                     return real(kCall_hipMemcpy2DAsync_spt, destination, destination_pitch, source,
                                 source_pitch, width, height, kind, stream);
                   });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* params,
                                                       hipStream_t stream) {
  return work(
      kCall_hipMemcpyParam2DAsync, key_of(stream),
      [&](Builder& builder) {
        return params == nullptr ? hipErrorInvalidValue : copy(builder, *params);
      },
      [&] { return real(kCall_hipMemcpyParam2DAsync, params, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* params,
                                                     hipStream_t stream) {
  return work(
      kCall_hipDrvMemcpy3DAsync, key_of(stream),
      [&](Builder& builder) {
        if (params == nullptr) return hipErrorInvalidValue;
        return runtime_version() >= 60'000'000
                   ? copy(builder, *reinterpret_cast<const HipWideBox*>(params))
                   : copy(builder, *reinterpret_cast<const HipNarrowBox*>(params));
      },
      [&] { return real(kCall_hipDrvMemcpy3DAsync, params, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* params,
                                                  hipStream_t stream) {
  return copy_box(kCall_hipMemcpy3DAsync, key_of(stream), params,
                  [&] { return real(kCall_hipMemcpy3DAsync, params, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpy3DAsync_spt(const hipMemcpy3DParms* params,
                                                      hipStream_t stream) {
  return copy_box(kCall_hipMemcpy3DAsync_spt, per_thread_key_of(stream), params,
                  [&] { return real(kCall_hipMemcpy3DAsync_spt, params, stream); });
}

namespace gfxgraph::capture {
namespace {

template <typename Pass>
hipError_t to_symbol(int index, Stream stream, const void* symbol, const void* source, size_t bytes,
                     size_t offset, hipMemcpyKind kind, Pass&& pass) {
  return work(
      index, stream,
      [&](Builder& builder) {
        if (bytes == 0) return hipSuccess;
        return builder.add([&](auto... to) {
          return runtime::add_to_symbol(to..., symbol, source, bytes, offset, kind);
        });
      },
      std::forward<Pass>(pass));
}

template <typename Pass>
hipError_t from_symbol(int index, Stream stream, void* destination, const void* symbol,
                       size_t bytes, size_t offset, hipMemcpyKind kind, Pass&& pass) {
  return work(
      index, stream,
      [&](Builder& builder) {
        if (bytes == 0) return hipSuccess;
        return builder.add([&](auto... to) {
          return runtime::add_from_symbol(to..., destination, symbol, bytes, offset, kind);
        });
      },
      std::forward<Pass>(pass));
}

}  // namespace
}  // namespace gfxgraph::capture

GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* source,
                                                        size_t bytes, size_t offset,
                                                        hipMemcpyKind kind, hipStream_t stream) {
  return to_symbol(
      kCall_hipMemcpyToSymbolAsync, key_of(stream), symbol, source, bytes, offset, kind, [&] {
        return real(kCall_hipMemcpyToSymbolAsync, symbol, source, bytes, offset, kind, stream);
      });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyToSymbolAsync_spt(const void* symbol, const void* source,
                                                            size_t bytes, size_t offset,
                                                            hipMemcpyKind kind,
                                                            hipStream_t stream) {
  return to_symbol(kCall_hipMemcpyToSymbolAsync_spt, per_thread_key_of(stream), symbol, source,
                   bytes, offset, kind, [&] {
                     return real(kCall_hipMemcpyToSymbolAsync_spt, symbol, source, bytes, offset,
                                 kind, stream);
                   });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyFromSymbolAsync(void* destination, const void* symbol,
                                                          size_t bytes, size_t offset,
                                                          hipMemcpyKind kind, hipStream_t stream) {
  return from_symbol(kCall_hipMemcpyFromSymbolAsync, key_of(stream), destination, symbol, bytes,
                     offset, kind, [&] {
                       return real(kCall_hipMemcpyFromSymbolAsync, destination, symbol, bytes,
                                   offset, kind, stream);
                     });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemcpyFromSymbolAsync_spt(void* destination, const void* symbol,
                                                              size_t bytes, size_t offset,
                                                              hipMemcpyKind kind,
                                                              hipStream_t stream) {
  return from_symbol(kCall_hipMemcpyFromSymbolAsync_spt, per_thread_key_of(stream), destination,
                     symbol, bytes, offset, kind, [&] {
                       return real(kCall_hipMemcpyFromSymbolAsync_spt, destination, symbol, bytes,
                                   offset, kind, stream);
                     });
}

// HIP 7: copies without an order among each other. What its attributes say of when sources are read
// is so of copies of a graph, too: when it runs.
GFXGRAPH_NEWER_CAPTURE_HOOK(hipMemcpyBatchAsync, void** destinations, void** sources, size_t* sizes,
                            size_t count, void* attributes, size_t* indices, size_t attribute_count,
                            size_t* failed, hipStream_t stream) {
  return work(
      kCall_hipMemcpyBatchAsync, key_of(stream),
      [&](Builder& builder) {
        if (destinations == nullptr || sources == nullptr || sizes == nullptr || count == 0)
          return hipErrorInvalidValue;
        hipError_t result = hipSuccess;
        for (size_t i = 0; i < count && result == hipSuccess; ++i) {
          result = builder.copy(destinations[i], sources[i], sizes[i], hipMemcpyDefault);
          if (result != hipSuccess && failed != nullptr) *failed = i;
        }
        return result;
      },
      [&] {
        return real(kCall_hipMemcpyBatchAsync, destinations, sources, sizes, count, attributes,
                    indices, attribute_count, failed, stream);
      });
}

GFXGRAPH_NEWER_CAPTURE_HOOK(hipMemcpy3DBatchAsync, size_t count, BatchBox* boxes, size_t* failed,
                            unsigned long long flags, hipStream_t stream) {
  return work(
      kCall_hipMemcpy3DBatchAsync, key_of(stream),
      [&](Builder& builder) {
        if (boxes == nullptr || count == 0) return hipErrorInvalidValue;
        hipError_t result = hipSuccess;
        for (size_t i = 0; i < count && result == hipSuccess; ++i) {
          result = copy(builder, boxes[i]);
          if (result != hipSuccess && failed != nullptr) *failed = i;
        }
        return result;
      },
      [&] { return real(kCall_hipMemcpy3DBatchAsync, count, boxes, failed, flags, stream); });
}
GFXGRAPH_NEWER_CAPTURE_HOOK(hipMemcpy3DPeerAsync, const PeerBox* box, hipStream_t stream) {
  return work(
      kCall_hipMemcpy3DPeerAsync, key_of(stream),
      [&](Builder& builder) {
        if (box == nullptr) return hipErrorInvalidValue;
        hipMemcpy3DParms params = {};
        params.srcArray = static_cast<hipArray_t>(box->source_array);
        params.srcPos = std::bit_cast<hipPos>(box->source_at);
        params.srcPtr = std::bit_cast<hipPitchedPtr>(box->source);
        params.dstArray = static_cast<hipArray_t>(box->destination_array);
        params.dstPos = std::bit_cast<hipPos>(box->destination_at);
        params.dstPtr = std::bit_cast<hipPitchedPtr>(box->destination);
        params.extent = std::bit_cast<hipExtent>(box->extent);
        params.kind = hipMemcpyDeviceToDevice;
        return builder.copy(params);
      },
      [&] { return real(kCall_hipMemcpy3DPeerAsync, box, stream); });
}

// ---- arrays: boxes of them are counted in texels ------------------------------------------------

namespace gfxgraph::capture {
namespace {

// 0: unknown. HIP 5.6 tells; before, the array's own description does.
size_t texel_bytes(const hipArray* array) {
  if (array == nullptr) return 0;
  hipChannelFormatDesc format = {};
  if (runtime::array_info.exists()) {
    hipExtent extent = {};
    unsigned int flags = 0;
    if (runtime::array_info(&format, &extent, &flags, const_cast<hipArray*>(array)) != hipSuccess)
      return 0;
  } else {
    format = array->desc;
  }
  return static_cast<size_t>(format.x + format.y + format.z + format.w) / 8;
}

// Rows between an array, from byte `x` of row `y` on, and memory.
template <typename Pass>
hipError_t array_rows(int index, Stream stream, const hipArray* array, bool to_array, size_t x,
                      size_t y, const void* memory, size_t pitch, size_t width, size_t height,
                      hipMemcpyKind kind, Pass&& pass) {
  return work(
      index, stream,
      [&](Builder& builder) {
        const size_t texel = texel_bytes(array);
        if (texel == 0) return hipErrorInvalidValue;
        if (x % texel != 0 || width % texel != 0 || width > pitch) return hipErrorInvalidValue;
        hipMemcpy3DParms box = {};
        const hipPitchedPtr rows = {const_cast<void*>(memory), pitch, width, height};
        const auto place = const_cast<hipArray_t>(array);
        (to_array ? box.dstArray : box.srcArray) = place;
        (to_array ? box.dstPos : box.srcPos) = {x / texel, y, 0};
        (to_array ? box.srcPtr : box.dstPtr) = rows;
        box.extent = {width / texel, height, 1};
        box.kind = kind;
        return builder.copy(box);
      },
      std::forward<Pass>(pass));
}

}  // namespace
}  // namespace gfxgraph::capture

#define GFXGRAPH_FROM_ARRAY(name, key)                                                             \
  GFXGRAPH_CAPTURE_HOOK hipError_t name(void* destination, size_t pitch, hipArray_const_t source,  \
                                        size_t x, size_t y, size_t width, size_t height,           \
                                        hipMemcpyKind kind, hipStream_t stream) {                  \
    return array_rows(kCall_##name, key(stream), source, false, x, y, destination, pitch, width,   \
                      height, kind, [&] {                                                          \
                        return real(kCall_##name, destination, pitch, source, x, y, width, height, \
                                    kind, stream);                                                 \
                      });                                                                          \
  }
GFXGRAPH_FROM_ARRAY(hipMemcpy2DFromArrayAsync, key_of)
GFXGRAPH_FROM_ARRAY(hipMemcpy2DFromArrayAsync_spt, per_thread_key_of)
#define GFXGRAPH_TO_ARRAY(name, key)                                                               \
  GFXGRAPH_CAPTURE_HOOK hipError_t name(hipArray* destination, size_t x, size_t y,                 \
                                        const void* source, size_t pitch, size_t width,            \
                                        size_t height, hipMemcpyKind kind, hipStream_t stream) {   \
    return array_rows(kCall_##name, key(stream), destination, true, x, y, source, pitch, width,    \
                      height, kind, [&] {                                                          \
                        return real(kCall_##name, destination, x, y, source, pitch, width, height, \
                                    kind, stream);                                                 \
                      });                                                                          \
  }
GFXGRAPH_TO_ARRAY(hipMemcpy2DToArrayAsync, key_of)
GFXGRAPH_TO_ARRAY(hipMemcpy2DToArrayAsync_spt, per_thread_key_of)

// ---- memsets ------------------------------------------------------------------------------------

GFXGRAPH_CAPTURE_HOOK hipError_t hipMemsetAsync(void* destination, int value, size_t bytes,
                                                hipStream_t stream) {
  return set(kCall_hipMemsetAsync, key_of(stream), destination, value & 0xff, 1, bytes, 1, bytes,
             [&] { return real(kCall_hipMemsetAsync, destination, value, bytes, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemsetAsync_spt(void* destination, int value, size_t bytes,
                                                    hipStream_t stream) {
  return set(kCall_hipMemsetAsync_spt, per_thread_key_of(stream), destination, value & 0xff, 1,
             bytes, 1, bytes,
             [&] { return real(kCall_hipMemsetAsync_spt, destination, value, bytes, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemsetD8Async(hipDeviceptr_t destination, unsigned char value,
                                                  size_t count, hipStream_t stream) {
  return set(kCall_hipMemsetD8Async, key_of(stream), destination, value, 1, count, 1, count,
             [&] { return real(kCall_hipMemsetD8Async, destination, value, count, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemsetD16Async(hipDeviceptr_t destination, unsigned short value,
                                                   size_t count, hipStream_t stream) {
  return set(kCall_hipMemsetD16Async, key_of(stream), destination, value, 2, count, 1, count * 2,
             [&] { return real(kCall_hipMemsetD16Async, destination, value, count, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemsetD32Async(hipDeviceptr_t destination, int value,
                                                   size_t count, hipStream_t stream) {
  return set(kCall_hipMemsetD32Async, key_of(stream), destination, static_cast<unsigned>(value), 4,
             count, 1, count * 4,
             [&] { return real(kCall_hipMemsetD32Async, destination, value, count, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemset2DAsync(void* destination, size_t pitch, int value,
                                                  size_t width, size_t height, hipStream_t stream) {
  return set(kCall_hipMemset2DAsync, key_of(stream), destination, value & 0xff, 1, width, height,
             pitch, [&] {
               return real(kCall_hipMemset2DAsync, destination, pitch, value, width, height,
                           stream);
             });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemset2DAsync_spt(void* destination, size_t pitch, int value,
                                                      size_t width, size_t height,
                                                      hipStream_t stream) {
  return set(kCall_hipMemset2DAsync_spt, per_thread_key_of(stream), destination, value & 0xff, 1,
             width, height, pitch, [&] {
               return real(kCall_hipMemset2DAsync_spt, destination, pitch, value, width, height,
                           stream);
             });
}
// HIP 6: the driver interface's, of rows of elements.
#define GFXGRAPH_SET_ROWS(name, type, element_bytes)                                           \
  GFXGRAPH_NEWER_CAPTURE_HOOK(name, hipDeviceptr_t destination, size_t pitch, type value,      \
                              size_t width, size_t height, hipStream_t stream) {               \
    return set(                                                                                \
        kCall_##name, key_of(stream), destination, value, element_bytes, width, height, pitch, \
        [&] { return real(kCall_##name, destination, pitch, value, width, height, stream); }); \
  }
GFXGRAPH_SET_ROWS(hipMemsetD2D8Async, unsigned char, 1)
GFXGRAPH_SET_ROWS(hipMemsetD2D16Async, unsigned short, 2)
GFXGRAPH_SET_ROWS(hipMemsetD2D32Async, unsigned int, 4)

GFXGRAPH_CAPTURE_HOOK hipError_t hipMemset3DAsync(hipPitchedPtr at, int value, hipExtent extent,
                                                  hipStream_t stream) {
  return set_box(kCall_hipMemset3DAsync, key_of(stream), at, value, extent,
                 [&] { return real(kCall_hipMemset3DAsync, at, value, extent, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMemset3DAsync_spt(hipPitchedPtr at, int value, hipExtent extent,
                                                      hipStream_t stream) {
  return set_box(kCall_hipMemset3DAsync_spt, per_thread_key_of(stream), at, value, extent,
                 [&] { return real(kCall_hipMemset3DAsync_spt, at, value, extent, stream); });
}
