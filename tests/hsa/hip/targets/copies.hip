// copies [PROCESSOR LANES LDS CUS]: what HIP's copies and fills leave, and the properties of the device if they are given. On the null
// device of a target (docs/production/targets.md) and on the emulated one.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../check.h"

__global__ void writes_one(int* out) { *out = 1; }

namespace {

constexpr size_t kBytes = 1 << 20;
constexpr size_t kRows = 20;

struct Buffer {
  Buffer() : expected(kBytes) {
    HIP_OK(hipMalloc(reinterpret_cast<void**>(&device), kBytes));
    clear();
  }
  ~Buffer() { HIP_OK(hipFree(device)); }
  void clear() {
    HIP_OK(hipMemset(device, 0, kBytes));
    std::fill(expected.begin(), expected.end(), 0);
  }
  void compare(const char* what) {
    std::vector<uint8_t> now(kBytes);
    HIP_OK(hipMemcpy(now.data(), device, kBytes, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < kBytes; ++i) {
      if (now[i] == expected[i]) continue;
      std::printf("%s: byte %zu is %d, not %d\n", what, i, now[i], expected[i]);
      std::exit(1);
    }
  }
  uint8_t* device = nullptr;
  std::vector<uint8_t> expected;
};

void repeat(uint8_t* to, const void* value, size_t size, size_t count) {
  for (size_t i = 0; i < count; ++i) std::memcpy(to + i * size, value, size);
}

void linear(Buffer& a, const std::vector<uint8_t>& source) {
  const uint32_t word = 0x01020304;
  const uint16_t half = 0x0a0b;
  for (const size_t at : {size_t{0}, size_t{8}, size_t{64}, size_t{4096}}) {
    for (const size_t size : {4, 8, 1000, 65536, 70004}) {
      HIP_OK(hipMemset(a.device + at, 0x5a, size));
      std::memset(&a.expected[at], 0x5a, size);
      HIP_OK(hipMemcpy(a.device + 2 * at, source.data(), size, hipMemcpyHostToDevice));
      std::memcpy(&a.expected[2 * at], source.data(), size);
      HIP_OK(hipMemsetD32Async(a.device + 4 * at, static_cast<int>(word), size / 4, nullptr));
      repeat(&a.expected[4 * at], &word, 4, size / 4);
      HIP_OK(hipMemsetD16Async(a.device + 6 * at, half, size / 2, nullptr));
      repeat(&a.expected[6 * at], &half, 2, size / 2);
      a.compare("linear");
    }
  }
}

void on_device(Buffer& to, const Buffer& from) {
  for (const size_t at : {0, 3, 4, 16}) {
    for (const size_t size : {1, 4, 16, 1001, 300000}) {
      to.clear();
      HIP_OK(hipMemcpy(to.device + at, from.device + 2 * at + 16, size, hipMemcpyDeviceToDevice));
      std::memcpy(&to.expected[at], &from.expected[2 * at + 16], size);
      to.compare("device to device");
    }
  }
}

void rows(Buffer& to, const Buffer& from, const std::vector<uint8_t>& source) {
  constexpr size_t kSet = 65536, kHost = 131072, kFrom = 512, kSource = 300;
  for (const size_t width : {7, 64, 100}) {
    for (const size_t pitch : {129, 256, 260}) {
      to.clear();
      HIP_OK(hipMemcpy2D(to.device + 32, pitch, from.device, kFrom, width, kRows,
                         hipMemcpyDeviceToDevice));
      HIP_OK(hipMemset2D(to.device + kSet, kFrom, 0x77, width, kRows));
      HIP_OK(hipMemcpy2D(to.device + kHost, pitch, source.data(), kSource, width, kRows,
                         hipMemcpyHostToDevice));
      for (size_t y = 0; y < kRows; ++y) {
        std::memcpy(&to.expected[32 + y * pitch], &from.expected[y * kFrom], width);
        std::memset(&to.expected[kSet + y * kFrom], 0x77, width);
        std::memcpy(&to.expected[kHost + y * pitch], &source[y * kSource], width);
      }
      to.compare("rows");
    }
  }
}

void stream_values(Buffer& a) {
  auto* const words = reinterpret_cast<uint64_t*>(a.device);
  if (hipStreamWriteValue64(nullptr, words, 0x1122334455667788, 0) != hipSuccess) return;
  HIP_OK(hipStreamWaitValue64(nullptr, words, 0x1122334455667788, hipStreamWaitValueEq,
                              ~uint64_t{0}));
  const uint64_t value = 0x1122334455667788;
  std::memcpy(a.expected.data(), &value, sizeof(value));
  a.compare("stream value");
}

}  // namespace

int main(int argc, char** argv) {
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  const std::string arch = properties.gcnArchName;
  if (argc == 5) {
    std::printf("%s: %s, %d lanes, %zu bytes of LDS, %d compute units\n", properties.name,
                arch.c_str(), properties.warpSize, properties.sharedMemPerBlock,
                properties.multiProcessorCount);
    CHECK(arch == argv[1]);
    CHECK(properties.warpSize == std::atoi(argv[2]));
    CHECK(properties.sharedMemPerBlock == static_cast<size_t>(std::atoi(argv[3])) << 10);
    CHECK(properties.multiProcessorCount == std::atoi(argv[4]));
  }
  std::vector<uint8_t> source(kBytes);
  for (size_t i = 0; i < kBytes; ++i) source[i] = static_cast<uint8_t>(i * 7 + i / 251);
  Buffer a, b;
  linear(a, source);
  on_device(b, a);
  rows(b, a, source);
  stream_values(b);
  // The null device leaves a kernel's memory alone.
  b.clear();
  writes_one<<<1, 1>>>(reinterpret_cast<int*>(b.device));
  HIP_OK(hipGetLastError());
  HIP_OK(hipDeviceSynchronize());
  if (std::string(properties.name).find("null") == std::string::npos) b.expected[0] = 1;
  b.compare("kernel");
  return done();
}
