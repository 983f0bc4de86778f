// y = a * x + y over a length that is no multiple of the wavefront: the last wave is partly masked.
#include "sample.h"

__global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __builtin_fmaf(a, x[i], y[i]);
}

int main() {
  constexpr int kCount = 10007;
  constexpr float kFactor = 2.5f;
  const std::vector<float> x = sample::random_floats(kCount, 1);
  std::vector<float> expected = sample::random_floats(kCount, 2);

  float* device_x = sample::to_device(x);
  float* device_y = sample::to_device(expected);
  saxpy<<<sample::blocks(kCount, 256), 256>>>(kFactor, device_x, device_y, kCount);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());

  for (int i = 0; i < kCount; ++i) expected[i] = std::fma(kFactor, x[i], expected[i]);
  const bool passed = sample::same("y", sample::to_host(device_y, kCount), expected);
  HIP_CHECK(hipFree(device_x));
  HIP_CHECK(hipFree(device_y));
  return sample::finish("saxpy", passed);
}
