// What a step costs that the program captures of itself (gfxgraph/capture.h) and runs in place,
// beside a graph that it builds by hand with the runtime's own functions, in turns in one process.
// On a device that executes nothing:
//   GFXGRAPH_NULL_DEVICE=1 gfxgraph run --capture-api -- bench/bench_steps [launches N]
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gfxgraph/gfxgraph.hpp>
#include <vector>

#include "runtimes.h"

__global__ void kernel(float* a, const float* b, float factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) a[i] += factor * b[i];
}

static int launches = 1000;
static constexpr int kRepetitions = 31;
static constexpr int kReplays = 20;

static void check(hipError_t result) {
  if (result == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(result));
  std::exit(1);
}

using Clock = std::chrono::steady_clock;
static double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}
static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Row {
  const char* name;
  bool captured;
  uint32_t capture;
  gfxgraph_mode_t mode;
  std::vector<double> begin, calls, end, first, replay;
};

static void** arguments;

static void measure_step(hipStream_t stream, Row& row) {
  gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
  options.mode = row.capture;
  auto start = Clock::now();
  gfxgraph::Capture capture(stream, options);
  row.begin.push_back(us_since(start));
  start = Clock::now();
  for (int i = 0; i < launches; ++i) {
    check(hipLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(4), dim3(256), arguments, 0,
                          stream));
  }
  row.calls.push_back(us_since(start));
  start = Clock::now();
  const gfxgraph::Trace trace = capture.end();
  row.end.push_back(us_since(start));
  start = Clock::now();
  gfxgraph::Session session(trace);
  gfxgraph::Step step(session, trace.find_range("step"), row.mode);
  step.run(stream);
  row.first.push_back(us_since(start));
  step.wait();
  for (int i = 0; i < kReplays; ++i) {
    start = Clock::now();
    step.run(stream);
    row.replay.push_back(us_since(start));
    step.wait();
  }
}

static void measure_by_hand(hipStream_t stream, Row& row) {
  static const auto create = RUNTIMES(hipGraphCreate);
  static const auto add = RUNTIMES(hipGraphAddKernelNode);
  static const auto instantiate = RUNTIMES(hipGraphInstantiate);
  static const auto launch = RUNTIMES(hipGraphLaunch);
  static const auto wait = RUNTIMES(hipStreamSynchronize);
  hipGraph_t graph = nullptr;
  auto start = Clock::now();
  check(create(&graph, 0));
  hipGraphNode_t last = nullptr;
  for (int i = 0; i < launches; ++i) {
    hipKernelNodeParams params = {};
    params.func = reinterpret_cast<void*>(kernel);
    params.gridDim = dim3(4);
    params.blockDim = dim3(256);
    params.kernelParams = arguments;
    hipGraphNode_t node = nullptr;
    check(add(&node, graph, last == nullptr ? nullptr : &last, last == nullptr ? 0 : 1, &params));
    last = node;
  }
  row.calls.push_back(us_since(start));
  start = Clock::now();
  hipGraphExec_t executable = nullptr;
  check(instantiate(&executable, graph, nullptr, nullptr, 0));
  check(launch(executable, stream));
  row.first.push_back(us_since(start));
  check(wait(stream));
  for (int i = 0; i < kReplays; ++i) {
    start = Clock::now();
    check(launch(executable, stream));
    row.replay.push_back(us_since(start));
    check(wait(stream));
  }
  check(hipGraphExecDestroy(executable));
  check(hipGraphDestroy(graph));
  row.begin.push_back(0);
  row.end.push_back(0);
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
  Row rows[] = {{"by hand", false, 0, 0},
                {"run, graph", true, GFXGRAPH_CAPTURE_RUN, GFXGRAPH_MODE_GRAPH},
                {"hold, graph", true, GFXGRAPH_CAPTURE_HOLD, GFXGRAPH_MODE_GRAPH},
                {"run, batch", true, GFXGRAPH_CAPTURE_RUN, GFXGRAPH_MODE_BATCH},
                {"run, packets", true, GFXGRAPH_CAPTURE_RUN, GFXGRAPH_MODE_PACKETS}};
  constexpr int kRows = sizeof rows / sizeof rows[0];
  bool refused[kRows] = {};
  for (int i = 0; i < kRepetitions + 2; ++i) {
    for (int turn = 0; turn < kRows; ++turn) {
      const int which = (i + turn) % kRows;
      if (refused[which]) continue;
      // What the row before has freed is merged by the next large allocation: not in this row's
      // time.
      void* volatile large = std::malloc(65536);
      std::free(large);
      try {
        if (rows[which].captured) {
          measure_step(stream, rows[which]);
        } else {
          measure_by_hand(stream, rows[which]);
        }
      } catch (const gfxgraph::Failure& failed) {
        std::printf("%s: %s\n", rows[which].name, failed.what());
        refused[which] = true;
      }
      check(hipStreamSynchronize(stream));
      if (i == 1) {  // warm
        for (auto* one : {&rows[which].begin, &rows[which].calls, &rows[which].end,
                          &rows[which].first, &rows[which].replay})
          one->clear();
      }
    }
  }
  std::printf("%d launches, us (medians of %d)\n%-14s %9s %9s %9s %9s %9s | %7s %7s\n", launches,
              kRepetitions, "", "begin", "calls", "end", "first", "replay", "to hand", "replay");
  double hand = 0, hand_replay = 0;
  for (int i = 0; i < kRows; ++i) {
    if (refused[i]) continue;
    const Row& row = rows[i];
    const double parts[] = {median(row.begin), median(row.calls), median(row.end),
                            median(row.first), median(row.replay)};
    const double sum = parts[0] + parts[1] + parts[2] + parts[3];
    if (i == 0) hand = sum, hand_replay = parts[4];
    std::printf("%-14s %9.1f %9.1f %9.1f %9.1f %9.1f | %7.2f %7.2f\n", row.name, parts[0], parts[1],
                parts[2], parts[3], parts[4], sum / hand, parts[4] / hand_replay);
  }
  return 0;
}
