// Threads that launch graphs at once, each a graph of its own with the same kernel. HIP 5 mixes such
// launches (kGraphKernelsMix in docs/runtime-quirks.md): with the layer threads take turns.
//   capture_turns [threads N] [rounds N]
#include "captured.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

extern "C" __global__ void add(int* a, int v, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) a[i] += v;
}

namespace {

constexpr int kLaunches = 20;  // of the graph, in each round

void launch_on(hipStream_t stream, int* data, int value) {
  add<<<kCount / 256, 256, 0, stream>>>(data, value, kCount);
  OK(hipGetLastError());
}

// Captures launches, and launches them as a graph.
void work(int number, int rounds, const Buffer& buffer) {
  const int nodes = 3 + number;
  hipStream_t stream = nullptr;
  OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  hipGraphExec_t executable = nullptr;
  for (int round = 0; round < rounds; ++round) {
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    for (int i = 0; i < nodes; ++i) launch_on(stream, buffer.data, number + 1);
    hipGraph_t graph = nullptr;
    OK(hipStreamEndCapture(stream, &graph));
    OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    for (int i = 0; i < kLaunches; ++i) OK(hipGraphLaunch(executable, stream));
    OK(hipStreamSynchronize(stream));
    OK(hipGraphExecDestroy(executable));
    OK(hipGraphDestroy(graph));
  }
  OK(hipStreamDestroy(stream));
}

}  // namespace

int main(int argc, char** argv) {
  int count = 8, rounds = 10;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "threads") == 0) count = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "rounds") == 0) rounds = std::atoi(argv[i + 1]);
  }
  std::vector<Buffer> buffers(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] { work(i, rounds, buffers[static_cast<size_t>(i)]); });
  for (std::thread& one : threads) one.join();
  for (int i = 0; i < count; ++i)
    buffers[static_cast<size_t>(i)].holds(rounds * kLaunches * (3 + i) * (i + 1), "of a thread");
  std::printf("turns: %s\n", failure.empty() ? "PASS" : failure.c_str());
  return failure.empty() ? 0 : 1;
}
