// Kernels whose footprints the test knows.
#include <hip/hip_runtime.h>

extern "C" {

__global__ void copy_guarded(float* to, const float* from, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}
__global__ void copy_all(float* to, const float* from) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i];
}
// Every second element, from the second one on.
__global__ void odd_elements(int* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[2 * i + 1] = static_cast<int>(i);
}
__global__ void count(unsigned* counter, const unsigned* from) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (from[i] != 0) atomicAdd(counter, 1);
}
__global__ void scatter(int* to, const int* index) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[index[i]] = 1;
}
__global__ void follow(int** lists) { *lists[threadIdx.x] = 1; }
__global__ void choose(int* a, int* b, int second) {
  int* const to = second > threadIdx.x ? a : b;
  to[threadIdx.x] = 1;
}
// The distance of two buffers leads from one into the other.
__global__ void cross(char* a, char* b, const int* from) {
  long apart = b - a + from[0];
  asm volatile("" : "+v"(apart));
  a[apart] = 1;
}
__global__ void keep_pointer(int* a, int* b) {
  __shared__ int* kept[64];
  kept[threadIdx.x] = threadIdx.x % 2 ? a : b;
  __syncthreads();
  *kept[63 - threadIdx.x] = 1;
}
// Lanes leave the loop one after another, and write after it.
__global__ void uneven_loop(int* to, const int* limits, int n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int k = 0; k < limits[i]; ++k) {
    if (k % 3 == 1) sum += limits[k];
    if (sum > n) break;
  }
  to[i] = sum;
}
__global__ void nested(int* to, const int* from, int n) {
  const unsigned i = threadIdx.x;
  if (from[i] > n) {
    if (from[i] > 2 * n)
      to[i] = 1;
    else
      to[i + 64] = 2;
  } else {
    to[i + 128] = 3;
  }
  to[i + 192] = 4;
}
__global__ void rows(float* to, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) to[y * width + x] = 1;
}
__device__ int variable;
__global__ void write_variable(int* from) { variable = *from; }
__constant__ const int kTable[4] = {1, 2, 3, 4};
__global__ void read_constant(int* to, int n) { to[threadIdx.x] = kTable[(n + threadIdx.x) & 3]; }
}
