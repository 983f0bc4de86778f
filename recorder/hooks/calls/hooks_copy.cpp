// Hooks of copies.
#include <bit>

#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/calls/newer_hip.h"
#include "recorder/program_memory.h"

using namespace gfxgraph::recorder;

namespace gfxgraph::recorder {
namespace {

RawCopy raw_copy_2d(const void* destination, size_t destination_pitch, const void* source,
                    size_t source_pitch, size_t width, size_t height, hipMemcpyKind kind) {
  RawCopy raw = raw_copy_1d(destination, source, width, kind);
  raw.form = CopyForm::kBox;
  raw.destination.pitch_bytes = destination_pitch;
  raw.source.pitch_bytes = source_pitch;
  raw.height = height;
  return raw;
}

// One end in the driver API's description.
struct DriverEnd {
  const void* host;
  const void* device;
  const void* array;
  uint64_t pitch, height, x, y, z;
  const void* other_array;
};

// Which of the three pointers counts is told by the pointer that is set: the values of
// hipMemoryType differ between HIP 5 and 6. Two that are set are not recorded. The extent of `raw`
// is known.
bool raw_end(const DriverEnd& given, const RawCopy& raw, RawCopyEnd& end, MemorySide& side) {
  if ((given.host != nullptr) + (given.device != nullptr) + (given.array != nullptr) > 1)
    return false;
  if (given.array != nullptr)
    return raw_array_end(given.array, {given.x, given.y, given.z}, raw, end, side);
  side = given.device != nullptr ? MemorySide::kDevice : MemorySide::kHost;
  end.pitch_bytes = given.pitch == 0 ? raw.width_bytes : given.pitch;
  end.slice_bytes = end.pitch_bytes * (given.height == 0 ? raw.height : given.height);
  const void* const memory = given.device != nullptr ? given.device : given.host;
  const uint64_t rows_bytes = given.z * end.slice_bytes + given.y * end.pitch_bytes;
  if (given.other_array != nullptr) {
    end.pointer = address_of(memory);
    end.rows_bytes = rows_bytes;
  }
  end.address = address_of(memory) + rows_bytes + given.x;
  return true;
}

bool raw_copy_driver_2d(const hip_Memcpy2D& params, RawCopy& raw) {
  raw.width_bytes = params.WidthInBytes;
  raw.height = params.Height;
  const bool known = raw_end({params.srcHost, params.srcDevice, params.srcArray, params.srcPitch, 0,
                              params.srcXInBytes, params.srcY, 0, params.dstArray},
                             raw, raw.source, raw.source_side) &&
                     raw_end({params.dstHost, params.dstDevice, params.dstArray, params.dstPitch, 0,
                              params.dstXInBytes, params.dstY, 0, params.srcArray},
                             raw, raw.destination, raw.destination_side);
  if (params.srcArray == nullptr) raw.source.slice_bytes = 0;
  if (params.dstArray == nullptr) raw.destination.slice_bytes = 0;
  return known;
}

static_assert(sizeof(HIP_MEMCPY3D) == sizeof(HipNarrowBox) ||
              sizeof(HIP_MEMCPY3D) == sizeof(HipWideBox));

template <typename Params>
bool raw_copy_box(const Params& params, RawCopy& raw) {
  raw.width_bytes = params.WidthInBytes;
  raw.height = params.Height;
  raw.depth = params.Depth;
  return raw_end({params.srcHost, params.srcDevice, params.srcArray, params.srcPitch,
                  params.srcHeight, params.srcXInBytes, params.srcY, params.srcZ, params.dstArray},
                 raw, raw.source, raw.source_side) &&
         raw_end({params.dstHost, params.dstDevice, params.dstArray, params.dstPitch,
                  params.dstHeight, params.dstXInBytes, params.dstY, params.dstZ, params.srcArray},
                 raw, raw.destination, raw.destination_side);
}

// Both ends are on the recorded device: memory of another one made the trace incomplete.
bool raw_copy_peer_3d(const PeerBox& box, RawCopy& raw) {
  hipMemcpy3DParms params{};
  params.srcArray = static_cast<hipArray_t>(box.source_array);
  params.srcPos = std::bit_cast<hipPos>(box.source_at);
  params.srcPtr = std::bit_cast<hipPitchedPtr>(box.source);
  params.dstArray = static_cast<hipArray_t>(box.destination_array);
  params.dstPos = std::bit_cast<hipPos>(box.destination_at);
  params.dstPtr = std::bit_cast<hipPitchedPtr>(box.destination);
  params.extent = std::bit_cast<hipExtent>(box.extent);
  params.kind = hipMemcpyDeviceToDevice;
  return raw_copy_3d(params, raw);
}

bool raw_copy_of_batch(const BatchBox& box, RawCopy& raw) {
  if (box.source.type != BatchEnd::kPointer || box.destination.type != BatchEnd::kPointer) {
    return false;
  }
  const auto pitched = [&](const BatchEnd& end) {
    const size_t row = end.row_bytes == 0 ? box.extent.width : end.row_bytes;
    const size_t rows = end.layer_rows == 0 ? box.extent.height : end.layer_rows;
    return hipPitchedPtr{end.address, row, row, rows};
  };
  hipMemcpy3DParms params{};
  params.srcPtr = pitched(box.source);
  params.dstPtr = pitched(box.destination);
  params.extent = std::bit_cast<hipExtent>(box.extent);
  params.kind = hipMemcpyDefault;
  return raw_copy_3d(params, raw);
}

// What the call's structure says, read before HIP reads it.
template <auto build, typename Params>
bool built(const Params* params, RawCopy& raw) {
  const std::optional<Params> given = read_given(params);
  return given && build(*given, raw);
}
template <>
bool built<raw_copy_driver_3d>(const HIP_MEMCPY3D* params, RawCopy& raw) {
  raw.form = CopyForm::kDriverBox;
  const auto built_from = [&](const auto* box) {
    const auto given = read_given(box);
    return given && raw_copy_box(*given, raw);
  };
  return runtime_major() >= 6 ? built_from(reinterpret_cast<const HipWideBox*>(params))
                              : built_from(reinterpret_cast<const HipNarrowBox*>(params));
}

template <typename Call>
hipError_t copy(int index, const RawCopy& raw, Handle stream, Call&& call,
                const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return call();
  return device_work(index, raw, stream, std::forward<Call>(call));
}

// `build` fills the copy, or returns false.
template <typename Build, typename Call>
hipError_t copy_or_refuse(int index, Build&& build, Handle stream, Call&& call,
                          const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return call();
  if (RawCopy raw; build(raw)) {
    return device_work(index, raw, stream, std::forward<Call>(call));
  }
  const hipError_t result = call();
  if (result == hipSuccess)
    recorder().note_incomplete(display_name(index),
                               "an array that is not recorded, or two pointers for one end");
  return result;
}

// A copy from or to a variable; not recorded if its address cannot be found.
template <typename Call>
hipError_t symbol_copy(int index, const void* symbol, size_t offset, bool to_symbol,
                       const void* other, size_t bytes, hipMemcpyKind kind, Handle stream,
                       Call&& call, const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return call();
  const uint64_t address = recorder().code().symbol_address(symbol);
  if (address == 0) {
    const hipError_t result = call();
    if (result == hipSuccess) {
      recorder().note_incomplete(display_name(index), "a variable that was not registered");
    }
    return result;
  }
  RawCopy raw;
  raw.width_bytes = bytes;
  raw.variable_of = current_device;
  RawCopyEnd& at = to_symbol ? raw.destination : raw.source;
  at.address = address + offset;
  (to_symbol ? raw.source : raw.destination).address = address_of(other);
  raw.destination_side = to_symbol ? MemorySide::kDevice : destination_side(kind);
  raw.source_side = to_symbol ? source_side(kind) : MemorySide::kDevice;
  return device_work(index, raw, stream, std::forward<Call>(call));
}

}  // namespace

MemorySide destination_side(hipMemcpyKind kind) noexcept {
  if (kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice) return MemorySide::kDevice;
  return kind == hipMemcpyDeviceToHost ? MemorySide::kHost : MemorySide::kUnknown;
}

MemorySide source_side(hipMemcpyKind kind) noexcept {
  if (kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice) return MemorySide::kDevice;
  return kind == hipMemcpyHostToDevice ? MemorySide::kHost : MemorySide::kUnknown;
}

int runtime_major() noexcept {
  static const int known = [] {
    int version = 0;
    return real(kCall_hipRuntimeGetVersion, &version) == hipSuccess ? version / 10'000'000 : 0;
  }();
  return known;
}

RawCopy raw_copy_1d(const void* destination, const void* source, size_t bytes,
                    hipMemcpyKind kind) noexcept {
  RawCopy raw;
  raw.destination.address = address_of(destination);
  raw.source.address = address_of(source);
  raw.width_bytes = bytes;
  raw.destination_side = destination_side(kind);
  raw.source_side = source_side(kind);
  raw.form = CopyForm::kLinear;
  return raw;
}

bool raw_copy_driver_3d(const HIP_MEMCPY3D& params, RawCopy& raw) noexcept {
  raw.form = CopyForm::kDriverBox;
  return runtime_major() >= 6 ? raw_copy_box(reinterpret_cast<const HipWideBox&>(params), raw)
                              : raw_copy_box(reinterpret_cast<const HipNarrowBox&>(params), raw);
}

bool raw_copy_3d(const hipMemcpy3DParms& params, RawCopy& raw) noexcept {
  raw.form = CopyForm::kBox;
  raw.width_bytes = params.extent.width;
  raw.height = params.extent.height;
  raw.depth = params.extent.depth;
  raw.source_side = source_side(params.kind);
  raw.destination_side = destination_side(params.kind);
  if (params.srcArray != nullptr || params.dstArray != nullptr) {
    // Widths are texels then, and so is the place in an array.
    const uint64_t texel =
        texel_bytes(params.srcArray != nullptr ? params.srcArray : params.dstArray);
    raw.width_bytes *= texel;
    if ((params.srcArray != nullptr && params.srcPtr.ptr != nullptr) ||
        (params.dstArray != nullptr && params.dstPtr.ptr != nullptr)) {
      return false;
    }
  }
  const auto place = [&params](const hipPitchedPtr& base, const hipPos& at, RawCopyEnd& end) {
    end.pitch_bytes = base.pitch;
    end.slice_bytes = base.pitch * base.ysize;
    const uint64_t rows_bytes = at.z * end.slice_bytes + at.y * base.pitch;
    if (params.srcArray != nullptr || params.dstArray != nullptr) {
      end.pointer = address_of(base.ptr);
      end.rows_bytes = rows_bytes;
    }
    end.address = address_of(base.ptr) + rows_bytes + at.x;
  };
  const auto place_in_array = [&](const hipArray* array, const hipPos& at, RawCopyEnd& end,
                                  MemorySide& side) {
    return raw_array_end(array, {at.x * texel_bytes(array), at.y, at.z}, raw, end, side);
  };
  if (params.srcArray == nullptr) {
    place(params.srcPtr, params.srcPos, raw.source);
  } else if (!place_in_array(params.srcArray, params.srcPos, raw.source, raw.source_side)) {
    return false;
  }
  if (params.dstArray == nullptr) {
    place(params.dstPtr, params.dstPos, raw.destination);
    return true;
  }
  return place_in_array(params.dstArray, params.dstPos, raw.destination, raw.destination_side);
}

}  // namespace gfxgraph::recorder

#define GFXGRAPH_COPY_1D(name, kind, key, ...)                                        \
  return copy(kCall_##name, raw_copy_1d(destination, source, bytes, kind), key, [&] { \
    return real(kCall_##name, destination, source, bytes __VA_OPT__(, ) __VA_ARGS__); \
  })

GFXGRAPH_HOOK hipError_t hipMemcpy(void* destination, const void* source, size_t bytes,
                                   hipMemcpyKind kind) {
  GFXGRAPH_COPY_1D(hipMemcpy, kind, no_stream(), kind);
}
GFXGRAPH_HOOK hipError_t hipMemcpy_spt(void* destination, const void* source, size_t bytes,
                                       hipMemcpyKind kind) {
  GFXGRAPH_COPY_1D(hipMemcpy_spt, kind, per_thread_stream(), kind);
}
GFXGRAPH_HOOK hipError_t hipMemcpyAsync(void* destination, const void* source, size_t bytes,
                                        hipMemcpyKind kind, hipStream_t stream) {
  GFXGRAPH_COPY_1D(hipMemcpyAsync, kind, stream_key(stream), kind, stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpyAsync_spt(void* destination, const void* source, size_t bytes,
                                            hipMemcpyKind kind, hipStream_t stream) {
  GFXGRAPH_COPY_1D(hipMemcpyAsync_spt, kind, per_thread_key(stream), kind, stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpyWithStream(void* destination, const void* source, size_t bytes,
                                             hipMemcpyKind kind, hipStream_t stream) {
  GFXGRAPH_COPY_1D(hipMemcpyWithStream, kind, stream_key(stream), kind, stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpyHtoD(hipDeviceptr_t destination, void* source, size_t bytes) {
  GFXGRAPH_COPY_1D(hipMemcpyHtoD, hipMemcpyHostToDevice, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpyDtoH(void* destination, hipDeviceptr_t source, size_t bytes) {
  GFXGRAPH_COPY_1D(hipMemcpyDtoH, hipMemcpyDeviceToHost, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpyDtoD(hipDeviceptr_t destination, hipDeviceptr_t source,
                                       size_t bytes) {
  GFXGRAPH_COPY_1D(hipMemcpyDtoD, hipMemcpyDeviceToDevice, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t destination, void* source, size_t bytes,
                                            hipStream_t stream) {
  GFXGRAPH_COPY_1D(hipMemcpyHtoDAsync, hipMemcpyHostToDevice, stream_key(stream), stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpyDtoHAsync(void* destination, hipDeviceptr_t source, size_t bytes,
                                            hipStream_t stream) {
  GFXGRAPH_COPY_1D(hipMemcpyDtoHAsync, hipMemcpyDeviceToHost, stream_key(stream), stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t destination, hipDeviceptr_t source,
                                            size_t bytes, hipStream_t stream) {
  GFXGRAPH_COPY_1D(hipMemcpyDtoDAsync, hipMemcpyDeviceToDevice, stream_key(stream), stream);
}

// Both ends are on the recorded device: memory of another one made the trace incomplete.
GFXGRAPH_HOOK hipError_t hipMemcpyPeer(void* destination, int destination_device,
                                       const void* source, int source_device, size_t bytes) {
  return copy(kCall_hipMemcpyPeer, raw_copy_1d(destination, source, bytes, hipMemcpyDeviceToDevice),
              no_stream(), [&] {
                return real(kCall_hipMemcpyPeer, destination, destination_device, source,
                            source_device, bytes);
              });
}
GFXGRAPH_HOOK hipError_t hipMemcpyPeerAsync(void* destination, int destination_device,
                                            const void* source, int source_device, size_t bytes,
                                            hipStream_t stream) {
  return copy(kCall_hipMemcpyPeerAsync,
              raw_copy_1d(destination, source, bytes, hipMemcpyDeviceToDevice), stream_key(stream),
              [&] {
                return real(kCall_hipMemcpyPeerAsync, destination, destination_device, source,
                            source_device, bytes, stream);
              });
}

#define GFXGRAPH_COPY_2D_PARAMETERS                                                     \
  void *destination, size_t destination_pitch, const void *source, size_t source_pitch, \
      size_t width, size_t height, hipMemcpyKind kind
#define GFXGRAPH_COPY_2D(name, key, ...)                                                           \
  return copy(                                                                                     \
      kCall_##name,                                                                                \
      raw_copy_2d(destination, destination_pitch, source, source_pitch, width, height, kind), key, \
      [&] {                                                                                        \
        return real(kCall_##name, destination, destination_pitch, source, source_pitch, width,     \
                    height, kind __VA_OPT__(, ) __VA_ARGS__);                                      \
      })

GFXGRAPH_HOOK hipError_t hipMemcpy2D(GFXGRAPH_COPY_2D_PARAMETERS) {
  GFXGRAPH_COPY_2D(hipMemcpy2D, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpy2D_spt(GFXGRAPH_COPY_2D_PARAMETERS) {
  GFXGRAPH_COPY_2D(hipMemcpy2D_spt, per_thread_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpy2DAsync(GFXGRAPH_COPY_2D_PARAMETERS, hipStream_t stream) {
  GFXGRAPH_COPY_2D(hipMemcpy2DAsync, stream_key(stream), stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpy2DAsync_spt(GFXGRAPH_COPY_2D_PARAMETERS, hipStream_t stream) {
  GFXGRAPH_COPY_2D(hipMemcpy2DAsync_spt, per_thread_key(stream), stream);
}

#define GFXGRAPH_COPY_PARAMS(name, build, key, ...)                               \
  return copy_or_refuse(                                                          \
      kCall_##name, [&](RawCopy& raw) { return built<build>(params, raw); }, key, \
      [&] { return real(kCall_##name, params __VA_OPT__(, ) __VA_ARGS__); })

GFXGRAPH_HOOK hipError_t hipMemcpyParam2D(const hip_Memcpy2D* params) {
  GFXGRAPH_COPY_PARAMS(hipMemcpyParam2D, raw_copy_driver_2d, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* params, hipStream_t stream) {
  GFXGRAPH_COPY_PARAMS(hipMemcpyParam2DAsync, raw_copy_driver_2d, stream_key(stream), stream);
}
GFXGRAPH_HOOK hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* params) {
  GFXGRAPH_COPY_PARAMS(hipDrvMemcpy2DUnaligned, raw_copy_driver_2d, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpy3D(const hipMemcpy3DParms* params) {
  GFXGRAPH_COPY_PARAMS(hipMemcpy3D, raw_copy_3d, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms* params) {
  GFXGRAPH_COPY_PARAMS(hipMemcpy3D_spt, raw_copy_3d, per_thread_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* params, hipStream_t stream) {
  GFXGRAPH_COPY_PARAMS(hipMemcpy3DAsync, raw_copy_3d, stream_key(stream), stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpy3DAsync_spt(const hipMemcpy3DParms* params, hipStream_t stream) {
  GFXGRAPH_COPY_PARAMS(hipMemcpy3DAsync_spt, raw_copy_3d, per_thread_key(stream), stream);
}
GFXGRAPH_HOOK hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D* params) {
  GFXGRAPH_COPY_PARAMS(hipDrvMemcpy3D, raw_copy_driver_3d, no_stream());
}
GFXGRAPH_HOOK hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* params, hipStream_t stream) {
  GFXGRAPH_COPY_PARAMS(hipDrvMemcpy3DAsync, raw_copy_driver_3d, stream_key(stream), stream);
}

#define GFXGRAPH_TO_SYMBOL(name, key, ...)                                                     \
  return symbol_copy(kCall_##name, symbol, offset, true, source, bytes, kind, key, [&] {       \
    return real(kCall_##name, symbol, source, bytes, offset, kind __VA_OPT__(, ) __VA_ARGS__); \
  })
#define GFXGRAPH_TO_SYMBOL_PARAMETERS \
  const void *symbol, const void *source, size_t bytes, size_t offset, hipMemcpyKind kind

GFXGRAPH_HOOK hipError_t hipMemcpyToSymbol(GFXGRAPH_TO_SYMBOL_PARAMETERS) {
  GFXGRAPH_TO_SYMBOL(hipMemcpyToSymbol, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpyToSymbol_spt(GFXGRAPH_TO_SYMBOL_PARAMETERS) {
  GFXGRAPH_TO_SYMBOL(hipMemcpyToSymbol_spt, per_thread_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpyToSymbolAsync(GFXGRAPH_TO_SYMBOL_PARAMETERS, hipStream_t stream) {
  GFXGRAPH_TO_SYMBOL(hipMemcpyToSymbolAsync, stream_key(stream), stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpyToSymbolAsync_spt(GFXGRAPH_TO_SYMBOL_PARAMETERS,
                                                    hipStream_t stream) {
  GFXGRAPH_TO_SYMBOL(hipMemcpyToSymbolAsync_spt, per_thread_key(stream), stream);
}

#define GFXGRAPH_FROM_SYMBOL(name, key, ...)                                                   \
  return symbol_copy(kCall_##name, symbol, offset, false, destination, bytes, kind, key, [&] { \
    return real(kCall_##name, destination, symbol, bytes, offset,                              \
                kind __VA_OPT__(, ) __VA_ARGS__);                                              \
  })
#define GFXGRAPH_FROM_SYMBOL_PARAMETERS \
  void *destination, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind

GFXGRAPH_HOOK hipError_t hipMemcpyFromSymbol(GFXGRAPH_FROM_SYMBOL_PARAMETERS) {
  GFXGRAPH_FROM_SYMBOL(hipMemcpyFromSymbol, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpyFromSymbol_spt(GFXGRAPH_FROM_SYMBOL_PARAMETERS) {
  GFXGRAPH_FROM_SYMBOL(hipMemcpyFromSymbol_spt, per_thread_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpyFromSymbolAsync(GFXGRAPH_FROM_SYMBOL_PARAMETERS,
                                                  hipStream_t stream) {
  GFXGRAPH_FROM_SYMBOL(hipMemcpyFromSymbolAsync, stream_key(stream), stream);
}
GFXGRAPH_HOOK hipError_t hipMemcpyFromSymbolAsync_spt(GFXGRAPH_FROM_SYMBOL_PARAMETERS,
                                                      hipStream_t stream) {
  GFXGRAPH_FROM_SYMBOL(hipMemcpyFromSymbolAsync_spt, per_thread_key(stream), stream);
}

// ---- HIP 7 --------------------------------------------------------------------------------------

GFXGRAPH_HOOK hipError_t hipMemcpy3DPeer(const PeerBox* params) {
  GFXGRAPH_COPY_PARAMS(hipMemcpy3DPeer, raw_copy_peer_3d, no_stream());
}
GFXGRAPH_HOOK hipError_t hipMemcpy3DPeerAsync(const PeerBox* params, hipStream_t stream) {
  GFXGRAPH_COPY_PARAMS(hipMemcpy3DPeerAsync, raw_copy_peer_3d, stream_key(stream), stream);
}

// A list of copies, each like hipMemcpyAsync. HIP 7.2.4 issues them in order until one fails; on a
// capturing stream it executes them immediately. The hook makes one call per copy, because a later
// copy may read host memory that an earlier one has written.
GFXGRAPH_HOOK hipError_t hipMemcpyBatchAsync(void** destinations, void** sources, size_t* sizes,
                                             size_t count, void* attributes, size_t* indices,
                                             size_t attribute_count, size_t* failed,
                                             hipStream_t stream) {
  constexpr int kIndex = kCall_hipMemcpyBatchAsync;
  const auto call = [&](size_t first, size_t size, size_t* one_failed) {
    return real(kIndex, destinations + first, sources + first, sizes + first, size, attributes,
                indices, attribute_count, one_failed, stream);
  };
  const Scope scope;
  if (!scope.record) return call(0, count, failed);
  const auto to = read_list(destinations, count);
  const auto from = read_list(sources, count);
  const auto bytes = read_list(sizes, count);
  if (!to || !from || !bytes || count == 0 || attribute_count != 0) {
    const hipError_t result = call(0, count, failed);
    // HIP 7.2.4 rejects attributes.
    if (attribute_count != 0 && result != hipErrorNotSupported) {
      recorder().note_incomplete(display_name(kIndex), "attributes");
    } else if (count != 0 && result == hipSuccess) {
      recorder().note_incomplete(display_name(kIndex), "its list could not be read");
    }
    return result;
  }
  size_t failed_one = SIZE_MAX;
  for (size_t i = 0; i < count; ++i) {
    const RawCopy raw = raw_copy_1d((*to)[i], (*from)[i], (*bytes)[i], hipMemcpyDefault);
    const hipError_t result = device_work(
        kIndex, raw, stream_key(stream),
        [&] { return call(i, 1, failed == nullptr ? nullptr : &failed_one); }, true);
    if (result != hipSuccess) {
      if (failed != nullptr) *failed = failed_one == 0 ? i : failed_one;
      return result;
    }
    tell_learned();
  }
  if (failed != nullptr) *failed = failed_one;
  return hipSuccess;
}

// A list of boxes, likewise one call per box. Nothing is taken to be done when it returns.
GFXGRAPH_HOOK hipError_t hipMemcpy3DBatchAsync(size_t count, BatchBox* boxes, size_t* failed,
                                               unsigned long long flags, hipStream_t stream) {
  constexpr int kIndex = kCall_hipMemcpy3DBatchAsync;
  const Scope scope;
  if (!scope.record || boxes == nullptr || count == 0) {
    return real(kIndex, count, boxes, failed, flags, stream);
  }
  const auto list = read_list(boxes, count);
  if (!list) return real(kIndex, count, boxes, failed, flags, stream);
  size_t failed_one = SIZE_MAX;
  for (size_t i = 0; i < count; ++i) {
    RawCopy raw;
    const auto call = [&] {
      return real(kIndex, size_t{1}, boxes + i, failed == nullptr ? nullptr : &failed_one, flags,
                  stream);
    };
    const bool supported = raw_copy_of_batch((*list)[i], raw);
    const hipError_t result =
        supported ? device_work(kIndex, raw, stream_key(stream), call, true) : call();
    if (result != hipSuccess) {
      if (failed != nullptr) *failed = failed_one == 0 ? i : failed_one;
      return result;
    }
    if (!supported) recorder().note_incomplete(display_name(kIndex), "an array");
  }
  if (failed != nullptr) *failed = failed_one;
  return hipSuccess;
}
