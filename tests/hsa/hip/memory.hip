// Allocation, copies in one, two and three dimensions, fills, pinned, registered, managed and pitched memory.
#include <cstring>
#include <numeric>
#include <vector>

#include "check.h"

static void linear(size_t count) {
  std::vector<int> in(count), out(count);
  std::iota(in.begin(), in.end(), 3);
  int *a = nullptr, *b = nullptr;
  HIP_OK(hipMalloc(&a, count * 4));
  HIP_OK(hipMalloc(&b, count * 4));
  HIP_OK(hipMemcpy(a, in.data(), count * 4, hipMemcpyHostToDevice));
  HIP_OK(hipMemcpy(b, a, count * 4, hipMemcpyDeviceToDevice));
  HIP_OK(hipMemcpy(out.data(), b, count * 4, hipMemcpyDeviceToHost));
  CHECK(in == out);
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  HIP_OK(hipMemsetAsync(b, 0, count * 4, stream));
  HIP_OK(hipMemcpyAsync(b, a, count * 2, hipMemcpyDeviceToDevice, stream));
  HIP_OK(hipMemcpyAsync(out.data(), b, count * 4, hipMemcpyDeviceToHost, stream));
  HIP_OK(hipStreamSynchronize(stream));
  for (size_t i = 0; i < count; ++i) CHECK(out[i] == (i < count / 2 ? in[i] : 0));
  HIP_OK(hipStreamDestroy(stream));
  HIP_OK(hipFree(a));
  HIP_OK(hipFree(b));
}

static void fills() {
  unsigned char* memory = nullptr;
  std::vector<unsigned char> out(10001);
  HIP_OK(hipMalloc(&memory, out.size()));
  HIP_OK(hipMemset(memory, 0x5a, out.size()));
  HIP_OK(hipMemsetD8(memory + 1, 1, 7));
  HIP_OK(hipMemsetD16(memory + 100, 0x0302, 5));
  HIP_OK(hipMemsetD32(memory + 200, 0x07060504, 9));
  HIP_OK(hipMemcpy(out.data(), memory, out.size(), hipMemcpyDeviceToHost));
  CHECK(out[0] == 0x5a && out[1] == 1 && out[7] == 1 && out[8] == 0x5a && out[10000] == 0x5a);
  CHECK(out[100] == 2 && out[109] == 3 && out[110] == 0x5a);
  CHECK(out[200] == 4 && out[235] == 7 && out[236] == 0x5a);
  HIP_OK(hipFree(memory));
}

static void two_dimensions() {
  const size_t width = 100, height = 50;
  void* device = nullptr;
  size_t pitch = 0;
  HIP_OK(hipMallocPitch(&device, &pitch, width, height));
  CHECK(pitch >= width);
  std::vector<unsigned char> in(width * height), out(width * height);
  std::iota(in.begin(), in.end(), static_cast<unsigned char>(0));
  HIP_OK(hipMemset2D(device, pitch, 0xff, width, height));
  HIP_OK(hipMemcpy2D(device, pitch, in.data(), width, width / 2, height, hipMemcpyHostToDevice));
  HIP_OK(hipMemcpy2D(out.data(), width, device, pitch, width, height, hipMemcpyDeviceToHost));
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      CHECK(out[y * width + x] == (x < width / 2 ? in[y * width + x] : 0xff));
    }
  }
  HIP_OK(hipFree(device));
}

static void three_dimensions() {
  const hipExtent extent = make_hipExtent(40, 12, 6);
  hipPitchedPtr device;
  HIP_OK(hipMalloc3D(&device, extent));
  std::vector<unsigned char> in(40 * 12 * 6), out(in.size());
  std::iota(in.begin(), in.end(), static_cast<unsigned char>(9));
  hipMemcpy3DParms copy;
  std::memset(&copy, 0, sizeof(copy));
  copy.srcPtr = make_hipPitchedPtr(in.data(), 40, 40, 12);
  copy.dstPtr = device;
  copy.extent = extent;
  copy.kind = hipMemcpyHostToDevice;
  HIP_OK(hipMemcpy3D(&copy));
  copy.srcPtr = device;
  copy.dstPtr = make_hipPitchedPtr(out.data(), 40, 40, 12);
  copy.kind = hipMemcpyDeviceToHost;
  HIP_OK(hipMemcpy3D(&copy));
  CHECK(in == out);
  HIP_OK(hipFree(device.ptr));
}

__global__ void add_one(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

static void host_memory() {
  const int n = 5000;
  int* pinned = nullptr;
  HIP_OK(hipHostMalloc(&pinned, n * 4));
  std::vector<int> registered(n, 10);
  int* managed = nullptr;
  HIP_OK(hipMallocManaged(&managed, n * 4));
  int* device_view = nullptr;
  HIP_OK(hipHostRegister(registered.data(), n * 4, hipHostRegisterDefault));
  HIP_OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_view), registered.data(), 0));
  for (int i = 0; i < n; ++i) pinned[i] = managed[i] = i;
  add_one<<<(n + 63) / 64, 64>>>(pinned, n);
  add_one<<<(n + 63) / 64, 64>>>(managed, n);
  add_one<<<(n + 63) / 64, 64>>>(device_view, n);
  HIP_OK(hipDeviceSynchronize());
  for (int i = 0; i < n; ++i) CHECK(pinned[i] == i + 1 && managed[i] == i + 1 && registered[i] == 11);
  HIP_OK(hipHostUnregister(registered.data()));
  HIP_OK(hipHostFree(pinned));
  HIP_OK(hipFree(managed));
}

static void pointer_attributes() {
  char* memory = nullptr;
  HIP_OK(hipMalloc(&memory, 1000));
  hipPointerAttribute_t attributes;
  HIP_OK(hipPointerGetAttributes(&attributes, memory + 10));
  CHECK(attributes.device == 0 && attributes.devicePointer == memory + 10);
  hipDeviceptr_t base = nullptr;
  size_t size = 0;
  HIP_OK(hipMemGetAddressRange(&base, &size, memory + 10));
  CHECK(base == memory && size == 1000);
  size_t free_bytes = 0, total = 0;
  HIP_OK(hipMemGetInfo(&free_bytes, &total));
  CHECK(free_bytes > 0 && free_bytes <= total);
  HIP_OK(hipFree(memory));
  void* too_much = nullptr;
  CHECK(hipMalloc(&too_much, size_t{1} << 44) == hipErrorOutOfMemory);
}

int main() {
  for (const size_t count : {2, 14, 1000, 30000, 3000000}) linear(count);
  fills();
  two_dimensions();
  three_dimensions();
  host_memory();
  pointer_attributes();
  return done();
}
