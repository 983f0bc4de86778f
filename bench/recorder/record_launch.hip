// What recording costs a launch: the runtime's own hipLaunchKernel against the recorder's hook, in
// one process, in turns. Run it under gfxgraph-record, on a device that executes nothing:
//   GFXGRAPH_NULL_DEVICE=1 gfxgraph-record --device emulated -o /tmp/bench.gfxg --
//   bench/record_launch
// Without gfxgraph-record both are the same function: the ratio shows the noise.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void kernel(float* a, const float* b, float factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) a[i] += factor * b[i];
}

using Launch = hipError_t (*)(const void*, dim3, dim3, void**, size_t, hipStream_t);

static constexpr int kLaunches = 1000;
static constexpr int kRepetitions = 41;

static void check(hipError_t result) {
  if (result == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(result));
  std::exit(1);
}

// Nanoseconds per launch; the wait for the device is not part of it.
static double measure(Launch launch, void** arguments) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i) {
    check(launch(reinterpret_cast<const void*>(kernel), dim3(4), dim3(256), arguments, 0, nullptr));
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  check(hipDeviceSynchronize());
  return spent.count() / kLaunches;
}

static double at(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

static void print(const char* name, const std::vector<double>& values) {
  std::printf("%-10s median %7.1f  p10 %7.1f  p90 %7.1f ns per launch\n", name, at(values, 0.5),
              at(values, 0.1), at(values, 0.9));
}

int main() {
  // dlvsym is not interposed by the recorder: this is the runtime's function.
  void* library = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_NOLOAD);
  const auto bare = reinterpret_cast<Launch>(dlvsym(library, "hipLaunchKernel", "hip_4.2"));
  const auto hooked = reinterpret_cast<Launch>(&hipLaunchKernel);
  if (bare == nullptr) return 1;
  float* a = nullptr;
  float* b = nullptr;
  check(hipMalloc(&a, 4096));
  check(hipMalloc(&b, 4096));
  float factor = 2;
  int n = 1024;
  void* arguments[] = {&a, &b, &factor, &n};
  std::vector<double> bare_ns, hooked_ns, ratios;
  for (int i = 0; i < 3; ++i) {
    measure(bare, arguments);
    measure(hooked, arguments);
  }
  for (int i = 0; i < kRepetitions; ++i) {
    // Each goes first every other time.
    const bool bare_first = i % 2 == 0;
    const double first = measure(bare_first ? bare : hooked, arguments);
    const double second = measure(bare_first ? hooked : bare, arguments);
    bare_ns.push_back(bare_first ? first : second);
    hooked_ns.push_back(bare_first ? second : first);
    ratios.push_back(hooked_ns.back() / bare_ns.back());
  }
  print("bare", bare_ns);
  print(bare == hooked ? "same" : "recorded", hooked_ns);
  std::printf("ratio      median %7.2f  p10 %7.2f  p90 %7.2f\n", at(ratios, 0.5), at(ratios, 0.1),
              at(ratios, 0.9));
  return 0;
}
