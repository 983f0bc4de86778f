// device_calls KIND: kernels that call the host or the heap of device code. print, heap: runs well. overflow, after_free,
// twice: a block of malloc is used wrongly, so that its program does not notice. assert: the last launch fails an assertion.
#include <hip/hip_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                    \
  do {                                                                 \
    const hipError_t error = (call);                                   \
    if (error != hipSuccess) {                                         \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorName(error)); \
      std::exit(1);                                                    \
    }                                                                  \
  } while (false)

__global__ void print(int* to, int count) {
  printf("%s %d of %d\n", "lane", static_cast<int>(threadIdx.x), count);
  to[threadIdx.x] = count;
}
__global__ void heap(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  for (int i = 0; i < count; ++i) block[i] = i * i;
  to[threadIdx.x] = block[threadIdx.x % count];
  free(block);
}
__global__ void overflow(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  for (int i = 0; i < count; ++i) block[i] = i * i;
  to[threadIdx.x] = block[threadIdx.x % count];
  block[count] = 0;
  free(block);
}
__global__ void after_free(int* to, int count) {
  volatile int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  block[1] = 7;
  free(const_cast<int*>(block));
  to[threadIdx.x] = block[1] & 0;
}
__global__ void make(int** block, int count) { *block = static_cast<int*>(malloc(count * sizeof(int))); }
__global__ void release(int** block) { free(*block); }
__global__ void asserts(int* to, int count) {
  to[threadIdx.x] = count;
  assert(static_cast<int>(threadIdx.x) < count);
}

int main(int argc, char** argv) {
  const char* const kind = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* name) { return std::strcmp(kind, name) == 0; };
  int* to = nullptr;
  CHECK(hipMalloc(&to, 64 * sizeof(int)));
  CHECK(hipMemset(to, 0, 64 * sizeof(int)));
  if (is("print")) print<<<1, 64>>>(to, 5);
  if (is("heap")) heap<<<1, 64>>>(to, 5);
  if (is("overflow")) overflow<<<1, 64>>>(to, 5);
  if (is("after_free")) after_free<<<1, 64>>>(to, 5);
  if (is("assert")) asserts<<<1, 64>>>(to, 40);
  int** block = nullptr;
  CHECK(hipMalloc(&block, sizeof *block));
  if (is("twice")) {
    make<<<1, 1>>>(block, 5);
    release<<<1, 1>>>(block);
    release<<<1, 1>>>(block);
  }
  CHECK(hipDeviceSynchronize());
}
