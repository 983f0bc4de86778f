// What gfxgraph accelerate gains and costs: the same launches by the runtime's own functions and by
// those that the program is linked to, in turns in one process. On a device that executes nothing,
// and on one that does:
//   GFXGRAPH_NULL_DEVICE=1 gfxgraph accelerate --device emulated -- bench/bench_accelerate step
//   gfxgraph accelerate -- bench/bench_accelerate step
// Without gfxgraph accelerate the ratios show the noise. An argument chooses the program:
//   step      100 launches that are the same each time, then a wait
//   changing  100 launches with an argument that never comes again, then a wait
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../capture/runtimes.h"

__global__ void kernel(float* a, const float* b, float factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) a[i] += factor * b[i];
}

static constexpr int kLaunches = 100;
static constexpr int kTurns = 201;
static constexpr int kBefore = 700;  // until looking and measuring have ended

static void check(hipError_t result) {
  if (result == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(result));
  std::exit(1);
}

struct Calls {
  decltype(&hipLaunchKernel) launch;
  decltype(&hipStreamSynchronize) wait;
};
struct Times {
  std::vector<double> submit, done;
};

static float *a, *b;
static float factor = 1.0F;

static void step(const Calls& calls, hipStream_t stream, bool changing, Times* times) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto us = [&] {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  int n = 64;
  for (int i = 0; i < kLaunches; ++i) {
    if (changing) factor += 1.0F;
    void* arguments[] = {&a, &b, &factor, &n};
    check(calls.launch(reinterpret_cast<const void*>(kernel), dim3(1), dim3(64), arguments, 0,
                       stream));
  }
  const double submitted = us();
  check(calls.wait(stream));
  if (times == nullptr) return;
  times->submit.push_back(submitted);
  times->done.push_back(us());
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int main(int argc, char** argv) {
  const bool changing = argc > 1 && std::strcmp(argv[1], "changing") == 0;
  const Calls bare{RUNTIMES(hipLaunchKernel), RUNTIMES(hipStreamSynchronize)};
  const Calls linked{hipLaunchKernel, hipStreamSynchronize};
  hipStream_t stream = nullptr;
  check(hipStreamCreate(&stream));
  check(hipMalloc(reinterpret_cast<void**>(&a), 256));
  check(hipMalloc(reinterpret_cast<void**>(&b), 256));
  std::printf("%-10s %12s %12s %8s   %12s %12s %8s\n", "", "submit bare", "linked us", "ratio",
              "done bare", "linked us", "ratio");
  for (int i = 0; i < kBefore; ++i) step(linked, stream, changing, nullptr);
  Times of_bare, of_linked;
  for (int i = 0; i < kTurns; ++i) {
    step(bare, stream, changing, &of_bare);
    step(linked, stream, changing, &of_linked);
  }
  const double bare_submit = median(of_bare.submit), linked_submit = median(of_linked.submit);
  const double bare_done = median(of_bare.done), linked_done = median(of_linked.done);
  std::printf("%-10s %12.1f %12.1f %8.3f   %12.1f %12.1f %8.3f\n", changing ? "changing" : "step",
              bare_submit, linked_submit, linked_submit / bare_submit, bare_done, linked_done,
              linked_done / bare_done);
  return 0;
}
