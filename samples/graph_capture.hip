// A program with a hipGraph of its own: captures a fork and a join over two streams, instantiates
// it and launches it several times; each launch goes on from the state the last one left.
#include "sample.h"

__global__ void step(uint32_t* state, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) state[i] = state[i] * 1664525u + 1013904223u;
}
__global__ void spread(const uint32_t* state, uint32_t* out, uint32_t shift, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (state[i] >> shift) | (state[i] << (32 - shift));
}
__global__ void gather(const uint32_t* left, const uint32_t* right, uint32_t* total, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) total[i] += left[i] ^ right[n - 1 - i];
}

int main() {
  constexpr unsigned kCount = 3000, kBlock = 128, kLaunches = 5;
  constexpr size_t kBytes = kCount * sizeof(uint32_t);
  const unsigned grid = sample::blocks(kCount, kBlock);
  std::vector<uint32_t> state(kCount);
  sample::Random random(30);
  for (uint32_t& value : state) value = random.next();

  uint32_t* device_state = sample::to_device(state);
  uint32_t* left = sample::device_alloc<uint32_t>(kCount);
  uint32_t* right = sample::device_alloc<uint32_t>(kCount);
  uint32_t* total = sample::device_alloc<uint32_t>(kCount);
  uint32_t* snapshot = sample::device_alloc<uint32_t>(kCount);
  HIP_CHECK(hipMemset(total, 0, kBytes));
  HIP_CHECK(hipMemset(snapshot, 0, kBytes));
  HIP_CHECK(hipDeviceSynchronize());

  hipStream_t main_stream, side_stream;
  hipEvent_t fork, joined;
  HIP_CHECK(hipStreamCreate(&main_stream));
  HIP_CHECK(hipStreamCreate(&side_stream));
  HIP_CHECK(hipEventCreate(&fork));
  HIP_CHECK(hipEventCreate(&joined));

  hipGraph_t graph;
  HIP_CHECK(hipStreamBeginCapture(main_stream, hipStreamCaptureModeGlobal));
  step<<<grid, kBlock, 0, main_stream>>>(device_state, kCount);
  HIP_CHECK(hipEventRecord(fork, main_stream));
  HIP_CHECK(hipStreamWaitEvent(side_stream, fork, 0));
  spread<<<grid, kBlock, 0, main_stream>>>(device_state, left, 5, kCount);
  spread<<<grid, kBlock, 0, side_stream>>>(device_state, right, 11, kCount);
  HIP_CHECK(hipEventRecord(joined, side_stream));
  HIP_CHECK(hipStreamWaitEvent(main_stream, joined, 0));
  gather<<<grid, kBlock, 0, main_stream>>>(left, right, total, kCount);
  HIP_CHECK(hipMemcpyAsync(snapshot, total, kBytes, hipMemcpyDeviceToDevice, main_stream));
  HIP_CHECK(hipStreamEndCapture(main_stream, &graph));

  hipGraphExec_t executable;
  HIP_CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (unsigned i = 0; i < kLaunches; ++i) HIP_CHECK(hipGraphLaunch(executable, main_stream));
  HIP_CHECK(hipStreamSynchronize(main_stream));

  std::vector<uint32_t> expected(kCount, 0);
  const auto rotate = [](uint32_t value, uint32_t shift) {
    return (value >> shift) | (value << (32 - shift));
  };
  for (unsigned launch = 0; launch < kLaunches; ++launch) {
    for (uint32_t& value : state) value = value * 1664525u + 1013904223u;
    for (unsigned i = 0; i < kCount; ++i) {
      expected[i] += rotate(state[i], 5) ^ rotate(state[kCount - 1 - i], 11);
    }
  }
  const bool passed = sample::same("snapshot", sample::to_host(snapshot, kCount), expected);
  HIP_CHECK(hipGraphExecDestroy(executable));
  HIP_CHECK(hipGraphDestroy(graph));
  for (uint32_t* pointer : {device_state, left, right, total, snapshot})
    HIP_CHECK(hipFree(pointer));
  HIP_CHECK(hipEventDestroy(fork));
  HIP_CHECK(hipEventDestroy(joined));
  HIP_CHECK(hipStreamDestroy(main_stream));
  HIP_CHECK(hipStreamDestroy(side_stream));
  return sample::finish("graph_capture", passed);
}
