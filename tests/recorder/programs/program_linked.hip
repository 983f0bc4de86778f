// A program whose kernels all stand in a shared library that it is linked to.
#include "program.h"

extern "C" hipError_t launch_scale(int* data, int count);

int main() {
  constexpr int kCount = 100;
  int host[kCount];
  for (int i = 0; i < kCount; ++i) host[i] = i;
  int* data = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&data), sizeof(host)));
  CHECK(hipMemcpy(data, host, sizeof(host), hipMemcpyHostToDevice));
  CHECK(launch_scale(data, kCount));
  CHECK(hipMemcpy(host, data, sizeof(host), hipMemcpyDeviceToHost));
  CHECK(hipFree(data));
  for (int i = 0; i < kCount; ++i) {
    if (host[i] != 3 * i) return 1;
  }
  std::printf("ok\n");
  return 0;
}
