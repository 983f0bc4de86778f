// Calls that the samples do not make, so that replay meets the real runtime with them: pitched and
// 3D copies and memsets of every element size, pinned, registered and managed memory written by the
// host between launches, variables of a module, partial work, empty copies.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                    \
  do {                                                                 \
    const hipError_t error = (call);                                   \
    if (error != hipSuccess) {                                         \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorName(error)); \
      std::exit(1);                                                    \
    }                                                                  \
  } while (false)

__device__ int counters[64];
__constant__ int factors[64];

__global__ void scale(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factors[i % 64] + 1;
}

__global__ void count(const int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counters[i % 64], data[i] & 15);
}

__global__ void nothing() {}

int main() {
  int* data = nullptr;
  unsigned char* plane = nullptr;
  size_t pitch = 0;
  CHECK(hipMalloc(&data, 4096));
  CHECK(hipMemset(data, 3, 4096));
  CHECK(hipMallocPitch(reinterpret_cast<void**>(&plane), &pitch, 100, 32));
  CHECK(hipMemset2D(plane, pitch, 0x5a, 100, 32));
  CHECK(hipMemset2D(plane + 8, pitch, 0x11, 33, 7));

  std::vector<int> factor(64);
  for (int i = 0; i < 64; ++i) factor[i] = i * 3 + 1;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factors), factor.data(), 256));
  scale<<<16, 64>>>(data, 1000);
  count<<<16, 64>>>(data, 1000);
  nothing<<<1, 1>>>();

  CHECK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(data), 0x01020304, 17));
  CHECK(hipMemsetD16(reinterpret_cast<hipDeviceptr_t>(data + 40), 0xbeef, 9));
  CHECK(hipMemsetD8(reinterpret_cast<hipDeviceptr_t>(data + 60), 0x7f, 5));

  std::vector<unsigned char> host(100 * 32);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i * 7);
  CHECK(hipMemcpy2D(plane, pitch, host.data(), 100, 60, 20, hipMemcpyHostToDevice));
  unsigned char* other = nullptr;
  CHECK(hipMalloc(&other, pitch * 32));
  CHECK(hipMemset(other, 0, pitch * 32));
  CHECK(hipMemcpy2D(other, 64, plane, pitch, 60, 20, hipMemcpyDeviceToDevice));
  CHECK(hipMemcpy2D(host.data(), 100, plane, pitch, 100, 32, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(other, plane, 0, hipMemcpyDeviceToDevice));

  hipMemcpy3DParms box = {};
  box.srcPtr = make_hipPitchedPtr(plane, pitch, 100, 4);
  box.dstPtr = make_hipPitchedPtr(other + 32 * 64, 64, 64, 4);
  box.extent = make_hipExtent(50, 3, 2);
  box.kind = hipMemcpyDeviceToDevice;
  CHECK(hipMemcpy3D(&box));

  int* pinned = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), 1024, 0));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 256; ++i) pinned[i] = i * (round + 1);
    scale<<<4, 64>>>(pinned, 200);
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpyAsync(data + 256, pinned, 1024, hipMemcpyDefault, nullptr));
    CHECK(hipDeviceSynchronize());
  }
  static int registered[1024];
  for (int i = 0; i < 1024; ++i) registered[i] = i;
  CHECK(hipHostRegister(registered, sizeof(registered), 0));
  int* device_registered = nullptr;
  CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_registered), registered, 0));
  scale<<<16, 64>>>(device_registered, 1024);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(data, registered, 512, hipMemcpyDefault));
  int* managed = nullptr;
  if (hipMallocManaged(reinterpret_cast<void**>(&managed), 4096, hipMemAttachGlobal) ==
      hipSuccess) {
    for (int i = 0; i < 1024; ++i) managed[i] = -i;
    scale<<<16, 64>>>(managed, 1024);
    CHECK(hipDeviceSynchronize());
    managed[5] = 99;
    scale<<<16, 64>>>(managed, 10);
    CHECK(hipDeviceSynchronize());
  }
  int totals[64];
  CHECK(hipMemcpyFromSymbol(totals, HIP_SYMBOL(counters), sizeof(totals)));
  long sum = 0;
  for (int value : totals) sum += value;
  std::printf("odd_calls: %ld\n", sum);
  CHECK(hipHostUnregister(registered));
  CHECK(hipHostFree(pinned));
  CHECK(hipFree(data));
  return 0;
}
