// The part of HIP's binary interface that replay uses, in our own declarations: opaque handles are
// void*, enumerations are int. The structures and values below are the same in HIP 5, 6 and 7;
// their source is named at each. No HIP header is included anywhere in replayer/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gfxgraph::hip {

using Error = int;
using Stream = void*;
using Event = void*;
using Module = void*;
using Function = void*;
using Graph = void*;
using GraphNode = void*;
using GraphExec = void*;

// hipError_t (hip_runtime_api.h): the values that replay distinguishes.
inline constexpr Error kSuccess = 0;
inline constexpr Error kErrorOutOfMemory = 2;
inline constexpr Error kErrorNoBinaryForGpu = 209;
inline constexpr Error kErrorNotFound = 500;
inline constexpr Error kErrorNotReady = 600;
inline constexpr Error kErrorContextIsDestroyed = 709;  // also: of a stream that was destroyed

// hipEventDisableTiming.
inline constexpr uint32_t kDisableTiming = 0x2;

// hipMemcpyKind.
inline constexpr int kHostToDevice = 1;
inline constexpr int kDeviceToHost = 2;
inline constexpr int kDeviceToDevice = 3;
inline constexpr int kCopyDefault = 4;

// hipStreamNonBlocking: a stream that the legacy null stream does not wait for.
inline constexpr uint32_t kStreamNonBlocking = 1;
// hipStreamCaptureStatusNone; the others are captures under way or broken.
inline constexpr int kNotCapturing = 0;
// hipStreamCaptureModeRelaxed.
inline constexpr int kCaptureRelaxed = 2;
// hipErrorStreamCaptureUnsupported to hipErrorStreamCaptureWrongThread: what a capture, maybe of
// another thread, makes of a call.
constexpr bool is_capture_error(Error error) { return error >= 900 && error <= 908; }
// HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL: an int.
inline constexpr int kPointerDeviceOrdinal = 9;
// hipMemAttachGlobal.
inline constexpr unsigned kMemAttachGlobal = 1;

// The keys of the `extra` array of a launch: HIP_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END.
inline void* const kLaunchBufferPointer = reinterpret_cast<void*>(uintptr_t{1});
inline void* const kLaunchBufferSize = reinterpret_cast<void*>(uintptr_t{2});
inline void* const kLaunchEnd = reinterpret_cast<void*>(uintptr_t{3});

// dim3 (hip_runtime_api.h).
struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
};

// What __hipRegisterFatBinary takes; compilers write it into a program's .hipFatBinSegment.
struct FatBinary {
  uint32_t magic = 0x48495046;  // "HIPF"
  uint32_t version = 1;
  const void* binary = nullptr;  // an offload bundle
  void* unused = nullptr;
};
static_assert(sizeof(FatBinary) == 24);

// hipKernelNodeParams (hip_runtime_api.h).
struct KernelNodeParams {
  Dim3 block;
  void** extra = nullptr;
  void* function = nullptr;
  Dim3 grid;
  void** kernel_params = nullptr;
  unsigned shared_bytes = 0;
};
static_assert(sizeof(KernelNodeParams) == 64 && offsetof(KernelNodeParams, function) == 24 &&
              offsetof(KernelNodeParams, kernel_params) == 48);

// hipMemsetParams (hip_runtime_api.h). Width in elements, pitch in bytes.
struct MemsetParams {
  void* destination = nullptr;
  unsigned element_bytes = 1;
  size_t height = 1;
  size_t pitch_bytes = 0;
  unsigned value = 0;
  size_t width = 0;
};
static_assert(sizeof(MemsetParams) == 48 && offsetof(MemsetParams, value) == 32);

// hipPitchedPtr, hipPos, hipExtent, hipMemcpy3DParms (driver_types.h).
struct PitchedPointer {
  void* pointer = nullptr;
  size_t pitch_bytes = 0;
  size_t width = 0;
  size_t height = 0;
};
struct Position {
  size_t x = 0, y = 0, z = 0;
};
struct Extent {
  size_t width = 0, height = 0, depth = 0;
};
struct Memcpy3dParams {
  void* source_array = nullptr;
  Position source_position;
  PitchedPointer source;
  void* destination_array = nullptr;
  Position destination_position;
  PitchedPointer destination;
  Extent extent;
  int kind = kCopyDefault;
};
// hipChannelFormatDesc, hipResourceDesc, hipTextureDesc, hipResourceViewDesc (texture_types.h,
// driver_types.h). hipArrayLayered, hipResourceTypeArray, ...: as recorded.
struct ChannelFormat {
  int x = 0, y = 0, z = 0, w = 0;  // bits
  int kind = 0;                    // 0: signed, 1: unsigned, 2: float
};
struct ResourceDescriptor {
  static constexpr int kArray = 0, kLinear = 2, kPitched = 3;
  int type = kArray;
  void* pointer = nullptr;  // the array's or the memory's
  ChannelFormat format;     // of memory
  // kLinear: its bytes; kPitched: its texels in a row.
  size_t size = 0;
  size_t height = 0;       // kPitched
  size_t pitch_bytes = 0;  // kPitched
};
static_assert(sizeof(ResourceDescriptor) == 64 && offsetof(ResourceDescriptor, format) == 16 &&
              offsetof(ResourceDescriptor, size) == 40);
struct TextureDescriptor {
  int address_mode[3] = {0, 0, 0};
  int filter = 0;
  int read_mode = 0;
  int srgb = 0;
  float border[4] = {0, 0, 0, 0};
  int normalized = 0;
  unsigned max_anisotropy = 0;
  int mip_filter = 0;
  float mip_bias = 0, mip_least = 0, mip_most = 0;
};
static_assert(sizeof(TextureDescriptor) == 64 && offsetof(TextureDescriptor, normalized) == 40);
struct ResourceView {
  int format = 0;
  size_t width = 0, height = 0, depth = 0;
  unsigned first_level = 0, last_level = 0, first_layer = 0, last_layer = 0;
};
static_assert(sizeof(ResourceView) == 48);
static_assert(sizeof(Memcpy3dParams) == 160 && offsetof(Memcpy3dParams, destination) == 96 &&
              offsetof(Memcpy3dParams, kind) == 152);

}  // namespace gfxgraph::hip
