// Kernels that wait for a flag: nobody sets it, or the host or another stream does after a while;
// and kernels that take and give back a lock, count, or read the clock, in vain.
#include "../check.h"

#include <chrono>
#include <cstring>
#include <thread>

__device__ unsigned load(const unsigned* p) {
  return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__global__ void set(unsigned* flag, unsigned value) { *flag = value; }
__global__ void wait_for(const unsigned* flag, unsigned* out) {
  while (load(flag) == 0) __builtin_amdgcn_s_sleep(1);
  out[blockIdx.x * blockDim.x + threadIdx.x] = 7;
}
__global__ void ask_and_wait(const unsigned* flag) {
  if (threadIdx.x == 0) printf("asked\n");
  while (load(flag) == 0) __builtin_amdgcn_s_sleep(1);
}

// These change something at every turn, for ever.
__global__ void count_for_ever(const unsigned* flag, unsigned* out) {
  unsigned tries = 0;
  while (load(flag) == 0) ++tries;
  out[blockIdx.x * blockDim.x + threadIdx.x] = tries;
}
__global__ void clock_for_ever(const unsigned* flag, unsigned* out) {
  long long waited = 0;
  while (load(flag) == 0) {
    const long long begin = clock64();
    __builtin_amdgcn_s_sleep(1);
    waited += clock64() - begin;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<unsigned>(waited);
}
__global__ void lock_for_ever(unsigned* lock) {
  for (;;) {
    while (atomicCAS(lock, 0u, 1u) != 0) __builtin_amdgcn_s_sleep(1);
    const bool found = load(lock + 1) != 0;
    __hip_atomic_store(lock, 0u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    if (found) return;
  }
}
// Gets to its end after many turns.
__global__ void count(unsigned* out, unsigned long long turns) {
  unsigned sum = 0;
  for (unsigned long long n = 0; n < turns; ++n) {
    sum += static_cast<unsigned>(n);
    asm volatile("" : "+v"(sum));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(700)); }

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const char* const mode = argv[1];
  unsigned *flag = nullptr, *host_flag = nullptr, *out = nullptr;
  HIP_OK(hipMalloc(&flag, 4));
  HIP_OK(hipMalloc(&out, 128 * 4));
  HIP_OK(hipHostMalloc(&host_flag, 4, hipHostMallocCoherent));
  *host_flag = 0;
  hipStream_t waiting, other;
  HIP_OK(hipStreamCreateWithFlags(&waiting, hipStreamNonBlocking));
  HIP_OK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  set<<<1, 1, 0, waiting>>>(flag, 0);
  if (std::strcmp(mode, "lock") == 0) {
    unsigned* lock = nullptr;
    HIP_OK(hipMalloc(&lock, 8));
    HIP_OK(hipMemset(lock, 0, 8));
    HIP_OK(hipDeviceSynchronize());
    lock_for_ever<<<2, 1, 0, waiting>>>(lock);
    (void)hipDeviceSynchronize();
    return done();
  }
  if (std::strcmp(mode, "counting") == 0 || std::strcmp(mode, "clock") == 0) {
    (mode[1] == 'o' ? count_for_ever : clock_for_ever)<<<2, 64, 0, waiting>>>(flag, out);
    (void)hipDeviceSynchronize();
    return done();
  }
  // Somebody else's flag is seen under the lock after a while.
  if (std::strcmp(mode, "helped") == 0) {
    unsigned* lock = nullptr;
    HIP_OK(hipMalloc(&lock, 8));
    HIP_OK(hipMemset(lock, 0, 8));
    HIP_OK(hipDeviceSynchronize());
    lock_for_ever<<<2, 1, 0, waiting>>>(lock);
    pause();
    set<<<1, 1, 0, other>>>(lock + 1, 1);
    HIP_OK(hipDeviceSynchronize());
    return done();
  }
  if (std::strcmp(mode, "long") == 0) {
    count<<<2, 64>>>(out, 40'000'000);
    unsigned host[128] = {};
    HIP_OK(hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost));
    CHECK(host[0] == host[127] && host[5] == 2191577856u);
    return done();
  }
  if (std::strcmp(mode, "asked") == 0)
    ask_and_wait<<<1, 32, 0, waiting>>>(host_flag);
  else
    wait_for<<<2, 64, 0, waiting>>>(std::strcmp(mode, "host") == 0 ? host_flag : flag, out);
  if (std::strcmp(mode, "alone") != 0) pause();
  if (std::strcmp(mode, "stream") == 0) {
    set<<<1, 1, 0, other>>>(flag, 1);
    HIP_OK(hipStreamSynchronize(other));
  } else {
    __atomic_store_n(host_flag, 1u, __ATOMIC_SEQ_CST);
  }
  (void)hipStreamSynchronize(waiting);
  if (std::strcmp(mode, "host") == 0 || std::strcmp(mode, "stream") == 0) {
    unsigned host[128] = {};
    HIP_OK(hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost));
    CHECK(host[0] == 7 && host[127] == 7);
  }
  return done();
}
