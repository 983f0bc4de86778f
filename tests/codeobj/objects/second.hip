#include <hip/hip_runtime.h>
extern "C" __global__ void second_kernel(int* p) { p[threadIdx.x] = 2; }
void call_second(int* p) { second_kernel<<<1, 32>>>(p); }
