// Forms of calls that few programs make, each with an answer computed on the host: launches, the
// per-thread entry points, copies, allocations, variables. program_calls MODE MODULE; prints "ok".
#include <hip/hip_ext.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

extern "C" {
hipError_t hipMemcpy_spt(void*, const void*, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync_spt(void*, const void*, size_t, hipMemcpyKind, hipStream_t);
hipError_t hipMemcpy2D_spt(void*, size_t, const void*, size_t, size_t, size_t, hipMemcpyKind);
hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms*);
hipError_t hipMemcpyToSymbol_spt(const void*, const void*, size_t, size_t, hipMemcpyKind);
hipError_t hipMemcpyFromSymbol_spt(void*, const void*, size_t, size_t, hipMemcpyKind);
hipError_t hipMemset_spt(void*, int, size_t);
hipError_t hipMemset2D_spt(void*, size_t, int, size_t, size_t);
hipError_t hipMemset3D_spt(hipPitchedPtr, int, hipExtent);
hipError_t hipStreamQuery_spt(hipStream_t);
hipError_t hipStreamSynchronize_spt(hipStream_t);
hipError_t hipStreamWaitEvent_spt(hipStream_t, hipEvent_t, unsigned);
hipError_t hipLaunchKernel_spt(const void*, dim3, dim3, void**, size_t, hipStream_t);
hipError_t hipLaunchCooperativeKernel_spt(const void*, dim3, dim3, void**, uint32_t, hipStream_t);
}
namespace hip_impl {
void hipLaunchKernelGGLImpl(uintptr_t, const dim3&, const dim3&, uint32_t, hipStream_t, void**);
}

constexpr int kCount = 200;
constexpr size_t kBytes = kCount * sizeof(int);

__device__ int offsets[8];
__managed__ int shared_table[64] = {5, 6, 7};
__managed__ int shared_total = 1;

__global__ void step(int* data, int n, char scale, int by) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] = data[i] * scale + by + i;
}

__global__ void add_offsets(int* data) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < kCount) data[i] += offsets[i % 8];
}

__global__ void use_shared(int* data, const int* table) {
  const int i = static_cast<int>(threadIdx.x);
  shared_table[i] += table[(i + 1) % 64] * 2;
  data[i] = shared_table[i];
  if (i == 0) shared_total += 10;
}

// The host's copy of a buffer that kernels and copies change.
struct Expected {
  std::vector<int> values = std::vector<int>(kCount, 0);
  void step(int n, int scale, int by) {
    for (int i = 0; i < n; ++i) values[i] = values[i] * scale + by + i;
  }
};

static void compare(const int* device, const Expected& expected, const char* what) {
  std::vector<int> values(kCount);
  CHECK(hipMemcpy(values.data(), device, kBytes, hipMemcpyDeviceToHost));
  expect(values == expected.values, what);
}

static int* device_buffer() {
  int* data = nullptr;
  CHECK(hipMalloc(&data, kBytes));
  CHECK(hipMemset(data, 0, kBytes));
  return data;
}

struct Packed {
  int* data;
  int n;
  char scale;
  int by;
};

static void launches(const char* module_path) {
  int* data = device_buffer();
  Expected expected;
  hipStream_t stream;
  hipEvent_t start, stop;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  int n = kCount;
  char scale = 3;
  int by = 1;
  void* args[] = {&data, &n, &scale, &by};
  const void* stub = reinterpret_cast<const void*>(step);
  CHECK(hipLaunchKernel(stub, dim3(7), dim3(32), args, 0, stream));
  expected.step(n, scale, by);
  by = 2;
  CHECK(hipExtLaunchKernel(stub, dim3(7), dim3(32), args, 0, stream, start, stop, 0));
  expected.step(n, scale, by);
  CHECK(hipEventSynchronize(stop));
  compare(data, expected, "hipExtLaunchKernel");
  CHECK(hipExtLaunchKernel(stub, dim3(7), dim3(32), args, 0, nullptr, nullptr, nullptr, 0));
  expected.step(n, scale, by);
  CHECK(hipConfigureCall(dim3(7), dim3(32), 0, stream));
  by = 4;
  CHECK(hipSetupArgument(&data, sizeof(data), offsetof(Packed, data)));
  CHECK(hipSetupArgument(&n, sizeof(n), offsetof(Packed, n)));
  CHECK(hipSetupArgument(&scale, sizeof(scale), offsetof(Packed, scale)));
  CHECK(hipSetupArgument(&by, sizeof(by), offsetof(Packed, by)));
  CHECK(hipLaunchByPtr(stub));
  expected.step(n, scale, by);
  Packed packed{data, n, 2, 9};
  size_t size = sizeof(packed);
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
#if HIP_VERSION < 50700000  // declared later too, but no longer exported
  hip_impl::hipLaunchKernelGGLImpl(reinterpret_cast<uintptr_t>(stub), dim3(7), dim3(32), 0, stream,
                                   extra);
  expected.step(n, 2, 9);
#endif
  CHECK(hipStreamSynchronize(stream));
  compare(data, expected, "hipLaunchByPtr");

  hipModule_t module;
  hipFunction_t function;
  CHECK(hipModuleLoad(&module, module_path));
  CHECK(hipModuleGetFunction(&function, module, "module_increment"));
  int small = 11;
  void* params[] = {&data, &small};
  struct {
    int* data;
    int by;
  } module_packed{data, 7};
  size = sizeof(module_packed);
  void* module_extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &module_packed,
                          HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  const auto increment = [&](int begin, int end, int value) {
    for (int i = begin; i < end; ++i) expected.values[i] += value;
  };
  CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, params, nullptr));
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, module_extra));
  increment(0, 64, 11);
  increment(0, 32, 7);
  // Work items: 40 are a whole workgroup and one of 8, in which blockDim is 8 as well.
  CHECK(hipExtModuleLaunchKernel(function, 40, 1, 1, 32, 1, 1, 0, stream, params, nullptr, start,
                                 stop, 0));
  CHECK(hipHccModuleLaunchKernel(function, 64, 1, 1, 32, 1, 1, 0, stream, nullptr, module_extra,
                                 nullptr, nullptr));
  increment(0, 32, 11);
  increment(8, 16, 11);
  increment(0, 64, 7);
  CHECK(hipStreamSynchronize(stream));
  compare(data, expected, "module launches");
  CHECK(hipModuleUnload(module));
}

// In a program with device variables. A runtime that refuses has done nothing to the device.
static void cooperative() {
  int* data = device_buffer();
  int n = kCount;
  char scale = 1;
  int by = 1;
  void* args[] = {&data, &n, &scale, &by};
  const void* stub = reinterpret_cast<const void*>(step);
  const hipError_t plain = hipLaunchCooperativeKernel(stub, dim3(7), dim3(32), args, 0, nullptr);
  const hipError_t thread = hipLaunchCooperativeKernel_spt(stub, dim3(7), dim3(32), args, 0, nullptr);
  (void)hipGetLastError();
  Expected expected;
  if (plain == hipSuccess) expected.step(n, scale, by);
  if (thread == hipSuccess) expected.step(n, scale, by);
  CHECK(hipDeviceSynchronize());
  compare(data, expected, "cooperative launch");
  std::printf("cooperative: %s, %s\n", hipGetErrorName(plain), hipGetErrorName(thread));
}

static void per_thread_work(int seed) {
  int* data = nullptr;
  CHECK(hipMalloc(&data, kBytes));
  CHECK(hipMemset_spt(data, 0, kBytes));
  Expected expected;
  int n = kCount;
  char scale = 2;
  int by = seed;
  void* args[] = {&data, &n, &scale, &by};
  const void* stub = reinterpret_cast<const void*>(step);
  CHECK(hipLaunchKernel_spt(stub, dim3(7), dim3(32), args, 0, nullptr));
  expected.step(n, scale, by);
  CHECK(hipLaunchKernel_spt(stub, dim3(7), dim3(32), args, 0, nullptr));
  expected.step(n, scale, by);
  CHECK(hipLaunchKernel(stub, dim3(7), dim3(32), args, 0, hipStreamPerThread));
  expected.step(n, scale, by);
  hipStream_t other;
  hipEvent_t event;
  CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  CHECK(hipStreamSynchronize_spt(nullptr));
  step<<<7, 32, 0, other>>>(data, n, 1, 3);
  expected.step(n, 1, 3);
  CHECK(hipEventRecord(event, other));
  CHECK(hipStreamWaitEvent_spt(nullptr, event, 0));
  std::vector<int> values(kCount);
  CHECK(hipMemcpyAsync_spt(values.data(), data, kBytes, hipMemcpyDeviceToHost, nullptr));
  CHECK(hipStreamSynchronize_spt(nullptr));
  expect(hipStreamQuery_spt(nullptr) == hipSuccess, "hipStreamQuery_spt");
  expect(values == expected.values, "per-thread stream");
  expected.values[5] = 77;
  CHECK(hipMemcpy_spt(data + 5, &expected.values[5], sizeof(int), hipMemcpyHostToDevice));
  CHECK(hipMemset2D_spt(data + 8, 16, 1, 8, 4));
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < 2; ++i) expected.values[8 + row * 4 + i] = 0x01010101;
  }
  CHECK(hipMemset3D_spt(make_hipPitchedPtr(data + 40, 16, 16, 2), 2, make_hipExtent(4, 2, 2)));
  for (int row = 0; row < 4; ++row) expected.values[40 + row * 4] = 0x02020202;
  int rows[4] = {21, 22, 23, 24};
  CHECK(hipMemcpy2D_spt(data + 80, 12, rows, 8, 8, 2, hipMemcpyHostToDevice));
  for (int i = 0; i < 4; ++i) expected.values[80 + i / 2 * 3 + i % 2] = rows[i];
  hipMemcpy3DParms box{};
  box.srcPtr = make_hipPitchedPtr(data + 80, 8, 8, 1);
  box.dstPtr = make_hipPitchedPtr(data + 100, 16, 16, 1);
  box.extent = make_hipExtent(8, 1, 2);
  box.kind = hipMemcpyDeviceToDevice;
  CHECK(hipMemcpy3D_spt(&box));
  for (int i = 0; i < 4; ++i) {
    expected.values[100 + i / 2 * 4 + i % 2] = expected.values[80 + i];
  }
  CHECK(hipStreamSynchronize_spt(nullptr));
  compare(data, expected, "per-thread calls");
  CHECK(hipFree(data));
}

static void per_thread() {
  per_thread_work(1);
  std::thread(per_thread_work, 2).join();
  const int values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int back[4];
  CHECK(hipMemcpyToSymbol_spt(HIP_SYMBOL(offsets), values, 16, 16, hipMemcpyHostToDevice));
  CHECK(hipMemcpyFromSymbol_spt(back, HIP_SYMBOL(offsets), 16, 16, hipMemcpyDeviceToHost));
  expect(back[0] == 1 && back[3] == 4, "per-thread symbol copies");
}

static void linear_copies() {
  int* a = device_buffer();
  int* b = device_buffer();
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  std::vector<int> host(kCount);
  Expected expected;
  for (int i = 0; i < kCount; ++i) host[i] = expected.values[i] = i * 5;
  CHECK(hipMemcpyHtoD(reinterpret_cast<hipDeviceptr_t>(a), host.data(), kBytes));
  CHECK(hipMemcpyDtoD(reinterpret_cast<hipDeviceptr_t>(b), reinterpret_cast<hipDeviceptr_t>(a),
                      kBytes));
  compare(b, expected, "hipMemcpyDtoD");
  host[3] = expected.values[3] = -1;
  CHECK(hipMemcpyHtoDAsync(reinterpret_cast<hipDeviceptr_t>(b), host.data(), kBytes, stream));
  CHECK(hipMemcpyDtoDAsync(reinterpret_cast<hipDeviceptr_t>(a),
                           reinterpret_cast<hipDeviceptr_t>(b), kBytes, stream));
  std::vector<int> back(kCount);
  CHECK(hipMemcpyDtoHAsync(back.data(), reinterpret_cast<hipDeviceptr_t>(a), kBytes, stream));
  CHECK(hipStreamSynchronize(stream));
  expect(back == expected.values, "hipMemcpyDtoHAsync");
  CHECK(hipMemcpyDtoH(back.data(), reinterpret_cast<hipDeviceptr_t>(b), kBytes));
  expect(back == expected.values, "hipMemcpyDtoH");
  CHECK(hipMemset(b, 0, kBytes));
  CHECK(hipMemcpyPeer(b, 0, a, 0, kBytes));
  compare(b, expected, "hipMemcpyPeer");
  CHECK(hipMemsetAsync(b, 9, kBytes, stream));
  CHECK(hipMemcpyPeerAsync(b, 0, a, 0, kBytes / 2, stream));
  for (int i = kCount / 2; i < kCount; ++i) expected.values[i] = 0x09090909;
  CHECK(hipMemcpyWithStream(back.data(), b, kBytes, hipMemcpyDeviceToHost, stream));
  expect(back == expected.values, "hipMemcpyWithStream");
  CHECK(hipMemsetD8Async(reinterpret_cast<hipDeviceptr_t>(b), 1, 8, stream));
  CHECK(hipMemsetD16Async(reinterpret_cast<hipDeviceptr_t>(b + 2), 0x203, 4, stream));
  CHECK(hipMemsetD32Async(reinterpret_cast<hipDeviceptr_t>(b + 4), 0x4050607, 2, stream));
  const int set[6] = {0x01010101, 0x01010101, 0x02030203, 0x02030203, 0x4050607, 0x4050607};
  std::copy(set, set + 6, expected.values.begin());
  CHECK(hipStreamSynchronize(stream));
  compare(b, expected, "hipMemsetD");
}

// A box of 3 slices of 4 rows of 20 bytes in a pitched allocation.
static void box_copies() {
  constexpr size_t kWidth = 20, kRows = 4, kSlices = 3;
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  hipPitchedPtr box;
  const hipExtent extent = make_hipExtent(kWidth, kRows, kSlices);
  CHECK(hipMalloc3D(&box, extent));
  CHECK(hipMemset3D(box, 0, extent));
  std::vector<unsigned char> host(kWidth * kRows * kSlices), back(host.size());
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i * 3 + 1);
  hipMemcpy3DParms in{};
  in.srcPtr = make_hipPitchedPtr(host.data(), kWidth, kWidth, kRows);
  in.dstPtr = box;
  in.extent = extent;
  in.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&in));
  hipMemcpy3DParms out{};
  out.srcPtr = box;
  out.dstPtr = make_hipPitchedPtr(back.data(), kWidth, kWidth, kRows);
  out.extent = extent;
  out.kind = hipMemcpyDeviceToHost;
  CHECK(hipMemcpy3DAsync(&out, stream));
  CHECK(hipStreamSynchronize(stream));
  expect(back == host, "hipMemcpy3D");
  CHECK(hipMemset3DAsync(box, 0x33, make_hipExtent(5, 2, 2), stream));
  CHECK(hipStreamSynchronize(stream));
  for (size_t z = 0; z < 2; ++z) {
    for (size_t y = 0; y < 2; ++y) {
      std::fill_n(host.begin() + static_cast<long>((z * kRows + y) * kWidth), 5, 0x33);
    }
  }
  // A part of the box, from inside of the host's box to inside of the device's.
  in.srcPos = make_hipPos(4, 1, 0);
  in.dstPos = make_hipPos(8, 2, 1);
  in.extent = make_hipExtent(6, 2, 2);
  std::vector<unsigned char> expected = host;
  for (size_t z = 0; z < 2; ++z) {
    for (size_t y = 0; y < 2; ++y) {
      for (size_t x = 0; x < 6; ++x) {
        expected[((z + 1) * kRows + y + 2) * kWidth + x + 8] =
            host[(z * kRows + y + 1) * kWidth + x + 4];
      }
    }
  }
  CHECK(hipMemcpy3D(&in));
  CHECK(hipMemcpy3D(&out));
  expect(back == expected, "part of a box");

  HIP_MEMCPY3D driver{};
  driver.srcMemoryType = hipMemoryTypeHost;
  driver.srcHost = host.data();
  driver.srcPitch = kWidth;
  driver.srcHeight = kRows;
  driver.dstMemoryType = hipMemoryTypeDevice;
  driver.dstDevice = reinterpret_cast<hipDeviceptr_t>(box.ptr);
  driver.dstPitch = static_cast<unsigned>(box.pitch);
  driver.dstHeight = kRows;
  driver.WidthInBytes = kWidth;
  driver.Height = kRows;
  driver.Depth = kSlices;
  CHECK(hipDrvMemcpy3D(&driver));
  CHECK(hipMemcpy3D(&out));
  expect(back == host, "hipDrvMemcpy3D");
  driver.srcXInBytes = 2;
  driver.dstY = 1;
  driver.dstZ = 2;
  driver.WidthInBytes = 3;
  driver.Height = 2;
  driver.Depth = 1;
  CHECK(hipDrvMemcpy3DAsync(&driver, stream));
  CHECK(hipStreamSynchronize(stream));
  expected = host;
  for (size_t y = 0; y < 2; ++y) {
    for (size_t x = 0; x < 3; ++x) {
      expected[(2 * kRows + y + 1) * kWidth + x] = host[y * kWidth + x + 2];
    }
  }
  CHECK(hipMemcpy3D(&out));
  expect(back == expected, "hipDrvMemcpy3DAsync");
}

static void plane_copies() {
  constexpr size_t kWidth = 24, kRows = 5;
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  hipDeviceptr_t plane;
  size_t pitch = 0;
  CHECK(hipMemAllocPitch(&plane, &pitch, kWidth, kRows, 4));
  CHECK(hipMemset2DAsync(reinterpret_cast<void*>(plane), pitch, 0, kWidth, kRows, stream));
  std::vector<unsigned char> host(kWidth * kRows), back(host.size());
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i * 7 + 2);
  CHECK(hipMemcpy2DAsync(reinterpret_cast<void*>(plane), pitch, host.data(), kWidth, kWidth, kRows,
                         hipMemcpyHostToDevice, stream));
  CHECK(hipStreamSynchronize(stream));
  hip_Memcpy2D out{};
  out.srcMemoryType = hipMemoryTypeDevice;
  out.srcDevice = plane;
  out.srcPitch = pitch;
  out.dstMemoryType = hipMemoryTypeHost;
  out.dstHost = back.data();
  out.dstPitch = kWidth;
  out.WidthInBytes = kWidth;
  out.Height = kRows;
  CHECK(hipMemcpyParam2D(&out));
  expect(back == host, "hipMemcpyParam2D");
  hip_Memcpy2D in{};
  in.srcMemoryType = hipMemoryTypeHost;
  in.srcHost = host.data();
  in.srcPitch = kWidth;
  in.srcXInBytes = 4;
  in.srcY = 1;
  in.dstMemoryType = hipMemoryTypeDevice;
  in.dstDevice = plane;
  in.dstPitch = pitch;
  in.dstXInBytes = 9;
  in.dstY = 2;
  in.WidthInBytes = 11;
  in.Height = 3;
  std::vector<unsigned char> expected = host;
  for (size_t y = 0; y < 3; ++y) {
    for (size_t x = 0; x < 11; ++x) {
      expected[(y + 2) * kWidth + x + 9] = host[(y + 1) * kWidth + x + 4];
    }
  }
  CHECK(hipMemcpyParam2DAsync(&in, stream));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipDrvMemcpy2DUnaligned(&out));
  expect(back == expected, "hipMemcpyParam2DAsync");
}

static void memory() {
  hipStream_t stream;  // never destroyed: HIP 5.2 hangs on that after hipFreeAsync
  CHECK(hipStreamCreate(&stream));
  Expected expected;
  int* ordered = nullptr;
  CHECK(hipMallocAsync(reinterpret_cast<void**>(&ordered), kBytes, stream));
  CHECK(hipMemsetAsync(ordered, 0, kBytes, stream));
  step<<<7, 32, 0, stream>>>(ordered, kCount, 1, 5);
  expected.step(kCount, 1, 5);
  std::vector<int> back(kCount);
  CHECK(hipMemcpyAsync(back.data(), ordered, kBytes, hipMemcpyDeviceToHost, stream));
  CHECK(hipFreeAsync(ordered, stream));
  CHECK(hipStreamSynchronize(stream));
  expect(back == expected.values, "hipMallocAsync");

  hipMemPool_t pool = nullptr;
  CHECK(hipDeviceGetDefaultMemPool(&pool, 0));
  int* pooled = nullptr;
  CHECK(hipMallocFromPoolAsync(reinterpret_cast<void**>(&pooled), kBytes, pool, nullptr));
  CHECK(hipMemsetAsync(pooled, 0, kBytes, nullptr));
  step<<<7, 32>>>(pooled, kCount, 1, 6);
  Expected second;
  second.step(kCount, 1, 6);
  compare(pooled, second, "hipMallocFromPoolAsync");
  CHECK(hipFreeAsync(pooled, nullptr));
  CHECK(hipDeviceSynchronize());
  hipMemPoolProps props{};
  props.allocType = hipMemAllocationTypePinned;
  props.location.type = hipMemLocationTypeDevice;
  hipMemPool_t own = nullptr;
  CHECK(hipMemPoolCreate(&own, &props));
  CHECK(hipMallocFromPoolAsync(reinterpret_cast<void**>(&pooled), kBytes, own, nullptr));
  CHECK(hipMemsetAsync(pooled, 1, kBytes, nullptr));
  CHECK(hipDeviceSynchronize());
  CHECK(hipFree(pooled));
  CHECK(hipMemPoolDestroy(own));

  int* fine = nullptr;
  CHECK(hipExtMallocWithFlags(reinterpret_cast<void**>(&fine), kBytes, hipDeviceMallocDefault));
  CHECK(hipMemset(fine, 0, kBytes));
  step<<<7, 32>>>(fine, kCount, 1, 6);
  compare(fine, second, "hipExtMallocWithFlags");
  int* host[3];
  CHECK(hipHostAlloc(reinterpret_cast<void**>(&host[0]), kBytes, 0));
  CHECK(hipMallocHost(reinterpret_cast<void**>(&host[1]), kBytes));
  CHECK(hipMemAllocHost(reinterpret_cast<void**>(&host[2]), kBytes));
  for (int round = 0; round < 3; ++round) {
    std::fill_n(host[round], kCount, round);
    step<<<7, 32>>>(host[round], kCount, 2, 1);
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < kCount; ++i) expect(host[round][i] == round * 2 + 1 + i, "host memory");
  }
  CHECK(hipFreeHost(host[0]));
  CHECK(hipHostFree(host[1]));
  std::vector<int> plain(4096, 3);
  CHECK(hipHostRegister(plain.data(), plain.size() * sizeof(int), hipHostRegisterMapped));
  int* seen = nullptr;
  CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), plain.data(), 0));
  step<<<7, 32>>>(seen, kCount, 2, 1);
  CHECK(hipMemcpyAsync(fine, plain.data(), kBytes, hipMemcpyHostToDevice, nullptr));
  CHECK(hipDeviceSynchronize());
  expect(plain[10] == 17, "hipHostRegister");
  CHECK(hipHostUnregister(plain.data()));
}

static void symbols() {
  int* data = device_buffer();
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  Expected expected;
  int values[8];
  for (int i = 0; i < 8; ++i) values[i] = 100 + i;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(offsets), values, sizeof(values)));
  add_offsets<<<7, 32>>>(data);
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) expected.values[i] += values[i % 8];
  compare(data, expected, "hipMemcpyToSymbol");
  values[2] = values[3] = -5;
  CHECK(hipMemcpyToSymbolAsync(HIP_SYMBOL(offsets), values + 2, 8, 8, hipMemcpyHostToDevice,
                               stream));
  add_offsets<<<7, 32, 0, stream>>>(data);
  for (int i = 0; i < kCount; ++i) expected.values[i] += values[i % 8];
  int back[8];
  CHECK(hipMemcpyFromSymbolAsync(back, HIP_SYMBOL(offsets), 32, 0, hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  for (int i = 0; i < 8; ++i) expect(back[i] == values[i], "hipMemcpyFromSymbolAsync");
  compare(data, expected, "hipMemcpyToSymbolAsync");
  int* address = nullptr;
  CHECK(hipGetSymbolAddress(reinterpret_cast<void**>(&address), HIP_SYMBOL(offsets)));
  step<<<1, 8>>>(address, 8, 2, 0);
  CHECK(hipMemcpyFromSymbol(back, HIP_SYMBOL(offsets), 4, 12));
  expect(back[0] == -10 + 3, "a variable's address");
}

static void managed_variables() {
  int* data = device_buffer();
  int expected[64] = {5, 6, 7};
  for (int round = 0; round < 3; ++round) {
    shared_table[round * 13] = expected[round * 13] = 50 + round;
    use_shared<<<1, 32>>>(data, shared_table);  // one wave: all lanes read before any writes
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < 32; ++i) expected[i] += 2 * expected[i + 1];
    for (int i = 0; i < 64; ++i) expect(shared_table[i] == expected[i], "managed variable");
  }
  expect(shared_total == 31, "managed counter");
  int total = 0;
  CHECK(hipMemcpy(&total, &shared_total, sizeof(total), hipMemcpyDefault));
  expect(total == 31, "copy of a managed variable");
  shared_total = 5;
}

// Memory holds numbers that equal addresses of code which is loaded later, where a former module was.
static void stale(const char* module_path) {
  hipModule_t module;
  hipDeviceptr_t counter;
  size_t bytes = 0;
  CHECK(hipModuleLoad(&module, module_path));
  CHECK(hipModuleGetGlobal(&counter, &bytes, module, "module_counter"));
  const uintptr_t code = reinterpret_cast<uintptr_t>(counter) - 0x100;
  CHECK(hipModuleUnload(module));
  uintptr_t numbers[64] = {};
  numbers[40] = code;
  numbers[41] = code + 8;
  int* device = nullptr;
  int* pinned = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&device), sizeof(numbers)));
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), sizeof(numbers), 0));
  CHECK(hipMemcpy(device, numbers, sizeof(numbers), hipMemcpyHostToDevice));
  memcpy(pinned, numbers, sizeof(numbers));
  int by = 5;
  hipFunction_t increment;
  CHECK(hipModuleLoad(&module, module_path));
  CHECK(hipModuleGetFunction(&increment, module, "module_increment"));
  for (int* data : {device, pinned}) {
    void* arguments[] = {&data, &by};
    CHECK(hipModuleLaunchKernel(increment, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
    CHECK(hipDeviceSynchronize());
  }
  uintptr_t got[64];
  CHECK(hipMemcpy(got, device, sizeof(got), hipMemcpyDeviceToHost));
  expect(got[41] == code + 8 && pinned[63] == 5 && static_cast<int>(got[0]) == 5, "stale");
  CHECK(hipFree(device));
  CHECK(hipHostFree(pinned));
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "launches" && argc > 2) {
    launches(argv[2]);
  } else if (mode == "stale" && argc > 2) {
    stale(argv[2]);
  } else if (mode == "cooperative") {
    cooperative();
  } else if (mode == "per_thread") {
    per_thread();
  } else if (mode == "copies") {
    linear_copies();
    box_copies();
    plane_copies();
  } else if (mode == "memory") {
    memory();
  } else if (mode == "symbols") {
    symbols();
  } else if (mode == "managed") {
    managed_variables();
  } else {
    return 2;
  }
  std::printf("ok\n");
  return 0;
}
