// What stream capture costs with gfxgraph's layer, beside HIP's own capture and beside a graph that
// the program builds by hand, in turns in one process. On a device that executes nothing:
//   GFXGRAPH_NULL_DEVICE=1 gfxgraph run --capture -- bench/bench_capture [launches N]
// Without --capture the layer's rows are HIP's own, too: the ratios show the noise.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtimes.h"

__global__ void kernel(float* a, const float* b, float factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) a[i] += factor * b[i];
}

static int launches = 1000;
static constexpr int kRepetitions = 31;

static void check(hipError_t result) {
  if (result == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(result));
  std::exit(1);
}

struct Calls {
  decltype(&hipLaunchKernel) launch;
  decltype(&hipStreamBeginCapture) begin;
  decltype(&hipStreamEndCapture) end;
};

using Clock = std::chrono::steady_clock;
static double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}
static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

static void** arguments;

static void launch_all(const Calls& calls, hipStream_t stream) {
  for (int i = 0; i < launches; ++i) {
    check(calls.launch(reinterpret_cast<const void*>(kernel), dim3(4), dim3(256), arguments, 0,
                       stream));
  }
}

struct Row {
  std::vector<double> build, first, replay;
};

static void instantiate_and_run(hipGraph_t graph, hipStream_t stream, Row& row) {
  hipGraphExec_t executable = nullptr;
  const auto start = Clock::now();
  check(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  check(hipGraphLaunch(executable, stream));
  row.first.push_back(us_since(start));
  check(hipStreamSynchronize(stream));
  const auto again = Clock::now();
  check(hipGraphLaunch(executable, stream));
  row.replay.push_back(us_since(again));
  check(hipStreamSynchronize(stream));
  check(hipGraphExecDestroy(executable));
  check(hipGraphDestroy(graph));
}

static void captured(const Calls& calls, hipStream_t stream, Row& row) {
  hipGraph_t graph = nullptr;
  const auto start = Clock::now();
  check(calls.begin(stream, hipStreamCaptureModeThreadLocal));
  launch_all(calls, stream);
  check(calls.end(stream, &graph));
  row.build.push_back(us_since(start));
  instantiate_and_run(graph, stream, row);
}

static void by_hand(hipStream_t stream, Row& row) {
  hipGraph_t graph = nullptr;
  const auto start = Clock::now();
  check(hipGraphCreate(&graph, 0));
  hipGraphNode_t last = nullptr;
  for (int i = 0; i < launches; ++i) {
    hipKernelNodeParams params = {};
    params.func = reinterpret_cast<void*>(kernel);
    params.gridDim = dim3(4);
    params.blockDim = dim3(256);
    params.kernelParams = arguments;
    hipGraphNode_t node = nullptr;
    check(hipGraphAddKernelNode(&node, graph, last == nullptr ? nullptr : &last,
                                last == nullptr ? 0 : 1, &params));
    last = node;
  }
  row.build.push_back(us_since(start));
  instantiate_and_run(graph, stream, row);
}

int main(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "launches") == 0) launches = std::atoi(argv[++i]);
  }
  float *a = nullptr, *b = nullptr, factor = 2;
  int n = 1024;
  check(hipMalloc(reinterpret_cast<void**>(&a), 4096));
  check(hipMalloc(reinterpret_cast<void**>(&b), 4096));
  void* list[] = {&a, &b, &factor, &n};
  arguments = list;
  hipStream_t stream = nullptr;
  check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  const Calls layer = {&hipLaunchKernel, &hipStreamBeginCapture, &hipStreamEndCapture};
  const Calls own = {RUNTIMES(hipLaunchKernel), RUNTIMES(hipStreamBeginCapture),
                     RUNTIMES(hipStreamEndCapture)};
  const bool layered = layer.launch != own.launch;
  Row rows[3];
  std::vector<double> outside[2];
  for (int i = 0; i < kRepetitions + 2; ++i) {
    if (i == 2) {  // warm
      for (Row& row : rows) row = {};
      for (auto& one : outside) one.clear();
    }
    for (int turn = 0; turn < 3; ++turn) {
      switch ((i + turn) % 3) {
        case 0: captured(layer, stream, rows[0]); break;
        case 1: captured(own, stream, rows[1]); break;
        default: by_hand(stream, rows[2]);
      }
    }
    for (int turn = 0; turn < 2; ++turn) {
      const int which = (i + turn) % 2;
      const auto start = Clock::now();
      launch_all(which == 0 ? layer : own, stream);
      outside[which].push_back(us_since(start));
      check(hipStreamSynchronize(stream));
    }
  }
  std::printf("%d launches, us per launch (medians of %d)\n", launches, kRepetitions);
  std::printf("%-18s %8s %8s %8s\n", "", "build", "first", "replay");
  const char* const names[] = {layered ? "layer" : "HIP (no layer)", "HIP's capture", "by hand"};
  const double each = 1.0 / launches;
  for (int i = 0; i < 3; ++i) {
    std::printf("%-18s %8.3f %8.3f %8.3f\n", names[i], median(rows[i].build) * each,
                median(rows[i].first) * each, median(rows[i].replay) * each);
  }
  std::printf("capture and first run, to by hand: %.2f; captured call, to HIP's own: %.2f\n",
              (median(rows[0].build) + median(rows[0].first)) /
                  (median(rows[2].build) + median(rows[2].first)),
              median(rows[0].build) / median(rows[1].build));
  std::printf("outside of captures: %.1f and %.1f ns per launch, %+.1f\n",
              median(outside[0]) * 1000 * each, median(outside[1]) * 1000 * each,
              (median(outside[0]) - median(outside[1])) * 1000 * each);
  return 0;
}
