// Kernels that end the device: a failed assert and a trap. argv[1] says which one. HIP itself tells
// the program nothing (docs/software-agent.md): the agent does, and changes the exit status.
#include <cassert>
#include <cstring>

#include "../check.h"

__global__ void asserts(int n) { assert(static_cast<int>(threadIdx.x) < n); }

__global__ void traps(int n) {
  if (static_cast<int>(threadIdx.x) >= n) __builtin_trap();
}

int main(int, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool by_assert = std::strcmp(argv[1], "assert") == 0;
  // What holds does no harm.
  asserts<<<2, 40>>>(40);
  traps<<<2, 40>>>(40);
  HIP_OK(hipDeviceSynchronize());
  std::puts("good so far");
  std::fflush(stdout);
  if (by_assert) asserts<<<1, 40>>>(39);
  else traps<<<1, 40>>>(39);
  std::printf("hipDeviceSynchronize: %s\n", hipGetErrorName(hipDeviceSynchronize()));
  void* more = nullptr;
  std::printf("hipMalloc: %s\n", hipGetErrorName(hipMalloc(&more, 1)));
  return done();
}
