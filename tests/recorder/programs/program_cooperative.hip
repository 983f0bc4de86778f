// Cooperative launches in every form, in a program without device variables: on the null stream, on
// a stream, through the per-thread entry point and between two captured launches. Prints "ok".
#include <vector>

#include "program.h"

// After the runtime's header, which it needs and does not include.
#include <hip/hip_cooperative_groups.h>

extern "C" hipError_t hipLaunchCooperativeKernel_spt(const void*, dim3, dim3, void**, uint32_t,
                                                     hipStream_t);

constexpr int kCount = 7 * 64;

// Each item takes from the other end of the row what that one had before the barrier.
__global__ void fold(int* data, int* other, char scale) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  other[i] = data[i] * scale + i;
  cooperative_groups::this_grid().sync();
  data[i] += other[kCount - 1 - i];
}

__global__ void add(int* data, int by) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

static void host_fold(std::vector<int>& data, int scale) {
  std::vector<int> other(kCount);
  for (int i = 0; i < kCount; ++i) other[i] = data[i] * scale + i;
  for (int i = 0; i < kCount; ++i) data[i] += other[kCount - 1 - i];
}

int main() {
  int* data = nullptr;
  int* other = nullptr;
  CHECK(hipMalloc(&data, kCount * sizeof(int)));
  CHECK(hipMalloc(&other, kCount * sizeof(int)));
  std::vector<int> expected(kCount, 0);
  CHECK(hipMemset(data, 0, kCount * sizeof(int)));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  const void* kernel = reinterpret_cast<const void*>(fold);
  char scale = 2;
  void* arguments[] = {&data, &other, &scale};
  CHECK(hipLaunchCooperativeKernel(kernel, dim3(7), dim3(64), arguments, 0, nullptr));
  scale = 3;
  CHECK(hipLaunchCooperativeKernel(kernel, dim3(7), dim3(64), arguments, 0, stream));
  CHECK(hipStreamSynchronize(stream));
  scale = -1;
  CHECK(hipLaunchCooperativeKernel_spt(kernel, dim3(7), dim3(64), arguments, 0, nullptr));
  CHECK(hipDeviceSynchronize());
  for (const int factor : {2, 3, -1}) host_fold(expected, factor);

  // HIP 5 runs it at once; later ones make it a node. The sums are the same.
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  add<<<7, 64, 0, stream>>>(data, 5);
  CHECK(hipLaunchCooperativeKernel(kernel, dim3(7), dim3(64), arguments, 0, stream));
  add<<<7, 64, 0, stream>>>(data, 7);
  hipGraph_t graph;
  CHECK(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  size_t nodes = 0;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  if (nodes == 2) host_fold(expected, -1);
  for (int& x : expected) x += 5;
  if (nodes == 3) host_fold(expected, -1);
  for (int& x : expected) x += 7;

  std::vector<int> values(kCount);
  CHECK(hipMemcpy(values.data(), data, kCount * sizeof(int), hipMemcpyDeviceToHost));
  expect(values == expected, "cooperative launches");
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipFree(other));
  CHECK(hipFree(data));
  std::printf("ok\n");
  return 0;
}
