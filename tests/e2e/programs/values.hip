// What changing_values.cpp replays with other values: kernels with LDS, scratch, a large structure,
// a variable of the module, and hidden arguments. Each result depends on those before it.
#include <hip/hip_runtime.h>

#include <cstdio>

#include "../../../samples/sample.h"

namespace {

constexpr unsigned kBlock = 64, kMostBlocks = 16, kBlocks = 8;

struct Large {
  unsigned before[40];
  const unsigned* in;
  unsigned value;
};

}  // namespace

// Visible: graph mode finds the code by the address of a variable.
__device__ unsigned counter;

extern "C" __global__ void tile(unsigned* out, unsigned value) {
  __shared__ unsigned lane[kBlock];
  lane[threadIdx.x] = blockIdx.x * gridDim.x + value + threadIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] += lane[blockDim.x - 1 - threadIdx.x] * 3;
}

extern "C" __global__ void dynamic_tile(unsigned* out, unsigned value) {
  extern __shared__ unsigned part[];
  part[threadIdx.x] = out[threadIdx.x] ^ value;
  __syncthreads();
  out[threadIdx.x] = part[(threadIdx.x + value) % blockDim.x] + gridDim.x;
}

extern "C" __global__ void scratch(unsigned* out, unsigned value) {
  unsigned local[32];
  for (unsigned i = 0; i < 32; ++i) local[i] = out[threadIdx.x] * i + value;
  for (unsigned i = 0; i < 4; ++i) local[(value + i * threadIdx.x) % 32] += local[(value ^ i) % 32];
  out[threadIdx.x] = local[(value + threadIdx.x) % 32] + local[threadIdx.x % 32];
}

extern "C" __global__ void large(unsigned* out, Large arguments) {
  out[threadIdx.x] += arguments.in[threadIdx.x] * arguments.value + arguments.before[threadIdx.x % 40];
}

extern "C" __global__ void count(unsigned* out, unsigned value) {
  if (threadIdx.x == 0 && blockIdx.x == 0) out[0] ^= atomicAdd(&counter, value);
}

int main() {
  unsigned *out = nullptr, *in = nullptr;
  constexpr size_t kBytes = kBlock * kMostBlocks * sizeof(unsigned);
  HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&out), kBytes));
  HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&in), kBytes));
  HIP_CHECK(hipMemset(out, 0, kBytes));
  HIP_CHECK(hipMemset(in, 1, kBytes));
  Large arguments{};
  for (unsigned i = 0; i < 40; ++i) arguments.before[i] = i;
  arguments.in = in;
  arguments.value = 5;
  tile<<<kBlocks, kBlock>>>(out, 1);
  dynamic_tile<<<1, kBlock, kBlock * sizeof(unsigned)>>>(out, 2);
  scratch<<<1, kBlock>>>(out, 3);
  large<<<1, kBlock>>>(out, arguments);
  count<<<2, kBlock>>>(out, 7);
  unsigned result = 0;
  HIP_CHECK(hipMemcpy(&result, out, sizeof(result), hipMemcpyDeviceToHost));
  return sample::finish("values", result != 0);
}
