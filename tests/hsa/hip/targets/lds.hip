// lds: a launch with all LDS that the device has for a workgroup is accepted, one byte more is not.
#include "sample.h"

__global__ void sum_of_lds(int* out, int words) {
  extern __shared__ int lds[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) lds[i] = i;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < words; ++i) sum += lds[i];
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

int main() {
  hipDeviceProp_t properties;
  HIP_CHECK(hipGetDeviceProperties(&properties, 0));
  const auto most = static_cast<unsigned>(properties.sharedMemPerBlock);
  constexpr int kBlocks = 2;
  int* const out = sample::to_device(std::vector<int>(kBlocks));
  const auto kernel = reinterpret_cast<const void*>(sum_of_lds);
  bool passed = true;
  if (hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize,
                          static_cast<int>(most)) != hipSuccess)
    (void)hipGetLastError();  // HIP needs no leave for it
  sum_of_lds<<<kBlocks, 64, most>>>(out, static_cast<int>(most / sizeof(int)));
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  sum_of_lds<<<kBlocks, 64, most + 64>>>(out, 1);
  passed = hipGetLastError() != hipSuccess;
  std::printf("%u bytes of LDS; more is %s\n", most, passed ? "refused" : "accepted");
  HIP_CHECK(hipFree(out));
  return sample::finish("lds", passed);
}
