// printf from a kernel: device code calls the host through memory, a signal and a message.
#include "check.h"

__global__ void speak(int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) printf("lane %d says %s %g\n", i, "hello", i * 0.5);
}

int main() {
  speak<<<1, 64>>>(40);
  HIP_OK(hipDeviceSynchronize());
  return done();
}
