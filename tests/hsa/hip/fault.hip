// A kernel that writes far outside its buffer. HIP 5.2 has no way to say so; the process's exit status must.
#include "check.h"

__global__ void write_outside(int* x, long where) { x[where + threadIdx.x] = 1; }

int main() {
  int* x = nullptr;
  HIP_OK(hipMalloc(&x, 64));
  write_outside<<<1, 32>>>(x, 1L << 28);
  (void)hipDeviceSynchronize();
  int host[16];
  (void)hipMemcpy(host, x, 64, hipMemcpyDeviceToHost);
  void* more = nullptr;
  CHECK(hipMalloc(&more, 64) != hipSuccess);
  return done();
}
