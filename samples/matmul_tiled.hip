// C = A * B through 16 x 16 tiles in LDS; no dimension is a multiple of the tile.
#include "sample.h"

constexpr int kTile = 16;

__global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile + 1];
  const int column = blockIdx.x * kTile + threadIdx.x;
  const int row = blockIdx.y * kTile + threadIdx.y;
  float sum = 0.0f;
  for (int start = 0; start < k; start += kTile) {
    const int a_column = start + threadIdx.x;
    const int b_row = start + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < m && a_column < k ? a[row * k + a_column] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = b_row < k && column < n ? b[b_row * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) {
      sum = __builtin_fmaf(tile_a[threadIdx.y][i], tile_b[i][threadIdx.x], sum);
    }
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

int main() {
  constexpr int kM = 150, kN = 130, kK = 210;
  const std::vector<float> a = sample::random_floats(kM * kK, 3);
  const std::vector<float> b = sample::random_floats(kK * kN, 4);

  float* device_a = sample::to_device(a);
  float* device_b = sample::to_device(b);
  float* device_c = sample::device_alloc<float>(kM * kN);
  matmul_tiled<<<dim3(sample::blocks(kN, kTile), sample::blocks(kM, kTile)), dim3(kTile, kTile)>>>(
      device_a, device_b, device_c, kM, kN, kK);
  HIP_CHECK(hipGetLastError());

  // The same order of fused operations: the result must be equal bit for bit.
  std::vector<float> expected(kM * kN);
  for (int row = 0; row < kM; ++row) {
    for (int column = 0; column < kN; ++column) {
      float sum = 0.0f;
      for (int i = 0; i < kK; ++i) sum = std::fma(a[row * kK + i], b[i * kN + column], sum);
      expected[row * kN + column] = sum;
    }
  }
  const bool passed = sample::same("c", sample::to_host(device_c, kM * kN), expected);
  HIP_CHECK(hipFree(device_a));
  HIP_CHECK(hipFree(device_b));
  HIP_CHECK(hipFree(device_c));
  return sample::finish("matmul_tiled", passed);
}
