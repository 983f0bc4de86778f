// unordered_sum [race]: a sum of floats by atomics from many workgroups, whose last bits depend on their order, on any
// device; or a count of them by plain loads and stores. What does not depend on their order stands beside it.
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

__global__ void square(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * in[i];
}

__global__ void sum(const float* in, float* out) {
  float value = in[blockIdx.x * blockDim.x + threadIdx.x];
  // Long enough that workgroups on several threads of the agent overtake one another.
  for (int i = 0; i < 1000; ++i) value = value * 0.5f + value * 0.5f;
  atomicAdd(out, value);
}

__global__ void racing_count(volatile float* out) {
  if (threadIdx.x != 0) return;
  // Workgroups that run at the same time do not see each other's.
  const float before = *out;
  for (int i = 0; i < 5000; ++i) asm volatile("s_nop 0");
  *out = before + 1;
}

__global__ void scale(const float* in, float* out) { out[threadIdx.x] = in[0] * threadIdx.x; }

int main(int argc, char** argv) {
  const int count = 16384;
  std::vector<float> host(count);
  for (int i = 0; i < count; ++i) host[i] = (i % 7 - 3) * 1.37f * (i % 13 == 0 ? 1e5f : 1e-2f);
  float *in = nullptr, *squares = nullptr, *total = nullptr, *scaled = nullptr;
  CHECK(hipMalloc(&in, count * sizeof(float)));
  CHECK(hipMalloc(&squares, count * sizeof(float)));
  CHECK(hipMalloc(&total, sizeof(float)));
  CHECK(hipMalloc(&scaled, 64 * sizeof(float)));
  CHECK(hipMemcpy(in, host.data(), count * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemset(total, 0, sizeof(float)));
  square<<<count / 32, 32>>>(in, squares);
  if (argc > 1 && std::strcmp(argv[1], "race") == 0) {
    racing_count<<<count / 32, 32>>>(total);
  } else {
    sum<<<count / 32, 32>>>(in, total);
  }
  scale<<<1, 64>>>(total, scaled);
  float result = 0;
  CHECK(hipMemcpy(&result, total, sizeof(float), hipMemcpyDeviceToHost));
  std::printf("%.9g\n", result);
}
