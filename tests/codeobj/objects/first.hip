#include <hip/hip_runtime.h>
extern "C" __global__ void first_kernel(int* p) { p[threadIdx.x] = 1; }
void call_first(int* p) { first_kernel<<<1, 32>>>(p); }
