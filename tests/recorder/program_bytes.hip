// Legal programs whose copies read bytes at a particular moment, or that HIP refuses, each with an
// answer computed on the host: program_bytes MODE; prints "ok".
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "program.h"

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void add(int* data, int by) { data[threadIdx.x] += by; }
__global__ void set(int* data, int value) { data[threadIdx.x] = value; }
__global__ void work(unsigned long long* word, int rounds) {
  unsigned long long value = *word;
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  *word = value | 1;
}

static int* device_buffer(int value = 0) {
  int* data = nullptr;
  CHECK(hipMalloc(&data, kBytes));
  CHECK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(data), value, kCount));
  CHECK(hipDeviceSynchronize());
  return data;
}

static std::vector<int> read(const int* device) {
  std::vector<int> values(kCount);
  CHECK(hipMemcpy(values.data(), device, kBytes, hipMemcpyDeviceToHost));
  return values;
}

static void expect_all(const int* device, int value, const char* what) {
  const std::vector<int> values = read(device);
  if (values != std::vector<int>(kCount, value)) std::printf("%d, not %d: ", values[0], value);
  expect(values == std::vector<int>(kCount, value), what);
}

static void keep_busy(hipStream_t stream) {
  static unsigned long long* word = nullptr;
  if (word == nullptr) {
    CHECK(hipMalloc(&word, 8));
    CHECK(hipMemset(word, 0, 8));
  }
  work<<<1, 1, 0, stream>>>(word, 100000);
}

static hipStream_t new_stream() {
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

// What HIP refuses must not reach the program's memory, and is no part of the trace.
static void refused() {
  hipStream_t stream = new_stream();
  int* data = device_buffer(5);
  int calls = 0;
  const auto refuse = [&](hipError_t result, const char* what) {
    expect(result != hipSuccess, what);
    ++calls;
    (void)hipGetLastError();
  };
  refuse(hipMemcpy(data, nullptr, kBytes, hipMemcpyHostToDevice), "hipMemcpy");
  refuse(hipMemcpyAsync(data, nullptr, kBytes, hipMemcpyHostToDevice, stream), "hipMemcpyAsync");
  refuse(hipMemcpyWithStream(data, nullptr, kBytes, hipMemcpyHostToDevice, stream), "WithStream");
  refuse(hipMemcpyHtoD(data, nullptr, kBytes), "hipMemcpyHtoD");
  refuse(hipMemcpyHtoDAsync(data, nullptr, kBytes, stream), "hipMemcpyHtoDAsync");
  refuse(hipMemcpy2D(data, 16, nullptr, 16, 16, 4, hipMemcpyHostToDevice), "hipMemcpy2D");
  static char rows[256];
  refuse(hipMemcpy2D(data, 16, rows, 8, 16, 4, hipMemcpyHostToDevice), "a pitch below the width");
  refuse(hipMemcpy2DAsync(data, 16, nullptr, 16, 16, 4, hipMemcpyHostToDevice, stream), "2DAsync");
  hipMemcpy3DParms box{};
  box.dstPtr = make_hipPitchedPtr(data, 16, 16, 4);
  box.srcPtr = make_hipPitchedPtr(nullptr, 16, 16, 4);
  box.extent = make_hipExtent(16, 4, 1);
  box.kind = hipMemcpyHostToDevice;
  refuse(hipMemcpy3D(&box), "hipMemcpy3D");
  refuse(hipMemcpy3DAsync(&box, stream), "hipMemcpy3DAsync");
  hip_Memcpy2D plane{};
  plane.srcMemoryType = hipMemoryTypeHost;
  plane.dstMemoryType = hipMemoryTypeDevice;
  plane.dstDevice = data;
  plane.WidthInBytes = 16;
  plane.Height = 4;
  refuse(hipMemcpyParam2D(&plane), "hipMemcpyParam2D");
  plane.srcHost = rows;
  plane.dstPitch = 0x7fffffff;
  refuse(hipMemcpyParam2D(&plane), "hipMemcpyParam2D with a huge pitch");
  refuse(hipMemcpy2D(data, 0x7fffffff, rows, 16, 16, 4, hipMemcpyHostToDevice), "a huge pitch");
  HIP_MEMCPY3D driver{};
  driver.srcMemoryType = hipMemoryTypeHost;
  driver.dstMemoryType = hipMemoryTypeDevice;
  driver.dstDevice = data;
  driver.WidthInBytes = 16;
  driver.Height = 4;
  driver.Depth = 1;
  refuse(hipDrvMemcpy3D(&driver), "hipDrvMemcpy3D");
  refuse(hipGraphLaunch(nullptr, stream), "hipGraphLaunch");
  add<<<1, kCount, 0, stream>>>(data, 1);
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, 6, "the data");
  std::printf("%d refused\n", calls);
}

// A stream callback fills the source of a copy that waits behind it.
static void callback_source() {
  hipStream_t stream = new_stream();
  int* data = device_buffer(0);
  static int source[kCount];
  keep_busy(stream);
  CHECK(hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t, void* filled) {
        for (int i = 0; i < kCount; ++i) static_cast<int*>(filled)[i] = 42;
      },
      source, 0));
  CHECK(hipMemcpyAsync(data, source, kBytes, hipMemcpyHostToDevice, stream));
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, 42, "what the callback wrote");
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::pair<const char*, void (*)()> modes[] = {{"refused", refused},
                                                      {"callback_source", callback_source}};
  for (const auto& [name, function] : modes) {
    if (mode != name) continue;
    function();
    std::printf("ok\n");
    return 0;
  }
  return 2;
}
