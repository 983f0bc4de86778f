// A fixed list of calls whose results and last errors are printed: run on fake_hip, which fails the
// N-th of them, the output must be the same with and without the recorder.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

__global__ void kernel(int* data, int value) { data[threadIdx.x] = value; }

static int number = 0;

static void show(const char* call, hipError_t result) {
  std::printf("%d %s %d", number++, call, static_cast<int>(result));
  std::printf(" %d", static_cast<int>(hipPeekAtLastError()));
  std::printf(" %d\n", static_cast<int>(hipGetLastError()));
}

#define SHOW(call) show(#call, call)

int main() {
  int* data = nullptr;
  int* pinned = nullptr;
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  std::vector<int> host(64, 3);
  SHOW(hipMalloc(&data, 256));
  SHOW(hipHostMalloc(&pinned, 256, 0));
  SHOW(hipStreamCreate(&stream));
  SHOW(hipEventCreate(&event));
  if (data == nullptr || pinned == nullptr) {
    std::printf("no memory\n");
    return 5;
  }
  SHOW(hipMemcpy(data, host.data(), 256, hipMemcpyHostToDevice));
  SHOW(hipMemset(data, 1, 256));
  SHOW(hipMemcpyAsync(data, pinned, 256, hipMemcpyHostToDevice, stream));
  kernel<<<1, 64, 0, stream>>>(data, 7);
  show("launch", hipPeekAtLastError());
  SHOW(hipEventRecord(event, stream));
  SHOW(hipStreamWaitEvent(nullptr, event, 0));
  SHOW(hipEventSynchronize(event));
  SHOW(hipStreamQuery(stream));
  SHOW(hipStreamSynchronize(stream));
  SHOW(hipDeviceSynchronize());
  SHOW(hipMemcpy(host.data(), data, 256, hipMemcpyDeviceToHost));
  SHOW(hipFree(data));
  SHOW(hipHostFree(pinned));
  SHOW(hipEventDestroy(event));
  SHOW(hipStreamDestroy(stream));
  std::printf("%d\n", host[0]);
  return 0;
}
