// Images are refused by the agent, and HIP claims none of them: what a program asks for before it uses them.
#include "check.h"

int main() {
  int images = -1;
  HIP_OK(hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, 0));
  CHECK(images == 0);
  int threads = 0;
  HIP_OK(hipDeviceGetAttribute(&threads, hipDeviceAttributeMaxThreadsPerBlock, 0));
  CHECK(threads == 1024);
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  CHECK(properties.maxTexture1D == 0 && properties.maxTexture2D[0] == 0);
  hipArray_t array = nullptr;
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  CHECK(hipMallocArray(&array, &format, 16, 16, 0) != hipSuccess);
  // This has nothing to do with images.
  void* pitched = nullptr;
  size_t pitch = 0;
  HIP_OK(hipMallocPitch(&pitched, &pitch, 100, 10));
  CHECK(pitch >= 100);
  HIP_OK(hipFree(pitched));
  return done();
}
