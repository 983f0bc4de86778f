// A shared library with kernels: its constructor registers them before that of a preloaded library.
#include <hip/hip_runtime.h>

__device__ int scale = 3;

__global__ void scale_all(int* data, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) data[i] *= scale;
}

extern "C" hipError_t launch_scale(int* data, int count) {
  scale_all<<<(count + 63) / 64, 64>>>(data, count);
  return hipGetLastError();
}
