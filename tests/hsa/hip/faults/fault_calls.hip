// What each HIP call answers after a kernel has faulted: one line per call. With HIP alone, fault_calls.5.2.txt
// has the answers of HIP 5.2.3, fault_calls.txt those of 5.7.1 and 6.4.3; under `gfxgraph run` all three give
// those of fault_calls.run.txt. docs/software-agent.md explains them.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void write_outside(int* x, long where) { x[where + threadIdx.x] = 1; }
__global__ void write_inside(int* x) { x[threadIdx.x] = 2; }

static void say(const char* call, hipError_t error) {
  std::printf("%s: %s\n", call, hipGetErrorName(error));
  std::fflush(stdout);
}
#define SAY(call, ...) say(#call, call(__VA_ARGS__))
#define SET_UP(call)                         \
  if ((call) != hipSuccess) {                \
    std::printf("set-up failed: %s\n", #call); \
    return 3;                                \
  }

int main() {
  int* x = nullptr;
  int* pinned = nullptr;
  static int host[16];
  hipStream_t stream;
  hipEvent_t before, event;
  SET_UP(hipMalloc(&x, 64));
  SET_UP(hipHostMalloc(&pinned, 64, 0));
  SET_UP(hipStreamCreate(&stream));
  SET_UP(hipEventCreate(&before));
  SET_UP(hipEventCreate(&event));
  write_inside<<<1, 16, 0, stream>>>(x);
  SET_UP(hipStreamSynchronize(stream));
  SET_UP(hipMemcpy(host, x, 64, hipMemcpyDeviceToHost));
  SET_UP(hipEventRecord(before, stream));
  write_outside<<<1, 32, 0, stream>>>(x, 1L << 28);
  SET_UP(hipEventRecord(event, stream));

  SAY(hipStreamSynchronize, stream);
  SAY(hipGetLastError);
  SAY(hipEventSynchronize, event);
  SAY(hipEventQuery, event);
  float ms = 0;
  SAY(hipEventElapsedTime, &ms, before, event);
  SAY(hipStreamQuery, stream);
  SAY(hipDeviceSynchronize);
  SAY(hipMemcpy, host, x, 64, hipMemcpyDeviceToHost);
  SAY(hipMemcpyAsync, pinned, x, 64, hipMemcpyDeviceToHost, stream);
  SAY(hipMemset, x, 0, 64);
  write_inside<<<1, 16, 0, stream>>>(x);
  say("<<<>>>", hipGetLastError());
  SAY(hipStreamSynchronize, stream);
  SAY(hipPeekAtLastError);
  void* more = nullptr;
  SAY(hipMalloc, &more, 64);
  SAY(hipGetLastError);
  SAY(hipHostMalloc, &more, 64, 0);
  hipStream_t other;
  SAY(hipStreamCreate, &other);
  std::puts("end");
  std::fflush(stdout);
  return 0;
}
