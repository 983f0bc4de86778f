// One argument of one kernel in a graph changes for the next run: the executable graph is updated,
// or the kernel is left out of it and launched between its two halves. Host time until the run is
// submitted, against the graph without a change. On a device that executes nothing:
//   GFXGRAPH_NULL_DEVICE=1 gfxgraph run -- bench/change_value
// Newer runtimes: compiled in their root (scripts/with-runtime SUITE --inside -- hipcc ...).
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

static constexpr int kLaunches = 200;
static constexpr int kRepetitions = 123;

__global__ void mix(unsigned* words, unsigned value) {
  words[threadIdx.x] = words[threadIdx.x] * 3 + value;
}

static void check(hipError_t result) {
  if (result == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(result));
  std::exit(1);
}

static unsigned* words = nullptr;
static unsigned value = 0;
static void* arguments[] = {&words, &value};

static hipKernelNodeParams node_of_kernel() {
  hipKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(mix);
  params.gridDim = dim3(1);
  params.blockDim = dim3(64);
  params.kernelParams = arguments;
  return params;
}

struct Made {
  hipGraphExec_t executable = nullptr;
  hipGraphNode_t middle = nullptr;
};

static Made chain(int launches) {
  Made made;
  hipGraph_t graph = nullptr;
  check(hipGraphCreate(&graph, 0));
  hipGraphNode_t last = nullptr;
  for (int i = 0; i < launches; ++i) {
    const hipKernelNodeParams params = node_of_kernel();
    hipGraphNode_t node = nullptr;
    check(hipGraphAddKernelNode(&node, graph, last == nullptr ? nullptr : &last,
                                last == nullptr ? 0 : 1, &params));
    if (i == launches / 2) made.middle = node;
    last = node;
  }
  check(hipGraphInstantiate(&made.executable, graph, nullptr, nullptr, 0));
  return made;
}

int main() {
  check(hipMalloc(&words, 256));
  hipStream_t stream = nullptr;
  check(hipStreamCreate(&stream));
  const Made whole = chain(kLaunches);
  const Made before = chain(kLaunches / 2);
  const Made after = chain(kLaunches - kLaunches / 2 - 1);
  const char* names[] = {"no change", "executable updated", "launched between halves"};
  std::vector<double> times[3];
  for (int i = 0; i < 3 * kRepetitions; ++i) {
    const int way = (i + i / 3) % 3;  // in rotated order
    for (const bool timed : {false, true}) {
      check(hipStreamSynchronize(stream));
      ++value;
      const auto start = std::chrono::steady_clock::now();
      if (way == 2) {
        check(hipGraphLaunch(before.executable, stream));
        check(
            hipLaunchKernel(reinterpret_cast<void*>(mix), dim3(1), dim3(64), arguments, 0, stream));
        check(hipGraphLaunch(after.executable, stream));
      } else {
        const hipKernelNodeParams params = node_of_kernel();
        if (way == 1)
          check(hipGraphExecKernelNodeSetParams(whole.executable, whole.middle, &params));
        check(hipGraphLaunch(whole.executable, stream));
      }
      const std::chrono::duration<double, std::micro> spent =
          std::chrono::steady_clock::now() - start;
      if (timed) times[way].push_back(spent.count());
    }
  }
  check(hipStreamSynchronize(stream));
  for (int way = 0; way < 3; ++way) {
    std::sort(times[way].begin(), times[way].end());
    std::printf("%-24s median %6.2f us, p10 %6.2f us\n", names[way], times[way][kRepetitions / 2],
                times[way][kRepetitions / 10]);
  }
  return 0;
}
