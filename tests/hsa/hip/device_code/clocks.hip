// The device clock through HIP: it rises over waves and launches, waits by it end, its rates are those that HIP reports,
// and all that it reads is the same with any number of threads (the output is compared).
#include <vector>

#include "../check.h"

using Clock = unsigned long long;

__global__ void read(Clock* out) {
  const Clock shader = clock64();
  const Clock wall = __builtin_amdgcn_s_memrealtime();
  if (threadIdx.x % 32 != 0) return;
  Clock* const mine = out + 2 * ((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  mine[0] = shader;
  mine[1] = wall;
}
// As the delay kernels of test suites do.
__global__ void wait_asleep(Clock ticks) {
  const Clock begin = clock64();
  while (clock64() - begin < ticks) __builtin_amdgcn_s_sleep(10);
}
__global__ void wait_by_wall_clock(Clock ticks, Clock* shader_clocks) {
  const Clock begin = __builtin_amdgcn_s_memrealtime();
  const Clock shader_begin = clock64();
  while (__builtin_amdgcn_s_memrealtime() - begin < ticks) __builtin_amdgcn_s_sleep(10);
  *shader_clocks = clock64() - shader_begin;
}

int main() {
  constexpr int kWaves = 40;
  constexpr int kLaunches = 3;
  Clock* out = nullptr;
  HIP_OK(hipMalloc(&out, sizeof(Clock) * 2 * kWaves * kLaunches));
  for (int n = 0; n < kLaunches; ++n) {
    read<<<kWaves / 4, 128>>>(out + 2 * kWaves * n);
    wait_asleep<<<4, 64>>>(100000);
  }
  std::vector<Clock> read_back(2 * kWaves * kLaunches);
  HIP_OK(hipMemcpy(read_back.data(), out, read_back.size() * sizeof(Clock), hipMemcpyDeviceToHost));
  for (int n = 1; n < kWaves * kLaunches; ++n) {
    CHECK(read_back[2 * n] > read_back[2 * n - 2]);
    CHECK(read_back[2 * n + 1] >= read_back[2 * n - 1]);
    if (n % kWaves == 0) CHECK(read_back[2 * n] - read_back[2 * n - 2] >= 100000 - 100);
  }
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  Clock shader_clocks = 0;
  wait_by_wall_clock<<<1, 1>>>(static_cast<Clock>(properties.clockInstructionRate) * 10, out);  // 10 ms
  HIP_OK(hipMemcpy(&shader_clocks, out, sizeof(shader_clocks), hipMemcpyDeviceToHost));
  const Clock expected = static_cast<Clock>(properties.clockRate) * 10;
  CHECK(shader_clocks >= expected && shader_clocks < expected + expected / 1000);
  for (const Clock value : read_back) std::printf("%llu\n", value);
  std::printf("%llu\n", shader_clocks);
  return done();
}
