// Loaded with hipModuleLoadData by program_forms, and read by the unit tests.
#include <hip/hip_runtime.h>

__device__ int module_counter;

struct Pointers {
  float* first;
  int number;
  int other;
  float* second;
};

extern "C" __global__ void module_increment(int* data, int by) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < 64) data[i] += by;
  if (i == 0) module_counter += 1;
}

extern "C" __global__ void takes_struct(Pointers pointers, unsigned long long plain, float* out) {
  out[threadIdx.x] =
      pointers.first[threadIdx.x] + pointers.second[threadIdx.x] +
      static_cast<float>(plain + static_cast<unsigned>(pointers.number + pointers.other));
}
