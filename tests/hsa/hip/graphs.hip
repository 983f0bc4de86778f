// Graphs: captured, and built by hand with kernel, copy and fill nodes; launched repeatedly.
#include <vector>

#include "check.h"

__global__ void add(int* to, const int* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] += from[i];
}

constexpr int kCount = 500;

static void captured() {
  int *a = nullptr, *b = nullptr;
  HIP_OK(hipMalloc(&a, kCount * 4));
  HIP_OK(hipMalloc(&b, kCount * 4));
  std::vector<int> ones(kCount, 1), out(kCount);
  HIP_OK(hipMemcpy(a, ones.data(), kCount * 4, hipMemcpyHostToDevice));
  HIP_OK(hipMemset(b, 0, kCount * 4));
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  hipGraph_t graph;
  hipGraphExec_t executable;
  HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  for (int i = 0; i < 20; ++i) add<<<8, 64, 0, stream>>>(b, a, kCount);
  HIP_OK(hipStreamEndCapture(stream, &graph));
  HIP_OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 10; ++i) HIP_OK(hipGraphLaunch(executable, stream));
  HIP_OK(hipStreamSynchronize(stream));
  HIP_OK(hipMemcpy(out.data(), b, kCount * 4, hipMemcpyDeviceToHost));
  for (const int value : out) CHECK(value == 200);
  HIP_OK(hipGraphExecDestroy(executable));
  HIP_OK(hipGraphDestroy(graph));
  HIP_OK(hipStreamDestroy(stream));
  HIP_OK(hipFree(a));
  HIP_OK(hipFree(b));
}

static void explicit_nodes() {
  int *a = nullptr, *b = nullptr, n = kCount;
  HIP_OK(hipMalloc(&a, kCount * 4));
  HIP_OK(hipMalloc(&b, kCount * 4));
  std::vector<int> in(kCount, 7), out(kCount);
  hipGraph_t graph;
  HIP_OK(hipGraphCreate(&graph, 0));
  hipGraphNode_t upload, clear, kernel, download;
  HIP_OK(hipGraphAddMemcpyNode1D(&upload, graph, nullptr, 0, a, in.data(), kCount * 4, hipMemcpyHostToDevice));
  hipMemsetParams fill = {};
  fill.dst = b;
  fill.elementSize = 4;
  fill.value = 3;
  fill.width = kCount;
  fill.height = 1;
  HIP_OK(hipGraphAddMemsetNode(&clear, graph, nullptr, 0, &fill));
  void* parameters[] = {&b, &a, &n};
  hipKernelNodeParams launch = {};
  launch.func = reinterpret_cast<void*>(add);
  launch.gridDim = dim3(8);
  launch.blockDim = dim3(64);
  launch.kernelParams = parameters;
  const hipGraphNode_t before[] = {upload, clear};
  HIP_OK(hipGraphAddKernelNode(&kernel, graph, before, 2, &launch));
  HIP_OK(hipGraphAddMemcpyNode1D(&download, graph, &kernel, 1, out.data(), b, kCount * 4, hipMemcpyDeviceToHost));
  hipGraphExec_t executable;
  HIP_OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  for (int i = 0; i < 5; ++i) {
    HIP_OK(hipGraphLaunch(executable, stream));
    HIP_OK(hipStreamSynchronize(stream));
    for (const int value : out) CHECK(value == 10);
  }
  HIP_OK(hipGraphExecDestroy(executable));
  HIP_OK(hipGraphDestroy(graph));
  HIP_OK(hipStreamDestroy(stream));
  HIP_OK(hipFree(a));
  HIP_OK(hipFree(b));
}

int main() {
  captured();
  explicit_nodes();
  return done();
}
