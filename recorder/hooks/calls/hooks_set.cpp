// Hooks of memsets.
#include "recorder/hooks/calls/hooks_internal.h"

using namespace gfxgraph::recorder;

namespace {

template <typename Call>
hipError_t set(int index, const RawMemset& raw, Handle stream, Call&& call,
               const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return call();
  return device_work(index, raw, stream, std::forward<Call>(call));
}

RawMemset linear(const void* destination, uint64_t value, uint32_t element_bytes, size_t count) {
  RawMemset raw;
  raw.address = address_of(destination);
  raw.element_bytes = element_bytes;
  const uint64_t mask = element_bytes == 4 ? 0xffffffffu : (1u << (8 * element_bytes)) - 1;
  raw.value = static_cast<uint32_t>(value & mask);
  raw.width_elements = count;
  return raw;
}

// `width` counts elements.
RawMemset plane(const void* destination, size_t pitch, uint64_t value, uint32_t element_bytes,
                size_t width, size_t height) {
  RawMemset raw = linear(destination, value, element_bytes, width);
  raw.pitch_bytes = pitch;
  raw.height = height;
  return raw;
}

RawMemset plane(const void* destination, size_t pitch, int value, size_t width, size_t height) {
  return plane(destination, pitch, static_cast<uint32_t>(value), 1, width, height);
}

RawMemset box(const hipPitchedPtr& pitched, int value, const hipExtent& extent) {
  RawMemset raw = plane(pitched.ptr, pitched.pitch, value, extent.width, extent.height);
  raw.slice_bytes = pitched.pitch * pitched.ysize;
  raw.depth = extent.depth;
  return raw;
}

}  // namespace

#define GFXGRAPH_SET(name, raw, key, ...) \
  return set(kCall_##name, raw, key, [&] { return real(kCall_##name, __VA_ARGS__); })

GFXGRAPH_HOOK hipError_t hipMemset(void* destination, int value, size_t bytes) {
  GFXGRAPH_SET(hipMemset, linear(destination, static_cast<uint32_t>(value), 1, bytes), no_stream(),
               destination, value, bytes);
}
GFXGRAPH_HOOK hipError_t hipMemset_spt(void* destination, int value, size_t bytes) {
  GFXGRAPH_SET(hipMemset_spt, linear(destination, static_cast<uint32_t>(value), 1, bytes),
               per_thread_stream(), destination, value, bytes);
}
GFXGRAPH_HOOK hipError_t hipMemsetAsync(void* destination, int value, size_t bytes,
                                        hipStream_t stream) {
  GFXGRAPH_SET(hipMemsetAsync, linear(destination, static_cast<uint32_t>(value), 1, bytes),
               stream_key(stream), destination, value, bytes, stream);
}
GFXGRAPH_HOOK hipError_t hipMemsetAsync_spt(void* destination, int value, size_t bytes,
                                            hipStream_t stream) {
  GFXGRAPH_SET(hipMemsetAsync_spt, linear(destination, static_cast<uint32_t>(value), 1, bytes),
               per_thread_key(stream), destination, value, bytes, stream);
}
GFXGRAPH_HOOK hipError_t hipMemsetD8(hipDeviceptr_t destination, unsigned char value,
                                     size_t count) {
  GFXGRAPH_SET(hipMemsetD8, linear(destination, value, 1, count), no_stream(), destination, value,
               count);
}
GFXGRAPH_HOOK hipError_t hipMemsetD8Async(hipDeviceptr_t destination, unsigned char value,
                                          size_t count, hipStream_t stream) {
  GFXGRAPH_SET(hipMemsetD8Async, linear(destination, value, 1, count), stream_key(stream),
               destination, value, count, stream);
}
GFXGRAPH_HOOK hipError_t hipMemsetD16(hipDeviceptr_t destination, unsigned short value,
                                      size_t count) {
  GFXGRAPH_SET(hipMemsetD16, linear(destination, value, 2, count), no_stream(), destination, value,
               count);
}
GFXGRAPH_HOOK hipError_t hipMemsetD16Async(hipDeviceptr_t destination, unsigned short value,
                                           size_t count, hipStream_t stream) {
  GFXGRAPH_SET(hipMemsetD16Async, linear(destination, value, 2, count), stream_key(stream),
               destination, value, count, stream);
}
GFXGRAPH_HOOK hipError_t hipMemsetD32(hipDeviceptr_t destination, int value, size_t count) {
  GFXGRAPH_SET(hipMemsetD32, linear(destination, static_cast<uint32_t>(value), 4, count),
               no_stream(), destination, value, count);
}
GFXGRAPH_HOOK hipError_t hipMemsetD32Async(hipDeviceptr_t destination, int value, size_t count,
                                           hipStream_t stream) {
  GFXGRAPH_SET(hipMemsetD32Async, linear(destination, static_cast<uint32_t>(value), 4, count),
               stream_key(stream), destination, value, count, stream);
}
GFXGRAPH_HOOK hipError_t hipMemset2D(void* destination, size_t pitch, int value, size_t width,
                                     size_t height) {
  GFXGRAPH_SET(hipMemset2D, plane(destination, pitch, value, width, height), no_stream(),
               destination, pitch, value, width, height);
}
GFXGRAPH_HOOK hipError_t hipMemset2D_spt(void* destination, size_t pitch, int value, size_t width,
                                         size_t height) {
  GFXGRAPH_SET(hipMemset2D_spt, plane(destination, pitch, value, width, height),
               per_thread_stream(), destination, pitch, value, width, height);
}
GFXGRAPH_HOOK hipError_t hipMemset2DAsync(void* destination, size_t pitch, int value, size_t width,
                                          size_t height, hipStream_t stream) {
  GFXGRAPH_SET(hipMemset2DAsync, plane(destination, pitch, value, width, height),
               stream_key(stream), destination, pitch, value, width, height, stream);
}
GFXGRAPH_HOOK hipError_t hipMemset2DAsync_spt(void* destination, size_t pitch, int value,
                                              size_t width, size_t height, hipStream_t stream) {
  GFXGRAPH_SET(hipMemset2DAsync_spt, plane(destination, pitch, value, width, height),
               per_thread_key(stream), destination, pitch, value, width, height, stream);
}
GFXGRAPH_HOOK hipError_t hipMemset3D(hipPitchedPtr pitched, int value, hipExtent extent) {
  GFXGRAPH_SET(hipMemset3D, box(pitched, value, extent), no_stream(), pitched, value, extent);
}
GFXGRAPH_HOOK hipError_t hipMemset3D_spt(hipPitchedPtr pitched, int value, hipExtent extent) {
  GFXGRAPH_SET(hipMemset3D_spt, box(pitched, value, extent), per_thread_stream(), pitched, value,
               extent);
}
GFXGRAPH_HOOK hipError_t hipMemset3DAsync(hipPitchedPtr pitched, int value, hipExtent extent,
                                          hipStream_t stream) {
  GFXGRAPH_SET(hipMemset3DAsync, box(pitched, value, extent), stream_key(stream), pitched, value,
               extent, stream);
}
GFXGRAPH_HOOK hipError_t hipMemset3DAsync_spt(hipPitchedPtr pitched, int value, hipExtent extent,
                                              hipStream_t stream) {
  GFXGRAPH_SET(hipMemset3DAsync_spt, box(pitched, value, extent), per_thread_key(stream), pitched,
               value, extent, stream);
}

// ---- HIP 7 --------------------------------------------------------------------------------------

#define GFXGRAPH_D2D(bits, type)                                                                  \
  GFXGRAPH_HOOK hipError_t hipMemsetD2D##bits(hipDeviceptr_t destination, size_t pitch,           \
                                              type value, size_t width, size_t height) {          \
    GFXGRAPH_SET(hipMemsetD2D##bits, plane(destination, pitch, value, (bits) / 8, width, height), \
                 no_stream(), destination, pitch, value, width, height);                          \
  }                                                                                               \
  GFXGRAPH_HOOK hipError_t hipMemsetD2D##bits##Async(hipDeviceptr_t destination, size_t pitch,    \
                                                     type value, size_t width, size_t height,     \
                                                     hipStream_t stream) {                        \
    GFXGRAPH_SET(hipMemsetD2D##bits##Async,                                                       \
                 plane(destination, pitch, value, (bits) / 8, width, height), stream_key(stream), \
                 destination, pitch, value, width, height, stream);                               \
  }
GFXGRAPH_D2D(8, unsigned char)
GFXGRAPH_D2D(16, unsigned short)
GFXGRAPH_D2D(32, unsigned int)
