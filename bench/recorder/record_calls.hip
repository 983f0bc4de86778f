// What recording costs calls beside launches: a step with the traffic of an inference engine,
// hipMalloc of a large buffer, and hipMalloc and hipFree together. The runtime's own functions
// against the recorder's hooks, in one process, in turns. Run it under gfxgraph-record, on a device
// that executes nothing:
//   GFXGRAPH_NULL_DEVICE=1 gfxgraph-record --device emulated -o /tmp/bench.gfxg --
//   bench/record_calls [pageable] [steps] [reached KIB | given KIB]
// Without gfxgraph-record both are the same functions: the ratio shows the noise.
//
// A step: nine copies of 64 bytes to the device, 60 launches, one copy of 4 KiB to the host, and a
// wait. The host's ends are pinned memory of the program, or with `pageable` memory that HIP does
// not know. `steps`: nothing else, and more of them, as for a profile. `reached`: a kernel was
// given that much other pinned memory before. `given`: all of the launches are.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

__global__ void kernel(float* a, const float* b, float factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) a[i] += factor * b[i];
}

static constexpr int kSteps = 50;
static constexpr int kRepetitions = 41;
static constexpr int kLargeRepetitions = 21;  // hipFree reads the buffer each time
static constexpr int kInputs = 9;
static constexpr int kLaunches = 60;
static constexpr size_t kInputBytes = 64;
static constexpr size_t kOutputBytes = 4096;
static constexpr size_t kLargeBytes = size_t{512} << 20;

struct Calls {
  hipError_t (*allocate)(void**, size_t);
  decltype(&hipFree) free;
  decltype(&hipMemcpyAsync) copy;
  decltype(&hipLaunchKernel) launch;
  decltype(&hipStreamSynchronize) wait;
};

static void check(hipError_t result) {
  if (result == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(result));
  std::exit(1);
}

static hipStream_t stream;
static float *device, *weights;
static char* host;

// Microseconds per step.
static double steps(const Calls& calls) {
  float factor = 2;
  int n = 1024;
  void* arguments[] = {&device, &weights, &factor, &n};
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kInputs; ++i) {
      std::memcpy(host + i * kInputBytes, &step, sizeof(step));
      check(calls.copy(reinterpret_cast<char*>(device) + i * kInputBytes, host + i * kInputBytes,
                       kInputBytes, hipMemcpyHostToDevice, stream));
    }
    for (int i = 0; i < kLaunches; ++i) {
      check(calls.launch(reinterpret_cast<const void*>(kernel), dim3(4), dim3(256), arguments, 0,
                         stream));
    }
    check(calls.copy(host + kInputs * kInputBytes, device, kOutputBytes, hipMemcpyDeviceToHost,
                     stream));
    check(calls.wait(stream));
  }
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / kSteps;
}

// Microseconds of both together.
static double large_buffer(const Calls& calls) {
  void* pointer = nullptr;
  const auto start = std::chrono::steady_clock::now();
  check(calls.allocate(&pointer, kLargeBytes));
  check(calls.free(pointer));
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  return spent.count();
}

static Calls runtime;  // the bare ones

// Microseconds of hipMalloc alone. A recorded hipFree leaves cold caches to the call that follows:
// here that is always a bare pair of calls.
static double large_allocation(const Calls& calls) {
  void* pointer = nullptr;
  check(runtime.allocate(&pointer, kLargeBytes));
  check(runtime.free(pointer));
  const auto start = std::chrono::steady_clock::now();
  check(calls.allocate(&pointer, kLargeBytes));
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  check(calls.free(pointer));
  return spent.count();
}

static double at(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

static void compare(const char* what, const Calls& bare, const Calls& hooked,
                    double (*measure)(const Calls&), int repetitions = kRepetitions) {
  std::vector<double> bare_us, hooked_us, ratios, more_us;
  for (int i = 0; i < 3; ++i) {
    measure(bare);
    measure(hooked);
  }
  for (int i = 0; i < repetitions; ++i) {
    // Each goes first every other time.
    const bool bare_first = i % 2 == 0;
    const double first = measure(bare_first ? bare : hooked);
    const double second = measure(bare_first ? hooked : bare);
    bare_us.push_back(bare_first ? first : second);
    hooked_us.push_back(bare_first ? second : first);
    ratios.push_back(hooked_us.back() / bare_us.back());
    more_us.push_back(hooked_us.back() - bare_us.back());
  }
  const bool same = bare.launch == hooked.launch;
  std::printf(
      "%-17s bare %8.1f us, %s %8.1f us, ratio %.2f (p10 %.2f, p90 %.2f), %.1f us more (p90 "
      "%.1f)\n",
      what, at(bare_us, 0.5), same ? "the same" : "recorded", at(hooked_us, 0.5), at(ratios, 0.5),
      at(ratios, 0.1), at(ratios, 0.9), at(more_us, 0.5), at(more_us, 0.9));
}

int main(int argc, char** argv) {
  const auto given = [&](const char* word) {
    return std::any_of(argv + 1, argv + argc, [&](const char* a) { return !std::strcmp(a, word); });
  };
  const bool pageable = given("pageable");
  const bool steps_only = given("steps");
  const auto kib_of = [&](const char* word) {
    const auto at =
        std::find_if(argv + 1, argv + argc, [&](const char* a) { return !std::strcmp(a, word); });
    return argv + argc - at < 2 ? size_t{0} : size_t{std::strtoul(at[1], nullptr, 10)};
  };
  // The recorder lets dlvsym give the runtime's functions; the trace is incomplete, and says so.
  void* library = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_NOLOAD);
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlvsym(library, name, "hip_4.2"));
    if (function == nullptr) std::exit(1);
  };
  Calls& bare = runtime;
  find(bare.allocate, "hipMalloc");
  find(bare.free, "hipFree");
  find(bare.copy, "hipMemcpyAsync");
  find(bare.launch, "hipLaunchKernel");
  find(bare.wait, "hipStreamSynchronize");
  const Calls hooked{&hipMalloc, &hipFree, &hipMemcpyAsync, &hipLaunchKernel,
                     &hipStreamSynchronize};
  check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  check(hipMalloc(&device, kOutputBytes));
  check(hipMalloc(&weights, kOutputBytes));
  const size_t host_bytes = kInputs * kInputBytes + kOutputBytes;
  if (pageable) {
    host = static_cast<char*>(std::malloc(host_bytes));
  } else {
    check(hipHostMalloc(&host, host_bytes));
  }
  std::memset(host, 0, host_bytes);
  if (const size_t kib = std::max(kib_of("reached"), kib_of("given")); kib != 0) {
    float* reached = nullptr;
    check(hipHostMalloc(&reached, kib << 10));
    std::memset(reached, 0, kib << 10);
    kernel<<<dim3(1), dim3(256), 0, stream>>>(device, reached, 1, 256);
    check(hipStreamSynchronize(stream));
    if (kib_of("given") != 0) weights = reached;
  }
  compare(pageable ? "step, pageable" : "step, pinned", bare, hooked, steps,
          steps_only ? 401 : kRepetitions);
  if (steps_only) return 0;
  compare("hipMalloc 512 MiB", bare, hooked, large_allocation, kLargeRepetitions);
  compare("with hipFree", bare, hooked, large_buffer, kLargeRepetitions);
  return 0;
}
