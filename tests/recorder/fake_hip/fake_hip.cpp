// A libamdhip64.so.5 without a device: "device" memory is host memory, launches do nothing, and the
// call of the program's main thread with number FAKE_HIP_FAIL_AT fails. As in HIP 5.2, every call
// sets its thread's last error. Covers what program_faults and the recorder itself call.
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

thread_local hipError_t last_error = hipSuccess;

hipError_t leave(hipError_t result) {
  last_error = result;
  return result;
}

// Whether this call is the one that fails.
bool fails() {
  static const char* const variable = std::getenv("FAKE_HIP_FAIL_AT");
  static const long fail_at = variable == nullptr ? -1 : std::atol(variable);
  static long calls = 0;
  return getpid() == gettid() && calls++ == fail_at;
}

template <typename Body>
hipError_t call(Body&& body) {
  if (fails()) return leave(hipErrorUnknown);
  body();
  return leave(hipSuccess);
}

hipError_t allocate(void** pointer, size_t bytes) {
  return call([&] { *pointer = std::calloc(1, bytes); });
}

template <typename T>
void make_handle(T* handle) {
  *handle = static_cast<T>(std::malloc(16));
}

struct Configuration {
  dim3 grid, block;
  size_t shared = 0;
  hipStream_t stream = nullptr;
};
thread_local Configuration configuration;

}  // namespace

FAKE void** __hipRegisterFatBinary(const void*) { return static_cast<void**>(std::malloc(16)); }
FAKE void __hipUnregisterFatBinary(void** handle) { std::free(handle); }
FAKE void __hipRegisterFunction(void**, const void*, char*, const char*, unsigned, void*, void*,
                                void*, void*, int*) {}
FAKE hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                           hipStream_t stream) {
  configuration = {grid, block, shared, stream};
  return hipSuccess;
}
FAKE hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared,
                                          hipStream_t* stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *stream = configuration.stream;
  return hipSuccess;
}

FAKE hipError_t hipMalloc(void** pointer, size_t bytes) { return allocate(pointer, bytes); }
FAKE hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned) {
  return allocate(pointer, bytes);
}
FAKE hipError_t hipFree(void* pointer) {
  return call([&] { std::free(pointer); });
}
FAKE hipError_t hipHostFree(void* pointer) {
  return call([&] { std::free(pointer); });
}
FAKE hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind) {
  return call([&] { std::memcpy(to, from, bytes); });
}
FAKE hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind,
                               hipStream_t) {
  return call([&] { std::memcpy(to, from, bytes); });
}
FAKE hipError_t hipMemset(void* to, int value, size_t bytes) {
  return call([&] { std::memset(to, value, bytes); });
}
FAKE hipError_t hipMallocArray(hipArray** array, const hipChannelFormatDesc*, size_t width,
                               size_t height, unsigned) {
  return allocate(reinterpret_cast<void**>(array), width * height * 16);
}
FAKE hipError_t hipFreeArray(hipArray* array) {
  return call([&] { std::free(array); });
}
FAKE hipError_t hipMallocMipmappedArray(hipMipmappedArray_t* array, const hipChannelFormatDesc*,
                                        hipExtent, unsigned, unsigned) {
  return allocate(reinterpret_cast<void**>(array), 64);
}
FAKE hipError_t hipMipmappedArrayCreate(hipMipmappedArray_t* array, HIP_ARRAY3D_DESCRIPTOR*,
                                        unsigned) {
  return allocate(reinterpret_cast<void**>(array), 64);
}
FAKE hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t) {
  return call([] {});
}
FAKE hipError_t hipStreamCreate(hipStream_t* stream) {
  return call([&] { make_handle(reinterpret_cast<void**>(stream)); });
}
FAKE hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned) {
  return call([&] { make_handle(reinterpret_cast<void**>(stream)); });
}
FAKE hipError_t hipStreamDestroy(hipStream_t stream) {
  return call([&] { std::free(stream); });
}
FAKE hipError_t hipStreamSynchronize(hipStream_t) {
  static const bool never = std::getenv("FAKE_HIP_NEVER_WAITS") != nullptr;
  return never ? leave(hipErrorUnknown) : call([] {});
}
FAKE hipError_t hipStreamQuery(hipStream_t) {
  return call([] {});
}
FAKE hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned) {
  return call([] {});
}
FAKE hipError_t hipEventCreate(hipEvent_t* event) {
  return call([&] { make_handle(reinterpret_cast<void**>(event)); });
}
FAKE hipError_t hipEventDestroy(hipEvent_t event) {
  return call([&] { std::free(event); });
}
FAKE hipError_t hipEventRecord(hipEvent_t, hipStream_t) {
  return call([] {});
}
FAKE hipError_t hipEventSynchronize(hipEvent_t) {
  return call([] {});
}
FAKE hipError_t hipDeviceSynchronize() {
  return call([] {});
}
FAKE hipError_t hipPeekAtLastError() { return last_error; }
FAKE hipError_t hipGetLastError() {
  const hipError_t result = last_error;
  last_error = hipSuccess;
  return result;
}
// HIP 5's structure; the name is a macro in newer headers.
FAKE hipError_t fake_device_properties(char* properties, int) __asm__("hipGetDeviceProperties");
hipError_t fake_device_properties(char* properties, int) {
  return call([&] {
    std::memset(properties, 0, 792);
    std::strcpy(properties, "fake");
    std::strcpy(properties + 396, "gfx1030");  // gcnArchName
  });
}
FAKE hipError_t hipRuntimeGetVersion(int* version) {
  return call([&] { *version = 50'200'000; });
}
FAKE hipError_t hipDriverGetVersion(int* version) {
  return call([&] { *version = 50'200'000; });
}
FAKE hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned) {
  return call([&] { *device = host; });
}
FAKE hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode*) {
  return call([] {});
}

// Two that no runtime has, for programs that are newer than gfxgraph.
FAKE hipError_t hipFutureCall(int value) { return value == 7 ? hipSuccess : hipErrorInvalidValue; }
FAKE hipError_t hipFutureLinked(int value) { return hipFutureCall(value); }
// Newer headers declare it with a type that Debian 12's lacks.
FAKE hipError_t fake_proc_address(const char* name, void** function, int, uint64_t,
                                  void*) __asm__("hipGetProcAddress");
hipError_t fake_proc_address(const char* name, void** function, int, uint64_t, void*) {
  if (std::strcmp(name, "hipFutureCall") != 0) return hipErrorInvalidValue;
  *function = reinterpret_cast<void*>(&hipFutureCall);
  return hipSuccess;
}
// Unsupported by the recorder, with arguments in every place: refused unless they all arrive.
FAKE hipError_t hipBindTexture2D(size_t* offset, const textureReference* reference,
                                 const void* memory, const hipChannelFormatDesc* format,
                                 size_t width, size_t height, size_t pitch) {
  const auto number = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); };
  const bool good = number(offset) == 1 && number(reference) == 2 && number(memory) == 3 &&
                    number(format) == 4 && width == 5 && height == 6 && pitch == 7;
  return good ? hipSuccess : hipErrorInvalidValue;
}
