// Kernels that waste the device, and their twins. One access of each kind per line.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void __launch_bounds__(64)

KERNEL strided(int* to, const int* from) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int value = from[32 * i];
  to[i] = value;
}
KERNEL strided_safe(int* to, const int* from) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int value = from[i];
  to[i] = value;
}

// A column of a tile: all lanes of one bank; and with rows that are one dword longer.
template <int kRow>
__device__ void column(int* to, const int* from) {
  __shared__ int tile[32 * kRow];
  const int i = static_cast<int>(threadIdx.x);
  tile[i % 32 * kRow] = from[i];
  __syncthreads();
  to[i] = tile[(31 - i % 32) * kRow];
}
KERNEL conflicts(int* to, const int* from) { column<32>(to, from); }
KERNEL conflicts_safe(int* to, const int* from) { column<33>(to, from); }

template <int kBytes>
__device__ void share(int* to, const int* from) {
  __shared__ int tile[kBytes / 4];
  const int i = static_cast<int>(threadIdx.x);
  tile[i] = from[i];
  __syncthreads();
  to[i] = tile[63 - i];
}
KERNEL much_lds(int* to, const int* from) { share<32768>(to, from); }
KERNEL much_lds_safe(int* to, const int* from) { share<1024>(to, from); }
