// A library with a kernel, for late.cpp: opened without global scope, it brings the HIP runtime with it.
#include <hip/hip_runtime.h>

__global__ void write_to(int* target) { *target = 1; }

// 0: a kernel that faults was launched, and waiting for it gives `wanted`, as does HIP's last error.
extern "C" int fault_in_plugin(int wanted) {
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  write_to<<<1, 1>>>(reinterpret_cast<int*>(0x123450000ull));
  if (hipDeviceSynchronize() != wanted) return 2;
  return hipGetLastError() == wanted ? 0 : 3;
}
// Launches it by a function that the caller has looked up.
extern "C" int launch_by(int (*launch)(const void*, dim3, dim3, void**, size_t, hipStream_t)) {
  int* target = reinterpret_cast<int*>(0x123450000ull);
  void* arguments[] = {&target};
  return launch(reinterpret_cast<void*>(write_to), dim3(1), dim3(1), arguments, 0, nullptr);
}
