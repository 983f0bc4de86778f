// Kernels of the emulator benchmark: one hot path each.
#include <hip/hip_runtime.h>

constexpr int kTile = 16;

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * kTile + y,
            column = static_cast<int>(blockIdx.x) * kTile + x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += kTile) {
    left[y][x] = a[row * n + tile + x];
    right[y][x] = b[(tile + y) * n + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += left[y][k] * right[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void fma_loop(float* out, int rounds, float factor) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  float v[8];
  for (int n = 0; n < 8; ++n) v[n] = static_cast<float>(item + n);
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int n = 0; n < 8; ++n) v[n] = __builtin_fmaf(v[n], factor, v[(n + 1) % 8]);
  float sum = 0;
  for (int n = 0; n < 8; ++n) sum += v[n];
  out[item] = sum;
}

extern "C" __global__ void reduce_lds(const float* in, float* out, int n) {
  __shared__ float part[256];
  const unsigned lane = threadIdx.x;
  float sum = 0;
  for (unsigned at = blockIdx.x * 256 + lane; at < static_cast<unsigned>(n); at += gridDim.x * 256)
    sum += in[at];
  part[lane] = sum;
  __syncthreads();
  for (unsigned step = 128; step > 0; step >>= 1) {
    if (lane < step) part[lane] += part[lane + step];
    __syncthreads();
  }
  if (lane == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void reduce_shuffle(const float* in, float* out, int n, int rounds) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  float total = 0;
  for (int r = 0; r < rounds; ++r) {
    float v = item < static_cast<unsigned>(n) ? in[item] : 0;
    for (int step = 16; step > 0; step >>= 1) v += __shfl_xor(v, step, 32);
    total += v;
  }
  if ((threadIdx.x & 31) == 0) out[item / 32] = total;
}

extern "C" __global__ void vadd(const float* a, const float* b, float* c, int n) {
  const int item = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (item < n) c[item] = a[item] + b[item];
}

extern "C" __global__ void histogram(const unsigned* in, unsigned* out, int n) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned at = blockIdx.x * 256 + threadIdx.x; at < static_cast<unsigned>(n);
       at += gridDim.x * 256)
    atomicAdd(&bins[in[at] & 255], 1u);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void empty() {}
