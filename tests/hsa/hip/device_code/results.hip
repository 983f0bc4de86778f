// Results of HIP that are no success, in a program without a fault: with HIP's errors in front (hsa/hip_errors)
// they are what they are with HIP alone.
#include "../check.h"

#include <atomic>
#include <thread>

__global__ void good(int* x) { x[threadIdx.x] = 2; }
__global__ void wait_for(const unsigned* flag) {
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(1);
}

int main() {
  int* x = nullptr;
  unsigned* flag = nullptr;
  hipStream_t stream;
  hipEvent_t before, after;
  HIP_OK(hipMalloc(&x, 64));
  HIP_OK(hipHostMalloc(&flag, 4, hipHostMallocCoherent));
  *flag = 0;
  HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  HIP_OK(hipEventCreate(&before));
  HIP_OK(hipEventCreate(&after));

  // Not ready, then ready.
  HIP_OK(hipEventRecord(before, stream));
  wait_for<<<1, 1, 0, stream>>>(flag);
  HIP_OK(hipEventRecord(after, stream));
  CHECK(hipStreamQuery(stream) == hipErrorNotReady);
  CHECK(hipEventQuery(after) == hipErrorNotReady);
  float ms = -1;
  CHECK(hipEventElapsedTime(&ms, before, after) == hipErrorNotReady);
  __atomic_store_n(flag, 1u, __ATOMIC_RELEASE);
  HIP_OK(hipEventSynchronize(after));
  HIP_OK(hipStreamQuery(stream));
  HIP_OK(hipEventElapsedTime(&ms, before, after));
  CHECK(ms >= 0);

  // Arguments that are wrong; the last error is kept, given once, and no more.
  (void)hipGetLastError();
  int host[16];
  void* more = nullptr;
  CHECK(hipMemcpy(nullptr, x, 64, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  CHECK(hipPeekAtLastError() == hipErrorInvalidValue);
  CHECK(hipGetLastError() == hipErrorInvalidValue);
  CHECK(hipGetLastError() == hipSuccess);
  CHECK(hipMalloc(&more, ~size_t{0} / 2) == hipErrorOutOfMemory);
  CHECK(hipGetLastError() == hipErrorOutOfMemory);
  CHECK(hipEventSynchronize(nullptr) == hipErrorInvalidHandle);
  CHECK(hipFree(host) == hipErrorInvalidValue);
  hipModule_t module;
  CHECK(hipModuleLoad(&module, "/nowhere/at/all.co") == hipErrorFileNotFound);
  (void)hipGetLastError();
  good<<<1, 1 << 20, 0, stream>>>(x);
  CHECK(hipGetLastError() != hipSuccess);

  good<<<1, 16, 0, stream>>>(x);
  HIP_OK(hipGetLastError());
  HIP_OK(hipStreamSynchronize(stream));
  HIP_OK(hipMemcpy(host, x, 64, hipMemcpyDeviceToHost));
  for (int value : host) CHECK(value == 2);
  return done();
}
