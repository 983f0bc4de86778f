// Buffers that come and go: each round allocates, uses and frees one of MIB MiB. lives ROUNDS MIB
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../../../samples/sample.h"

namespace {

constexpr uint32_t kThreads = 64;

__global__ void set(uint32_t* words, uint32_t value) { words[threadIdx.x] = value + threadIdx.x; }
__global__ void add(const uint32_t* words, uint32_t* sum) { sum[threadIdx.x] += words[threadIdx.x]; }

void rounds(uint32_t count, size_t bytes, uint32_t* sum) {
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t* words = nullptr;
    HIP_CHECK(hipMalloc(&words, bytes));
    HIP_CHECK(hipMemset(words, static_cast<int>(i), bytes));
    set<<<1, kThreads>>>(words, i);
    add<<<1, kThreads>>>(words, sum);
    add<<<1, kThreads>>>(words + bytes / sizeof(uint32_t) - kThreads, sum);
    HIP_CHECK(hipFree(words));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const uint32_t count = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 48;
  const size_t bytes = (argc > 2 ? static_cast<size_t>(std::atoi(argv[2])) : 8) << 20;
  uint32_t* sum = nullptr;
  HIP_CHECK(hipMalloc(&sum, kThreads * sizeof(uint32_t)));
  HIP_CHECK(hipMemset(sum, 0, kThreads * sizeof(uint32_t)));
  rounds(count, bytes, sum);
  std::vector<uint32_t> got(kThreads);
  HIP_CHECK(hipMemcpy(got.data(), sum, kThreads * sizeof(uint32_t), hipMemcpyDeviceToHost));
  HIP_CHECK(hipFree(sum));
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    uint32_t expected = 0;
    for (uint32_t i = 0; i < count; ++i) expected += i + thread + (i & 0xff) * 0x01010101u;
    if (got[thread] == expected) continue;
    std::printf("%u: %u instead of %u\n", thread, got[thread], expected);
    return 1;
  }
  std::printf("%u\n", got[0]);
  return 0;
}
