// What recording costs a launch: the runtime's own hipLaunchKernel against the recorder's hook, in
// one process, in turns. Run it under gfxgraph-record, on a device that executes nothing:
//   GFXGRAPH_NULL_DEVICE=1 gfxgraph-record --device emulated -o /tmp/bench.gfxg --
//   bench/record_launch [threads N] [pinned] [reached KIB] [launches N]
// Without gfxgraph-record both are the same function: the ratio shows the noise. threads: each of N
// threads launches into a stream of its own. pinned: the program also holds memory of the host that
// no kernel gets. launches: of one turn. With --range NOTHING the program stands outside of every
// range.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

__global__ void kernel(float* a, const float* b, float factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) a[i] += factor * b[i];
}

using Launch = hipError_t (*)(const void*, dim3, dim3, void**, size_t, hipStream_t);

static int launches = 1000;
static constexpr int kRepetitions = 41;

static void check(hipError_t result) {
  if (result == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(result));
  std::exit(1);
}

static std::vector<hipStream_t> streams;  // one per thread; none: the null stream, this thread

static void launch_all(Launch launch, void** arguments, hipStream_t stream) {
  for (int i = 0; i < launches; ++i) {
    check(launch(reinterpret_cast<const void*>(kernel), dim3(4), dim3(256), arguments, 0, stream));
  }
}

// Nanoseconds per launch of all threads together; the wait for the device is not part of it.
static double measure(Launch launch, void** arguments) {
  const auto start = std::chrono::steady_clock::now();
  if (streams.empty()) launch_all(launch, arguments, nullptr);
  std::vector<std::thread> threads;
  for (hipStream_t stream : streams) threads.emplace_back(launch_all, launch, arguments, stream);
  for (std::thread& one : threads) one.join();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  check(hipDeviceSynchronize());
  const size_t count = streams.empty() ? 1 : streams.size();
  return spent.count() / launches / static_cast<double>(count);
}

static double at(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

static void print(const char* name, const std::vector<double>& values) {
  std::printf("%-10s median %7.1f  p10 %7.1f  p90 %7.1f ns per launch\n", name, at(values, 0.5),
              at(values, 0.1), at(values, 0.9));
}

int main(int argc, char** argv) {
  int thread_count = 0;
  bool pinned = false;
  size_t reached_kib = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "pinned") == 0) pinned = true;
    if (std::strcmp(argv[i], "reached") == 0 && i + 1 < argc)
      reached_kib = std::strtoul(argv[++i], nullptr, 10);
    if (std::strcmp(argv[i], "launches") == 0 && i + 1 < argc) launches = std::atoi(argv[++i]);
    if (std::strcmp(argv[i], "threads") == 0 && i + 1 < argc) thread_count = std::atoi(argv[++i]);
  }
  // The recorder lets dlvsym give the runtime's function; the trace is incomplete, and says so.
  void* library = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_NOLOAD);
  const auto bare = reinterpret_cast<Launch>(dlvsym(library, "hipLaunchKernel", "hip_4.2"));
  const auto hooked = reinterpret_cast<Launch>(&hipLaunchKernel);
  if (bare == nullptr) return 1;
  float* a = nullptr;
  float* b = nullptr;
  check(hipMalloc(&a, 4096));
  check(hipMalloc(&b, 4096));
  void* held = nullptr;
  if (pinned) check(hipHostMalloc(&held, 64 << 20));
  float* reached = nullptr;
  if (reached_kib != 0) {
    check(hipHostMalloc(&reached, reached_kib << 10));
    kernel<<<dim3(1), dim3(256)>>>(a, reached, 1, 256);
    check(hipDeviceSynchronize());
  }
  for (int i = 0; i < thread_count; ++i) {
    streams.emplace_back();
    check(hipStreamCreateWithFlags(&streams.back(), hipStreamNonBlocking));
  }
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
